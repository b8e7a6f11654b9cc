"""Whatever kernel BLAS multiplies with, the bits are the same."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

from tests.mining.test_moments import digest_of_moments
from tests.mining.test_topk import digest_of_a_search
from tests.mining.test_window import digest_of_a_window


def kernel() -> str:
    """Return the architecture that the BLAS beside numpy was told to use."""
    np.ones((2, 2)) @ np.ones((2, 2))  # loads it
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    own = [pool for pool in pools if "numpy" in Path(pool["filepath"]).parent.name]
    return str((own or pools)[0].get("architecture", ""))


def digests() -> list[str]:
    return [digest_of_moments(), digest_of_a_search(), digest_of_a_window()]


def test_blas_kernels_agree() -> None:
    code = "from tests.mining.test_kernels import digests, kernel; print(kernel(), *digests())"
    kernels, here = set(), digests()
    for core in ("Prescott", "Haswell"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, "OPENBLAS_CORETYPE": core},
            cwd=Path(__file__).parents[2],
        )
        used, *there = done.stdout.split()
        kernels.add(used)
        assert there == here
    if platform.machine() == "x86_64":
        assert len(kernels) == 2, f"the kernel could not be chosen: {kernels}"
