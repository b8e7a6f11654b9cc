"""Hard negatives: exact top-k, the recipe, the report."""

from builders.mining.kernel import Kernel, blas_kernel
from builders.mining.mine import Mined, mine
from builders.mining.report import other_line, side_by_side, summary_lines

__all__ = ["Kernel", "Mined", "blas_kernel", "mine", "other_line", "side_by_side", "summary_lines"]
