"""What a report holds, so that a narrower evaluation does not overwrite a fuller one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from builders.errors import StorageError, UsageError
from builders.evaluation.candidates import Candidate
from builders.evaluation.pipelines import MTEB
from builders.evaluation.results import Result, builder_of
from builders.spec import ConfigSpec, Retrieval
from builders.text.merge import digest

_RECORD = re.compile(r"<!-- holds((?: [a-z0-9_-]{1,80}:[0-9a-f]{16}){0,100000}) -->")


def coverage(results: Iterable[Result]) -> set[str]:
    """Return a key for every result: its config, and a hash of its encoder with its split or pipeline."""
    return {
        _key(builder_of(one), one.encoder.name, one.split if one.kind == "retrieval" else one.pipeline)
        for one in results
    }


def planned(
    specs: Sequence[ConfigSpec], candidates: Sequence[Candidate], *, split: str, pipelines: Sequence[str]
) -> set[str]:
    """Return the keys of all results that an evaluation may have, see `coverage`."""
    return {
        _key(spec.name, one.name, way)
        for spec, one in itertools.product(specs, candidates)
        # Random vectors are clustered by mteb's pipeline, whatever is asked for.
        for way in ((split,) if isinstance(spec, Retrieval) else (*pipelines, MTEB))
    }


def record(results: Iterable[Result]) -> str:
    """Return the comment by which a report in Markdown says what it holds."""
    return f"<!-- holds{''.join(f' {key}' for key in sorted(coverage(results)))} -->\n"


def require_wider(report: Sequence[Path], keys: set[str]) -> None:
    """Make sure that nothing is lost where a report, which need not exist, is written over.

    Args:
        report: The files of the report, Markdown first.
        keys: Keys of the results that the new report has or may have.

    Raises:
        UsageError: The report holds other results too, or no record of its results.
        StorageError: The report cannot be read.
    """
    if not any(path.exists() for path in report):
        return
    hint = "Name another folder with --report, evaluate all of it again, or pass --overwrite."
    try:
        text = report[0].read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        text = ""
    except OSError as error:
        raise StorageError(f"{report[0]}: cannot be read ({error.strerror or error})") from error
    held = _RECORD.search(text)
    if held is None:
        raise UsageError(f"{report[0]}: a file is there that does not say what it holds", hint=hint)
    lost = set(held[1].split()) - keys
    if lost:
        configs = ", ".join(sorted({key.partition(":")[0] for key in lost}))
        raise UsageError(
            f"{report[0]} holds {len(lost):,} results that this evaluation lacks, of {configs}", hint=hint
        )


def _key(config: str, encoder: str, way: str) -> str:
    return f"{config}:{digest(way + ' ' + encoder)}"
