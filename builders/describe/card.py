"""The dataset card: metadata for the Hub, and a body for people."""

import re
from collections.abc import Sequence
from typing import Any

import yaml

from builders.describe.dataset import Config, Dataset, type_of
from builders.describe.figures import FIGURES
from builders.describe.licences import licence
from builders.describe.markdown import Markdown, code
from builders.describe.plots import card_plots
from builders.describe.target import Target
from builders.describe.templates import render_template
from builders.errors import UsageError
from builders.spec import Release
from builders.tables import SCHEMAS, Kind

_TAGS = ("mteb", "text", "german", "benchmark", "text-embeddings")
_HUB_DATASET = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)


def render_card(release: Release, datasets: Sequence[Dataset], target: Target) -> str:
    """Return the README.md of a release."""
    head = yaml.safe_dump(_front_matter(release, datasets), sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{head}---\n{_body(release, datasets, target)}"


def _front_matter(release: Release, datasets: Sequence[Dataset]) -> dict[str, Any]:
    """Return the card's metadata in the Hub's terms: configs with their files, and their exact features."""
    facts = [dataset.about for dataset in datasets]
    configs = [config for dataset in datasets for config in dataset.configs]
    sources = {source.name for dataset in datasets for source in dataset.lock.sources}
    clusters = all(dataset.clusters for dataset in datasets)
    return {
        "license": release.licence,
        "language": list(release.languages),
        "pretty_name": " ".join(release.title.split()),
        "tags": [*_TAGS, "clustering" if clusters else "hard-negatives"],
        "annotations_creators": sorted({name for about in facts for name in about.annotations_creators}),
        "language_creators": sorted({name for about in facts for name in about.language_creators}),
        "multilinguality": ["monolingual" if len(release.languages) == 1 else "multilingual"],
        "size_categories": [_size_category(sum(file.rows for config in configs for file in config.files))],
        "source_datasets": sorted(filter(_HUB_DATASET.fullmatch, sources)) or ["original"],
        "task_categories": ["text-classification" if clusters else "text-retrieval"],
        "task_ids": sorted({name for about in facts for name in about.task_ids}),
        "configs": [
            {"config_name": one.name, "data_files": [{"split": f.split, "path": f.path} for f in one.files]}
            for one in configs
        ],
        "dataset_info": [_info(config) for config in configs],
    }


def citation(release: Release, target: Target) -> str:
    """Return the BibTeX entry of a release."""
    title = re.sub(r"[{}\\`%#&$^~\s]+", " ", release.title).strip()
    key = re.sub(r"[^a-z0-9]", "", release.name.lower())
    return "\n".join([
        f"@misc{{{key}_{target.version.replace('.', '_')},",
        f"  title = {{{{{title}}}}},",
        "  author = {{The mteb-de maintainers}},",
        f"  year = {{{target.date.year}}},",
        f"  version = {{{target.version}}},",
        "  publisher = {Hugging Face},",
        f"  url = {{{target.url}}}",
        "}",
    ])


def _size_category(rows: int) -> str:
    """Return the Hub's class of a dataset with that many rows."""
    names = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T")
    power = len(str(rows)) - 4  # one digit more is ten times as many
    if power < 0:
        return "n<1K"
    return f"{names[power]}<n<{names[power + 1]}" if power < 9 else "n>1T"


def _info(config: Config) -> dict[str, Any]:
    features, files = [], config.files
    for column in SCHEMAS[config.kind]:
        dtype, listed = type_of(column)
        features.append({"name": column.name, "list" if listed else "dtype": dtype})
    return {
        "config_name": config.name,
        "features": features,
        "splits": [{"name": f.split, "num_bytes": f.arrow_bytes, "num_examples": f.rows} for f in files],
        "download_size": sum(file.size for file in files),
        "dataset_size": sum(file.arrow_bytes for file in files),
    }


def _body(release: Release, datasets: Sequence[Dataset], target: Target) -> str:
    clusters = all(dataset.clusters for dataset in datasets)
    examples = [one for one in datasets if one.rows(Kind.QUERIES, "test") or (clusters and not one.ids_only)]
    if not examples and not clusters:
        raise UsageError(f"{release.name}: no dataset has test queries", hint="Build a whole config first.")
    trainable = [dataset for dataset in datasets if dataset.rows(Kind.HARD_NEGATIVES, "train")]
    tools = {f"{name} {version}" for dataset in datasets for name, version in dataset.lock.tools.items()}
    return render_template(
        "clustering.md.j2" if clusters else "release.md.j2",
        figures=FIGURES,
        plots=card_plots(datasets),
        release=release,
        target=target,
        datasets=datasets,
        example=examples[0] if examples else None,
        trainable=trainable[0] if trainable else None,
        clusters=clusters,
        mined=any(dataset.lock.mining for dataset in datasets),
        task="".join(word.capitalize() for word in re.findall(r"[a-zA-Z0-9]+", release.name)),
        licence=licence(release.licence),
        citation=citation(release, target),
        tools=Markdown(", ".join(map(code, sorted(tools)))),
    )
