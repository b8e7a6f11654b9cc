"""Rules by kind of table, with codes: what must hold of everything that is published."""

from builders.checks.finding import apply_waivers
from builders.checks.release import check_release
from builders.checks.run import check_tree, run
from builders.checks.subject import Subject

__all__ = ["Subject", "apply_waivers", "check_release", "check_tree", "run"]
