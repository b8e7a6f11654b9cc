"""Hard negatives: the exact scan, the recipe, the report."""

from builders.mining.mine import Mined, mine, mine_each
from builders.mining.yields import summary_lines

__all__ = ["Mined", "mine", "mine_each", "summary_lines"]
