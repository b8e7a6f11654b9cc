from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from builders.audit.history import (
    NoVerdict,
    Sample,
    Verdict,
    auditor_name,
    audits_of,
    sample_folder,
    verdicts_path,
    write_judgements,
    write_sample,
)
from builders.audit.page import draw
from builders.audit.sample import read_pairs
from builders.audit.verdicts import import_verdicts
from builders.cli.output import complain
from builders.errors import MtebDeError, Refused, StorageError, UsageError
from builders.lock.beside import json_line
from tests.audit.kit import build, jobs, judgement, verdict_file

RELEVANT, WRONG = Verdict.ALSO_RELEVANT, Verdict.NOT_RELEVANT


@pytest.fixture
def place(tmp_path: Path) -> Path:
    build(tmp_path / "dist")
    return tmp_path


@pytest.fixture
def sample(place: Path) -> Sample:
    return draw(jobs(), 20, 5, dist=place / "dist", notes=place / "notes").sample


def history(place: Path, sample: Sample) -> Path:
    return verdicts_path(place / "notes", sample)


def import_(place: Path, *paths: Path, auditor: str = "") -> None:
    import_verdicts(paths, dist=place / "dist", notes=place / "notes", locks=place / "locks", auditor=auditor)


def test_verdicts_of_two_auditors_are_merged_line_by_line(place: Path, sample: Sample) -> None:
    for auditor, verdict in (("Anna", RELEVANT), ("Ben", WRONG)):
        lines = [judgement(sample, item, verdict, auditor) for item in sample.items[:3]]
        import_(place, verdict_file(place / f"{auditor}.jsonl", lines))
    text = history(place, sample).read_text(encoding="utf-8")
    documents = [json.loads(line) for line in text.splitlines()]
    assert [(one["item"], one["auditor"]) for one in documents] == sorted(
        (item.item, auditor) for item in sample.items[:3] for auditor in ("Anna", "Ben")
    )
    assert (history(place, sample).parent / f"{sample.head.sample}.sample.jsonl").exists()


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


def test_a_note_that_grows_when_it_is_scrubbed_can_be_read_back(place: Path, sample: Sample) -> None:
    note = "a@b.de " + "x" * 493
    path = verdict_file(place / "a.jsonl", [judgement(sample, sample.items[0], WRONG, note=note)])
    import_(place, path)
    before = history(place, sample).read_bytes()
    import_(place, path)
    assert history(place, sample).read_bytes() == before
    assert json.loads(before)["note"] == "<EMAIL> " + "x" * 492


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
        (lambda text: edited(text, at="0001-01-01T00:00:00+05:00"), UsageError, r"line 2: at: .*calendar"),
        (
            lambda text: edited(text, verdict=None),
            UsageError,
            r"line 2: verdict: .*'None' is none of not_rel",
        ),
        (lambda text: edited(text, verdict=[]), UsageError, r"line 2: verdict: "),
        (
            lambda text: edited(text, at="2126-01-05T08:00:00Z"),
            UsageError,
            r"line 2: at: 2126-.* yet to come",
        ),
        (
            lambda text: edited(text, at="2126-01-05T08:00:00Z", verdict="withdrawn"),
            UsageError,
            r"line 2: at: 2126-.* yet to come",
        ),
        (
            lambda text: edited(text, auditor="anna.beispiel@example.org"),
            UsageError,
            r"line 2: auditor: an auditor's name is published",
        ),
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


def test_one_persons_verdicts_under_two_names_are_refused(place: Path, sample: Sample) -> None:
    lines = [judgement(sample, item, WRONG) for item in sample.items[:5]]
    renamed = [one.model_copy(update={"auditor": "Ben"}) for one in lines]
    first, second = verdict_file(place / "a.jsonl", lines), verdict_file(place / "b.jsonl", renamed)
    message = r"b\.jsonl, line 1: verdicts of Anna and Ben .* \(i-.*, i-.*, i-.* and 2 more\)"
    with pytest.raises(Refused, match=message):
        import_(place, first, second)
    assert not (place / "notes").exists()
    import_(place, first)
    before = history(place, sample).read_bytes()
    other = judgement(sample, sample.items[9], WRONG, "Cem")
    with pytest.raises(Refused, match=message):
        import_(place, verdict_file(place / "c.jsonl", [other]), second)
    assert history(place, sample).read_bytes() == before


