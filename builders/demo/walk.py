"""The demo: the bundled sample from upstream files to a verified release, offline."""

from dataclasses import replace
from pathlib import Path

from builders import registry
from builders.build.order import Options, build
from builders.demo.bundled import CHECKED, DUMP, lacking, lay_out
from builders.describe.target import Target
from builders.lock.lock import Lock
from builders.progress import Progress
from builders.reddit.folder import Hydrated
from builders.reddit.hydrate import HydrateOptions, hydrate
from builders.release.plan import Receipt, make_plan
from builders.release.rehearse import rehearse


def walk(out: Path, progress: Progress) -> tuple[list[Lock], list[Receipt], Hydrated]:
    """Build the sample under `out`, plan the releases, rehearse them, and hydrate the ids.

    A config that has no sample is left out with a note. The ledger that the build of ids reads is made as a
    maintainer makes it, from a dump.

    Returns:
        A lock per config, a receipt per release, and what is left of the sets of ids.
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
    receipts = [_rehearse(out, release, progress) for release in releases]
    progress.title(f"hydrate {ids.name} from its release")
    published = replace(hydration, origin=str(out / ids.release))
    return locks, receipts, hydrate(ids, published, progress)


def _rehearse(out: Path, release: str, progress: Progress) -> Receipt:
    from huggingface_hub import HfApi

    from builders.rehearsal import WRITE_TOKEN, Store, serve

    progress.title(release)
    target = Target(f"demo/{release}", "1.0.0", CHECKED)
    with serve(Store(orgs=["demo"])) as hub:  # an empty one
        plan = make_plan(out, release, target, api=HfApi(endpoint=hub.endpoint, token=WRITE_TOKEN))
    progress.step("plan", f"{len(plan.files)} files for {plan.repo}@{plan.tag}, in one commit")
    _, receipt = rehearse(out, release)
    rows = sum(sum(splits.values()) for splits in receipt.rows.values())
    equal = f"{len(receipt.rows)} configs, {rows:,} rows, all equal"
    progress.step("rehearse", f"pushed, tagged and read back on loopback: {equal}")
    return receipt
