from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

import pytest
from markdown_it import MarkdownIt

from builders.audit.history import Item, NoVerdict, Sample, Verdict
from builders.audit.page import draw
from builders.audit.report import REPORT, sentence, write_report
from builders.audit.sample import read_pairs
from builders.audit.verdicts import import_verdicts
from builders.errors import UsageError
from builders.lock.beside import CitedAudit, citations_path, json_line, read_citations
from builders.tables import Kind
from tests.audit.kit import build, jobs, judgement, verdict_file

R, N = Verdict.ALSO_RELEVANT, Verdict.NOT_RELEVANT


class Reported(NamedTuple):
    path: Path
    configs: dict[str, CitedAudit]
    remarks: list[str]


class Place:
    """A built tree with its notes and locks."""

    def __init__(self, root: Path, *, real: bool = False) -> None:
        self.dist, self.notes, self.locks = root / "dist", root / "notes", root / "locks"
        self.root = root
        build(self.dist, real=real)

    def sample(
        self,
        negatives: int,
        positives: int,
        *,
        seed: int = 42,
        suspects: bool = False,
        table: Kind = Kind.HARD_NEGATIVES,
    ) -> Sample:
        return draw(
            jobs(),
            negatives,
            positives,
            dist=self.dist,
            notes=self.notes,
            seed=seed,
            suspects=suspects,
            table=table,
        ).sample

    def publish_v0(self) -> None:
        """Give the build a table of the published procedure: the same rows."""
        tables = self.dist / "mteb-de/jobs"
        shutil.copytree(tables / "hard_negatives", tables / "hard_negatives_v0")

    def judge(self, sample: Sample, relevant: set[str], auditor: str = "Anna", minute: int = 0) -> None:
        """Judge all items: those whose passage is in `relevant` are, the others are not."""
        lines = [
            judgement(sample, item, self.verdict(item, relevant), auditor, minute=minute)
            for item in sample.items
        ]
        path = verdict_file(self.root / "verdicts.jsonl", lines)
        import_verdicts([path], dist=self.dist, notes=self.notes, locks=self.locks)

    @staticmethod
    def verdict(item: Item, relevant: set[str]) -> Verdict:
        return R if item.passage_id in relevant or item.kind == "positive" else N

    def report(self) -> Reported:
        cited, remarks = write_report([jobs()], notes=self.notes, locks=self.locks)
        return Reported(self.notes / REPORT, cited, remarks)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_report_says_rates_and_the_card_can_cite_them(place: Place) -> None:
    sample = place.sample(60, 15)
    wrong = {item.passage_id for item in sample.of_kind("negative")[:6]}
    place.judge(sample, wrong)
    place.judge(sample, wrong, "Ben", minute=3)
    reported = place.report()
    text = reported.path.read_text(encoding="utf-8")
    audit = read_citations(citations_path(place.locks, "jobs")).audit
    assert audit is not None
    assert audit == reported.configs["jobs"]
    assert (audit.auditors, audit.date, audit.recipe, audit.kappa) == (2, "2026-01-05", "v0", 1.0)
    assert audit.build == read_pairs(place.dist, jobs()).build
    assert audit.false_negatives.pairs == 60
    value = audit.false_negatives.value
    assert value is not None
    assert 0 < audit.false_negatives.low < value < audit.false_negatives.high < 0.5
    assert audit.precision.value == 1.0
    assert f"{100 * value:.1f} %" in text
    for heading in ("by deviations above the query's mean", "by rank", "by split", "Cohen's kappa", "AC1"):
        assert heading in text
    assert "2 auditors, 2026-01-05" in sentence(audit)
    MarkdownIt("commonmark").enable("table").render(text)


def test_the_plot_is_svg_with_a_dot_for_every_verdict(place: Place) -> None:
    sample = place.sample(30, 5)
    place.judge(sample, set())
    text = place.report().path.read_text(encoding="utf-8")
    (address,) = re.findall(r"\]\((audits/jobs\.svg)\)", text)
    root = ElementTree.fromstring((place.notes / address).read_text(encoding="utf-8"))
    assert (
        sum("opacity: 0.6" in dot.get("style", "") for dot in root.iter("{http://www.w3.org/2000/svg}use"))
        == 30
    )
    assert "script" not in {element.tag.rpartition("}")[2] for element in root.iter()}


