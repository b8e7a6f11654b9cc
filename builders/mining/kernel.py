"""Which BLAS kernel numpy multiplies with: it decides speed by a factor of 2 to 5, and never the result."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_info

_CPUINFO = Path("/proc/cpuinfo")
_WITHOUT_AVX512 = {"Haswell", "Zen", "Barcelona", "Sandybridge", "Nehalem", "Prescott", "Core2", "Excavator"}


@dataclass(frozen=True, slots=True)
class Kernel:
    """The matrix kernel in use.

    Attributes:
        name: As the library names it: "openblas SkylakeX", or "unknown".
        threads: Threads it may use.
        warning: One line where the CPU could do much better; else empty.
    """

    name: str
    threads: int
    warning: str


def blas_kernel() -> Kernel:
    """Look at the BLAS that is loaded with numpy."""
    import numpy as np  # its BLAS must be loaded before it can be seen

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    own = [pool for pool in pools if "numpy" in Path(pool["filepath"]).parent.name]
    if not (chosen := own or pools):
        return Kernel(f"unknown (numpy {np.__version__})", 1, "")
    pool = chosen[0]
    architecture = pool.get("architecture", "")
    name = f"{pool['internal_api']} {architecture}".strip()
    return Kernel(name, int(pool["num_threads"]), kernel_warning(architecture, _cpu_flags()))


def kernel_warning(architecture: str, cpu_flags: frozenset[str]) -> str:
    """Return one line where an AVX-512 CPU is used by a kernel without AVX-512, else an empty string.

    Args:
        architecture: The kernel's name in OpenBLAS, "Haswell".
        cpu_flags: Lower-case flags of the CPU, "avx512f".
    """
    if architecture not in _WITHOUT_AVX512 or "avx512f" not in cpu_flags:
        return ""
    return f"slow BLAS kernel {architecture} on AVX-512: unset OPENBLAS_CORETYPE, or install a newer numpy"


def _cpu_flags() -> frozenset[str]:
    if platform.system() != "Linux" or not _CPUINFO.exists():
        return frozenset()
    for line in _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return frozenset(value.split())
    return frozenset()
