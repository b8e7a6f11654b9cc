"""The BLAS kernel that numpy multiplies with, for tests that compare kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info


def kernel() -> str:
    """Return the architecture that the BLAS beside numpy was told to use."""
    np.ones((2, 2)) @ np.ones((2, 2))  # loads it
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    own = [pool for pool in pools if "numpy" in Path(pool["filepath"]).parent.name]
    return str((own or pools)[0].get("architecture", ""))
