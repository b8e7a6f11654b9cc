"""The child process of `builders.release.child`: not for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from builders.errors import MtebDeError, Refused
from builders.hub import client
from builders.release.plan import plan_path, read_plan_and_digest
from builders.release.publish import push
from builders.release.verify import read_back


def _answer(request: Mapping[str, str]) -> dict[str, Any]:
    """Do what is asked; an error of ours becomes an answer."""
    try:
        if request["do"] == "push":
            return _push(Path(request["out"]), request["release"], request["plan"])
        dist = Path(request["dist"]) if request["dist"] else None
        return asdict(read_back(request["repo"], request["tag"], dist))
    except MtebDeError as error:
        return {"error": type(error).__name__, "message": error.message, "hint": error.hint}


def _push(out: Path, release: str, digest: str) -> dict[str, Any]:
    plan, found = read_plan_and_digest(out, release)
    if found != digest:
        message = f"{plan_path(out, release)} has changed while it was rehearsed"
        raise Refused(message, hint="Rehearse it again.")
    return asdict(push(plan, out / release, client()))


if __name__ == "__main__":
    stdout = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not reach the answer
    json.dump(_answer(json.load(sys.stdin)), stdout)
