"""The demo: the bundled sample from upstream files to a verified release, offline."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from builders import registry
from builders.build import Options, Progress, build
from builders.demo.sample_upstream import lay_out
from builders.describe.target import Target
from builders.lock.model import Lock
from builders.release.model import Plan, Receipt
from builders.release.plan import make_plan
from builders.release.rehearse import rehearse

OWNER, VERSION, DATE = "demo", "1.0.0", datetime.date(2026, 1, 1)


@dataclass(frozen=True, slots=True)
class Walked:
    """What the demo came to: a lock per config, a receipt per release."""

    locks: tuple[Lock, ...]
    receipts: tuple[Receipt, ...]


def walk(out: Path, progress: Progress) -> Walked:
    """Build every config from the sample under `out`, plan the releases, and rehearse them.

    Raises:
        MtebDeError: Whatever a build or a rehearsal raises.
    """
    sample = out / "work" / "sample"
    lay_out(sample)
    options = Options(out=out, encoder="offline", offline=True, sources=(str(sample),))
    locks = []
    for name in registry.names():
        progress.title(name)
        locks.append(build(registry.load(name), options, progress).lock)
    releases = sorted({lock.release for lock in locks})
    return Walked(tuple(locks), tuple(_rehearse(out, release, progress) for release in releases))


def _rehearse(out: Path, release: str, progress: Progress) -> Receipt:
    progress.title(release)
    plan = _plan_for_an_empty_hub(out, release)
    progress.step("plan", f"{len(plan.files)} files for {plan.repo}@{plan.tag}, in one commit")
    receipt = rehearse(out, release)
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
