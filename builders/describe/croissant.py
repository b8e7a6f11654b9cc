"""Croissant 1.1: the same files and columns for machines, with keys and references between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from builders.describe.card import citation
from builders.describe.dataset import Dataset
from builders.describe.figures import source_url, starved, yield_of
from builders.describe.licences import LICENCES, licence
from builders.describe.records import file_objects, record_sets
from builders.describe.target import HUB, Target
from builders.lock.lock import Lock
from builders.printable import share
from builders.spec import Release

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "sdVersion": "cr:sdVersion",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def croissant(release: Release, datasets: Sequence[Dataset], target: Target) -> dict[str, Any]:
    """Return the Croissant document of a release.

    Every file has an absolute address at the release's tag and its sha256; see `builders.describe.records`
    for the record sets. Sources: the Croissant 1.1 format and its vocabulary for responsible AI.
    """
    date = f"{target.date:%Y-%m-%d}"
    organisation = {"@type": "sc:Organization", "name": target.owner, "url": f"{HUB}/{target.owner}"}
    return {
        "@context": CONTEXT,
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
        "distribution": file_objects(datasets, target),
        "recordSet": record_sets(datasets),
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
    return _line(" ".join(sentences))


def _keywords(datasets: Sequence[Dataset]) -> list[str]:
    if all(dataset.clusters for dataset in datasets):
        return ["German", "clustering", "text embeddings", "mteb", "benchmark"]
    return ["German", "retrieval", "text embeddings", "hard negatives", "mteb", "benchmark"]


def _responsible_ai(datasets: Sequence[Dataset]) -> dict[str, Any]:
    def each(field: str) -> list[str]:
        return [_line(f"{dataset.name}: {getattr(dataset.about, field)}") for dataset in datasets]

    def every(field: str) -> list[str]:
        return [
            _line(f"{dataset.name}: {item}") for dataset in datasets for item in getattr(dataset.about, field)
        ]

    notes = [_line(f"{dataset.name}: {note}") for dataset in datasets for note in dataset.spec.notes]
    not_for = [
        _line(f"{dataset.name}: not for {item}") for dataset in datasets for item in dataset.about.misuses
    ]
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
        "rai:dataBiases": every("biases"),
        "rai:dataLimitations": notes + not_for,
        "rai:dataUseCases": every("uses"),
        "rai:personalSensitiveInformation": each("personal"),
        "rai:dataSocialImpact": " ".join(each("impact")),
        "rai:dataReleaseMaintenancePlan": (
            "Versions have three numbers. The first changes when a row of an existing config changes, the "
            "second when a config is added, the third when only metadata changes. Tags are not moved. Rows "
            "are taken down on request, in a new version."
        ),
    }


def _derived_from(datasets: Sequence[Dataset]) -> list[dict[str, Any]]:
    entities = []
    for dataset in datasets:
        for source in dataset.lock.sources:
            known = LICENCES.get(source.licence)
            entities.append({
                "@id": source_url(source),
                "@type": "prov:Entity",
                "prov:label": _line(source.name),
                **({"sc:license": known.url} if known else {}),
            })
    return entities


def _line(text: str) -> str:
    return " ".join(text.split())


def _recipe(lock: Lock) -> Iterator[str]:
    """Tell by which recipe, with which parameters and encoder the hard negatives of a config were mined."""
    if lock.mining is not None:
        recipe, encoder = lock.mining.recipe, lock.mining.encoder
        given = ", ".join(f"{name} {value}" for name, value in recipe.items() if value is not None)
        yield f"Hard negatives of {lock.config} mined with {encoder.model} at {encoder.revision}: {given}."
