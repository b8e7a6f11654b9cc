"""Card and Croissant of a release of clustering sets."""

from __future__ import annotations

import datetime
import json
import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard
from markdown_it import MarkdownIt

from builders import registry
from builders.build.order import Options, build
from builders.cli.output import Lines
from builders.configs import blurbs
from builders.demo.bundled import lay_out
from builders.describe import Target, render
from builders.describe.card import _front_matter as front_matter
from builders.describe.dataset import datasets_of
from builders.files import write_bytes
from builders.lock.lock import Lock, LockedSource, SourceFile, locks_of
from builders.rehearsal.refusals import card_errors
from builders.spec import RELEASES, ConfigSpec
from tests.describe import kit
from tests.describe.test_croissant import document, opened, records

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:datasets.*"),
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),
]
RELEASE = RELEASES["tecb-de"]
TARGET = Target("verein/tecb-de", "1.0.0", datetime.date(2026, 1, 5))
NAMES = ("blurbs", "tenkgnad")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> kit.Built:
    """The sample's release on disk, described; read only."""
    out = tmp_path_factory.mktemp("tecb")
    lay_out(out / "sample")
    options = Options(out=out, offline=True, sources=(str(out / "sample"),), committed=out / "none")
    for name in NAMES:
        build(registry.load(name), options, Lines(quiet=True))
    locks = tuple(locks_of(out, "tecb-de").values())
    for path, data in render(RELEASE, locks, TARGET).items():
        write_bytes(out / "tecb-de" / path, data)
    return kit.Built(out / "tecb-de", locks)


def card(built: kit.Built) -> str:
    return (built.root / "README.md").read_text(encoding="utf-8")


def changed(built: kit.Built, *, specs: dict[str, ConfigSpec] | None = None, **fields: object) -> str:
    """The card after a change of the first lock."""
    first, second = built.locks
    locks = [first.model_copy(update=fields), second]
    return render(RELEASE, locks, TARGET, specs=specs)["README.md"].decode()


def test_every_paragraph_is_separated_from_the_one_before(built: kit.Built) -> None:
    assert kit.unseparated(card(built)) == []


def test_the_metadata_is_what_the_hub_takes(built: kit.Built) -> None:
    loaded: Any = DatasetCard.load(built.root / "README.md").data
    assert loaded.to_dict() == front_matter(RELEASE, datasets_of(RELEASE, built.locks))
    assert not card_errors(card(built).encode())
    assert loaded.license == "cc-by-nc-sa-4.0"
    assert loaded.task_categories == ["text-classification"]
    assert "hard-negatives" not in loaded.tags and "clustering" in loaded.tags
    assert [config["config_name"] for config in loaded.configs] == [
        "blurbs-clustering-s2s",
        "blurbs-clustering-p2p",
        "tenkgnad-clustering-s2s",
        "tenkgnad-clustering-p2p",
    ]


def test_every_config_loads_and_equals_its_parquet(built: kit.Built, tmp_path: Path) -> None:
    from datasets import Features, load_dataset

    for config, split, path in built.tables():
        loaded = load_dataset(str(built.root), config, cache_dir=str(tmp_path), split=split)
        table = pq.read_table(path)
        assert loaded.to_list() == table.to_pylist()
        assert loaded.features == Features.from_arrow_schema(table.schema)


def test_each_dataset_has_its_own_licence(built: kit.Built) -> None:
    text = card(built)
    assert "| blurbs | [CC-BY-NC-4.0](https://creativecommons.org/licenses/by-nc/4.0/) |" in text
    assert "| tenkgnad | [CC-BY-NC-SA-4.0](https://creativecommons.org/licenses/by-nc-sa/4.0/) |" in text
    assert (built.root / "LICENSE-CC-BY-NC-4.0.txt").is_file()
    assert (built.root / "LICENSE-CC-BY-NC-SA-4.0.txt").is_file()


