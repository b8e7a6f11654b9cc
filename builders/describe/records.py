"""The files and record sets of a Croissant document.

A config has one record set per split, with the columns of its parquet file, a key (but for clustering sets,
whose rows are known by their order), and references: qrels and
hard negatives point to queries and passages. Beside each of these stand two more that bring along the texts
of one side. They are two, not one with both texts, since mlcroissant takes one join per record set. And no
joined set builds on another: one mlcroissant `Dataset` cannot read both. Their rows lie in the order of the
file, so that the two can be read side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from builders.describe.dataset import Config, Dataset
from builders.describe.target import Target
from builders.lock.lock import PublishedFile
from builders.tables import SCHEMAS, SORT_KEYS, Kind

Json = dict[str, Any]

_TYPES: dict[pa.DataType, str] = {pa.string(): "sc:Text", pa.int32(): "cr:Int32", pa.float32(): "cr:Float32"}
_WHAT = {
    Kind.CORPUS: "Passages",
    Kind.QUERIES: "Queries",
    Kind.QRELS: "Relevant pairs of query and passage",
    Kind.HARD_NEGATIVES: "Hard negatives",
    Kind.CLUSTERING_S2S: "Clustering sets of titles",
    Kind.CLUSTERING_P2P: "Clustering sets of titles with texts",
    Kind.CLUSTERING_IDS: "Clustering sets of ids of submissions",
}
_COLUMNS = {
    "_id": "Identifier, unique in the config.",
    "title": "Title; empty where there is none.",
    "text": "Text.",
    "query-id": "Identifier of the query.",
    "corpus-id": "Identifier of the passage.",
    "score": "Relevance of the passage; always 1.",
    "rank": "Rank of the passage among all passages for the query; the first is 1.",
    "positive_score": "Cosine of the query with the positive that guards.",
    "sentences": "The texts of the set.",
    "submission_ids": "The ids of the set's submissions on Reddit, without the prefix t3_.",
    "labels": "The label of each text or id, in their order.",
    "level": "What the labels are, and how the set was drawn.",
}
_COSINE = "Cosine of query and passage."


def file_objects(datasets: Sequence[Dataset], target: Target) -> list[Json]:
    """Return one FileObject per published parquet file; its id is the file's path."""
    return [
        {
            "@type": "cr:FileObject",
            "@id": file.path,
            "name": file.path,
            "description": f"{file.config}, split {file.split}: {file.rows} rows.",
            "contentUrl": target.file_url(file.path),
            "contentSize": f"{file.size} B",
            "encodingFormat": "application/x-parquet",
            "sha256": file.sha256,
        }
        for dataset in datasets
        for file in sorted(dataset.lock.files, key=lambda file: file.path)
    ]


def record_sets(datasets: Sequence[Dataset]) -> list[Json]:
    """Return the record sets: the names of the splits, then each config's by split."""
    splits = sorted({file.split for dataset in datasets for c in dataset.configs for file in c.files})
    sets = [_splits(splits)]
    for dataset in datasets:
        for config in dataset.configs:
            for file in config.files:
                sets += _sets_of(dataset, config, file)
    return sets


def _splits(names: Sequence[str]) -> Json:
    field = {"@type": "cr:Field", "@id": "splits/name", "name": "name", "dataType": "sc:Text"}
    return {
        "@type": "cr:RecordSet",
        "@id": "splits",
        "name": "splits",
        "description": "Names of the splits.",
        "dataType": "cr:Split",
        "key": {"@id": "splits/name"},
        "field": [field | {"description": "Name of the split."}],
        "data": [{"splits/name": name} for name in names],
    }


def _sets_of(dataset: Dataset, config: Config, file: PublishedFile) -> Iterator[Json]:
    references = _references(dataset, config, file)
    what = f"{_WHAT[config.kind]} of {dataset.name}, split {file.split}"
    name = f"{config.name}/{file.split}"
    yield _set(name, f"{what}.", config.kind, list(_fields(name, config.kind, file, references)))
    for column, (other, texts) in references.items():
        side = "queries" if column == "query-id" else "passages"
        joined = f"{config.name}_with_{side}/{file.split}"
        fields = list(_fields(joined, config.kind, file, {column: (other, texts)}))
        fields += [_joined_field(joined, f"{side}/{text}", f"{other}/{text}") for text in texts]
        yield _set(joined, f"{what}, each with its {side}' texts.", config.kind, fields)


def _references(
    dataset: Dataset, config: Config, file: PublishedFile
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Columns that point to another record set: its id, and the text columns it has to offer."""
    if config.kind not in {Kind.QRELS, Kind.HARD_NEGATIVES}:
        return {}
    found = {}
    for column, kind, split in (
        ("query-id", Kind.QUERIES, file.split),
        ("corpus-id", Kind.CORPUS, "corpus"),
    ):
        if dataset.rows(kind, split):
            texts = tuple(name for name in SCHEMAS[kind].names if name != "_id")
            found[column] = (f"{dataset.name}-{kind}/{split}", texts)
    return found


def _set(name: str, description: str, kind: Kind, fields: list[Json]) -> Json:
    key = [{"@id": f"{name}/{column}"} for column in SORT_KEYS[kind]]
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": description,
        **({"key": key[0] if len(key) == 1 else key} if key else {}),
        "field": fields,
    }


def _fields(
    name: str, kind: Kind, file: PublishedFile, references: dict[str, tuple[str, tuple[str, ...]]]
) -> Iterator[Json]:
    for column in SCHEMAS[kind]:
        field: Json = {
            "@type": "cr:Field",
            "@id": f"{name}/{column.name}",
            "name": column.name,
            "description": _described(kind, column.name),
            **_type(column.type),
            "source": {"fileObject": {"@id": file.path}, "extract": {"column": column.name}},
        }
        if column.name in references:
            field["references"] = {"field": {"@id": f"{references[column.name][0]}/_id"}}
        yield field


def _described(kind: Kind, column: str) -> str:
    if kind is Kind.HARD_NEGATIVES and column == "score":
        return _COSINE
    return _COLUMNS.get(column, f"Column {column}.")


def _joined_field(name: str, column: str, source: str) -> Json:
    return {
        "@type": "cr:Field",
        "@id": f"{name}/{column}",
        "name": column,
        "description": "Joined by the reference of this record set.",
        "dataType": "sc:Text",
        "source": {"field": {"@id": source}},
    }


def _type(dtype: pa.DataType) -> Json:
    if isinstance(dtype, pa.ListType):
        return {"dataType": _TYPES[dtype.value_type], "isArray": True, "arrayShape": "-1"}
    return {"dataType": _TYPES[dtype]}
