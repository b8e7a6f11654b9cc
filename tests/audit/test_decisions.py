from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.audit.history import Item, Judgement, NoVerdict, Sample, Verdict
from builders.audit.page import draw
from builders.audit.report import REPORT, write_report
from builders.audit.verdicts import decide, import_verdicts, merged
from builders.configs import jobs as jobs_config
from builders.errors import UsageError
from builders.prepare.decisions import Decision, apply, read_decisions, resolve, write_decisions
from builders.prepare.retrieval import Prepared, prepare
from builders.spec import PAIR, Audit, Records, Relations, Retrieval, observed
from tests.audit.kit import build, jobs, judgement, verdict_file

R, N, U = Verdict.ALSO_RELEVANT, Verdict.NOT_RELEVANT, Verdict.UNSURE
P = Verdict.RELATED  # relevant in part


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    place = tmp_path_factory.mktemp("place")
    return draw(jobs(), 10, 5, dist=build(place / "dist"), notes=place / "notes").sample


def said(sample: Sample, item: Item, verdicts: list[Verdict]) -> list[Judgement]:
    names = ("Anna", "Ben", "Cem", "Dora")
    return [judgement(sample, item, verdict, name) for verdict, name in zip(verdicts, names, strict=False)]


@pytest.mark.parametrize(
    ("kind", "verdicts", "needed", "decision", "reason"),
    [
        ("negative", [R, R], 2, "relevant", "false_negative"),
        ("negative", [R, R, U], 2, "relevant", "false_negative"),
        ("negative", [R], 2, None, None),
        ("negative", [R], 1, "relevant", "false_negative"),
        ("negative", [R, U], 2, None, None),
        ("negative", [R, N], 2, "excluded", "disputed"),
        ("negative", [R, N], 1, "excluded", "disputed"),
        ("negative", [R, R, N], 2, "excluded", "disputed"),
        ("negative", [R, N, N], 2, None, None),
        ("negative", [N, N], 2, None, None),
        ("negative", [P, P], 2, "excluded", "related"),
        ("negative", [P], 2, None, None),
        ("negative", [P], 1, "excluded", "related"),
        ("negative", [R, P], 2, "excluded", "related"),
        ("negative", [R, R, P], 2, "relevant", "false_negative"),
        ("negative", [R, R, P, P], 2, "excluded", "related"),
        ("negative", [P, N], 2, "excluded", "disputed"),
        ("negative", [P, N, N], 2, None, None),
        ("negative", [P, U], 2, None, None),
        ("positive", [P, P], 2, None, None),
        ("positive", [N, P], 2, None, None),
        ("positive", [N, N, P], 2, "excluded", "false_positive"),
        ("positive", [N, N], 2, "excluded", "false_positive"),
        ("positive", [N], 2, None, None),
        ("positive", [N, N, R], 2, None, None),
        ("positive", [R, R], 2, None, None),
        ("control", [R, R], 2, None, None),
    ],
)
def test_verdicts_become_decisions(
    sample: Sample, kind: str, verdicts: list[Verdict], needed: int, decision: str | None, reason: str | None
) -> None:
    item = sample.items[0].model_copy(update={"kind": kind})
    changed = Sample(head=sample.head, items=(item,))
    found = decide([(changed, said(changed, item, verdicts))], needed)
    assert [(one.decision, one.reason) for one in found] == ([(decision, reason)] if decision else [])


def test_a_verdict_that_was_taken_back_takes_its_decision_along(sample: Sample) -> None:
    item = sample.of_kind("negative")[0]
    verdicts = said(sample, item, [R, R])
    assert decide([(sample, verdicts)], 2)
    later = judgement(sample, item, N, "Ben", minute=9)
    (found,) = decide([(sample, [*verdicts, later])], 2)
    assert found.decision == "excluded"
    withdrawn = judgement(sample, item, NoVerdict.WITHDRAWN, "Ben", minute=9)
    assert decide([(sample, [*verdicts, withdrawn])], 2) == []
    assert [one.decision for one in decide([(sample, [*verdicts, withdrawn])], 1)] == ["relevant"]
    noted = judgement(sample, item, NoVerdict.NOTED, "Ben", minute=9)
    assert decide([(sample, [*verdicts, noted])], 2) == decide([(sample, verdicts)], 2)


