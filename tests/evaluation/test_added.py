"""An added language and an added encoder need no change in the engine: both are values of a caller."""

from __future__ import annotations

import datetime
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.build.order import Options, build
from builders.checks import check_tree
from builders.checks.finding import Severity
from builders.cli.output import Lines
from builders.describe import Target, render, templates
from builders.encoders import Role, encode_cached
from builders.evaluation.candidates import Candidate
from builders.evaluation.jobs import EvalOptions, evaluate
from builders.evaluation.results import RetrievalResult
from builders.lock.lock import EncoderIdentity, locks_of
from builders.mining import mine
from builders.rehearsal.refusals import card_errors
from builders.spec import CONTACT, RELEASES, Files, HubSource, Part, Recipe, Records, Retrieval
from builders.tables import Kind, inside, published_path, rowless
from tests.mteb_kit import Vectors

_PLACES = (
    "Radom Toruń Łomża Płock Ełk Chełm Żywiec Mława Gdynia Kielce Opole Leszno Piła Zamość Jarosław".split()
)
_ASKED = ("Jak głęboka jest studnia w mieście {}?", "Kto zbudował most w mieście {}?")
_TOLD = (
    "Studnia w mieście {} ma {} metrów głębokości.",
    "Most w mieście {} zbudował cech murarzy w roku 17{}.",
)


def read(files: Files) -> Records:
    """Read one table of questions and answers."""
    rows = pl.read_parquet(list(files["rows"]))
    return Records(
        queries=rows.select(upstream_id="question_id", text="question"),
        passages=rows.select(upstream_id="answer_id", title=pl.lit(""), text="answer"),
        pairs=rows.select(query="question_id", passage="answer_id"),
    )


POLISH = Retrieval(
    name="studnie",
    release="mteb-de",
    title="Studnie: pytania i odpowiedzi",
    licence="cc-by-4.0",
    languages=("pol",),
    sources=(HubSource("verein/studnie", "0123456789", "cc-by-4.0", (Part("rows", ("default",)),)),),
    read=read,
    ids="content",
    personal=CONTACT,
)
RELEASE = replace(RELEASES["mteb-de"], languages=("pl",))
CARD = """---
annotations_creators: [expert-generated]
language_creators: [expert-generated]
task_ids: [document-retrieval]
collection: Written for a test.
annotation: Each answer was written for its question.
biases: [It is about wells and bridges only.]
uses: [testing.]
misuses: [digging.]
personal: There is none.
impact: None.
---
Pytania o studnie i mosty.
"""


class Trigrams:
    """An encoder of a caller: hashed trigrams of characters."""

    identity = EncoderIdentity(
        backend="own",
        model="verein/trigrams",
        revision="1",
        dimensions=512,
        max_length=10_000,
        pooling="sum",
        query_prefix="",
        passage_prefix="",
    )

    def truncate(self, texts: Sequence[str], role: Role) -> list[str]:
        return list(texts)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        return np.stack([self._vector(f"  {text.casefold()} ") for text in texts])

    def _vector(self, text: str) -> Vectors:
        places = [
            zlib.crc32(text[at : at + 3].encode()) % self.identity.dimensions for at in range(len(text) - 2)
        ]
        counts = np.bincount(places, minlength=self.identity.dimensions).astype(np.float32)
        unit: Vectors = counts / np.linalg.norm(counts)
        return unit.astype(np.float32)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Polish config, built from a folder that stands in for its upstream."""
    folder = tmp_path_factory.mktemp("added")
    asked = [(place, kind) for place in _PLACES for kind in range(2)]
    upstream = folder / "upstream" / "datasets" / "verein" / "studnie"
    (upstream / "data").mkdir(parents=True)
    (upstream / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: data/*\n---\n",
        encoding="utf-8",
    )
    pl.DataFrame({
        "question_id": [f"p{number}" for number in range(len(asked))],
        "question": [_ASKED[kind].format(place) for place, kind in asked],
        "answer_id": [f"o{number}" for number in range(len(asked))],
        "answer": [_TOLD[kind].format(place, number + 10) for number, (place, kind) in enumerate(asked)],
    }).write_parquet(upstream / "data" / "train-00000-of-00001.parquet")
    options = Options(
        out=folder / "dist",
        offline=True,
        sources=(str(folder / "upstream"),),
        home=folder / "home",
        committed=folder / "none",
    )
    build(POLISH, options, Lines(quiet=True))
    return folder / "dist"


def table(out: Path, kind: Kind, split: str) -> pl.DataFrame:
    return inside(kind, pl.read_parquet(out / "mteb-de" / published_path("studnie", kind, split)))


def test_it_is_built_and_checked(out: Path) -> None:
    splits = {split: table(out, Kind.QUERIES, split).height for split in ("train", "dev", "test")}
    assert splits == {"train": 24, "dev": 3, "test": 3}
    assert table(out, Kind.CORPUS, "corpus").height == 30
    assert "Żywiec" in " ".join(table(out, Kind.CORPUS, "corpus")["text"])
    findings = check_tree(out, load=lambda name: POLISH, configs=out / "none")
    assert [finding for finding in findings if finding.severity is Severity.ERROR] == []


def test_it_is_described(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = templates.card_text
    monkeypatch.setattr(templates, "card_text", lambda name: CARD if name == "studnie.md.j2" else own(name))
    target = Target("verein/studnie", "1.0.0", datetime.date(2026, 1, 5))
    locks = tuple(locks_of(out, "mteb-de").values())
    files = render(RELEASE, locks, target, specs={"studnie": POLISH})
    text = files["README.md"].decode()
    assert "Studnie: pytania i odpowiedzi" in text and '"studnie": ["pol-Latn"]' in text
    assert not card_errors(files["README.md"])
    assert b"studnie-corpus" in files["croissant.jsonld"]


def test_an_added_encoder_is_evaluated_on_it(out: Path) -> None:
    encoder = Trigrams()
    own = Candidate("trigrams", "dense", lambda _: encoder, lambda: encoder)
    asked = EvalOptions(out, split="all", resamples=50, vectors=out.parent / "vectors")
    done = evaluate([POLISH], [own], asked, Lines(quiet=True))
    (result,) = done.results
    assert isinstance(result, RetrievalResult)
    assert (result.config, result.queries, result.passages) == ("studnie", 30, 30)
    assert (result.encoder.name, result.encoder.model) == ("trigrams", "verein/trigrams")
    # The name of the place and "studnia" or "most" together say which passage it is.
    assert result.scores["ndcg_at_10"].value > 0.9
    by_name = {one.encoder.name: one for one in done.baselines if isinstance(one, RetrievalResult)}
    assert by_name["random"].scores["ndcg_at_10"].value < 0.5 < by_name["bm25"].scores["ndcg_at_10"].value


def test_an_added_encoder_mines_on_it(out: Path) -> None:
    queries, corpus = table(out, Kind.QUERIES, "train"), table(out, Kind.CORPUS, "corpus")
    qrels, encoder, root = table(out, Kind.QRELS, "train"), Trigrams(), out.parent / "mined"
    mined = mine(
        queries,
        corpus,
        qrels.select("query_id", "passage_id"),
        qrels.select("query_id", "passage_id").clear(),
        encode_cached(encoder, queries["text"], "query", root=root).vectors,
        encode_cached(encoder, corpus["text"], "passage", root=root).vectors,
        replace(Recipe(), margin=0.0),
    )
    assert mined.negatives.height > 0
    assert (
        mined.negatives
        .select(rowless(Kind.HARD_NEGATIVES).columns)
        .join(qrels, on=["query_id", "passage_id"], how="semi")
        .is_empty()
    )
