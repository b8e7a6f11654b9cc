"""The card's metadata, judged as strictly as the Hub does, or more.

The Hub's validator is not public. Errors here are what it is known to refuse; an unknown task, for which it
only warns, is an error too, since a warning would be lost in a rehearsal.
"""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_LICENCES = frozenset(
    """
    afl-3.0 agpl-3.0 apache-2.0 apple-amlr apple-ascl artistic-2.0 bigcode-openrail-m
    bigscience-bloom-rail-1.0 bigscience-openrail-m bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear
    bsl-1.0 c-uda cc cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0
    cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cc-by-nd-4.0
    cc-by-sa-3.0 cc-by-sa-4.0 cc0-1.0 cdla-permissive-1.0 cdla-permissive-2.0 cdla-sharing-1.0
    creativeml-openrail-m deepfloyd-if-license ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 gemma
    gfdl gpl gpl-2.0 gpl-3.0 intel-research isc lgpl lgpl-2.1 lgpl-3.0 lgpl-lr llama2 llama3
    llama3.1 llama3.2 llama3.3 llama4 lppl-1.3c mit mpl-2.0 ms-pl ncsa odbl odc-by ofl-1.1 openrail
    openrail++ osl-3.0 other pddl postgresql unknown unlicense wtfpl zlib
    """.split()
)
_TASKS = frozenset(
    """
    any-to-any audio-classification audio-text-to-text audio-to-audio automatic-speech-recognition
    depth-estimation document-question-answering feature-extraction fill-mask graph-ml
    image-classification image-feature-extraction image-segmentation image-text-to-text image-to-3d
    image-to-image image-to-text image-to-video keypoint-detection mask-generation multiple-choice
    object-detection other question-answering reinforcement-learning robotics sentence-similarity
    summarization table-question-answering table-to-text tabular-classification tabular-regression
    tabular-to-text text-classification text-generation text-ranking text-retrieval text-to-3d
    text-to-audio text-to-image text-to-speech text-to-video time-series-forecasting
    token-classification translation unconditional-image-generation video-classification
    video-text-to-text video-to-video visual-document-retrieval visual-question-answering
    voice-activity-detection zero-shot-classification zero-shot-image-classification
    zero-shot-object-detection
    """.split()
)
_CREATORS = frozenset("found crowdsourced expert-generated machine-generated other".split())
_SIZES = frozenset(
    """
    unknown n<1K 1K<n<10K 10K<n<100K 100K<n<1M 1M<n<10M 10M<n<100M 100M<n<1B 1B<n<10B 10B<n<100B
    100B<n<1T n>1T
    """.split()
)
_ENUMS: dict[str, frozenset[str]] = {
    "size_categories": _SIZES,
    "task_categories": _TASKS,
    "annotations_creators": _CREATORS | {"no-annotation"},
    "language_creators": _CREATORS,
    "multilinguality": frozenset("monolingual multilingual translation other".split()),
}
_TEXT = ("pretty_name", "license_name", "license_link", "license_details", "viewer")
_LISTS = ("tags", "task_ids", "source_datasets", "task_categories")


