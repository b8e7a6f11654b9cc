"""The demo: the bundled sample from upstream files to a verified release, offline."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from pathlib import Path

from builders import registry
from builders.build.order import Options, build
from builders.demo.bundled import CHECKED, DUMP, lacking, lay_out
from builders.describe.target import Target
from builders.lock.lock import Lock
from builders.progress import Progress
from builders.reddit.folder import Hydrated
from builders.reddit.hydrate import HydrateOptions, hydrate
from builders.release.plan import Plan, Receipt, make_plan
from builders.release.rehearse import rehearse

OWNER, VERSION, DATE = "demo", "1.0.0", datetime.date(2026, 1, 1)


@dataclass(frozen=True, slots=True)
class Walked:
    """What the demo came to: a lock per config, a receipt per release, what is left of the sets of ids."""

    locks: tuple[Lock, ...]
    receipts: tuple[Receipt, ...]
    hydrated: Hydrated


def walk(out: Path, progress: Progress) -> Walked:
    """Build the sample under `out`, plan the releases, rehearse them, and hydrate the ids.

    A config that has no sample is left out with a note.
    The ledger that the build of ids reads is made as a maintainer makes it, from a dump.

    Raises:
        MtebDeError: Whatever a build or a rehearsal raises.
    """
    sample = out / "work" / "sample"
    lay_out(sample)
    home, ids = out / "work" / "home", registry.load_ids("subreddit")
    hydration = HydrateOptions(
        out=out / "hydrated",
        today=CHECKED,
        dumps=(sample / DUMP,),
        offline=True,
        sources=(str(sample),),
        home=home,
    )
    progress.title(f"hydrate {ids.name}")
    hydrate(ids, hydration, progress)
    ledger = home / ids.ledger.folder
    options = Options(out=out, encoder="offline", offline=True, sources=(str(ledger), str(sample)))
    locks = []
    for name in registry.names():
        progress.title(name)
        spec = registry.load(name)
        if lacks := lacking(spec, sample):
            progress.step("left out", f"the bundled sample holds nothing of {', '.join(lacks)}")
            continue
        locks.append(build(spec, options, progress))
    releases = sorted({lock.release for lock in locks})
    receipts = tuple(_rehearse(out, release, progress) for release in releases)
    progress.title(f"hydrate {ids.name} from its release")
    published = replace(hydration, origin=str(out / ids.release))
    return Walked(tuple(locks), receipts, hydrate(ids, published, progress))


def _rehearse(out: Path, release: str, progress: Progress) -> Receipt:
    progress.title(release)
    plan = _plan_for_an_empty_hub(out, release)
    progress.step("plan", f"{len(plan.files)} files for {plan.repo}@{plan.tag}, in one commit")
    _, receipt = rehearse(out, release)
    rows = sum(sum(splits.values()) for splits in receipt.rows.values())
    progress.step(
        "rehearse",
        f"pushed, tagged and read back on loopback: {len(receipt.rows)} configs, {rows:,} rows, all equal",
    )
    return receipt


def _plan_for_an_empty_hub(out: Path, release: str) -> Plan:
    from huggingface_hub import HfApi

    from builders.rehearsal import WRITE_TOKEN, Store, serve

    target = Target(f"{OWNER}/{release}", VERSION, DATE)
    with serve(Store(orgs=[OWNER])) as hub:
        return make_plan(out, release, target, api=HfApi(endpoint=hub.endpoint, token=WRITE_TOKEN))
