from __future__ import annotations

import pytest

from builders.mining import blas_kernel
from builders.mining.kernel import kernel_warning


@pytest.mark.parametrize(
    ("architecture", "flags", "warns"),
    [
        ("Haswell", {"avx2", "avx512f"}, True),
        ("Barcelona", {"avx512f"}, True),
        ("Haswell", {"avx2"}, False),
        ("SkylakeX", {"avx512f"}, False),
        ("Cooperlake", {"avx512f"}, False),
        ("", {"avx512f"}, False),
    ],
)
def test_a_kernel_below_the_cpu_is_warned_of(architecture: str, flags: set[str], warns: bool) -> None:
    warning = kernel_warning(architecture, frozenset(flags))
    assert bool(warning) == warns
    assert architecture in warning or not warns
    assert "\n" not in warning


def test_numpy_s_kernel_is_named() -> None:
    kernel = blas_kernel()
    assert kernel.name
    assert kernel.threads >= 1
