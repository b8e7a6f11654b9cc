"""The way in: pinned upstreams become local files whose hashes are known."""

from builders.sources.fetching import fetch, verify_against
from builders.sources.model import Fetched

__all__ = ["Fetched", "fetch", "verify_against"]
