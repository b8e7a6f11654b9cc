"""Apply the rules to a build and to a built tree."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from builders import registry
from builders.built import read_all
from builders.checks import clustering, funnel, ids, negatives, reddit_ids, release, schema, splits, text
from builders.checks.finding import Finding, apply_waivers, ordered
from builders.checks.subject import AnySubject, Rule, subject_of
from builders.lock.committed import FOLDER
from builders.prepare.splits import committed_splits
from builders.spec import Clustering, ConfigSpec, Ids, Retrieval

_SHAPE: tuple[tuple[Rule, ...], ...] = ((schema.structure,), (schema.nulls, clustering.shape))
_ANY: tuple[Rule, ...] = (*schema.RULES, funnel.counts)
_RULES: dict[type[ConfigSpec], tuple[tuple[Rule, ...], ...]] = {
    Retrieval: (
        (schema.structure,),
        (*schema.RULES, *text.RULES, *ids.RULES, *funnel.RULES, negatives.check, splits.check),
    ),
    Clustering: (*_SHAPE, (*_ANY, *clustering.RULES)),
    Ids: (*_SHAPE, (*_ANY, *reddit_ids.RULES)),
}
"""The rules of each kind of config, in stages: what a stage finds, the later ones could only repeat."""
_OF_MINING: tuple[tuple[Rule, ...], ...] = ((schema.structure,), (*schema.RULES, negatives.check))
"""The rules that look at hard negatives: all that can find something new when a checked config is mined."""


def run(subject: AnySubject, *, unmined: Sequence[Finding] | None = None) -> list[Finding]:
    """Apply every rule to a built config, and the config's waivers to what they find.

    No rule runs twice where `unmined` has what was found before the config was mined, without waivers.
    Findings come errors first, then by code; each code at most once.
    """
    found: list[Finding] = []
    for stage in _RULES[type(subject.spec)] if unmined is None else _OF_MINING:
        found = [replace(each, config=subject.spec.name) for rule in stage for each in rule(subject)]
        if found:
            break
    known = {finding.code for finding in found}
    findings = [*(finding for finding in unmined or () if finding.code not in known), *found]
    # Whether a published query moved is known to the plan of a release, which weighs a waiver of that.
    later = {splits.MOVED.name} - {finding.code for finding in findings}
    return apply_waivers(findings, [one for one in subject.spec.waivers if one.code not in later])


def check_tree(
    out: Path, *, load: Callable[[str], ConfigSpec] = registry.load, configs: Path = FOLDER
) -> list[Finding]:
    """Apply every rule to every config and release that was built under `out`.

    `load` returns a config by its name; `configs` holds ``NAME.splits.tsv``, the committed assignments.
    """
    findings: list[Finding] = []
    built = read_all(out, load)
    for one in built:
        dealt = isinstance(one.spec, Retrieval)
        committed = committed_splits(configs, one.spec.name) if dealt else None
        subject = subject_of(one, committed=committed)
        findings += run(subject)
        if dealt:
            new = splits.uncommitted(subject.queries, committed)
            findings += [replace(each, config=one.spec.name) for each in new]
    for name in sorted({one.folder.name for one in built}):
        findings += release.check_release(out, name)
    return ordered(findings)
