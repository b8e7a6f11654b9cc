"""Work in a child process, since the Hub's clients read their settings once, when they are imported.

``python -m builders.release`` takes a request on stdin and answers on stdout, both JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import builders.errors
from builders.errors import MtebDeError, RemoteError

_LIMIT = 7200.0
"""Seconds until a child process that pushes or reads a release must be done."""
_TAIL = 2000


def ask(request: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Run a request in a child process and return its answer.

    Args:
        request: ``{"do": "push", "out": …, "release": …, "plan": …}``, with the sha256 of the plan, or
            ``{"do": "verify", "repo": …, "tag": …, "dist": …}``.
        environment: Of the child.

    Raises:
        MtebDeError: The one that the child raised.
        RemoteError: The child came to nothing, or was not done in time.
    """
    try:
        run = subprocess.run(
            [sys.executable, "-m", "builders.release"],
            input=json.dumps(dict(request)),
            env=dict(environment),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=_LIMIT,
        )
        answer = json.loads(run.stdout)
    except subprocess.TimeoutExpired as error:
        message = f"{request['do']}: not done after {_LIMIT:g} s"
        raise RemoteError(message, hint="Check how fast the Hub answers, then try again.") from error
    except ValueError as error:
        tail = run.stderr.strip()[-_TAIL:]
        message = f"{request['do']} came to nothing (exit code {run.returncode}):\n{tail}"
        raise RemoteError(message, hint="This should not happen; please report it.") from error
    assert isinstance(answer, dict)
    if "error" in answer:
        kind = getattr(builders.errors, answer["error"], MtebDeError)
        raise kind(answer["message"], hint=answer["hint"])
    return answer
