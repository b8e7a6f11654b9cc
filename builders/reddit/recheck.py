"""Rechecking: what has been deleted since goes out of the ledger, its dated form, and the texts."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from builders.errors import StorageError, UsageError
from builders.files import exclusive
from builders.progress import Progress
from builders.reddit.folder import Hydrated, refuse_release, remove_texts
from builders.reddit.hydrate import HydrateOptions, fill, held_sets, list_takedown, ticking
from builders.reddit.ledger import counted, dated_ledger, private_ledger, rewrite_dated
from builders.reddit.submission import Submission
from builders.spec import Ids


@dataclass(frozen=True, slots=True)
class RecheckResult:
    """What a recheck found.

    Attributes:
        asked: How many submissions were asked for.
        gone: How many of those whose texts were held are no longer there, by status; their texts are purged.
        edited: How many are there with another text, which is held now.
        back: How many were missing, and are there again.
        takedown: Published ids whose submissions are gone.
        record: What the folder of texts holds now; None where it holds none.
    """

    asked: int
    gone: dict[str, int]
    edited: int
    back: int
    takedown: tuple[str, ...]
    record: Hydrated | None


def recheck(spec: Ids, options: HydrateOptions, progress: Progress) -> RecheckResult:
    """Ask again for what was there, and take out what is gone: from the ledgers and the texts.

    What was found gone goes from all of them also where the run breaks off or is interrupted.

    Raises:
        UsageError: Nothing was hydrated yet, the folder is a release's, the ledger is of another Reddit, or
            there are no credentials.
        RemoteError: Reddit refused, failed, or was not reachable; run it again.
        Busy: Another run holds the folder or the ledger.
        StorageError: Something cannot be read or written.
    """
    from builders.reddit import api
    from builders.reddit.lookup import ask_again

    refuse_release(options.out)
    ledger = private_ledger(spec, options.home)
    nothing = UsageError(f"{ledger.path}: no submission there", hint=f"Run mteb-de hydrate {spec.name}.")
    if not ledger.path.exists():
        raise nothing
    held = exclusive(options.out) if options.out.is_dir() else contextlib.nullcontext()
    asking = api.connect(url=options.reddit, say=lambda line: progress.step("reddit", line))
    with asking as reddit, held, ledger.exclusive():
        ledger.keep_apart(stand_in=options.reddit is not None)
        ids = list(ledger.latest())
        if not ids:
            raise nothing
        found, failure = None, None
        try:
            found = ask_again(ids, ledger, reddit, progress=ticking(progress), today=options.today)
        except BaseException as error:
            failure = error  # an interrupt too: what was found gone until then must go from the texts
        entries = ledger.latest()
        progress.step("ledger", counted(entries.values()))
        rewrite_dated(
            dated_ledger(spec, options.home),
            entries,
            archives=spec.archives,
            stand_in=options.reddit is not None,
        )
        record, takedown = _refill(spec, entries, options, progress)
        if failure is not None:
            raise failure
        assert found is not None
        gone = Counter(str(status) for status in found.gone.values())
        return RecheckResult(
            found.asked, dict(sorted(gone.items())), found.edited, found.back, takedown, record
        )


def _refill(
    spec: Ids, entries: Mapping[str, Submission], options: HydrateOptions, progress: Progress
) -> tuple[Hydrated | None, tuple[str, ...]]:
    """Write the text tables anew, where there are any, and list the published ids that are gone.

    Texts of which nobody can say whose they are must not stay.
    """
    try:
        sets = held_sets(spec, options.out)
    except StorageError:
        if remove_texts(options.out, spec.name):
            progress.step("texts", f"removed from {options.out}: their ids cannot be read")
        raise
    if sets is None:
        if remove_texts(options.out, spec.name):
            progress.step("texts", f"removed from {options.out}: there was no table of their ids beside them")
        return None, ()
    record = fill(spec, sets, entries, options, progress)
    return record, list_takedown(options.out, sets, entries, progress)