def card_errors(content: bytes, repo_type: str) -> list[str]:
    """Return what is wrong with the metadata of a README.md; a README without metadata has none.

    Args:
        content: The file's bytes.
        repo_type: Datasets are judged whole, models by licence and language only.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return [f"README.md is not UTF-8 ({error.reason} at byte {error.start})"]
    try:
        block = _front_matter(text)
        data = yaml.safe_load(block)
        duplicates = list(_duplicate_keys(yaml.compose(block, Loader=yaml.SafeLoader)))
    except yaml.YAMLError as error:
        return [f"bad YAML: {' '.join(str(error).split())}"]
    if data is None:
        return []
    if not isinstance(data, dict):
        return ["the metadata must be a mapping"]
    errors = [*duplicates, *_licence(data), *_languages(data)]
    return errors if repo_type == "model" else [*errors, *_dataset(data)]


def _front_matter(text: str) -> str:
    lines = text.removeprefix("\ufeff").splitlines()
    start = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    if start == len(lines) or lines[start].rstrip() != "---":
        return ""
    for end in range(start + 1, len(lines)):
        if lines[end].rstrip() == "---":
            return "\n".join(lines[start + 1 : end])
    raise yaml.YAMLError("the block that --- opens is not closed")


def _duplicate_keys(root: yaml.Node | None) -> Iterator[str]:
    waiting, seen = [root] if root is not None else [], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        if isinstance(node, yaml.MappingNode):
            keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
            yield from (f"duplicated mapping key {key!r}" for key, count in keys.items() if count > 1)
            waiting.extend(value for _, value in node.value)


def _many(value: Any) -> list[Any]:  # noqa: ANN401  any YAML value
    return value if isinstance(value, list) else [value]


def _licence(data: dict[Any, Any]) -> Iterator[str]:
    if "license" not in data:
        return
    for value in _many(data["license"]):
        if not isinstance(value, str) or value not in _LICENCES:
            yield f'"license" must be one of the Hub\'s licence ids, got {value!r}'
    if data["license"] == "other" and not data.get("license_name"):
        yield '"license_name" is required where "license" is other'


def _languages(data: dict[Any, Any]) -> Iterator[str]:
    for value in _many(data.get("language", [])):
        if not isinstance(value, str) or value not in _language_codes():
            yield f'"language" must be a lower-case ISO 639-1, 639-2 or 639-3 code, got {value!r}'


@cache
def _language_codes() -> frozenset[str]:
    spec = importlib.util.find_spec("datasets")
    folders = spec.submodule_search_locations if spec else None
    path = Path(next(iter(folders or [""]))) / "utils" / "resources" / "languages.json"
    codes = json.loads(path.read_bytes())
    return frozenset(codes) | {"code", "multilingual"}


def _dataset(data: dict[Any, Any]) -> Iterator[str]:
    for key, allowed in _ENUMS.items():
        for value in _many(data.get(key, [])):
            if not isinstance(value, str) or value not in allowed:
                yield f'"{key}" must be one of {", ".join(sorted(allowed))}, got {value!r}'
    for key in _LISTS:
        values = data.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            yield f'"{key}" must be a list of strings'
    for key in _TEXT:
        if key in data and not isinstance(data[key], (str, bool) if key == "viewer" else str):
            yield f'"{key}" must be a string'
    yield from _configs(data.get("configs", []))
    yield from _infos(data.get("dataset_info", []))


def _configs(configs: Any) -> Iterator[str]:  # noqa: ANN401  any YAML value
    if not isinstance(configs, list) or not all(isinstance(config, dict) for config in configs):
        yield '"configs" must be a list of mappings'
        return
    yield from _names("configs", [config.get("config_name") for config in configs])
    if sum(config.get("default") is True for config in configs) > 1:
        yield '"configs" has more than one default'
    for number, config in enumerate(configs):
        files = config.get("data_files")
        for entry in _many(files) if files is not None else []:
            if not (isinstance(entry, str) or _is_split(entry)):
                yield f'"configs[{number}].data_files" must be paths, or pairs of split and path'


def _is_split(entry: Any) -> bool:  # noqa: ANN401  any YAML value
    if not isinstance(entry, dict) or not isinstance(entry.get("split"), str):
        return False
    paths = _many(entry.get("path"))
    return bool(paths) and all(isinstance(path, str) for path in paths)


def _infos(infos: Any) -> Iterator[str]:  # noqa: ANN401  any YAML value
    entries = _many(infos)
    if not all(isinstance(info, dict) for info in entries):
        yield '"dataset_info" must be a mapping or a list of mappings'
    elif isinstance(infos, list):
        yield from _names("dataset_info", [info.get("config_name") for info in entries])


def _names(key: str, names: Iterable[Any]) -> Iterator[str]:
    names = list(names)
    if not all(isinstance(name, str) and name for name in names):
        yield f'"{key}" must name its config_name as a string'
    elif len(set(names)) != len(names):
        yield f'"{key}" has a config_name twice'