def test_the_report_is_the_same_bytes_again_and_history_holds_no_text(place: Place) -> None:
    sample = place.sample(30, 5)
    place.judge(sample, set())
    first = {
        path.name: path.read_bytes() for path in (place.report().path, place.notes / "audits" / "jobs.svg")
    }
    again = {
        path.name: path.read_bytes() for path in (place.report().path, place.notes / "audits" / "jobs.svg")
    }
    assert first == again
    tree = read_pairs(place.dist, jobs())
    kept = b"".join(path.read_bytes() for path in place.notes.rglob("*") if path.is_file()).decode()
    assert not [text for text in (*tree.queries["query"], *tree.corpus["text"]) if text in kept]


def test_suspects_are_kept_apart_from_the_random_sample(place: Place) -> None:
    random = place.sample(30, 5)
    place.judge(random, set())
    before = place.report().configs["jobs"]
    suspects = place.sample(10, 0, suspects=True)
    place.judge(suspects, {item.passage_id for item in suspects.items}, minute=9)
    reported = place.report()
    assert reported.configs["jobs"] == before
    text = reported.path.read_text(encoding="utf-8")
    assert "### Suspects" in text
    assert re.search(r"\| negatives \| 10 \| 10 \| 100\.0 % \|", text)


def test_suspects_alone_give_no_rate(place: Place) -> None:
    place.judge(place.sample(10, 0, suspects=True), set())
    reported = place.report()
    assert reported.configs == {}
    assert "only suspects were judged" in reported.remarks[0]
    assert not citations_path(place.locks, "jobs").exists()


def test_an_audit_belongs_to_one_table_and_the_card_cites_the_one_that_serves(place: Place) -> None:
    place.publish_v0()
    other = place.sample(20, 5, table=Kind.HARD_NEGATIVES_V0)
    assert (other.head.table, other.head.recipe) == (Kind.HARD_NEGATIVES_V0, "v0")
    place.judge(other, {item.passage_id for item in other.items})
    reported = place.report()
    assert reported.configs == {}
    assert "only hard_negatives_v0 was audited, which does not serve" in reported.remarks[0]
    serving = place.sample(20, 5)
    assert serving.head.sample != other.head.sample
    place.judge(serving, set())
    reported = place.report()
    assert reported.configs["jobs"].sample == serving.head.sample
    assert reported.configs["jobs"].false_negatives.value == 0.0
    text = reported.path.read_text(encoding="utf-8").split("### Other tables of hard negatives")[1]
    assert re.search(rf"{other.head.sample}.*hard_negatives_v0.*100\.0 %", text)


def test_the_last_random_sample_is_cited_and_earlier_ones_listed(place: Place) -> None:
    place.judge(place.sample(20, 5, seed=1), set())
    second = place.sample(20, 5, seed=2)
    place.judge(second, set(), minute=60)
    reported = place.report()
    assert reported.configs["jobs"].sample == second.head.sample
    assert "### Earlier samples" in reported.path.read_text(encoding="utf-8")


def test_pairs_on_which_auditors_agreed_become_controls_of_the_next_sample(place: Place) -> None:
    first = place.sample(50, 20, seed=1)
    for auditor in ("Anna", "Ben"):
        place.judge(first, set(), auditor)
    drawn = draw(jobs(), 60, 0, seed=2, dist=place.dist, notes=place.notes)
    controls = drawn.sample.of_kind("control")
    assert len(controls) == 6
    known = {item.item for item in first.items}
    assert {item.item for item in controls} <= known
    expected = [item.expected for item in controls]
    assert expected.count(N) == expected.count(R) == 3
    right = {item.passage_id for item in controls if item.expected is R}
    wrong = next(item.passage_id for item in controls if item.expected is N)
    place.judge(drawn.sample, right | {wrong}, "Cem", minute=60)
    audit = place.report().configs["jobs"]
    assert audit.sensitivity.value == 1.0
    assert audit.specificity.value == pytest.approx(2 / 3, abs=1e-6)
    text = (place.notes / REPORT).read_text(encoding="utf-8")
    assert "Specificity: other pairs that are not called relevant | 66.7 %" in text
    assert "Hard negatives: relevant, without the auditors' errors" in text