def of_kind(sample: Sample, kind: str, name: str) -> Sample:
    """A sample of one pair, the same whatever its kind and name."""
    item = sample.items[0].model_copy(update={"kind": kind, "expected": R if kind == "control" else None})
    return Sample(head=sample.head.model_copy(update={"sample": f"s-{name * 16}"}), items=(item,))


def at_minute(sample: Sample, minute: int, *said: tuple[str, Verdict]) -> list[Judgement]:
    return [judgement(sample, sample.items[0], one, name, minute=minute) for name, one in said]


@pytest.mark.parametrize(
    ("later", "needed", "decision", "reason"),
    [
        ([("Cem", R)], 2, "relevant", "false_negative"),
        ([("Anna", R), ("Ben", R)], 2, "relevant", "false_negative"),
        ([("Cem", U)], 2, "relevant", "false_negative"),
        ([("Cem", P), ("Dora", P)], 2, "relevant", "false_negative"),
        ([("Cem", N)], 2, "excluded", "disputed"),
        ([("Cem", N), ("Dora", R)], 2, "excluded", "disputed"),
        ([("Anna", N)], 2, "excluded", "disputed"),
        ([("Cem", N), ("Dora", N)], 2, "excluded", "false_positive"),
        ([("Anna", N), ("Ben", N)], 2, "excluded", "false_positive"),
        ([("Anna", R), ("Cem", N), ("Dora", N), ("Emil", N)], 2, None, None),
    ],
)
def test_a_positive_that_was_a_negative_is_revoked_only_by_who_finds_it_wrong(
    sample: Sample,
    later: list[tuple[str, Verdict]],
    needed: int,
    decision: str | None,
    reason: str | None,
) -> None:
    first, second = of_kind(sample, "negative", "a"), of_kind(sample, "positive", "b")
    audits = [(first, at_minute(first, 0, ("Anna", R), ("Ben", R))), (second, at_minute(second, 60, *later))]
    for order in (audits, audits[::-1]):
        found = decide(order, needed)
        assert [(one.decision, one.reason) for one in found] == ([(decision, reason)] if decision else [])


def test_a_confirmation_never_takes_a_decision_away(sample: Sample) -> None:
    first, second = of_kind(sample, "negative", "a"), of_kind(sample, "positive", "b")
    early = (first, at_minute(first, 0, ("Anna", R)))
    doubted = (second, at_minute(second, 60, ("Anna", N)))
    confirmed = (second, at_minute(second, 60, ("Anna", N), ("Cem", R)))
    assert [(one.decision, one.reason) for one in decide([early, doubted], 1)] == [
        ("excluded", "false_positive")
    ]
    assert [(one.decision, one.reason) for one in decide([early, confirmed], 1)] == [("excluded", "disputed")]


def test_a_doubt_that_its_auditor_gave_up_counts_no_more(sample: Sample) -> None:
    first, second, third = (of_kind(sample, kind, name) for kind, name in zip(
        ("negative", "positive", "positive"), "abc", strict=True
    ))  # fmt: skip
    audits = [
        (first, at_minute(first, 0, ("Anna", R), ("Ben", R))),
        (second, at_minute(second, 60, ("Cem", N))),
        (third, at_minute(third, 120, ("Cem", R))),
    ]
    assert [one.reason for one in decide(audits[:2], 2)] == ["disputed"]
    assert [one.reason for one in decide(audits, 2)] == ["false_negative"]
    taken_back = judgement(second, second.items[0], NoVerdict.WITHDRAWN, "Cem", minute=61)
    audits = [audits[0], (second, [*audits[1][1], taken_back])]
    assert [one.reason for one in decide(audits, 2)] == ["false_negative"]


def test_a_confirmation_as_a_control_changes_no_decision(sample: Sample) -> None:
    first, second = of_kind(sample, "negative", "a"), of_kind(sample, "control", "b")
    audits = [(first, at_minute(first, 0, ("Anna", R), ("Ben", R)))]
    assert decide([*audits, (second, at_minute(second, 60, ("Anna", N)))], 2) == decide(audits, 2)


