"""The prompts that mteb puts before the texts of a model."""

from collections.abc import Mapping
from typing import Any, NamedTuple

_E5 = {"query": "query: ", "document": "passage: "}
_E5_MODELS = tuple(
    f"intfloat/{name}{size}"
    for name in ("e5-", "multilingual-e5-")
    for size in ("small", "base", "large", "small-v2", "base-v2", "large-v2")
)


class _Prompts(NamedTuple):
    query: str
    passage: str
    clustering: str


def prompts_of(model: str, settings: Mapping[str, Any]) -> _Prompts:
    """Return the prompts that mteb 2.26 gives a model with these `config_sentence_transformers.json`.

    A name of its `prompts` is looked for as mteb does: task type and role ("Retrieval-query"), task type,
    role ("query", "document"; a prompt named "passage" is passed over there, and so here). Clustering has no
    role; where no prompt is named "Clustering", the library's `default_prompt_name` counts. E5's models
    state no prompts, and mteb lists them with their prefixes: so clustering has none.
    """
    stated: dict[str, str] = {name: text or "" for name, text in dict(settings.get("prompts") or {}).items()}
    prompts = _E5 if model in _E5_MODELS else stated

    def first(*names: str) -> str:
        return next((prompts[name] for name in names if name in prompts), "")

    default = stated.get(settings.get("default_prompt_name") or "", "")
    return _Prompts(
        query=first("Retrieval-query", "Retrieval", "query"),
        passage=first("Retrieval-document", "Retrieval", "document"),
        clustering=prompts.get("Clustering", default),
    )
