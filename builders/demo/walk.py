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

RELEASE = "mteb-de"
TARGET = Target(repo="demo/mteb-de", version="1.0.0", date=datetime.date(2026, 1, 1))


@dataclass(frozen=True, slots=True)
class Walked:
    """What the demo came to."""

    locks: tuple[Lock, ...]
    receipt: Receipt


def walk(out: Path, progress: Progress) -> Walked:
    """Build every config from the sample under `out`, plan the release, and rehearse it.

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
    progress.title(RELEASE)
    plan = _plan_for_an_empty_hub(out)
    progress.step("plan", f"{len(plan.files)} files for {plan.repo}@{plan.tag}, in one commit")
    receipt = rehearse(out, RELEASE)
    rows = sum(sum(splits.values()) for splits in receipt.rows.values())
    progress.step(
        "rehearse",
        f"pushed, tagged and read back on loopback: {len(receipt.rows)} configs, {rows:,} rows, all equal",
    )
    return Walked(tuple(locks), receipt)


def _plan_for_an_empty_hub(out: Path) -> Plan:
    from huggingface_hub import HfApi

    from builders.rehearsal import WRITE_TOKEN, Store, serve

    with serve(Store(orgs=[TARGET.owner])) as hub:
        return make_plan(out, RELEASE, TARGET, api=HfApi(endpoint=hub.endpoint, token=WRITE_TOKEN))
