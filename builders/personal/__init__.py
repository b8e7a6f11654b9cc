"""Finding and replacing personal data in German text."""

from builders.personal.engine import Scrubbed, counts, scrub
from builders.personal.kinds import ALL_KINDS, CONTACT, PersonalKind

__all__ = ["ALL_KINDS", "CONTACT", "PersonalKind", "Scrubbed", "counts", "scrub"]
