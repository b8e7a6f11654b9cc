"""`mteb-de build`."""

from __future__ import annotations

import tempfile
import time
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from builders import registry
from builders.cli import options as opt
from builders.cli.output import Lines, complain, emit, say, tell
from builders.errors import MtebDeError, Refused, UsageError

if TYPE_CHECKING:
    from builders.release.against import Reference
    from builders.spec import ConfigSpec

FOUND = 1
"""The exit code of findings and drift: the other configs are built all the same."""


@click.command("build")
@opt.CONFIGS
@opt.OUT
@opt.value(
    "--encoder", click.Choice(["e5", "offline"]), "The pinned E5, or a small one for rehearsals.", "e5"
)
@opt.OFFLINE
@opt.value("--limit", opt.AT_LEAST_1, "Build from this many queries, or documents, only.")
@opt.WORKERS
@opt.flag("--sample", "Build from the bundled sample instead of the upstreams.")
@opt.flag("--check", "Rebuild, and compare with the committed lock.")
@click.option(
    "--against", metavar="DIR|OWNER/NAME@TAG", help="With --check: compare with these tables, scores to 1e-3."
)
@opt.flag("--update-lock", "Make this build the committed lock, with its splits.")
@opt.committed_folder("locks and splits")
@opt.value("--splits", opt.FILE_THERE, "Earlier splits of the config, where none are committed.")
@opt.AS_JSON
@opt.QUIET
def command(
    configs: tuple[str, ...],
    out: Path,
    encoder: Literal["e5", "offline"],
    offline: bool,
    limit: int | None,
    workers: int | None,
    sample: bool,
    check: bool,
    against: str | None,
    update_lock: bool,
    locks: Path,
    splits: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Rebuild configs (default: all) from their pinned upstreams: fetch to lock.

    \b
    Examples:
      mteb-de build
      mteb-de build jobs --sample --encoder offline
      mteb-de build jobs --encoder offline --limit 2000
      mteb-de build jobs --splits earlier/work/jobs/splits.tsv
      mteb-de build --check
      mteb-de build jobs --check --out again --against dist
      MTEB_DE_SOURCES=folder mteb-de build germandpr --offline

    --check calls other rows, sources and parameters a difference, and tells the rest in notes. With --against
    it needs no committed lock: rows must be those of a folder or of a published release.

    Exit codes: 0 built; 1 a check found an error, a source changed, or --check found a difference (the
    other configs are built all the same); 2 could not run.
    """
    from builders.build.order import Options, build
    from builders.demo.bundled import lay_out
    from builders.files import exclusive
    from builders.lock import committed
    from builders.release.against import hold_against

    places = opt.sources()
    if check and update_lock:
        raise UsageError("--check and --update-lock contradict each other", hint="Pass one of them.")
    if against is not None and not check:
        raise UsageError("--against says what --check compares with", hint="Pass --check too.")
    if update_lock:
        _refuse_stand_ins(encoder, sample, places, limit)
    specs = [registry.load(name) for name in dict.fromkeys(configs or registry.names())]
    if splits is not None:
        _refuse_splits_of_several(specs)
    locked = {spec.name: committed.committed_lock(locks, spec.name) for spec in specs}
    if check and against is None:
        committed.require_locks(locked, locks)
    if sample:
        places = (str(out / "work" / "sample"),)
        with exclusive(out):
            lay_out(out / "work" / "sample")
        specs = _in_sample(specs, out / "work" / "sample", named=bool(configs))
    options = Options(
        out=out,
        encoder=encoder,
        offline=offline,
        sources=places,
        limit=limit,
        workers=workers,
        splits=splits,
        committed=locks,
        against_lock=not update_lock,
    )
    lines = Lines(quiet=quiet or as_json)
    documents: dict[str, Any] = {}
    worst = 0
    reference = None if against is None else _reference(against, specs, out)
    for spec in specs:
        began = time.monotonic()
        try:
            with lines.logged(out / "work" / spec.name / "build.log"):
                lines.title(spec.name)
                lock = build(spec, options, lines)
                if check and (held := locked[spec.name]) is not None:
                    notes = committed.require_equal(lock, held)
                    lines.step("compare", "rows equal to those of the committed lock", *notes)
                if reference is not None:
                    notes = hold_against(lock, out, reference)
                    lines.step("compare", f"rows equal to those of {against}", *notes)
                if update_lock:
                    lines.step("commit", *map(str, committed.commit(out, lock, locks)))
        except MtebDeError as error:
            if error.exit_code != FOUND or len(specs) == 1:
                raise
            complain(error.message, error.hint)
            worst = error.exit_code
            continue
        documents[spec.name] = lock.model_dump(mode="json")
        if not as_json:
            rows, seconds = sum(file.rows for file in lock.files), time.monotonic() - began
            say(f"{spec.name}: {rows:,} rows in {out / spec.release / spec.name} ({seconds:.0f} s)")
    if as_json:
        emit({"locks": documents})
    if worst:
        raise click.exceptions.Exit(worst)


def _in_sample(specs: list[ConfigSpec], sample: Path, *, named: bool) -> list[ConfigSpec]:
    """Return the configs that the sample serves; others are left out with a note, or refused by name."""
    from builders.demo.bundled import lacking

    lacks = {spec.name: lacking(spec, sample) for spec in specs}
    for name, absent in filter(itemgetter(1), lacks.items()):
        message = f"{name}: the bundled sample holds nothing of {', '.join(absent)}"
        if named:
            raise UsageError(message, hint="Build from its upstreams; scripts/make_sample makes the sample.")
        tell(f"{message}; left out")
    return [spec for spec in specs if not lacks[spec.name]]


def _reference(against: str, specs: list[ConfigSpec], out: Path) -> Reference:
    """Open what builds are held against; its downloads stay until the command ends."""
    from builders.release.against import open_reference

    folder = tempfile.TemporaryDirectory(prefix="mteb-de-against-")
    click.get_current_context().call_on_close(folder.cleanup)
    return open_reference(against, {spec.release for spec in specs}, out, Path(folder.name))


def _refuse_stand_ins(encoder: str, sample: bool, sources: tuple[str, ...], limit: int | None) -> None:
    from builders.hub import is_stand_in

    reasons = {
        "--encoder offline": encoder == "offline",
        "--sample": sample,
        "--limit": limit is not None,
        "MTEB_DE_SOURCES": bool(sources),
        "an HF_ENDPOINT that is not the Hub": is_stand_in(),
    }
    given = [reason for reason, applies in reasons.items() if applies]
    if given:
        raise Refused(
            f"--update-lock does not go with {', '.join(given)}: a lock is made from the real upstreams",
            hint="Leave that out; a build without --update-lock can still be rehearsed.",
        )


def _refuse_splits_of_several(specs: list[ConfigSpec]) -> None:
    """Refuse earlier splits where they are not of one config that has splits."""
    from builders.spec import Retrieval

    if len(specs) != 1 or not isinstance(specs[0], Retrieval):
        names = ", ".join(spec.name for spec in specs)
        hint = "Name one config of queries, as in: mteb-de build jobs --splits FILE"
        raise UsageError(f"--splits gives the splits of one retrieval config, not of {names}", hint=hint)
