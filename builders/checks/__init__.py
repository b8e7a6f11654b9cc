"""Rules by kind of table, with codes: what must hold of everything that is published."""

from builders.checks.clustering import run_clustering
from builders.checks.release import check_release
from builders.checks.rules import CODES, run
from builders.checks.submissions import run_ids
from builders.checks.tree import check_tree, read_built, read_subject
from builders.checks.waivers import apply_waivers

__all__ = [
    "CODES",
    "apply_waivers",
    "check_release",
    "check_tree",
    "read_built",
    "read_subject",
    "run",
    "run_clustering",
    "run_ids",
]
