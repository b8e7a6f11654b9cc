"""The way in: pinned upstreams become local files whose hashes are known."""

from builders.sources.fetching import fetch, verify_against
from builders.sources.hub import is_stand_in
from builders.sources.model import Fetched

__all__ = ["Fetched", "fetch", "is_stand_in", "verify_against"]
