"""Work in a child process, since the Hub's clients read their settings once, when they are imported.

``python -m builders.release.child`` takes a request on stdin and answers on stdout, both JSON.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import builders.errors
from builders.errors import MtebDeError, Refused, RemoteError

_LIMIT = 7200.0
_TAIL = 2000


def ask(request: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Run a request in a child process with that environment; return its answer, or raise its error.

    The request is ``{"do": "push", "out": …, "release": …, "plan": …}``, with the seal of the plan, or
    ``{"do": "verify", "repo": …, "tag": …, "dist": …}``.
    """
    try:
        run = subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps(request),
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=_LIMIT,
        )
        answer: dict[str, Any] = json.loads(run.stdout)
    except subprocess.TimeoutExpired as error:
        message = f"{request['do']}: not done after {_LIMIT:g} s"
        raise RemoteError(message, hint="Check how fast the Hub answers, then try again.") from error
    except ValueError as error:
        tail = run.stderr.strip()[-_TAIL:]
        message = f"{request['do']} came to nothing (exit code {run.returncode}):\n{tail}"
        raise RemoteError(message, hint="This should not happen; please report it.") from error
    if "error" in answer:
        kind = getattr(builders.errors, answer["error"], MtebDeError)
        raise kind(answer["message"], hint=answer["hint"])
    return answer


def _answer(request: Mapping[str, str]) -> dict[str, Any]:
    """Do what is asked; an error of ours becomes an answer."""
    from builders.hub import client
    from builders.release.plan import plan_path, read_plan
    from builders.release.publish import push
    from builders.release.verify import read_back

    try:
        if request["do"] == "verify":
            dist = Path(request["dist"]) if request["dist"] else None
            return asdict(read_back(request["repo"], request["tag"], dist))
        out, release = Path(request["out"]), request["release"]
        plan = read_plan(out, release)
        if plan.seal != request["plan"]:
            message = f"{plan_path(out, release)} has changed while it was rehearsed"
            raise Refused(message, hint="Rehearse it again.")
        return asdict(push(plan, out / release, client()))
    except MtebDeError as error:
        return {"error": type(error).__name__, "message": error.message, "hint": error.hint}


if __name__ == "__main__":
    stdout = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not reach the answer
    json.dump(_answer(json.load(sys.stdin)), stdout)