@pytest.mark.parametrize(("later", "refused"), [(0, True), (999, True), (1000, False)])
def test_times_are_compared_to_the_millisecond(
    place: Path, sample: Sample, later: int, refused: bool
) -> None:
    item = sample.items[0]
    one = judgement(sample, item, WRONG)
    moved = one.at + timedelta(microseconds=later)
    withdrawn = {"verdict": NoVerdict.WITHDRAWN, "auditor": "Ben", "at": moved}
    same = [one, judgement(sample, item, RELEVANT, "anna", minute=1), one.model_copy(update=withdrawn)]
    path = verdict_file(place / "a.jsonl", same)
    if refused:
        with pytest.raises(Refused, match=r"line 3: verdicts of Anna and Ben"):
            import_(place, path)
    else:
        import_(place, path)


def test_a_history_that_holds_equal_times_takes_what_others_judged(place: Path, sample: Sample) -> None:
    one = judgement(sample, sample.items[0], WRONG)
    write_sample(history(place, sample).parent, sample)
    write_judgements(history(place, sample), [one, one.model_copy(update={"auditor": "Ben"})])
    third = judgement(sample, sample.items[1], WRONG, "Cem")
    import_(place, verdict_file(place / "c.jsonl", [third]))
    assert len(history(place, sample).read_bytes().splitlines()) == 3


def test_the_last_event_holds_in_whatever_order_files_are_imported(place: Path, sample: Sample) -> None:
    item = sample.items[0]
    given = verdict_file(place / "a.jsonl", [judgement(sample, item, RELEVANT)])
    back = verdict_file(place / "b.jsonl", [judgement(sample, item, NoVerdict.WITHDRAWN, minute=1)])
    again = verdict_file(place / "c.jsonl", [judgement(sample, item, WRONG, minute=2)])
    for paths, judged in (([back], 0), ([given], 0), ([given, back], 0), ([again], 1), ([back, given], 1)):
        (taken,) = import_verdicts(paths, dist=place / "dist", notes=place / "notes", locks=place / "locks")
        assert taken.judged == judged
        assert taken.auditors == (("Anna",) if judged else ())
    assert taken.new == 0
    assert len(history(place, sample).read_bytes().splitlines()) == 3


def test_two_verdicts_of_one_moment_are_refused(place: Path, sample: Sample) -> None:
    lines = [judgement(sample, sample.items[0], verdict) for verdict in (RELEVANT, WRONG)]
    path = verdict_file(place / "a.jsonl", lines)
    with pytest.raises(
        UsageError, match=r"line 2: Anna finds item .* not relevant, and also rel.*a\.jsonl, line 1"
    ):
        import_(place, path)
    import_(place, verdict_file(path, lines[:1]))
    with pytest.raises(UsageError, match=r"line 1: Anna finds .* at the same moment \(the history\)"):
        import_(place, verdict_file(path, lines[1:]))


def test_one_moment_written_in_two_time_zones_is_one_verdict(place: Path, sample: Sample) -> None:
    one = judgement(sample, sample.items[0], WRONG)
    text = json_line(one)
    elsewhere = one.at.astimezone(timezone(timedelta(hours=5))).isoformat()
    import_(place, verdict_file(place / "a.jsonl", [one]))
    (place / "b.jsonl").write_text(json.dumps(json.loads(text) | {"at": elsewhere}) + "\n", encoding="utf-8")
    import_(place, place / "b.jsonl")
    assert history(place, sample).read_text(encoding="utf-8") == text


def test_samples_and_verdicts_with_ids_of_hex_digits_alone_still_import(place: Path, sample: Sample) -> None:
    items = tuple(item.model_copy(update={"item": item.item[2:]}) for item in sample.items)
    head = sample.head.model_copy(update={"sample": sample.head.sample[2:]})
    old = Sample(head=head, items=items)
    write_sample(sample_folder(place / "dist", "jobs"), old)
    import_(place, verdict_file(place / "a.jsonl", [judgement(old, item, WRONG) for item in items]))
    assert len(history(place, old).read_bytes().splitlines()) == len(items)