def test_decisions_by_hand_stay_and_others_follow_the_audits() -> None:
    by_hand = pair("q1", "d1", "excluded")
    stale = pair("q2", "d2", "relevant", reason="false_negative")
    fresh = [
        pair("q1", "d1", "relevant", reason="false_negative"),
        pair("q3", "d3", "excluded", reason="disputed"),
    ]
    assert merged([by_hand, stale], fresh) == [by_hand, fresh[1]]


def test_the_file_reads_back_and_is_sorted(tmp_path: Path) -> None:
    path = tmp_path / "jobs.decisions.jsonl"
    decisions = [pair("q2", "d1", "relevant"), pair("q1", "d9", "excluded")]
    write_decisions(path, decisions)
    assert read_decisions(path) == decisions[::-1]
    write_decisions(tmp_path / "again", decisions[::-1])
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert read_decisions(tmp_path / "fort") == []


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"query-id": "q", "corpus-id": "d", "decision": "maybe"}', "line 1: decision"),
        ('{"query-id": "q", "decision": "relevant"}', "line 1: corpus-id"),
        ('\n{"query-id"', "line 2"),
        ('{"query-id": "q", "corpus-id": "d", "decision": "relevant"}\n' * 2, "line 2: q and d were decided"),
    ],
)
def test_a_damaged_file_is_named_by_line(tmp_path: Path, lines: str, message: str) -> None:
    path = tmp_path / "jobs.decisions.jsonl"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read_decisions(path)


def pair(query: str, passage: str, decision: str, reason: str = "by_hand") -> Decision:
    return Decision.model_validate({
        "query-id": query, "corpus-id": passage, "decision": decision, "reason": reason
    })  # fmt: skip


def postings() -> pl.DataFrame:
    """Bakers and smiths in two towns; the profiles of one trade differ in region alone."""
    trades = {"Bäcker": "8-b", "Bäcker in Ulm": "8-b", "Schmied": "7-s", "Konditor": "8-k"}
    rows = [
        (f"{title}-{town}", title, code, town) for title, code in trades.items() for town in ("Köln", "Bonn")
    ]
    return pl.DataFrame(rows, schema=["id", "title", "code", "town"], orient="row")


def records() -> Records:
    rows = postings()
    concept = pl.format("https://example.org/{}", "code")
    passages = rows.select(
        upstream_id="id",
        occupation=pl.format("Beruf {}", "code"),
        occupation_uri=concept,
        name=pl.format("Beruf {}", "code"),
        skills=pl.concat_list(pl.lit("rühren"), pl.format("Kunst {}", "code")),
        skill_uris=pl.concat_list(pl.lit("https://example.org/r"), concept),
        region="town",
        seniority=pl.lit("unknown"),
        kldb="code",
    )
    queries = rows.select(upstream_id="id", text="title")
    return Records(queries, passages, rows.select(query="id", passage="id"))


def ids(prepared: Prepared, table: str, upstream: str) -> str:
    rows = prepared.provenance.filter((pl.col("table") == table) & (pl.col("upstream_id") == upstream))
    return str(rows.item(0, "id"))


def positives(prepared: Prepared, query: str) -> set[str]:
    return set(prepared.relations.qrels.filter(pl.col("query_id") == query)["passage_id"])


def test_a_relevant_pair_holds_for_the_group_and_extends_to_the_core() -> None:
    before = prepare(jobs(), records())
    baker, confectioner = (ids(before, "queries", f"{t}-Köln") for t in ("Bäcker", "Konditor"))
    cakes = {ids(before, "corpus", f"Konditor-{town}") for town in ("Köln", "Bonn")}
    assert not cakes & positives(before, baker)
    after = prepare(jobs(), records(), [pair(baker, min(cakes), "relevant")])
    assert cakes < positives(after, baker)
    assert positives(after, confectioner) == positives(before, confectioner)
    added = after.relations.qrels.height - before.relations.qrels.height
    assert after.decisions == {
        "relevant": 1, "excluded": 0, "unmatched": 0,
        "qrels_added": added, "qrels_removed": 0, "undecided_added": 0,
    }  # fmt: skip
    assert added == 4
    assert before.decisions == {}


