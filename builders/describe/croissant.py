"""Croissant 1.1: the same files and columns for machines, with keys and references between them.

A config has one record set per split. Qrels and hard negatives have two more that join the texts of one
side: mlcroissant takes one join per record set, and cannot read a set that builds on another.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from builders.describe.card import citation
from builders.describe.dataset import Config, Dataset, type_of
from builders.describe.figures import source_url, starved
from builders.describe.licences import LICENCES, licence
from builders.describe.target import Target
from builders.hub import HUB
from builders.lock.lock import EncoderIdentity, PublishedFile
from builders.printable import one_line, share
from builders.spec import Release
from builders.tables import MINED, SCHEMAS, SORT_KEYS, Kind

_Json = dict[str, Any]
_References = dict[str, tuple[str, tuple[str, ...]]]
"""Columns that point to another record set: its id, and the text columns that it has."""

_TYPES = {"string": "sc:Text", "int32": "cr:Int32", "float32": "cr:Float32"}
_WHAT = {
    Kind.CORPUS: "Passages",
    Kind.QUERIES: "Queries",
    Kind.QRELS: "Relevant pairs of query and passage",
    Kind.HARD_NEGATIVES: "Hard negatives",
    Kind.HARD_NEGATIVES_V0: "Hard negatives by the published procedure",
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


def croissant(release: Release, datasets: Sequence[Dataset], target: Target) -> _Json:
    """Return the document of a release, by Croissant 1.1 and its vocabulary for responsible AI."""
    context = resources.files("builders.describe") / "croissant_context.json"
    date = f"{target.date:%Y-%m-%d}"
    clusters = all(dataset.clusters for dataset in datasets)
    topics = "clustering, text embeddings" if clusters else "retrieval, text embeddings, hard negatives"
    organisation = {"@type": "sc:Organization", "name": target.owner, "url": f"{HUB}/{target.owner}"}
    return {
        "@context": json.loads(context.read_bytes()),
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
        "keywords": ["German", *topics.split(", "), "mteb", "benchmark"],
        "isLiveDataset": False,
        "sdVersion": target.version,
        "sdLicense": licence(release.licence).url,
        **_responsible_ai(datasets),
        "prov:wasDerivedFrom": _derived_from(datasets),
        "distribution": _file_objects(datasets, target),
        "recordSet": list(_record_sets(datasets)),
    }


def _description(release: Release, datasets: Sequence[Dataset]) -> str:
    sentences = [f"{release.title}."]
    for dataset in datasets:
        sentences.append(f"{dataset.spec.title.rstrip('.')} ({dataset.name}).")
        if (mining := dataset.lock.mining) and starved(dataset):
            some, total = mining.serving.report.yield_.any, mining.serving.report.queries
            few = f"{some} of {total} queries ({share(some, total)}) have one"
            sentences.append(f"Hard negatives are scarce: {few}.")
    return one_line(" ".join(sentences))


def _responsible_ai(datasets: Sequence[Dataset]) -> _Json:
    def each(field: str, prefix: str = "") -> list[str]:
        named = ((dataset.name, getattr(dataset.about, field)) for dataset in datasets)
        return [
            one_line(f"{name}: {prefix}{item}")
            for name, value in named
            for item in ((value,) if isinstance(value, str) else value)
        ]

    notes = [one_line(f"{dataset.name}: {note}") for dataset in datasets for note in dataset.spec.notes]
    retrieval = (
        "Rows of equal text merged; relevance judgements follow.",
        "Queries dealt to train, dev and test in groups that mean the same.",
    )
    clustering = "Sets drawn by a seeded generator; titles alone and with texts, row by row the same."
    ids = "Where texts may not be passed on, ids and labels alone are published; users fetch the texts."
    return {
        "rai:dataCollection": " ".join(each("collection")),
        "rai:dataAnnotationProtocol": each("annotation"),
        "rai:dataPreprocessingProtocol": [
            "Unicode NFC, HTML entities resolved once, white space folded, empty texts dropped.",
            "Personal data replaced by fixed placeholders.",
            *(retrieval if any(not dataset.clusters for dataset in datasets) else []),
            *([clustering] if any(dataset.clusters for dataset in datasets) else []),
            *([ids] if any(dataset.ids_only for dataset in datasets) else []),
            *(
                _recipe(f"{dataset.name}-{name}", table.recipe, mining.encoder)
                for dataset in datasets
                if (mining := dataset.lock.mining)
                for name, table in mining.tables.items()
            ),
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


def _recipe(table: str, recipe: Mapping[str, object], encoder: EncoderIdentity) -> str:
    given = ", ".join(f"{name} {value}" for name, value in recipe.items() if value is not None)
    return f"{table} mined with {encoder.model} at {encoder.revision}: {given}."


def _file_objects(datasets: Sequence[Dataset], target: Target) -> list[_Json]:
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


def _record_sets(datasets: Sequence[Dataset]) -> Iterator[_Json]:
    splits = sorted({file.split for dataset in datasets for c in dataset.configs for file in c.files})
    name = _field("splits", "name", "Name of the split.", dataType="sc:Text")
    yield {
        **_record_set("splits", "Names of the splits.", ("name",), [name]),
        "dataType": "cr:Split",
        "data": [{"splits/name": name} for name in splits],
    }
    for dataset in datasets:
        for config in dataset.configs:
            for file in config.files:
                yield from _sets_of(dataset, config, file)


def _sets_of(dataset: Dataset, config: Config, file: PublishedFile) -> Iterator[_Json]:
    references = _references(dataset, config, file)
    what = f"{_WHAT[config.kind]} of {dataset.name}, split {file.split}"
    name, key = f"{config.name}/{file.split}", SORT_KEYS[config.kind]
    yield _record_set(name, f"{what}.", key, _fields(name, config.kind, file, references))
    for column, (other, texts) in references.items():
        side = "queries" if column == "query-id" else "passages"
        name = f"{config.name}_with_{side}/{file.split}"
        fields = _fields(name, config.kind, file, {column: (other, texts)})
        for text in texts:
            source = {"field": {"@id": f"{other}/{text}"}}
            joined = "Joined by the reference of this record set."
            fields.append(_field(name, f"{side}/{text}", joined, dataType="sc:Text", source=source))
        yield _record_set(name, f"{what}, each with its {side}' texts.", key, fields)


def _references(dataset: Dataset, config: Config, file: PublishedFile) -> _References:
    if config.kind not in {Kind.QRELS, *MINED}:
        return {}
    ends = {"query-id": (Kind.QUERIES, file.split), "corpus-id": (Kind.CORPUS, "corpus")}
    return {
        column: (f"{dataset.name}-{kind}/{split}", tuple(n for n in SCHEMAS[kind].names if n != "_id"))
        for column, (kind, split) in ends.items()
        if dataset.rows(kind, split)
    }


def _fields(name: str, kind: Kind, file: PublishedFile, references: _References) -> list[_Json]:
    fields = []
    columns = _COLUMNS | ({"score": "Cosine of query and passage."} if kind in MINED else {})
    for column in SCHEMAS[kind]:
        description = columns[column.name]
        source = {"fileObject": {"@id": file.path}, "extract": {"column": column.name}}
        dtype, listed = type_of(column)
        shape = {"isArray": True, "arrayShape": "-1"} if listed else {}
        field = _field(name, column.name, description, dataType=_TYPES[dtype], **shape, source=source)
        if column.name in references:
            field["references"] = {"field": {"@id": f"{references[column.name][0]}/_id"}}
        fields.append(field)
    return fields


def _record_set(name: str, description: str, columns: Sequence[str], fields: Sequence[_Json]) -> _Json:
    key = [{"@id": f"{name}/{column}"} for column in columns]
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": description,
        **({"key": key[0] if len(key) == 1 else key} if key else {}),
        "field": fields,
    }


def _field(record_set: str, name: str, description: str, **rest: object) -> _Json:
    head = {"@type": "cr:Field", "@id": f"{record_set}/{name}", "name": name}
    return {**head, "description": description, **rest}
