"""Config names, found by file name; only the asked module is imported."""

import difflib
import importlib
from importlib import resources

from builders.errors import UsageError
from builders.spec import Clustering, ConfigSpec, Ids, Retrieval


def names() -> tuple[str, ...]:
    """Return the names of all configs, sorted."""
    folder = resources.files("builders.configs")
    stems = (entry.name.removesuffix(".py") for entry in folder.iterdir() if entry.name.endswith(".py"))
    return tuple(sorted(stem for stem in stems if not stem.startswith("_")))


def load(name: str) -> ConfigSpec:
    """Return the config of that name.

    Raises:
        UsageError: There is no such config; the nearest name is suggested.
    """
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Configs: {', '.join(known)}."
        raise UsageError(f"unknown config {name!r}", hint=hint)
    config = importlib.import_module(f"builders.configs.{name}").CONFIG
    assert isinstance(config, Retrieval | Clustering | Ids)
    return config


def load_retrieval(name: str) -> Retrieval:
    """Return the retrieval config of that name; another kind is a `UsageError`."""
    config = load(name)
    if not isinstance(config, Retrieval):
        raise UsageError(f"{name} is no retrieval dataset", hint="It has neither queries nor hard negatives.")
    return config


def load_ids(name: str) -> Ids:
    """Return the config of that name whose texts everyone fetches; another kind is a `UsageError`."""
    config = load(name)
    if not isinstance(config, Ids):
        raise UsageError(f"{name} publishes its texts: there is nothing to hydrate", hint="Try subreddit.")
    return config
