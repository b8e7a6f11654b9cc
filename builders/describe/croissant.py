"""Croissant 1.1: the same files and columns for machines, with keys and references between them.

A config has one record set per split, with the columns of its parquet file, a key (but for clustering sets,
whose rows are known by their order), and references: qrels and hard negatives point to queries and passages.
Beside each of these stand two more that bring along the texts of one side: two, since mlcroissant takes one
join per record set, and neither builds on another, since one mlcroissant `Dataset` cannot read both. Their
rows lie in the order of the file, so that the two can be read side by side.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any, cast

import pyarrow as pa

from builders.describe.card import citation
from builders.describe.dataset import Config, Dataset
from builders.describe.figures import source_url, starved, yield_of
from builders.describe.licences import LICENCES, licence
from builders.describe.target import Target
from builders.hub import HUB
from builders.lock.lock import Lock, PublishedFile
from builders.printable import one_line, share
from builders.spec import Release
from builders.tables import SCHEMAS, SORT_KEYS, Kind

_Json = dict[str, Any]

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


def croissant(release: Release, datasets: Sequence[Dataset], target: Target) -> _Json:
    """Return the Croissant document of a release.

    Every file has an absolute address at the release's tag and its sha256. Sources: the Croissant 1.1 format
    and its vocabulary for responsible AI.
    """
    date = f"{target.date:%Y-%m-%d}"
    organisation = {"@type": "sc:Organization", "name": target.owner, "url": f"{HUB}/{target.owner}"}
    return {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": target.repo.partition("/")[2],
        "description": _description(release, datasets),
        "url": target.url,
        "version": target.version,
        "datePublished": date,
        "dateModified": date,
        "license": licence(release.licence).url,
        "creator": organisation,
        "publisher": organisation,
        "citeAs": citation(release, target),
        "inLanguage": list(release.languages),
        "keywords": _keywords(datasets),
        "isLiveDataset": False,
        "sdVersion": target.version,
        "sdLicense": licence(release.licence).url,
        **_responsible_ai(datasets),
        "prov:wasDerivedFrom": _derived_from(datasets),
        "distribution": _file_objects(datasets, target),
        "recordSet": _record_sets(datasets),
    }


def _description(release: Release, datasets: Sequence[Dataset]) -> str:
    sentences = [f"{release.title}."]
    for dataset in datasets:
        sentences.append(f"{dataset.spec.title.rstrip('.')} ({dataset.name}).")
        found = yield_of(dataset)
        if found and starved(dataset):
            part = share(found.some, found.queries)
            sentences.append(
                f"Hard negatives are scarce: {found.some} of {found.queries} queries ({part}) have one."
            )
    return one_line(" ".join(sentences))


def _keywords(datasets: Sequence[Dataset]) -> list[str]:
    if all(dataset.clusters for dataset in datasets):
        return ["German", "clustering", "text embeddings", "mteb", "benchmark"]
    return ["German", "retrieval", "text embeddings", "hard negatives", "mteb", "benchmark"]


def _responsible_ai(datasets: Sequence[Dataset]) -> _Json:
    def each(field: str, prefix: str = "") -> list[str]:
        named = ((dataset.name, getattr(dataset.about, field)) for dataset in datasets)
        return [
            one_line(f"{name}: {prefix}{item}")
            for name, value in named
            for item in ((value,) if isinstance(value, str) else value)
        ]

    notes = [one_line(f"{dataset.name}: {note}") for dataset in datasets for note in dataset.spec.notes]
    retrieval = [
        "Rows of equal text merged; relevance judgements follow.",
        "Queries dealt to train, dev and test in groups that mean the same.",
    ]
    clustering = ["Sets drawn by a seeded generator; titles alone and with texts, row by row the same."]
    ids = ["Where texts may not be passed on, ids and labels alone are published; users fetch the texts."]
    return {
        "rai:dataCollection": " ".join(each("collection")),
        "rai:dataAnnotationProtocol": each("annotation"),
        "rai:dataPreprocessingProtocol": [
            "Unicode NFC, HTML entities resolved once, white space folded, empty texts dropped.",
            "Personal data replaced by fixed placeholders.",
            *(retrieval if any(not dataset.clusters for dataset in datasets) else []),
            *(clustering if any(dataset.clusters for dataset in datasets) else []),
            *(ids if any(dataset.ids_only for dataset in datasets) else []),
            *(line for dataset in datasets for line in _recipe(dataset.lock)),
        ],
        "rai:dataBiases": each("biases"),
        "rai:dataLimitations": notes + each("misuses", "not for "),
        "rai:dataUseCases": each("uses"),
        "rai:personalSensitiveInformation": each("personal"),
        "rai:dataSocialImpact": " ".join(each("impact")),
        "rai:dataReleaseMaintenancePlan": (
            "Versions have three numbers. The first changes when a row of an existing config changes, the "
            "second when a config is added, the third when only metadata changes. Tags are not moved. Rows "
            "are taken down on request, in a new version."
        ),
    }


def _derived_from(datasets: Sequence[Dataset]) -> list[_Json]:
    return [
        {
            "@id": source_url(source),
            "@type": "prov:Entity",
            "prov:label": one_line(source.name),
            **({"sc:license": LICENCES[source.licence].url} if source.licence in LICENCES else {}),
        }
        for dataset in datasets
        for source in dataset.lock.sources
    ]


def _recipe(lock: Lock) -> Iterator[str]:
    """Tell by which recipe, with which parameters and encoder the hard negatives of a config were mined."""
    if lock.mining is not None:
        recipe, encoder = lock.mining.recipe, lock.mining.encoder
        given = ", ".join(f"{name} {value}" for name, value in recipe.items() if value is not None)
        yield f"Hard negatives of {lock.config} mined with {encoder.model} at {encoder.revision}: {given}."


def _context() -> _Json:
    path = resources.files("builders.describe") / "croissant_context.json"
    return cast("_Json", json.loads(path.read_bytes()))


def _file_objects(datasets: Sequence[Dataset], target: Target) -> list[_Json]:
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


def _record_sets(datasets: Sequence[Dataset]) -> list[_Json]:
    """Return the record sets: the names of the splits, then each config's by split."""
    splits = sorted({file.split for dataset in datasets for c in dataset.configs for file in c.files})
    sets = [_splits(splits)]
    for dataset in datasets:
        for config in dataset.configs:
            for file in config.files:
                sets += _sets_of(dataset, config, file)
    return sets


def _splits(names: Sequence[str]) -> _Json:
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


def _sets_of(dataset: Dataset, config: Config, file: PublishedFile) -> Iterator[_Json]:
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


def _set(name: str, description: str, kind: Kind, fields: list[_Json]) -> _Json:
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
) -> Iterator[_Json]:
    for column in SCHEMAS[kind]:
        field: _Json = {
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


def _joined_field(name: str, column: str, source: str) -> _Json:
    return {
        "@type": "cr:Field",
        "@id": f"{name}/{column}",
        "name": column,
        "description": "Joined by the reference of this record set.",
        "dataType": "sc:Text",
        "source": {"field": {"@id": source}},
    }


def _type(dtype: pa.DataType) -> _Json:
    if isinstance(dtype, pa.ListType):
        return {"dataType": _TYPES[dtype.value_type], "isArray": True, "arrayShape": "-1"}
    return {"dataType": _TYPES[dtype]}
