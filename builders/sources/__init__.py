"""The way in: pinned upstreams become local files whose hashes are known.

Nothing here imports `builders.spec` at run time: a spec names its sources.
"""

from builders.sources.fetching import fetch, verify_against
from builders.sources.hub import is_stand_in
from builders.sources.model import Fetched, HttpSource

__all__ = ["Fetched", "HttpSource", "fetch", "is_stand_in", "verify_against"]
