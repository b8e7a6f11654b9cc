"""The way in: pinned upstreams become local files whose hashes are known."""

from builders.sources.fetch import Fetched, fetch, verify_against

__all__ = ["Fetched", "fetch", "verify_against"]
