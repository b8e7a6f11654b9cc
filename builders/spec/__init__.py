"""What a config is, as frozen values that hold plain functions.

A config module ends in ``CONFIG = Retrieval(...)``, ``Clustering(...)`` or ``Ids(...)``, and is found by its
file name. Its functions are pure: the build fetches, and hands them frames.
"""

from __future__ import annotations

from builders.spec.clustering import Clustering, Documents, PublishedSets, TextFigures
from builders.spec.common import Files, Waiver
from builders.spec.ids import Ids
from builders.spec.recipe import RECIPES, EncoderSpec, Mining, Recipe
from builders.spec.release import RELEASES, Release
from builders.spec.retrieval import (
    Audit,
    HubSource,
    Part,
    Records,
    Relations,
    Retrieval,
    identity,
    observed,
    plain,
    titled,
)

__all__ = [
    "RECIPES",
    "RELEASES",
    "Audit",
    "Clustering",
    "ConfigSpec",
    "Documents",
    "EncoderSpec",
    "Files",
    "HubSource",
    "Ids",
    "Mining",
    "Part",
    "PublishedSets",
    "Recipe",
    "Records",
    "Relations",
    "Release",
    "Retrieval",
    "TextFigures",
    "Waiver",
    "identity",
    "observed",
    "plain",
    "titled",
]

ConfigSpec = Retrieval | Clustering | Ids
"""What a config module ends in."""
