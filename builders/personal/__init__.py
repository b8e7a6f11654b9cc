"""Finding and replacing personal data in German text."""

from builders.personal.engine import Scrubbed, scrub

__all__ = ["Scrubbed", "scrub"]
