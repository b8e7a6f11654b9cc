"""A skip that should not be fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.marks import long_after

ROOT = Path(__file__).parents[1]
SKIPPED = "import pytest\n\n@pytest.mark.{mark}\ndef test_x(request):\n    pytest.skip('no data')\n"


@pytest.mark.parametrize(
    ("mark", "at_hand", "ci", "code"),
    long_after(
        2,
        [
            ("upstream", True, "", 1),
            ("upstream", False, "", 0),
            ("upstream", False, "true", 1),
            ("data", True, "", 1),
            ("data", False, "", 0),
            ('filterwarnings("error")', True, "", 0),
            ('filterwarnings("error")', True, "true", 1),
        ],
    ),
)
def test_skips_fail_where_the_test_could_have_run(
    tmp_path: Path, mark: str, at_hand: bool, ci: str, code: int
) -> None:
    (tmp_path / "test_it.py").write_text(SKIPPED.format(mark=mark), encoding="utf-8")
    place = tmp_path if at_hand else tmp_path / "nowhere"
    words = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "tests.conftest", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(tmp_path / "test_it.py")],
        env=os.environ | {"MTEB_DE_UPSTREAM": str(place), "MTEB_DE_DATA": str(place), "CI": ci},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert ("should have run" in done.stdout) == bool(code)
