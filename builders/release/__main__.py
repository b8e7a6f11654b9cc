"""The child process of `builders.release.child`: not for people."""

from __future__ import annotations

import json
import sys

from builders.release.child import answer

if __name__ == "__main__":
    stdout = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not reach the answer
    json.dump(answer(json.load(sys.stdin)), stdout)