def test_swapped_ids_are_seen(place: Path, sample: Sample) -> None:
    path = verdict_file(place / "a.jsonl", [judgement(sample, item, WRONG) for item in sample.items[:2]])
    path.write_text(edited(path.read_text(encoding="utf-8"), **{"corpus-id": "d-andere"}), encoding="utf-8")
    with pytest.raises(UsageError, match=r"line 2: item .* is the pair .* and the line\s+says"):
        import_(place, path)


def test_clocks_may_differ_by_minutes_and_no_more(place: Path, sample: Sample) -> None:
    for minutes, sound in ((4, True), (6, False)):
        one = judgement(sample, sample.items[minutes], WRONG)
        ahead = one.model_copy(update={"at": datetime.now(UTC) + timedelta(minutes=minutes)})
        path = verdict_file(place / "a.jsonl", [ahead])
        with nullcontext() if sound else pytest.raises(UsageError, match="yet to come"):
            import_(place, path)


@pytest.mark.parametrize("name", ["Anna Groß", "Dr. Müller-Lüdenscheidt", "Prüferin 12", "名前"])
def test_a_name_is_a_name(name: str) -> None:
    assert auditor_name(f" {name} ") == name


@pytest.mark.parametrize("name", ["anna@beispiel.de", "Anna <a.gross@example.org>", "Anna 0171 2345678"])
def test_a_name_with_contact_data_is_none(name: str) -> None:
    with pytest.raises(ValueError, match="is published"):
        auditor_name(name)


def test_no_message_holds_a_control_character_of_the_file(
    place: Path, sample: Sample, capsys: pytest.CaptureFixture[str]
) -> None:
    path = verdict_file(place / "a.jsonl", [judgement(sample, item, WRONG) for item in sample.items[:2]])
    text = path.read_text(encoding="utf-8")
    for changes in ({"corpus-id": "\x1b[2Jd"}, {"\x1b[2J": 1}, {"config": "\x1b[2J"}):
        path.write_text(edited(text, **changes), encoding="utf-8")
        with pytest.raises(UsageError, match=r"line 2: .*\\x1b\[2J") as caught:
            import_(place, path)
        assert "\x1b" not in caught.value.message
    complain("\x1b[2J fort\nzweite Zeile", "auch \x07")
    assert capsys.readouterr().err == "error: \\x1b[2J fort\nzweite Zeile\n       auch \\x07\n"


def test_our_own_words_stand_alone_in_a_message(place: Path, sample: Sample) -> None:
    path = verdict_file(place / "a.jsonl", [judgement(sample, item, WRONG) for item in sample.items[:2]])
    path.write_text(edited(path.read_text(encoding="utf-8"), verdict="maybe"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"line 2: verdict: 'maybe' is none of not_relevant"):
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
    assert read_pairs(place / "dist", jobs()).build != sample.head.build
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


def test_a_damaged_history_stops_the_import_before_anything_is_written(place: Path, sample: Sample) -> None:
    path = verdict_file(place / "a.jsonl", [judgement(sample, sample.items[0], WRONG)])
    folder = history(place, sample).parent
    folder.mkdir(parents=True)
    (folder / "s-0000000000000000.sample.jsonl").write_text("{}", encoding="utf-8")
    (folder / "s-0000000000000000.verdicts.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match=r"s-0000000000000000\.sample\.jsonl, line 1"):
        import_(place, path)
    assert not history(place, sample).exists()


def test_a_sample_without_verdicts_in_the_history_is_what_an_import_that_was_cut_left(
    place: Path, sample: Sample
) -> None:
    write_sample(history(place, sample).parent, sample)
    import_(place, verdict_file(place / "a.jsonl", [judgement(sample, sample.items[0], WRONG)]))
    assert len(history(place, sample).read_bytes().splitlines()) == 1
    write_sample(history(place, sample).parent, draw(jobs(), 9, 0, dist=place / "dist", notes=place).sample)
    assert [len(judged) for _, judged in audits_of(place / "notes", "jobs")] == [1]