def test_an_excluded_pair_is_neither_positive_nor_negative() -> None:
    before = prepare(jobs(), records())
    baker = ids(before, "queries", "Bäcker-Köln")
    bread, iron = ids(before, "corpus", "Bäcker-Köln"), ids(before, "corpus", "Schmied-Bonn")
    decisions = [
        pair(baker, bread, "excluded"),
        pair(baker, iron, "excluded"),
        pair("q-weg", iron, "relevant"),
    ]
    after = prepare(jobs(), records(), decisions)
    assert positives(after, baker) == positives(before, baker) - {bread}
    assert {(baker, bread), (baker, iron)} <= set(after.relations.undecided.select(PAIR).rows())
    assert after.decisions["unmatched"] == 1
    assert after.decisions["qrels_removed"] == 2
    assert after.decisions["undecided_added"] == 4


def test_what_auditors_found_relevant_is_not_undecided_any_more() -> None:
    queries = pl.DataFrame({"query_id": ["q1", "q2"], "group": ["g", "g"]})
    corpus = pl.DataFrame({"passage_id": ["d1", "d2"]})
    qrels = pl.DataFrame({"query_id": ["q1"], "passage_id": ["d1"], "extended": [False]})
    undecided = pl.DataFrame({"query_id": ["q1", "q2"], "passage_id": ["d2", "d2"], "reason": ["rare"] * 2})
    resolved = resolve([pair("q1", "d2", "relevant")], queries, corpus)
    after = apply(Relations(qrels, undecided), resolved)
    assert set(after.qrels.select(PAIR).iter_rows()) == {("q1", "d1"), ("q1", "d2")}
    assert after.undecided.rows() == [("q2", "d2", "rare")]


def test_a_query_whose_positives_are_all_excluded_is_dropped_for_a_reason() -> None:
    before = prepare(jobs(), records())
    smith = ids(before, "queries", "Schmied-Köln")
    gone = [pair(smith, passage, "excluded") for passage in sorted(positives(before, smith))]
    after = prepare(jobs(), records(), gone)
    assert smith not in set(after.queries["query_id"])
    assert (smith, "no_positive") in set(after.dropped.select("id", "reason").iter_rows())


def test_excluded_beats_relevant_within_a_group() -> None:
    before = prepare(jobs(), records())
    baker, twin = (ids(before, "queries", f"{title}-Köln") for title in ("Bäcker", "Bäcker in Ulm"))
    assert baker != twin
    iron = ids(before, "corpus", "Schmied-Köln")
    after = prepare(jobs(), records(), [pair(baker, iron, "relevant"), pair(twin, iron, "excluded")])
    assert iron not in positives(after, baker) | positives(after, twin)
    assert {(baker, iron), (twin, iron)} <= set(after.relations.undecided.select(PAIR).rows())


def crowd(rare: int) -> pl.DataFrame:
    """A group of 20 postings, one of them with another core."""
    return pl.DataFrame({
        "query_id": ["q"] * 20,
        "passage_id": [f"d{n}" for n in range(20)],
        "group": ["g"] * 20,
        "core": ["a"] * (20 - rare) + ["b"] * rare,
        "code": ["a"] * (20 - rare) + ["b"] * rare,
        "named": pl.Series([None] * 20, dtype=pl.String),
        "occupation": ["x"] * 20,
        "classes": [["x"]] * 20,
    })


def test_a_confirmed_pair_is_no_posting_and_its_core_never_rare() -> None:
    # One of 20 is 5 %, and kept; a confirmed pair that counted as the 21st posting would make it rare.
    pairs = crowd(1).with_columns(confirmed=pl.lit(value=False))
    confirmed = pairs.head(1).with_columns(
        passage_id=pl.lit("d99"), core=pl.lit("c"), code=pl.lit("c"), confirmed=pl.lit(value=True)
    )
    relations = jobs_config.relate(pl.concat([pairs, confirmed]))
    found = set(relations.qrels["passage_id"])
    assert {"d19", "d99"} <= found
    assert relations.undecided.is_empty()


