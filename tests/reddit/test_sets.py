"""The build of a config of ids: what is published, what is counted, and what it is held against."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.build.order import Options, build
from builders.checks import check_tree
from builders.cli.output import Lines
from builders.configs.subreddit import CONFIG, LEDGER, LIST
from builders.errors import FindingsError, SourceChanged, SourceMissing
from builders.explain import explain
from builders.lock.committed import commit, lock_path, stand_ins
from builders.lock.lock import Lock
from builders.prepare.sets import draw
from builders.reddit.dated_ledger import read_statuses, statuses, write_statuses
from builders.reddit.sets import id_table, limit_ids, prepare_ids
from builders.reddit.submission import Status
from builders.spec import SEED, IdsFile
from builders.tables import read_frame
from tests.fixtures.submissions import (
    DAY,
    EACH,
    LABELS,
    entry,
    posts,
    write_ledger,
    write_list,
    write_upstream,
)

TABLE = Path("tecb-de/subreddit/clustering-ids/test.parquet")


def built(out: Path, *sources: Path, home: Path | None = None, **changes: int) -> Lock:
    options = Options(
        out=out,
        offline=True,
        sources=tuple(map(str, sources)),
        home=home or out / "home",
        committed=out / "none",
    )
    return build(CONFIG, replace(options, **changes), Lines(quiet=True))  # type: ignore[arg-type]


def test_every_line_is_published_merged_or_dropped_for_a_reason() -> None:
    found = IdsFile(("aaaaa", "bbbbb", "ccccc", "ddddd", "eeeee", "fffff", "ggggg"), lines=10)
    ledger = statuses([
        entry("aaaaa"), entry("bbbbb", Status.REMOVED), entry("ccccc", Status.DELETED),
        entry("ddddd", Status.MISSING, subreddit=""), entry("eeeee", subreddit=""),
        entry("fffff", subreddit="u_jemand"), entry("ggggg", subreddit="Teich"), entry("fremd1"),
    ])  # fmt: skip
    prepared = prepare_ids(CONFIG, found, ledger)
    assert prepared.funnel.model_dump() == {
        "table": "submissions",
        "read": 10,
        "dropped": {"deleted": 1, "missing": 1, "no_subreddit": 2, "removed": 1},
        "merged": 3,
        "undecided": 0,
        "out": 2,
    }
    assert prepared.submissions.rows() == [("aaaaa", "Beete"), ("ggggg", "Teich")]
    assert dict(prepared.dropped.select("id", "reason").iter_rows())["fffff"] == "no_subreddit"
    assert prepared.statuses["id"].to_list() == sorted(found.ids)


@pytest.mark.parametrize("status", [None, Status.ERROR])
def test_an_id_without_an_answer_stops_the_build_and_says_what_to_run(status: Status | None) -> None:
    entries = [entry("aaaaa"), *([entry("bbbbb", status)] if status else [])]
    with pytest.raises(SourceMissing, match="what became of 1 ids: bbbbb") as error:
        prepare_ids(CONFIG, IdsFile(("aaaaa", "bbbbb"), lines=2), statuses(entries))
    assert "mteb-de hydrate subreddit" in error.value.hint
    assert error.value.exit_code == 2


def test_without_a_ledger_the_build_says_what_to_run_and_which_credentials(tmp_path: Path) -> None:
    write_list(tmp_path / "sources", posts())
    with pytest.raises(SourceMissing, match=LEDGER) as error:
        built(tmp_path / "out", tmp_path / "sources")
    assert error.value.exit_code == 2
    for word in ("mteb-de hydrate subreddit", "praw_client_id", "--dump"):
        assert word in error.value.hint
    assert not (tmp_path / "out" / "tecb-de").exists()


def test_ids_and_labels_are_published_and_nothing_else(tmp_path: Path) -> None:
    lock = built(tmp_path / "out", write_upstream(tmp_path / "sources"))
    table = pl.read_parquet(tmp_path / "out" / TABLE)
    assert table.schema == {"submission_ids": pl.List(pl.String), "labels": pl.List(pl.String)}
    label = {name: data["subreddit"] for name, data in posts().items()}
    for ids, labels in table.iter_rows():
        assert labels == [label[name] for name in ids]
        assert len(ids) == len(set(ids)) == EACH * len(set(labels))
    assert [file.path for file in lock.files] == ["subreddit/clustering-ids/test.parquet"]
    clustering = lock.clustering
    assert clustering is not None and clustering.texts == {}
    assert [one.labels for one in clustering.sets] == [min(k, len(LABELS)) for k in _drawn_sizes()]
    assert {one.level for one in clustering.sets} == {"subreddit"} and lock.personal == {}
    assert lock.parameters["ledger"] == {
        "first": str(DAY),
        "last": str(DAY),
        "origins": {"api": 70},
        "archives": {},
    }


def _drawn_sizes() -> list[int]:
    """The numbers of labels that the original procedure asks for, with as many labels as the fixture has."""
    generator, labels = random.Random(42), list(LABELS)
    sizes = []
    for _ in range(10):
        sizes.append(generator.randint(10, 50))
        generator.shuffle(labels)
    return sizes


def test_equal_ledgers_give_equal_bytes_whatever_the_order_of_lists(tmp_path: Path) -> None:
    first = built(tmp_path / "a", write_upstream(tmp_path / "one"))
    turned = dict(reversed(posts().items()))
    second = built(tmp_path / "b", write_upstream(tmp_path / "two", turned))
    assert (tmp_path / "a" / TABLE).read_bytes() == (tmp_path / "b" / TABLE).read_bytes()
    assert first.files == second.files and first.clustering == second.clustering


def test_a_submission_that_is_gone_from_the_ledger_is_gone_from_the_next_build(tmp_path: Path) -> None:
    made, gone = posts(), "p03x02"
    sources = write_upstream(tmp_path / "sources")
    built(tmp_path / "out", sources)
    assert gone in set(pl.read_parquet(tmp_path / "out" / TABLE)["submission_ids"].explode())
    status = {gone: Status.DELETED}
    write_ledger(
        sources, [entry(n, status.get(n, Status.OK), subreddit=d["subreddit"]) for n, d in made.items()]
    )
    lock = built(tmp_path / "out", sources)
    assert gone not in set(pl.read_parquet(tmp_path / "out" / TABLE)["submission_ids"].explode())
    assert lock.funnels[0].dropped == {"deleted": 1}
    assert {finding.severity for finding in check_tree(tmp_path / "out")} <= {"note"}


def test_the_ledger_of_this_machine_is_a_pinned_source_and_one_in_a_folder_stands_in(tmp_path: Path) -> None:
    sources = write_upstream(tmp_path / "sources")
    home = tmp_path / "home"
    path = write_ledger(home / "reddit", [])
    path.write_bytes((sources / LEDGER).read_bytes())
    (sources / LEDGER).unlink()
    lock = built(tmp_path / "out", sources, home=home)
    ledger = lock.sources[1]
    assert (ledger.name, ledger.revision) == (LEDGER, hashlib.sha256(path.read_bytes()).hexdigest())
    assert stand_ins(lock) == [f"subreddit: {LIST} was read from a folder, not from its upstream"]
    write_ledger(sources, [entry(name, subreddit=data["subreddit"]) for name, data in posts().items()])
    standing_in = built(tmp_path / "out", sources, home=home)
    assert len(stand_ins(standing_in)) == 2 and standing_in.sources[1].revision == ""


def test_a_ledger_of_a_stand_in_has_no_revision(tmp_path: Path) -> None:
    sources, home = write_upstream(tmp_path / "sources"), tmp_path / "home"
    (sources / LEDGER).unlink()
    entries = [entry(name, subreddit=data["subreddit"]) for name, data in posts().items()]
    made_up = pl.concat([statuses(entries[1:]), statuses(entries[:1], stand_in=True)])
    write_statuses(home / "reddit" / LEDGER, made_up)
    lock = built(tmp_path / "out", sources, home=home)
    assert lock.sources[1].revision == ""
    assert stand_ins(lock)[1:] == [
        f"subreddit: {LEDGER} was read from a folder, not from its upstream",
        "subreddit: a stand-in for Reddit gave 1 answers of its ledger; "
        "a dump is one unless its sha256 is that of a known archive",
    ]


class Meddling(Lines):
    """Writes the ledger anew while the build is between hashing and reading it."""

    def __init__(self, path: Path) -> None:
        super().__init__(quiet=True)
        self.path = path

    def step(self, name: str, *lines: str) -> None:
        if name == "fetch":
            write_statuses(self.path, read_statuses(self.path).with_columns(status=pl.lit("deleted")))


def test_a_ledger_that_is_written_anew_meanwhile_is_told(tmp_path: Path) -> None:
    sources = write_upstream(tmp_path / "sources")
    options = Options(
        out=tmp_path / "out", offline=True, sources=(str(sources),), committed=tmp_path / "none"
    )
    with pytest.raises(SourceChanged, match="written anew while it was read"):
        build(CONFIG, options, Meddling(sources / LEDGER))
    assert not (tmp_path / "out" / TABLE).exists()


def test_spellings_of_a_subreddit_become_the_most_frequent_one() -> None:
    spelt = ["teich", "Teich", "TEICH", "Teich", "beete", "Beete", "Kies"]
    names = [f"aaaa{number}" for number in range(len(spelt))]
    ledger = statuses(entry(name, subreddit=label) for name, label in zip(names, spelt, strict=True))
    prepared = prepare_ids(CONFIG, IdsFile(tuple(names), len(names)), ledger)
    assert prepared.submissions["subreddit"].to_list() == ["Teich"] * 4 + ["Beete"] * 2 + ["Kies"]
    assert prepared.statuses["subreddit"].to_list() == prepared.submissions["subreddit"].to_list()


def test_two_spellings_do_not_stop_a_build(tmp_path: Path) -> None:
    made = posts()
    made["p03x02"] |= {"subreddit": "THEMA03"}
    lock = built(tmp_path / "out", write_upstream(tmp_path / "sources", made))
    assert lock.facts["labels_subreddit"] == len(LABELS)
    assert {finding.severity for finding in check_tree(tmp_path / "out")} <= {"note"}


def test_a_dump_of_another_time_is_a_gate(tmp_path: Path) -> None:
    sources = write_upstream(tmp_path / "sources")
    lacking = [f"leer{number:03}" for number in range(30)]
    write_list(sources, [*posts(), *lacking])
    dump: dict[str, Any] = {"origin": "dump", "archive": f"RS_2024-05.zst@{'ab' * 32}"}
    there = [entry(name, **dump, subreddit=data["subreddit"]) for name, data in posts().items()]
    absent = [entry(name, Status.MISSING, **dump, subreddit="") for name in lacking]
    write_statuses(sources / LEDGER, statuses([*there, *absent], archives={"ab" * 32}))
    lock = built(tmp_path / "out", sources)
    assert lock.parameters["ledger"]["origins"] == {"dump": 100}
    assert lock.parameters["ledger"]["archives"] == {dump["archive"]: 100}
    gate = [finding for finding in lock.findings if finding.severity == "gate"]
    assert [(finding.code, finding.count) for finding in gate] == [("submission-missing", 30)]


def test_a_ledger_that_changed_since_the_committed_lock_is_told(tmp_path: Path) -> None:
    from builders.sources import verify_against

    sources, home = write_upstream(tmp_path / "sources"), tmp_path / "home"
    write_ledger(home / "reddit", []).write_bytes((sources / LEDGER).read_bytes())
    (sources / LEDGER).unlink()
    before = built(tmp_path / "out", sources, home=home).sources[1]
    verify_against([before], [before])
    changed = [entry(name, Status.DELETED) for name in list(posts())[:1]]
    rest = [entry(name, subreddit=data["subreddit"]) for name, data in list(posts().items())[1:]]
    write_ledger(home / "reddit", [*changed, *rest])
    after = built(tmp_path / "out", sources, home=home).sources[1]
    with pytest.raises(SourceChanged, match=before.files[0].sha256):
        verify_against([after], [before])


def test_a_part_is_chosen_by_hash_and_counted(tmp_path: Path) -> None:
    found = IdsFile(tuple(posts()), lines=100)
    kept = limit_ids(found, 20)
    assert (len(kept.ids), kept.lines) == (20, 20)
    assert limit_ids(IdsFile(tuple(reversed(found.ids)), 100), 20) == kept
    lock = built(tmp_path / "out", write_upstream(tmp_path / "sources"), limit=60)
    assert lock.funnels[0].read == 60 and lock.parameters["limit"] == 60


def test_one_subreddit_is_no_clustering(tmp_path: Path) -> None:
    made = {name: data | {"subreddit": "Beete"} for name, data in posts().items()}
    with pytest.raises(FindingsError, match="set-one-label"):
        built(tmp_path / "out", write_upstream(tmp_path / "sources", made))
    assert not (tmp_path / "out" / TABLE).exists()


def test_the_table_has_the_published_columns_and_order() -> None:
    made = posts()
    ledger = statuses([entry(name, subreddit=data["subreddit"]) for name, data in made.items()])
    prepared = prepare_ids(CONFIG, IdsFile(tuple(made), len(made)), ledger)
    drawn = draw(prepared.submissions, CONFIG.sets, seed=SEED)
    table = id_table(prepared.submissions, drawn)
    ids = prepared.submissions["id"].to_list()
    assert table["submission_ids"].to_list() == [[ids[row] for row in one.rows] for one in drawn]


def test_an_id_is_explained_by_the_ledger_and_its_sets(tmp_path: Path) -> None:
    made = posts()
    sources = write_upstream(tmp_path / "sources", made)
    entries = [entry(name, subreddit=data["subreddit"]) for name, data in made.items()]
    write_list(sources, [*made, "weg001"])
    write_ledger(sources, [*entries, entry("weg001", Status.REMOVED)])
    built(tmp_path / "out", sources)
    (known,) = explain(tmp_path / "out", "p03x02")
    sets = read_frame(tmp_path / "out" / TABLE)["submission_ids"].to_list()
    wanted = [
        f"set {number}, row {ids.index('p03x02') + 1}"
        for number, ids in enumerate(sets, 1)
        if "p03x02" in ids
    ]
    assert known.facts == {
        "config": "subreddit",
        "id": "p03x02",
        "status": "ok",
        "subreddit": "Thema03",
        "checked": str(DAY),
        "sets": wanted,
    }
    assert wanted and known.lines[0] == f"p03x02: subreddit, ok in r/Thema03 on {DAY}"
    gone, dropped = explain(tmp_path / "out", "weg001")
    assert gone.facts["status"] == "removed" and gone.facts["sets"] == []
    assert gone.lines[1] == "  stands in  no clustering set"
    assert dropped.facts["reason"] == "removed" != dropped.facts["meaning"]


def test_a_build_from_stand_ins_is_never_committed(tmp_path: Path) -> None:
    from builders.errors import Refused

    lock = built(tmp_path / "out", write_upstream(tmp_path / "sources"))
    with pytest.raises(Refused, match=r"submission_ids\.txt was read from a folder"):
        commit(tmp_path / "out", lock, tmp_path / "locks")
    assert not lock_path(tmp_path / "locks", "subreddit").exists()
