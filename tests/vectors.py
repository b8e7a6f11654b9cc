"""Vectors that the processes of one run of the tests share: no text is encoded twice."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = "MTEB_DE_TEST_VECTORS"
"""The variable that names their folder."""


def sharing_vectors(home: Path) -> Path:
    """Return a folder of caches, made if missing, that keeps its vectors where the whole run does."""
    home.mkdir(parents=True, exist_ok=True)
    vectors = home / "vectors"
    if not vectors.is_symlink():
        vectors.symlink_to(os.environ[FOLDER], target_is_directory=True)
    return home
