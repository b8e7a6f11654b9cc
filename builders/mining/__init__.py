"""Hard negatives: exact top-k, the recipe, the report."""

from builders.mining.kernel import Kernel, blas_kernel
from builders.mining.mine import Mined, mine
from builders.mining.report import summary_lines

__all__ = ["Kernel", "Mined", "blas_kernel", "mine", "summary_lines"]
