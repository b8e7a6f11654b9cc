"""Write the sample that the package bundles: ``python -m scripts.make_sample [FOLDER]``."""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.make_sample.sample import make

BUNDLED = Path(__file__).parents[2] / "builders/demo/sample"

make(Path(sys.argv[1]) if len(sys.argv) > 1 else BUNDLED)