def test_related_pairs_are_no_controls_and_told_beside_the_relevant(place: Place) -> None:
    first = place.sample(40, 0, seed=1)
    for auditor in ("Anna", "Ben"):
        lines = [judgement(first, item, Verdict.RELATED, auditor) for item in first.items]
        path = verdict_file(place.root / "verdicts.jsonl", lines)
        import_verdicts([path], dist=place.dist, notes=place.notes, locks=place.locks)
    audit = place.report().configs["jobs"]
    assert (audit.false_negatives.value, audit.false_negatives_or_related.value) == (0.0, 1.0)
    assert draw(jobs(), 40, 0, seed=2, dist=place.dist, notes=place.notes).sample.of_kind("control") == ()
    text = (place.notes / REPORT).read_text(encoding="utf-8")
    assert "40 hard negatives that are related are neither" in text


def test_one_auditor_confirms_nothing_and_neither_do_two_who_differ(place: Place) -> None:
    first = place.sample(60, 0, seed=1)
    place.judge(first, set())
    drawn = draw(jobs(), 50, 0, seed=2, dist=place.dist, notes=place.notes)
    assert drawn.sample.of_kind("control") == ()
    place.judge(first, {item.passage_id for item in first.items}, "Ben")
    drawn = draw(jobs(), 50, 0, seed=2, dist=place.dist, notes=place.notes)
    assert drawn.sample.of_kind("control") == ()


def test_a_pair_on_which_auditors_agreed_and_then_differed_is_no_control(place: Place) -> None:
    first = place.sample(50, 0, seed=1)
    second = next(
        drawn
        for drawn in (place.sample(50, 0, seed=seed) for seed in range(2, 60))
        if 10 < len({i.item for i in drawn.items} & {i.item for i in first.items}) < 50
    )
    for minute, auditor in enumerate(("Anna", "Ben")):
        place.judge(first, set(), auditor, minute=minute)
    both = {item.item for item in second.items} & {item.item for item in first.items}
    revoked = sorted(both)[:5]
    place.judge(second, {item.passage_id for item in second.items if item.item in revoked}, "Ben", minute=60)
    drawn = draw(jobs(), 0, 60, seed=3, dist=place.dist, notes=place.notes)
    controls = {item.item for item in drawn.sample.of_kind("control")}
    assert controls and not controls & set(revoked)


def test_hostile_names_do_not_change_the_page(place: Place) -> None:
    sample = place.sample(20, 0)
    place.judge(sample, set(), "<b>|x</b> [a](b)")
    html = MarkdownIt("commonmark").enable("table").render(place.report().path.read_text(encoding="utf-8"))
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


def test_an_audit_of_a_stand_in_is_cited_only_where_a_folder_is_named(place: Place) -> None:
    place.judge(place.sample(20, 0), set())
    _, remarks = write_report([jobs()], notes=place.notes)
    assert "stand-ins" in remarks[0]
    assert "made from stand-ins" in (place.notes / REPORT).read_text(encoding="utf-8")


def test_what_stand_ins_decide_is_never_called_applied(place: Place) -> None:
    sample = place.sample(20, 0)
    wrong = {item.passage_id for item in sample.items[:1]}
    count = sum(item.passage_id in wrong for item in sample.items)
    for auditor in ("Anna", "Ben"):
        place.judge(sample, wrong, auditor)
    for locks in (place.locks, None):
        write_report([jobs()], notes=place.notes, locks=locks)
        text = (place.notes / REPORT).read_text(encoding="utf-8")
        assert count == 1
        assert "On builds from stand-ins: 1 hard negative becomes a positive." in text
        assert "The next build applies" not in text
        assert "No verdict has become a decision" not in text