def test_without_decisions_nothing_changes() -> None:
    plain, empty = prepare(jobs(), records()), prepare(jobs(), records(), [])
    assert plain.relations.qrels.equals(empty.relations.qrels)
    assert plain.funnels == empty.funnels


def test_pairs_add_up_and_end_in_the_qrels_where_the_config_relates_what_it_observes() -> None:
    spec: Retrieval = replace(jobs(), relate=observed)
    before = prepare(spec, records())
    baker, iron = ids(before, "queries", "Bäcker-Köln"), ids(before, "corpus", "Schmied-Bonn")
    bread = ids(before, "corpus", "Bäcker-Köln")
    after = prepare(spec, records(), [pair(baker, iron, "relevant"), pair(baker, bread, "excluded")])
    funnel = next(one for one in after.funnels if one.table == "pairs")
    assert funnel.read == funnel.out + funnel.merged + sum(funnel.dropped.values())
    assert funnel.out == after.relations.qrels.height
    assert funnel.dropped["excluded"] == 2
    assert funnel.read == records().pairs.height + 1


def test_import_writes_what_the_config_lets_one_auditor_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = replace(jobs(), audit=Audit(auditors=1))
    drawn = draw(spec, 10, 5, dist=build(tmp_path / "dist"), notes=tmp_path / "notes").sample
    item = drawn.of_kind("negative")[0]
    path = verdict_file(tmp_path / "a.jsonl", [judgement(drawn, item, R)])
    for one, decided in ((spec, 1), (jobs(), 0)):
        monkeypatch.setattr("builders.registry.load", {"jobs": one}.__getitem__)
        (taken,) = import_verdicts(
            [path], dist=tmp_path / "dist", notes=tmp_path / "notes", locks=tmp_path / "locks"
        )
        assert taken.decisions == decided
    (tmp_path / "locks" / "jobs.decisions.jsonl").unlink()


def test_decisions_of_a_stand_in_do_not_get_beside_the_configs(tmp_path: Path) -> None:
    drawn = draw(jobs(), 10, 5, dist=build(tmp_path / "dist"), notes=tmp_path / "notes").sample
    lines = said(drawn, drawn.of_kind("negative")[0], [R, R])
    path = verdict_file(tmp_path / "a.jsonl", lines)
    (taken,) = import_verdicts([path], dist=tmp_path / "dist", notes=tmp_path / "notes")
    assert taken.decisions == 1
    assert taken.decisions_path is None
    assert "decisions not written" in taken.remarks[0]
    (taken,) = import_verdicts(
        [path], dist=tmp_path / "dist", notes=tmp_path / "notes", locks=tmp_path / "locks"
    )
    assert taken.decisions_path is not None
    (line,) = taken.decisions_path.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["decision"] == "relevant"


def test_verdicts_on_a_stand_in_do_not_get_beside_the_configs_with_those_on_the_real_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path / "configs"
    monkeypatch.setattr("builders.audit.verdicts.FOLDER", beside)
    monkeypatch.setattr("builders.audit.report.FOLDER", beside)
    notes, found = tmp_path / "notes", []
    for real in (False, True):
        dist = build(tmp_path / f"dist-{real}", real=real)
        drawn = draw(jobs(), 10, 5, dist=dist, notes=notes).sample
        item = drawn.of_kind("negative")[int(real)]
        path = verdict_file(tmp_path / "a.jsonl", said(drawn, item, [R, R]))
        (taken,) = import_verdicts([path], dist=dist, notes=notes)
        found.append((item.query_id, item.passage_id))
    assert taken.decisions == 1
    assert taken.decisions_path == beside / "jobs.decisions.jsonl"
    assert [one.pair for one in read_decisions(taken.decisions_path)] == found[1:]
    write_report([jobs()], notes=notes)
    text = (notes / REPORT).read_text(encoding="utf-8")
    assert "1 hard negative becomes a positive. The next build applies it, to all" in text
    assert "On builds from stand-ins: 1 hard negative becomes a positive. No build applies this" in text
