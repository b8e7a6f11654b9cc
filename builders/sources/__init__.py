"""The way in: pinned upstreams become local files whose hashes are known.

Nothing here imports `builders.spec` at run time: a spec names its sources.
"""

from builders.sources.fetching import fetch, verify_against
from builders.sources.hub import is_stand_in
from builders.sources.model import Fetched, HttpSource, RecordedFile

__all__ = ["Fetched", "HttpSource", "RecordedFile", "fetch", "is_stand_in", "verify_against"]
