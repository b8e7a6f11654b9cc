"""The training view, and the documented recipe that trains on it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from builders.describe import render
from builders.errors import StorageError
from builders.files import write_bytes
from builders.rehearsal import Store, serve
from builders.tables import Kind, inside, published, published_path
from builders.triplets import read_triplets
from tests.describe import kit
from tests.tiny_model import save_tiny_model

NOTE = Path(__file__).parents[1] / "notes" / "training.md"
QUERIES = pl.DataFrame({"query_id": ["q1", "q2", "q3"], "text": ["Bäcker", "Koch", "Maler"]})
CORPUS = pl.DataFrame({
    "passage_id": ["d1", "d2", "d3", "d4", "d5"],
    "title": ["", "", "Titel", "", ""],
    "text": ["Brot", "Suppe", "Farbe", "Holz", "Stein"],
})
QRELS = pl.DataFrame({
    "query_id": ["q2", "q1", "q3", "q1"],
    "passage_id": ["d2", "d3", "d3", "d1"],
    "score": [1] * 4,
})
NEGATIVES = pl.DataFrame({
    "query_id": ["q2", "q1", "q1", "q1", "q2"],
    "passage_id": ["d5", "d5", "d2", "d4", "d4"],
    "rank": [4, 3, 1, 2, 2],
})


TABLES = {
    Kind.QUERIES: QUERIES,
    Kind.CORPUS: CORPUS,
    Kind.QRELS: QRELS,
    Kind.HARD_NEGATIVES: NEGATIVES,
}


def rows(folder: Path, changes: dict[Kind, pl.DataFrame] | None = None) -> list[tuple[str, ...]]:
    for kind, frame in (TABLES | (changes or {})).items():
        path = folder / published_path("jobs", kind, "corpus" if kind is Kind.CORPUS else "train")
        path.parent.mkdir(parents=True, exist_ok=True)
        published(kind, frame).write_parquet(path)
    return read_triplets(folder).rows()


def test_each_negative_stands_with_a_positive_in_turn(tmp_path: Path) -> None:
    assert rows(tmp_path) == [
        ("Bäcker", "Brot", "Suppe"),
        ("Bäcker", "Titel Farbe", "Holz"),
        ("Bäcker", "Brot", "Stein"),
        ("Koch", "Suppe", "Holz"),
        ("Koch", "Suppe", "Stein"),
    ]


def test_queries_without_negatives_have_no_row(tmp_path: Path) -> None:
    assert rows(tmp_path, {Kind.HARD_NEGATIVES: NEGATIVES.clear()}) == []


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_does_not_matter(tmp_path: Path, seed: int) -> None:
    shuffled = {kind: frame.sample(fraction=1, shuffle=True, seed=seed) for kind, frame in TABLES.items()}
    assert rows(tmp_path / "shuffled", shuffled) == rows(tmp_path / "sorted")


_WORDS = "brot eisen garten wagen topf strom farbe holz zahl pflege fisch leder glas stein papier".split()


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release, described; a title of `jobs` shares a word with each profile of it."""
    root = tmp_path_factory.mktemp("release")
    built = kit.build(root)
    _reword(root / published_path("jobs", Kind.CORPUS, "corpus"), lambda n: f"{_WORDS[n]} {_WORDS[n]}")
    for split in ("train", "dev", "test"):
        _reword(root / published_path("jobs", Kind.QUERIES, split), lambda n: f"{_WORDS[n]} {_WORDS[n + 1]}")
    for path, data in render(kit.RELEASE, built.locks, kit.TARGET, specs=built.specs).items():
        write_bytes(root / path, data)
    return root


def _reword(path: Path, text: Callable[[int], str]) -> None:
    """Give each row of a table the text for the number in its id."""
    table = pq.read_table(path)
    texts = [text(int(str(one)[2:], 16)) for one in table["_id"].to_pylist()]
    place = table.schema.get_field_index("text")
    pq.write_table(table.set_column(place, table.schema.field(place), [texts]), path)


def test_a_release_gives_one_row_per_hard_negative(release: Path, tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        mined = pl.read_parquet(release / published_path("jobs", Kind.HARD_NEGATIVES, split))
        found = read_triplets(release, split=split)
        assert found.height == mined.height > 0
        assert not found.filter(pl.col("positive") == pl.col("negative")).height
    with pytest.raises(StorageError, match="germandpr"):
        read_triplets(release, "germandpr")


_TELL = """
import json
print(json.dumps({
    "rows": train.to_list(),
    "losses": [line["loss"] for line in trainer.state.log_history if "loss" in line],
}))
"""


def recipe(**values: str) -> str:
    """Return the documented recipe with other values of its constants."""
    code = NOTE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    for name, value in values.items():
        code, count = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value}", code)
        assert count == 1, name
    return code.replace("logging_steps=10", "logging_steps=1") + _TELL


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The fill_missing parameter is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The `get_sentence_embedding_dimension` method:FutureWarning")
def test_the_documented_recipe_trains_and_its_model_is_evaluated_alike(release: Path, tmp_path: Path) -> None:
    import mteb
    from sentence_transformers import SentenceTransformer

    from builders.mteb_tasks import Jobs

    store = Store(orgs=["verein"])
    commit = store.add_folder("dataset", "verein/mteb-de", release)
    store.repo("dataset", "verein/mteb-de").tags["v1.0.0"] = commit
    model, output = save_tiny_model(tmp_path / "tiny"), tmp_path / "trained"
    code = recipe(
        REPO=repr("verein/mteb-de"), MODEL=repr(str(model)), OUTPUT=repr(str(output)), STEPS="50", BATCH="4"
    ).replace("learning_rate=2e-5", "learning_rate=3e-4")
    with serve(store) as hub:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=hub.environment(tmp_path / "hub") | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["rows"] == read_triplets(release).to_dicts()
    losses = told["losses"]
    assert len(losses) == 50
    # Two rounds of the rows each: the loss of a batch depends on how many rows fit into it.
    assert sum(losses[-12:]) < 0.75 * sum(losses[:12])
    trained = SentenceTransformer(str(output), device="cpu")
    assert trained.prompts["query"] == "query: "
    result = mteb.evaluate(trained, Jobs.at(release), cache=None, show_progress_bar=False)
    theirs = result.task_results[0].get_score()
    assert 0.2 < theirs <= 1
    assert evaluated(output, release) == pytest.approx(theirs, abs=1e-5)


def evaluated(model: Path, release: Path) -> float:
    """Return nDCG@10 of a saved model on the test split, as `mteb-de eval` computes it."""
    from builders.evaluation.candidates import candidate, pinned_encoder
    from builders.evaluation.metrics import score
    from builders.evaluation.rankings import Judged, search
    from builders.evaluation.results import EncoderFacts

    def table(kind: Kind, split: str = "test") -> pl.DataFrame:
        return inside(kind, pl.read_parquet(release / published_path("jobs", kind, split)))

    judged = Judged("jobs", "test", table(Kind.QUERIES), table(Kind.CORPUS, "corpus"), table(Kind.QRELS))
    searching = candidate(str(model), offline=True).searching
    assert searching is not None
    encoder = searching(pinned_encoder([]))
    run = search(
        judged,
        encoder.encode(encoder.truncate(judged.query_texts().to_list(), "query"), "query"),
        encoder.encode(encoder.truncate(judged.passage_texts().to_list(), "passage"), "passage"),
    )
    result = score(judged, run, EncoderFacts(name="trained", kind="dense"), resamples=10)
    return result.scores["ndcg_at_10"].value
