from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders.audit import store
from builders.audit.draw import Wanted, draw
from builders.audit.model import Sample, Verdict
from builders.audit.take import take
from builders.audit.tree import read_tree
from builders.errors import MtebDeError, Refused, StorageError, UsageError
from tests.audit.kit import build, jobs, judgement, verdict_file

RELEVANT, WRONG = Verdict.ALSO_RELEVANT, Verdict.NOT_RELEVANT


@pytest.fixture
def place(tmp_path: Path) -> Path:
    build(tmp_path / "dist")
    return tmp_path


@pytest.fixture
def sample(place: Path) -> Sample:
    return draw(jobs(), Wanted(20, 5), dist=place / "dist", notes=place / "notes").sample


def history(place: Path, sample: Sample) -> Path:
    return store.history_folder(place / "notes", "jobs") / f"{sample.head.sample}{store.VERDICTS}"


def import_(place: Path, *paths: Path, auditor: str = "") -> None:
    take(paths, dist=place / "dist", notes=place / "notes", locks=place / "locks", auditor=auditor)


def test_verdicts_of_two_auditors_are_merged_line_by_line(place: Path, sample: Sample) -> None:
    for auditor, verdict in (("Anna", RELEVANT), ("Ben", WRONG)):
        lines = [judgement(sample, item, verdict, auditor) for item in sample.items[:3]]
        import_(place, verdict_file(place / f"{auditor}.jsonl", lines))
    text = history(place, sample).read_text(encoding="utf-8")
    documents = [json.loads(line) for line in text.splitlines()]
    assert [(one["item"], one["auditor"]) for one in documents] == sorted(
        (item.item, auditor) for item in sample.items[:3] for auditor in ("Anna", "Ben")
    )
    assert (history(place, sample).parent / f"{sample.head.sample}{store.SAMPLE}").exists()


def test_importing_again_changes_nothing_and_a_new_verdict_is_one_line_more(
    place: Path, sample: Sample
) -> None:
    lines = [judgement(sample, item, WRONG) for item in sample.items]
    path = verdict_file(place / "a.jsonl", lines)
    import_(place, path)
    before = history(place, sample).read_bytes()
    import_(place, path)
    assert history(place, sample).read_bytes() == before
    import_(place, verdict_file(place / "b.jsonl", [judgement(sample, sample.items[0], RELEVANT, minute=9)]))
    after = history(place, sample).read_bytes().splitlines()
    assert set(before.splitlines()) < set(after)
    assert len(after) == len(lines) + 1


def test_notes_lose_contact_data_and_line_breaks(place: Path, sample: Sample) -> None:
    note = "frag\nAnna: anna.beispiel@example.org"
    import_(place, verdict_file(place / "a.jsonl", [judgement(sample, sample.items[0], WRONG, note=note)]))
    (line,) = history(place, sample).read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["note"] == "frag Anna: <EMAIL>"


def edited(text: str, **changes: object) -> str:
    lines = text.splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | changes)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda text: text[:-30], UsageError, r"a\.jsonl, line 5: .*EOF"),
        (lambda text: edited(text, build="0" * 16), Refused, r"line 2: the verdict is of build 0000"),
        (lambda text: edited(text, item="0" * 16), UsageError, r"line 2: item 0000.* not in the sample"),
        (lambda text: edited(text, verdict="maybe"), UsageError, r"line 2: verdict: "),
        (lambda text: edited(text, auditor=" \u202e "), UsageError, r"line 2: auditor: "),
        (lambda text: edited(text, sample="f" * 16), UsageError, r"the sample 'ffff"),
        (lambda text: edited(text, sample="../../x"), UsageError, r"line 2: sample: "),
        (lambda text: edited(text, config="../x"), UsageError, r"line 2: nothing was built of '\.\./x'"),
        (lambda text: edited(text, at="2026-01-05T08:00:00"), UsageError, r"line 2: at: "),
        (lambda text: edited(text, extra=1), UsageError, r"line 2: extra: "),
        (lambda text: edited(text, note="x" * 501), UsageError, r"line 2: note: "),
        (lambda text: "", UsageError, r"no verdict in it"),
        (lambda text: text + "[1, 2]\n", UsageError, r"line 6"),
    ],
)
def test_an_unsound_file_is_named_by_line_and_nothing_is_taken(
    place: Path, sample: Sample, change: object, error: type[MtebDeError], message: str
) -> None:
    assert callable(change)
    good = verdict_file(
        place / "good.jsonl", [judgement(sample, item, WRONG, "Ben") for item in sample.items]
    )
    path = verdict_file(place / "a.jsonl", [judgement(sample, item, RELEVANT) for item in sample.items[:5]])
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(error, match=message):
        import_(place, good, path)
    assert not (place / "notes").exists()
    assert not (place / "locks").exists()


def test_swapped_ids_are_seen(place: Path, sample: Sample) -> None:
    path = verdict_file(place / "a.jsonl", [judgement(sample, item, WRONG) for item in sample.items[:2]])
    path.write_text(edited(path.read_text(encoding="utf-8"), **{"corpus-id": "d-andere"}), encoding="utf-8")
    with pytest.raises(UsageError, match=r"line 2: item .* is the pair .* and the line\s+says"):
        import_(place, path)


def test_bytes_that_are_no_text_and_files_that_are_not_there(place: Path, sample: Sample) -> None:
    path = place / "a.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        import_(place, path)
    with pytest.raises(StorageError, match="cannot be read"):
        import_(place, place / "fort.jsonl")


def test_verdicts_of_a_build_that_has_changed_since_are_refused(place: Path, sample: Sample) -> None:
    path = verdict_file(place / "a.jsonl", [judgement(sample, sample.items[0], WRONG)])
    build(place / "dist", queries=59)
    assert read_tree(place / "dist", jobs()).build != sample.head.build
    with pytest.raises(Refused, match=f"of build {sample.head.build}, and jobs is"):
        import_(place, path)


def test_a_damaged_decisions_file_stops_the_import_before_anything_is_written(
    place: Path, sample: Sample
) -> None:
    (place / "locks").mkdir()
    (place / "locks" / "jobs.decisions.jsonl").write_text('{"query-id": "q"', encoding="utf-8")
    path = verdict_file(place / "a.jsonl", [judgement(sample, sample.items[0], WRONG)])
    with pytest.raises(UsageError, match=r"jobs\.decisions\.jsonl, line 1"):
        import_(place, path)
    assert not (place / "notes").exists()
