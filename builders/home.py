"""Where caches live on this machine."""

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """Return the folder of all caches: `MTEB_DE_HOME`, else the platform's cache folder. It may not exist."""
    configured = os.environ.get("MTEB_DE_HOME")
    return Path(configured) if configured else Path(platformdirs.user_cache_dir("mteb-de"))