def test_a_report_counts_what_holds(tmp_path: Path) -> None:
    place = Place(tmp_path, real=True)
    sample = place.sample(20, 0)
    everything = {item.passage_id for item in sample.items}
    for auditor in ("Anna", "Ben"):
        place.judge(sample, everything, auditor)
    text = place.report().path.read_text(encoding="utf-8")
    assert "20 hard negatives become positives. The next build applies them" in text
    assert place.report().configs["jobs"].auditors == 2
    for minute, items in ((1, sample.items[1:]), (2, sample.items[:1])):
        back = [judgement(sample, item, NoVerdict.WITHDRAWN, "Ben", minute=minute) for item in items]
        path = verdict_file(tmp_path / "b.jsonl", back)
        import_verdicts([path], dist=place.dist, notes=place.notes, locks=place.locks)
        text = place.report().path.read_text(encoding="utf-8")
        assert ("1 hard negative becomes a positive. The next build applies it," in text) is (minute == 1)
    assert place.report().configs["jobs"].auditors == 1
    assert "No verdict has become a decision" in text
    assert "judged by 1 auditor (Anna)" in text
    back = [judgement(sample, item, NoVerdict.WITHDRAWN, minute=3) for item in sample.items]
    import_verdicts(
        [verdict_file(tmp_path / "a.jsonl", back)],
        dist=place.dist, notes=place.notes, locks=place.locks,
    )  # fmt: skip
    assert place.report().configs == {}


def test_the_latest_sample_is_the_latest_in_time_wherever_it_was_judged(place: Place) -> None:
    samples = [place.sample(20, 5, seed=seed) for seed in (1, 2)]
    for sample, at in zip(samples, ("2026-01-05T20:00:00Z", "2026-01-05T23:30:00+05:00"), strict=True):
        lines = [
            json.dumps(json.loads(json_line(judgement(sample, item, N))) | {"at": at}) + "\n"
            for item in sample.items
        ]
        path = place.root / "verdicts.jsonl"
        path.write_text("".join(lines), encoding="utf-8")
        import_verdicts([path], dist=place.dist, notes=place.notes, locks=place.locks)
    assert place.report().configs["jobs"].sample == samples[0].head.sample
    late = [judgement(samples[0], samples[0].items[0], N, minute=9)]
    text = "".join(map(json_line, late)).replace('"at": "2026-01-05T08:09', '"at": "2026-01-05T22:09')
    path.write_text(text.replace('Z"', '-05:00"'), encoding="utf-8")
    import_verdicts([path], dist=place.dist, notes=place.notes, locks=place.locks)
    assert place.report().configs["jobs"].date == "2026-01-06"


def test_an_audit_of_the_real_build_is_no_stand_in(tmp_path: Path) -> None:
    place = Place(tmp_path, real=True)
    place.judge(place.sample(20, 0), set())
    reported = place.report()
    assert reported.remarks == []
    assert "stand-ins" not in reported.path.read_text(encoding="utf-8")


def test_no_verdict_writes_no_report(place: Place) -> None:
    place.sample(20, 0)
    with pytest.raises(UsageError, match="no verdict of jobs there"):
        place.report()
    assert not place.notes.exists()


def test_the_card_no_longer_cites_an_audit_whose_verdicts_were_taken_back(place: Place) -> None:
    sample = place.sample(20, 0)
    place.judge(sample, set())
    place.report()
    assert read_citations(citations_path(place.locks, "jobs")).audit is not None
    back = [judgement(sample, item, NoVerdict.WITHDRAWN, minute=1) for item in sample.items]
    path = verdict_file(place.root / "back.jsonl", back)
    import_verdicts([path], dist=place.dist, notes=place.notes, locks=place.locks)
    reported = place.report()
    assert reported.remarks == ["jobs: no verdict holds any more, and the card cites none"]
    assert "judged by" not in reported.path.read_text(encoding="utf-8")
    assert read_citations(citations_path(place.locks, "jobs")).audit is None


def test_an_audit_of_a_stand_in_does_not_displace_that_of_a_real_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builders.audit.report.FOLDER", tmp_path / "beside")
    place = Place(tmp_path, real=True)
    real = place.sample(20, 0)
    place.judge(real, set())
    build(place.dist)
    trial = place.sample(20, 0)
    place.judge(trial, set(), minute=60)
    cited, remarks = write_report([jobs()], notes=place.notes)
    assert cited["jobs"].sample == trial.head.sample
    assert "will not cite it" in remarks[0]
    audit = read_citations(citations_path(tmp_path / "beside", "jobs")).audit
    assert audit is not None and audit.sample == real.head.sample