def test_sets_lengths_and_reasons_are_told(built: kit.Built) -> None:
    text = card(built)
    tables = {path.parent.name: pl.read_parquet(path) for c, _, path in built.tables() if "blurbs" in c}
    sets = tables["clustering-s2s"]
    coarse = sets.filter(level="coarse")["sentences"].list.len().to_list()
    assert f"| `coarse` | 10 | {min(coarse)} to {max(coarse)} | 4 |" in text
    lengths = sets["sentences"].explode().unique().str.len_chars().to_list()
    mean = sum(lengths) / len(lengths)
    row = f"| `s2s` | titles | {len(lengths)} | {min(lengths)} | {mean:.2f} | {max(lengths)} |"
    assert row in text
    for funnel in built.locks[0].funnels:
        for reason, count in funnel.dropped.items():
            assert re.search(rf"dropped `{reason}`: the (book|document) .* \| {count} \|", text)
    assert "A rehearsal, not a release" in text
    assert "no query" not in text and "hard negative" not in text.lower()


def test_labels_from_outside_are_escaped(built: kit.Built) -> None:
    clustering = built.locks[0].clustering
    assert clustering is not None
    hostile = clustering.sets[10].model_copy(update={"level": "within:<img src=x onerror=y>|`x`"})
    sets = (*clustering.sets[:10], hostile, *clustering.sets[11:])
    text = changed(built, clustering=clustering.model_copy(update={"sets": sets}))
    assert "<img src=x" not in MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "&lt;img src=x" in text


def real(lock: Lock) -> tuple[LockedSource, ...]:
    url = "https://beispiel.example/buecher.zip"
    file = SourceFile(part="buecher.zip", path=url, sha256="ab" * 32, size=1)
    return (LockedSource(kind="http", name="buecher.zip", licence="cc-by-nc-4.0", files=(file,)),)


def test_a_real_build_stands_beside_the_published_sets(built: kit.Built) -> None:
    text = changed(built, sources=real(built.locks[0]))
    assert "Beside the sets that mteb, BlurbsClusteringS2S and BlurbsClusteringP2P hold" in text
    documents = built.locks[0].facts["documents"]
    assert f"| Documents to draw from | {documents} | 18,086 |" in text
    assert re.search(r"\| Rows of all sets of `fine` \| \d+ \| 85,407 \|", text)
    assert "[buecher.zip](https://beispiel.example/buecher.zip)" in text
    assert f"`sha256 {'ab' * 32}`" in text


def test_a_stand_in_does_not(built: kit.Built) -> None:
    assert "Beside the sets" not in card(built)
    limited = built.locks[0].parameters | {"limit": 100}
    assert "Beside the sets" not in changed(built, sources=real(built.locks[0]), parameters=limited)


def test_a_config_without_published_figures_has_no_comparison(built: kit.Built) -> None:
    specs: dict[str, ConfigSpec] = {"blurbs": replace(blurbs.CONFIG, published=None)}
    assert "Beside the sets" not in changed(built, specs=specs, sources=real(built.locks[0]))


def test_croissant_validates_and_gives_the_rows(built: kit.Built, caplog: pytest.LogCaptureFixture) -> None:
    description = document(built)
    with caplog.at_level(logging.WARNING):
        dataset = opened(built, description)
        issues = dataset.metadata.ctx.issues
    assert not issues.errors and not issues.warnings
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    for config, split, path in built.tables():
        found = [
            {name: plain(value) for name, value in row.items()}
            for row in records(dataset, f"{config}/{split}")
        ]
        assert found == pl.read_parquet(path).to_dicts()


def plain(value: Any) -> Any:
    """Return what mlcroissant gives for a column as plain Python values."""
    if isinstance(value, bytes):
        return value.decode()
    return value if isinstance(value, str) else [plain(each) for each in value]


def test_croissant_says_what_it_is_about(built: kit.Built) -> None:
    description = document(built)
    assert "clustering" in description["keywords"] and "retrieval" not in description["keywords"]
    assert not any("key" in one for one in description["recordSet"] if one["@id"] != "splits")
    told = json.dumps(description["rai:dataPreprocessingProtocol"])
    assert "seeded generator" in told and "Queries" not in told
