"""Finding and replacing personal data in German text."""

from builders.personal.engine import Scrubbed, counts, scrub

__all__ = ["Scrubbed", "counts", "scrub"]
