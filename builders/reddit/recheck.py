"""Rechecking: what has been deleted since goes out of the ledger, its dated form, and the texts."""

import contextlib
from collections.abc import Mapping
from functools import partial

from builders.errors import StorageError, UsageError
from builders.files import exclusive
from builders.progress import Progress
from builders.reddit.folder import Hydrated, refuse_release, remove_texts
from builders.reddit.hydrate import HydrateOptions, held_sets, write_texts
from builders.reddit.ledger import counted, private_ledger, rewrite_dated
from builders.reddit.lookup import Rechecked, ask_again
from builders.reddit.submission import Submission
from builders.spec import Ids


def recheck(
    spec: Ids, options: HydrateOptions, progress: Progress
) -> tuple[Rechecked, Hydrated | None, tuple[str, ...]]:
    """Ask again for what was there, and take out what is gone: from the ledgers and the texts.

    What was found gone goes from all of them also where the run breaks off or is interrupted.

    Returns:
        What was found; what the folder of texts holds now, or None; and the published ids that are gone.

    Raises:
        UsageError: Nothing was hydrated yet.
    """
    from builders.reddit import api

    refuse_release(options.out)
    ledger = private_ledger(spec, options.home)
    if not ledger.latest():
        raise UsageError(f"{ledger.path}: no submission there", hint=f"Run mteb-de hydrate {spec.name}.")
    held = exclusive(options.out) if options.out.is_dir() else contextlib.nullcontext()
    asking = api.connect(url=options.reddit, say=partial(progress.step, "reddit"))
    with asking as reddit, held, ledger.exclusive():
        ledger.keep_apart(stand_in=options.stand_in)
        try:
            found = ask_again(ledger, reddit, progress=partial(progress.tick, "reddit"), today=options.today)
        finally:  # after an interrupt too: what was found gone until then must go from the texts
            entries = ledger.latest()
            progress.step("ledger", counted(entries.values()))
            rewrite_dated(spec, options.home, entries.values(), stand_in=options.stand_in)
            record, takedown = _refill(spec, entries, options, progress)
        return found, record, takedown


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
    if sets is not None:
        return write_texts(spec, sets, entries, options, progress)
    if remove_texts(options.out, spec.name):
        progress.step("texts", f"removed from {options.out}: there was no table of their ids beside them")
    return None, ()
