"""Card and Croissant of a release that holds ids of texts beside texts, and of ids alone."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard

from builders import registry
from builders.build.order import Options, build
from builders.cli.output import Lines
from builders.demo.bundled import lay_out
from builders.describe import render
from builders.lock.lock import Lock, locks_of
from builders.rehearsal.refusals import card_errors
from builders.spec import RELEASES
from tests.describe import kit
from tests.describe.test_croissant import document, opened, records
from tests.describe.test_sets import TARGET, plain

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:datasets.*"),
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),
]
RELEASE = RELEASES["tecb-de"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> kit.Built:
    """A release of texts and of ids on disk, described; read only."""
    out = tmp_path_factory.mktemp("ids")
    lay_out(out / "sample")
    options = Options(out=out, offline=True, sources=(str(out / "sample"),), committed=out / "none")
    for name in ("subreddit", "tenkgnad"):
        build(registry.load(name), options, Lines(quiet=True))
    locks = tuple(locks_of(out, "tecb-de").values())
    for path, data in render(RELEASE, locks, TARGET).items():
        target = out / "tecb-de" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return kit.Built(out / "tecb-de", locks)


def ids_lock(built: kit.Built) -> Lock:
    return next(lock for lock in built.locks if lock.config == "subreddit")


def card(built: kit.Built) -> str:
    return (built.root / "README.md").read_text(encoding="utf-8")


def test_every_paragraph_is_separated_from_the_one_before(built: kit.Built) -> None:
    assert kit.unseparated(card(built)) == []


def test_the_metadata_is_what_the_hub_takes(built: kit.Built) -> None:
    loaded = DatasetCard.load(built.root / "README.md").data.to_dict()
    assert not card_errors(card(built).encode())
    assert "subreddit-clustering-ids" in [config["config_name"] for config in loaded["configs"]]
    (info,) = [one for one in loaded["dataset_info"] if one["config_name"] == "subreddit-clustering-ids"]
    assert info["features"] == [
        {"name": "submission_ids", "list": "string"},
        {"name": "labels", "list": "string"},
    ]


def test_ids_load_and_equal_their_parquet(built: kit.Built, tmp_path: Path) -> None:
    from datasets import Features, load_dataset

    (path,) = [path for config, _, path in built.tables() if config == "subreddit-clustering-ids"]
    loaded = load_dataset(str(built.root), "subreddit-clustering-ids", cache_dir=str(tmp_path), split="test")
    table = pq.read_table(path)
    assert loaded.to_list() == table.to_pylist()
    assert loaded.features == Features.from_arrow_schema(table.schema)


def test_the_card_says_that_ids_are_all_there_is_and_how_to_get_the_texts(built: kit.Built) -> None:
    text = card(built)
    assert "holds **ids and labels, no text**" in text
    assert f"mteb-de hydrate subreddit --from {TARGET.repo}@{TARGET.tag} --out hydrated" in text
    assert "mteb-de recheck subreddit --out hydrated" in text
    assert "https://www.redditinc.com/policies/data-api-terms" in text
    assert "less than 90\npercent" in text and "not comparable" in text
    assert "MIT License" in text and "Takedown" in text
    assert "was filled from 2026-01-01 to\n2026-01-01" in text
    assert "| subreddit | [CC-BY-4.0](https://creativecommons.org/licenses/by/4.0/) |" in text


def test_the_licence_of_the_upstreams_list_goes_along(built: kit.Built) -> None:
    text = (built.root / "LICENSE-upstream-subreddit.txt").read_text(encoding="utf-8")
    assert "Copyright (c) 2023 Climate and Societal Analytics" in text
    assert "Permission is hereby granted" in text and 'PROVIDED "AS IS"' in text
    assert "`LICENSE-upstream-subreddit.txt`" in card(built)
    assert not (built.root / "LICENSE-upstream-tenkgnad.txt").exists()


def test_answers_of_an_archive_are_told_as_such(built: kit.Built) -> None:
    assert "archive of submissions" not in card(built)
    lock = ids_lock(built)
    ledger = lock.parameters["ledger"] | {"origins": {"api": 60, "dump": 202}}
    dumped = lock.model_copy(update={"parameters": lock.parameters | {"ledger": ledger}})
    text = render(RELEASE, [dumped], TARGET)["README.md"].decode()
    assert "Of 202 ids the state is that of an archive of submissions" in text
    assert kit.unseparated(text) == []


def test_the_way_of_every_line_is_told(built: kit.Built) -> None:
    text = card(built)
    (funnel,) = ids_lock(built).funnels
    assert re.search(rf"\| submissions \| read \| {funnel.read} \|", text)
    for reason, count in funnel.dropped.items():
        assert re.search(rf"dropped `{reason}`: [^|]+ \| {count} \|", text)
    clustering = ids_lock(built).clustering
    assert clustering is not None
    rows, labels = ([getattr(one, field) for one in clustering.sets] for field in ("rows", "labels"))
    row = f"| `subreddit` | 10 | {min(rows)} to {max(rows)} | {min(labels)} to {max(labels)} |"
    assert f"{row}\n" in text


def test_a_ledger_of_this_machine_is_named_by_its_hash(built: kit.Built) -> None:
    lock = ids_lock(built)
    listed, ledger = lock.sources
    digest = ledger.files[0].sha256
    assert digest not in card(built) and "| `subreddit.ledger.tsv` | none: a local copy |" in card(built)
    pinned = ledger.model_copy(update={"revision": digest})
    text = render(RELEASE, [lock.model_copy(update={"sources": (listed, pinned)})], TARGET)["README.md"]
    assert f"| `subreddit.ledger.tsv` | `sha256 {digest}` |" in text.decode()


def test_examples_are_those_of_a_dataset_with_texts(built: kit.Built) -> None:
    text = card(built)
    assert '"tenkgnad-clustering-p2p", split="test"' in text
    assert 'subreddit-clustering-p2p", split' not in text


def test_a_release_of_ids_alone_has_a_card_too(built: kit.Built) -> None:
    text = render(RELEASE, [ids_lock(built)], TARGET)["README.md"].decode()
    assert "mteb-de hydrate subreddit --from" in text
    assert "A row is a clustering set. `sentences`" not in text and "Undefined" not in text
    assert not card_errors(text.encode())


def test_croissant_validates_and_gives_the_ids(built: kit.Built, caplog: pytest.LogCaptureFixture) -> None:
    description = document(built)
    with caplog.at_level(logging.WARNING):
        dataset = opened(built, description)
        issues = dataset.metadata.ctx.issues
    assert not issues.errors and not issues.warnings
    (path,) = [path for config, _, path in built.tables() if config == "subreddit-clustering-ids"]
    found = [
        {name: plain(value) for name, value in row.items()}
        for row in records(dataset, "subreddit-clustering-ids/test")
    ]
    assert found == pl.read_parquet(path).to_dicts()
    assert "users fetch the texts" in json.dumps(description["rai:dataPreprocessingProtocol"])
