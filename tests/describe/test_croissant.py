import hashlib
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.describe import render
from builders.tables import SORT_KEYS, Kind
from tests.describe import kit
from tests.mining.samples import with_serving

pytestmark = [
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),
]


def document(built: kit.Built) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((built.root / "croissant.jsonld").read_bytes())
    return loaded


def opened(built: kit.Built, description: dict[str, Any]) -> Any:
    import mlcroissant

    paths = {file["@id"]: str(built.root / file["@id"]) for file in description["distribution"]}
    return mlcroissant.Dataset(description, mapping=paths)


def records(dataset: Any, record_set: str) -> list[dict[str, Any]]:
    """Records by field name, as plain Python values."""
    prefix = f"{record_set}/"
    return [
        {name.removeprefix(prefix): _plain(value) for name, value in record.items()}
        for record in dataset.records(record_set)
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if hasattr(value, "item") else value


def published(built: kit.Built, record_set: str) -> pl.DataFrame:
    """The parquet file behind a record set."""
    config, _, split = record_set.partition("/")
    return next(pl.read_parquet(path) for c, s, path in built.tables() if (c, s) == (config, split))


def plain_sets(built: kit.Built) -> list[str]:
    return [f"{config}/{split}" for config, split, _ in built.tables()]


def test_it_validates_without_a_warning(built: kit.Built, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        issues = opened(built, document(built)).metadata.ctx.issues

    assert not issues.errors and not issues.warnings
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_flaw_would_be_seen(built: kit.Built, caplog: pytest.LogCaptureFixture) -> None:
    flawed = document(built) | {"version": "v1.0.0"}
    del flawed["@context"]["samplingRate"]
    with caplog.at_level(logging.WARNING):
        issues = opened(built, flawed).metadata.ctx.issues

    assert issues.warnings
    assert "MAJOR.MINOR.PATCH" in caplog.text and "samplingRate" in caplog.text


@pytest.mark.parametrize("backwards", [False, True])
def test_every_record_set_loads_from_one_dataset_in_any_order(built: kit.Built, backwards: bool) -> None:
    description = document(built)
    names = [record_set["@id"] for record_set in description["recordSet"]]
    dataset = opened(built, description)

    loaded = {name: records(dataset, name) for name in (names[::-1] if backwards else names)}
    assert set(loaded) == {"splits", *plain_sets(built), *_joined(built)}
    for name in plain_sets(built):
        assert loaded[name] == published(built, name).to_dicts()
    for name, expected in _joined(built).items():
        assert loaded[name] == expected.to_dicts()
    assert loaded["splits"] == [{"name": name} for name in ("corpus", "dev", "test", "train")]


def _joined(built: kit.Built) -> dict[str, pl.DataFrame]:
    """What the joined record sets must hold, from the parquet files alone."""
    expected = {}
    for name in plain_sets(built):
        config, split = name.split("/")
        dataset, kind = config.rsplit("-", 1)
        if kind in {"qrels", "hard_negatives"}:
            rows = published(built, name)
            queries = published(built, f"{dataset}-queries/{split}").select(
                "_id", **{"queries/text": pl.col("text")}
            )
            passages = published(built, f"{dataset}-corpus/corpus").select(
                "_id", **{"passages/title": pl.col("title"), "passages/text": pl.col("text")}
            )
            for side, column, texts in (
                ("queries", "query-id", queries),
                ("passages", "corpus-id", passages),
            ):
                expected[f"{config}_with_{side}/{split}"] = rows.join(
                    texts, left_on=column, right_on="_id", maintain_order="left"
                )
    return expected


def test_joined_texts_differ_between_rows(built: kit.Built) -> None:
    """Else the comparison above would pass with a join by the wrong key."""
    for name, frame in _joined(built).items():
        column = "queries/text" if "_with_queries" in name else "passages/text"
        assert frame.height and frame[column].null_count() == 0
        assert frame[column].n_unique() > 1 or name.endswith("/dev")


def test_keys_are_unique_and_references_resolve(built: kit.Built) -> None:
    description = document(built)
    dataset = opened(built, description)
    by_name = {record_set["@id"]: record_set for record_set in description["recordSet"]}
    values = {name: records(dataset, name) for name in by_name}
    referring = 0
    for name, record_set in by_name.items():
        keys = record_set["key"] if isinstance(record_set["key"], list) else [record_set["key"]]
        columns = [key["@id"].removeprefix(f"{name}/") for key in keys]
        assert len({tuple(row[c] for c in columns) for row in values[name]}) == len(values[name])
        for field in record_set["field"]:
            if "references" in field:
                other, column = field["references"]["field"]["@id"].rsplit("/", 1)
                known = {row[column] for row in values[other]}
                assert {row[field["name"]] for row in values[name]} <= known
                referring += 1
    assert referring == 4 * (3 + 3 + 3)


def test_qrels_and_hard_negatives_point_to_queries_and_passages(built: kit.Built) -> None:
    sets = {record_set["@id"]: record_set for record_set in document(built)["recordSet"]}
    for name in ("jobs-qrels/dev", "jobs-hard_negatives/dev"):
        references = {
            f["name"]: f["references"]["field"]["@id"] for f in sets[name]["field"] if "references" in f
        }
        assert references == {"query-id": "jobs-queries/dev/_id", "corpus-id": "jobs-corpus/corpus/_id"}
    assert [key["@id"] for key in sets["jobs-qrels/dev"]["key"]] == [
        f"jobs-qrels/dev/{column}" for column in SORT_KEYS[Kind.QRELS]
    ]


def test_each_file_has_its_hash_and_its_address_at_the_tag(built: kit.Built) -> None:
    files = {file["@id"]: file for file in document(built)["distribution"]}

    assert set(files) == {str(path.relative_to(built.root)) for path in built.root.rglob("*.parquet")}
    for path, file in files.items():
        data = (built.root / path).read_bytes()
        assert file["sha256"] == hashlib.sha256(data).hexdigest()
        assert file["contentSize"] == f"{len(data)} B"
        base = "https://huggingface.co/datasets/verein/mteb-de/resolve/v1.0.0/"
        assert file["contentUrl"] == base + path


def test_a_split_without_rows_has_a_file_but_no_records(with_empty_split: kit.Built) -> None:
    description = document(with_empty_split)
    names = {record_set["@id"] for record_set in description["recordSet"]}

    assert "jobs-hard_negatives/test" in names
    assert not [name for name in names if re.fullmatch(r"jobs-hard_negatives.*/dev", name)]
    assert "jobs/hard_negatives/dev.parquet" in {file["@id"] for file in description["distribution"]}
    dataset = opened(with_empty_split, description)
    assert all(records(dataset, name) for name in names)


def test_ids_are_unique(built: kit.Built) -> None:
    ids = list(_ids(document(built)))
    assert len(ids) == len(set(ids)) > 100


def _ids(node: Any) -> Iterator[str]:
    """Ids that are given, not those that are pointed to."""
    if isinstance(node, list):
        for item in node:
            yield from _ids(item)
    elif isinstance(node, dict):
        if node.get("@type", "").startswith("cr:"):
            yield node["@id"]
        for key in ("distribution", "recordSet", "field"):
            yield from _ids(node.get(key, []))


def test_responsible_ai_and_provenance_survive_the_client(built: kit.Built) -> None:
    metadata = opened(built, document(built)).metadata

    assert metadata.data_collection and metadata.data_social_impact and metadata.data_release_maintenance_plan
    assert "jobs: Ein Hinweis über <Bedeutung> | Grenze." in metadata.data_limitations
    assert len(metadata.data_biases) >= 4 and len(metadata.data_use_cases) == 3
    assert len(metadata.personal_sensitive_information) == len(metadata.data_annotation_protocol) == 2
    derived = document(built)["prov:wasDerivedFrom"]
    assert [source["@id"] for source in derived] == [
        "https://huggingface.co/datasets/verein/germandpr/tree/64a4860e55ba6d8fcb923d5306d08e08b1c72794",
        f"https://huggingface.co/datasets/verein/jobs/tree/d49f1e4243{'0' * 30}",
    ]
    assert "prov:wasDerivedFrom" in json.dumps(metadata.to_json())


def test_a_low_yield_stands_in_the_description(built: kit.Built) -> None:
    first, second = built.locks
    assert second.mining is not None
    report = kit.starved(second.mining.serving.report, full=2)
    starved = second.model_copy(update={"mining": with_serving(second.mining, report=report)})

    files = render(kit.RELEASE, [first, starved], kit.TARGET, specs=built.specs)
    description = json.loads(files["croissant.jsonld"])["description"]
    assert "Hard negatives are scarce: 2 of 300 queries (0.7 %) have one." in description
    assert "scarce" not in document(built)["description"]


def test_it_is_read_from_a_file_too(built: kit.Built) -> None:
    import mlcroissant

    paths = {file["@id"]: str(built.root / file["@id"]) for file in document(built)["distribution"]}
    dataset = mlcroissant.Dataset(str(Path(built.root) / "croissant.jsonld"), mapping=paths)
    assert len(records(dataset, "jobs-corpus/corpus")) == 15


def test_the_recipe_and_its_parameters_stand_in_it(built: kit.Built) -> None:
    steps = " ".join(document(built)["rai:dataPreprocessingProtocol"])
    assert "jobs-hard_negatives mined with" in steps
    assert "name v0, depth 10, depth_counts all, margin 0.0" in steps
    assert "germandpr-hard_negatives" not in steps
