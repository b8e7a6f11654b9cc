from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders.errors import StorageError, UsageError
from builders.personal import pieces
from builders.personal.engine import scrub_rows
from builders.personal.pieces import Task
from builders.personal.tables import FileReport, scrub_file
from builders.spec import ALL_KINDS, CONTACT
from tests.marks import long_after

_ROWS = [
    {"id": "1", "text": "Frau Weber, Tel. 0221/4710-123", "note": 'mit "Anführung", Komma\nund Zeile'},
    {"id": "2", "text": "", "note": "nichts"},
    {"id": "007", "text": "weber@beispiel.de", "note": "u/abc; fertig"},
]
_CLEAN = [
    {"id": "1", "text": "Frau <PERSON>, Tel. <PHONE>", "note": 'mit "Anführung", Komma\nund Zeile'},
    {"id": "2", "text": "", "note": "nichts"},
    {"id": "007", "text": "<EMAIL>", "note": "<HANDLE>; fertig"},
]


def write_csv(path: Path, rows: list[dict[str, str]], delimiter: str = ",", quotechar: str = '"') -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, quotechar=quotechar)
        writer.writeheader()
        writer.writerows(rows)
    return path


def read_csv(path: Path, delimiter: str = ",", quotechar: str = '"') -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter, quotechar=quotechar))


def test_csv(tmp_path: Path) -> None:
    done = scrub_file(write_csv(tmp_path / "in.csv", _ROWS), tmp_path / "out.csv")
    assert read_csv(tmp_path / "out.csv") == _CLEAN
    assert (done.rows, done.columns, done.left) == (3, ("id", "text", "note"), ())
    assert done.personal.kinds == {"email": 1, "handle": 1, "person": 1, "phone": 1}
    assert done.personal.changed == 3


def test_csv_with_another_form(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv", _ROWS, delimiter=";", quotechar="'")
    scrub_file(source, tmp_path / "out.csv", separator=";", quote="'")
    assert read_csv(tmp_path / "out.csv", delimiter=";", quotechar="'") == _CLEAN


def test_columns_and_kinds_are_chosen(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.tsv", _ROWS, delimiter="\t")
    done = scrub_file(source, tmp_path / "out.tsv", ["text"], CONTACT)
    out = read_csv(tmp_path / "out.tsv", delimiter="\t")
    assert [row["text"] for row in out] == ["Frau Weber, Tel. <PHONE>", "", "<EMAIL>"]
    assert [row["note"] for row in out] == [row["note"] for row in _ROWS]
    assert (done.columns, done.left) == (("text",), ("id", "note"))


def test_json_lines_keep_what_needs_no_change(tmp_path: Path) -> None:
    lines = [
        b'{"b": 1,   "a": [{"x": "u/abc", "y": 0.1}, null, "Tel. 0221/4710123"]}\n',
        b"\n",
        b'{"b":   2e5, "a": "K\\u00f6ln"}',
    ]
    (tmp_path / "in.jsonl").write_bytes(b"".join(lines))
    done = scrub_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    out = (tmp_path / "out.jsonl").read_bytes().splitlines(keepends=True)
    assert json.loads(out[0]) == {"b": 1, "a": [{"x": "<HANDLE>", "y": 0.1}, None, "Tel. <PHONE>"]}
    assert out[1:] == lines[1:]
    assert done.rows == 2


def test_json_keys_are_chosen_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"a": {"t": ["u/abc"], "s": "u/abc"}, "t": "u/abc"}\n', "utf-8")
    scrub_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl", ["t"])
    assert json.loads((tmp_path / "out.jsonl").read_text("utf-8")) == {
        "a": {"t": ["<HANDLE>"], "s": "u/abc"},
        "t": "<HANDLE>",
    }


def test_parquet_keeps_its_schema(tmp_path: Path) -> None:
    table = pa.table(
        {
            "n": pa.array([1, 2, None, 4], pa.int32()),
            "text": pa.array(["u/abc", None, "", "Köln"]),
            "large": pa.array(["u/abc", None, "", "Köln"], pa.large_string()),
            "lists": pa.array([["u/abc", None], [], None, ["x", "u/abc"]], pa.list_(pa.string())),
            "large_lists": pa.array([["u/abc"], [], None, ["x"]], pa.large_list(pa.large_string())),
            "words": pa.array(["u/abc", "u/abc", None, "x"]).dictionary_encode(),
        },
        metadata={"made": "by hand"},
    )
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=3)
    done = scrub_file(tmp_path / "in.parquet", tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.schema.equals(pq.read_schema(tmp_path / "in.parquet"), check_metadata=True)
    assert out.drop_columns("n").to_pylist() == [
        {name: value for name, value in row.items() if name != "n"}
        for row in json.loads(json.dumps(table.to_pylist()).replace("u/abc", "<HANDLE>"))
    ]
    assert out["n"].to_pylist() == [1, 2, None, 4]
    assert (done.columns[0], done.left, done.personal.kinds) == ("n", (), {"handle": 7})


def test_other_processes_give_the_same_bytes(tmp_path: Path) -> None:
    rows = [{"id": str(number), "text": f"Zeile {number}: u/name{number}"} for number in range(9_000)]
    source = write_csv(tmp_path / "in.csv", rows)
    alone = scrub_file(source, tmp_path / "alone.csv", workers=1)
    many = scrub_file(source, tmp_path / "many.csv", workers=2)
    assert (tmp_path / "alone.csv").read_bytes() == (tmp_path / "many.csv").read_bytes()
    assert alone == many
    assert (many.rows, many.personal.kinds) == (9_000, {"handle": 9_000})


@pytest.mark.parametrize("name", long_after(1, ["in.jsonl", "in.parquet"]))
def test_other_processes_give_the_same_rows(tmp_path: Path, name: str) -> None:
    rows = [{"v": {"t": [f"Zeile {number}: u/name{number}"]}, "n": number} for number in range(9_000)]
    if name == "in.jsonl":
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)), "utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name, row_group_size=1000)
    alone = scrub_file(tmp_path / name, tmp_path / f"alone.{name}", workers=1)
    many = scrub_file(tmp_path / name, tmp_path / f"many.{name}", workers=2)
    assert (tmp_path / f"alone.{name}").read_bytes() == (tmp_path / f"many.{name}").read_bytes()
    assert alone == many
    assert (many.rows, many.personal.kinds) == (9_000, {"handle": 9_000})


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.list_(pa.string()), pa.struct([("t", pa.string())]), pa.int8()]
)
def test_tables_without_rows(tmp_path: Path, kind: pa.DataType) -> None:
    pq.write_table(pa.table({"v": pa.array([], kind)}), tmp_path / "in.parquet")
    assert scrub_file(tmp_path / "in.parquet", tmp_path / "out.parquet").rows == 0
    assert pq.read_table(tmp_path / "out.parquet").equals(pq.read_table(tmp_path / "in.parquet"))


def test_a_file_can_be_cleaned_in_place(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv", _ROWS)
    scrub_file(source, source)
    assert read_csv(source) == _CLEAN
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("short.csv", b"a,b\n1,2\n3\n", "row 3 has 1 values"),
        ("twice.csv", b"a,a\n1,2\n", "two columns are called 'a'"),
        ("empty.csv", b"", "the file is empty"),
        ("blank.csv", b"\xef\xbb\xbf\r\n\n", "the file is empty"),
        ("twice.csv", b"a,Frau Weber,Frau Weber\n1,2,3\n", "columns are called 'Frau <PERSON>'"),
        ("latin.csv", b"a\nM\xfcller\n", "0xfc"),
        ("quote.csv", b'a\n"offen\n', "end of data"),
        ("broken.jsonl", b'{"a": 1}\n{"a": \n', "line 2 is no JSON"),
        ("list.jsonl", b"[1]\n", "line 1 is no JSON object"),
        ("deep.jsonl", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "line 1 is no JSON"),
        ("broken.parquet", b"PAR1", "footer"),
        ("table.xlsx", b"", "unknown format .xlsx"),
    ],
)
def test_broken_input_is_named_and_nothing_is_written(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=says) as caught:
        scrub_file(tmp_path / name, tmp_path / "out" / name)
    assert name in caught.value.message
    assert caught.value.hint
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.parametrize("name", ["in.csv", "in.jsonl", "in.parquet"])
def test_an_unknown_column_is_named(tmp_path: Path, name: str) -> None:
    if name == "in.csv":
        write_csv(tmp_path / name, _ROWS)
    elif name == "in.jsonl":
        (tmp_path / name).write_text("\n".join(map(json.dumps, _ROWS)), "utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(_ROWS), tmp_path / name)
    with pytest.raises(UsageError, match="'txt'") as caught:
        scrub_file(tmp_path / name, tmp_path / f"out.{name}", ["txt"])
    assert "text" in caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_link_leads_to_the_file_that_is_cleaned(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv", _ROWS)
    source.chmod(0o440)
    (tmp_path / "link.csv").symlink_to("in.csv")
    scrub_file(tmp_path / "link.csv", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert read_csv(source) == _CLEAN
    assert source.stat().st_mode & 0o777 == 0o440


def test_a_copy_has_the_permissions_of_its_source(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv", _ROWS)
    source.chmod(0o600)
    scrub_file(source, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == 0o600


def test_a_file_of_several_names_is_not_replaced_under_one(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv", _ROWS)
    before = source.read_bytes()
    (tmp_path / "other.csv").hardlink_to(source)
    with pytest.raises(UsageError, match="2 names") as caught:
        scrub_file(source, source)
    assert "--out" in caught.value.hint
    assert source.read_bytes() == (tmp_path / "other.csv").read_bytes() == before


@pytest.mark.parametrize("name", ["q.parquet", "q.tsv", "q.jsonl", "q", "q.csv.bak"])
def test_a_copy_has_the_ending_of_its_format(tmp_path: Path, name: str) -> None:
    source = write_csv(tmp_path / "in.csv", _ROWS)
    with pytest.raises(UsageError, match="does not fit") as caught:
        scrub_file(source, tmp_path / name)
    assert ".csv" in caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.parametrize("end", ["in", "out"])
def test_a_pipe_is_no_table(tmp_path: Path, end: str) -> None:
    write_csv(tmp_path / "file.csv", _ROWS)
    os.mkfifo(tmp_path / "pipe.csv")
    names = ("pipe.csv", "out.csv") if end == "in" else ("file.csv", "pipe.csv")
    with pytest.raises(UsageError, match=r"pipe\.csv: (not a|no) file") as caught:
        scrub_file(tmp_path / names[0], tmp_path / names[1])
    assert caught.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        scrub_file(tmp_path / "none.csv", tmp_path / "out.csv")


def test_an_error_in_another_process_keeps_its_hint(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"{}\n" * 10 + b"nope\n")
    with pytest.raises(UsageError, match="line 11") as caught:
        scrub_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl", workers=2)
    assert caught.value.hint


def end_at_once(piece: object, task: Task) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "scrub_lines", end_at_once)
    (tmp_path / "in.jsonl").write_bytes(b"{}\n")
    with pytest.raises(StorageError, match="was killed, probably as memory ran out") as caught:
        scrub_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl", workers=2)
    assert "--workers" in caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def scrubbed(folder: Path, name: str, content: bytes, **options: Any) -> tuple[bytes, FileReport]:
    (folder / name).write_bytes(content)
    done = scrub_file(folder / name, folder / f"out.{name}", **options)
    return (folder / f"out.{name}").read_bytes(), done


@pytest.mark.parametrize(
    ("line", "clean"),
    [
        (b'{"a": "max@beispiel.de", "a": "zwei"}', b'{"a": "<EMAIL>", "a": "zwei"}'),
        (b'{"a": {"a": "u/abc"}, "a": "u/abc"}', b'{"a": {"a": "<HANDLE>"}, "a": "<HANDLE>"}'),
        (b'{"max@beispiel.de": 1}', b'{"<EMAIL>": 1}'),
        (
            b'{"max@beispiel.de": 1, "<EMAIL>": 2, "eva@beispiel.de" : {"max@beispiel.de": "x"}}',
            b'{"<EMAIL> 2": 1, "<EMAIL>": 2, "<EMAIL> 3" : {"<EMAIL>": "x"}}',
        ),
        (
            b'{"n": 1e400, "d": 0.1234567890123456789, "i": 12345678901234567, "t": "u/abc", "z": -0.0}',
            b'{"n": 1e400, "d": 0.1234567890123456789, "i": 12345678901234567, "t": "<HANDLE>", "z": -0.0}',
        ),
        (b'{"t": "Hallo \\ud83d Welt"}', b'{"t": "Hallo \\ud83d Welt"}'),
        (b'{"t": "\\udc00 Tel. 0171 39200\\ud83d12 \\ud83d"}', b'{"t": "\\udc00 Tel. <PHONE> \\ud83d"}'),
        (
            b'{"t": "u\\/abc", "k": "a\\\\", "\\u0061": ["}", "{"]}',
            b'{"t": "<HANDLE>", "k": "a\\\\", "\\u0061": ["}", "{"]}',
        ),
        (b'\xef\xbb\xbf{"t": "u/abc"}\r', b'{"t": "<HANDLE>"}\r'),
        ('{"t": "Fu\u00adß Tel. 0171\u202f3920012"}'.encode(), '{"t": "Fu\u00adß Tel. <PHONE>"}'.encode()),
    ],
)
def test_json_lines_are_scrubbed_where_they_stand(tmp_path: Path, line: bytes, clean: bytes) -> None:
    out, done = scrubbed(tmp_path, "in.jsonl", line + b"\n")
    assert out == clean + b"\n"
    assert done.rows == 1
    assert "beispiel" not in str(done)


def test_json_strings_below_a_named_key_are_looked_at_with_their_keys(tmp_path: Path) -> None:
    line = b'{"a": {"u/abc": ["u/abc"], "t": "u/abc"}, "u/abc": "u/abc"}\n'
    out, _ = scrubbed(tmp_path, "in.jsonl", line, columns=["a"])
    assert out == b'{"a": {"<HANDLE>": ["<HANDLE>"], "t": "<HANDLE>"}, "u/abc": "u/abc"}\n'


@given(
    st.recursive(
        st.one_of(
            st.none(), st.floats(allow_nan=False), st.text(max_size=8), st.sampled_from(["u/abc", "a@b.de"])
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", 'b"', "\\", "u/abc"]), inner)
        ),
    )
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_json_of_any_form_is_scrubbed_as_its_strings_are(tmp_path: Path, value: Any) -> None:
    def clean(inner: Any) -> Any:
        if isinstance(inner, str):
            return scrub_rows([inner])[0][0]
        if isinstance(inner, list):
            return list(map(clean, inner))
        return {clean(k): clean(v) for k, v in inner.items()} if isinstance(inner, dict) else inner

    out, _ = scrubbed(tmp_path, "in.jsonl", json.dumps({"v": value}).encode())
    assert json.loads(out) == clean({"v": value})


def test_a_carriage_return_within_a_value_does_not_split_its_row(tmp_path: Path) -> None:
    out, done = scrubbed(tmp_path, "in.csv", b'id,text,mail\n1,"Zeile eins\rZeile zwei",a@beispiel.de\n')
    assert out == b'id,text,mail\n1,"Zeile eins\rZeile zwei",<EMAIL>\n'
    again, _ = scrubbed(tmp_path, "again.csv", out)
    assert again == out
    assert done.rows == 1


def test_blank_lines_of_csv_are_passed_over(tmp_path: Path) -> None:
    out, done = scrubbed(tmp_path, "in.csv", b"\xef\xbb\xbf\r\na,b\r\n\r\n1,u/abc\r\n \r\n\r\n")
    assert out == b"a,b\n1,<HANDLE>\n"
    assert done.rows == 1


@pytest.mark.parametrize(
    ("name", "sign", "hint"),
    [("in.csv", ";", "';'"), ("in.csv", "\t", r"$'\t'"), ("in.csv", "|", "'|'"), ("in.tsv", ",", "','")],
)
@pytest.mark.parametrize("named", [True, False])
def test_values_that_another_sign_parts_are_not_read_as_one(
    tmp_path: Path, name: str, sign: str, hint: str, named: bool
) -> None:
    content = "name;geburtsdatum;kundennr\nPetra Müller;12.03.1985;77\n".replace(";", sign).encode()
    with pytest.raises(UsageError, match="the first row holds more") as caught:
        scrubbed(tmp_path, name, content, named=named)
    assert f"--separator {hint} if" in (caught.value.hint or "")
    assert not (tmp_path / f"out.{name}").exists()
    out, _ = scrubbed(tmp_path, name, content, named=named, separator=sign)
    birth = "<BIRTH_DATE>" if named else "12.03.1985"
    assert out.decode().splitlines()[1] == sign.join(["<PERSON>", birth, "77"])


def test_a_separator_that_was_asked_for_is_believed(tmp_path: Path) -> None:
    out, _ = scrubbed(tmp_path, "in.csv", b"Text; Mail\na@beispiel.de; gut\n", separator=",")
    assert out == b"Text; Mail\n<EMAIL>; gut\n"
    assert scrubbed(tmp_path, "in.csv", b"id,Text; Mail\n1,gut\n")[0] == b"id,Text; Mail\n1,gut\n"


def test_a_blank_line_in_csv_of_one_column_is_an_empty_value(tmp_path: Path) -> None:
    out, done = scrubbed(tmp_path, "in.csv", b"a\nu/abc\n\nx\n")
    assert out == b'a\n<HANDLE>\n""\nx\n'
    assert done.rows == 3


def test_the_first_row_of_csv_is_scrubbed_and_told(tmp_path: Path) -> None:
    content = b"Sport;'Mail an max@beispiel.de'\nWeb;'x'\n"
    out, done = scrubbed(tmp_path, "in.csv", content, separator=";", quote="'", columns=["Sport"])
    assert out == b"Sport;Mail an <EMAIL>\nWeb;x\n"
    assert (done.header, done.left, done.rows) == (True, ("Mail an <EMAIL>",), 1)


def test_csv_without_a_header(tmp_path: Path) -> None:
    content = b"Sport;'Mail an max@beispiel.de'\nSport;'u/abc'\n"
    out, done = scrubbed(tmp_path, "in.csv", content, separator=";", quote="'", named=False, columns=["2"])
    assert out == b"Sport;Mail an <EMAIL>\nSport;<HANDLE>\n"
    assert (done.columns, done.left, done.rows) == (("2",), ("1",), 2)


def test_header_cells_stay_apart(tmp_path: Path) -> None:
    out, _ = scrubbed(tmp_path, "in.csv", b"a@beispiel.de,<EMAIL>,b@beispiel.de\n1,2,3\n")
    assert out == b"<EMAIL> 2,<EMAIL>,<EMAIL> 3\n1,2,3\n"


def test_quoting_can_be_switched_off(tmp_path: Path) -> None:
    content = b'a\tb\n"offen\tu/abc\nx"y\t"\n'
    with pytest.raises(UsageError, match="row 2") as caught:
        scrubbed(tmp_path, "in.tsv", content)
    assert "--quote ''" in caught.value.hint
    out, _ = scrubbed(tmp_path, "in.tsv", content, quote="")
    assert out == b'a\tb\n"offen\t<HANDLE>\nx"y\t"\n'
    out, _ = scrubbed(tmp_path, "one.tsv", b'a\n"\n\n', quote="")
    assert out == b'a\n"\n\n'


def test_a_placeholder_that_such_csv_cannot_hold_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        scrubbed(tmp_path, "in.csv", b"aLx\nu/abcLy\n", quote="", separator="L")
    assert not (tmp_path / "out.in.csv").exists()


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=2, max_size=2),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_csv_of_any_values_reads_back(tmp_path: Path, rows: list[list[str]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])
    out, done = scrubbed(tmp_path, "in.csv", text.getvalue().encode())
    read = list(csv.reader(io.StringIO(out.decode(), newline="")))
    assert done.rows == len(rows) == len(read) - 1
    if not done.personal.changed:
        assert read[1:] == rows


_MAIL = "eva@beispiel.de"
_STRUCT = pa.struct([
    pa.field("role", pa.string(), nullable=False),
    ("content", pa.string()),
    ("n", pa.float32()),
])


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (
            _STRUCT,
            [{"role": "r", "content": _MAIL, "n": 0.5}, None, {"role": _MAIL, "content": None, "n": None}],
        ),
        (pa.list_(_STRUCT), [[{"role": _MAIL, "content": "x", "n": 1.0}, None], [], None]),
        (pa.map_(pa.string(), pa.list_(pa.string())), [[("a", [_MAIL]), ("b", None)], None, []]),
        (pa.map_(pa.string(), pa.int8()), [[(_MAIL, 1), ("max@beispiel.de", 2), ("<EMAIL>", 3)]]),
        (pa.list_(pa.string(), 2), [[_MAIL, None], None, ["x", _MAIL]]),
        (pa.large_list(pa.list_(pa.large_string())), [[[_MAIL], None], None, []]),
        (pa.list_(pa.list_(pa.map_(pa.string(), _STRUCT))), [[[]], [[[(_MAIL, None)]], None], None, []]),
        (pa.string_view(), [_MAIL, None, "x"]),
        (pa.dictionary(pa.int8(), pa.string()), [_MAIL, None, _MAIL]),
        (pa.list_(pa.dictionary(pa.int32(), pa.large_string())), [[_MAIL], None, ["x"]]),
    ],
)
def test_nested_columns_of_parquet_are_scrubbed(tmp_path: Path, kind: pa.DataType, values: list[Any]) -> None:
    # Values that stand before the rows, as in a slice, must not shift them.
    column = pa.array([*values[:1], *values], kind).slice(1)
    pq.write_table(
        pa.table({"n": pa.array([float("nan")] * len(values)), "v": column}), tmp_path / "in.parquet"
    )
    done = scrub_file(tmp_path / "in.parquet", tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.schema.equals(pq.read_schema(tmp_path / "in.parquet"))
    clean = repr(values).replace(_MAIL, "<EMAIL>")
    if kind == pa.map_(pa.string(), pa.int8()):
        clean = "[[('<EMAIL> 2', 1), ('<EMAIL> 3', 2), ('<EMAIL>', 3)]]"
    assert repr(out["v"].to_pylist()) == clean
    assert (done.columns, done.left, done.unread) == (("n", "v"), (), ())
    assert done.personal.kinds["email"] >= 1
    assert b"beispiel" not in (tmp_path / "out.parquet").read_bytes()


def test_what_stands_below_a_null_is_not_carried_over(tmp_path: Path) -> None:
    hidden = pa.StructArray.from_arrays([pa.array([_MAIL, "x"])], ["t"], mask=pa.array([True, False]))
    batch = pa.record_batch({"v": hidden})
    schema = pieces.clean_schema(batch.schema, pieces.Cleaner(ALL_KINDS))
    column = pieces.scrub_batch(batch, schema, Task((), ALL_KINDS)).output.column(0)
    assert column.field(0).to_pylist() == [None, "x"]


def test_names_and_metadata_of_parquet_are_scrubbed(tmp_path: Path) -> None:
    table = pa.table(
        {"a@beispiel.de": ["x"], "s": pa.array([{"b@beispiel.de": 1}])},
        metadata={"by": "von max@beispiel.de", "json": '{"a": "max@beispiel.de", "v": "2.10.0"}'},
    )
    pq.write_table(table, tmp_path / "in.parquet")
    done = scrub_file(tmp_path / "in.parquet", tmp_path / "out.parquet")
    schema = pq.read_schema(tmp_path / "out.parquet")
    assert schema.names == ["<EMAIL>", "s"]
    assert schema.field("s").type.field(0).name == "<EMAIL>"
    assert schema.metadata == {b"by": b"von <EMAIL>", b"json": b'{"a": "<EMAIL>", "v": "2.10.0"}'}
    assert (done.columns, done.header, done.personal.kinds) == (("<EMAIL>", "s"), True, {"email": 4})
    assert b"beispiel" not in (tmp_path / "out.parquet").read_bytes()


def test_what_is_not_looked_at_is_unread_unless_other_columns_are_named(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"b": [b"a@beispiel.de"], "l": [[b"x"]], "n": [1], "t": ["x"], "w": [True]}
    days = pa.array([8000], pa.date32())
    table = pa.table(columns | {"d": days, "Geburtstag": days}, metadata={"k": b"\xff"})
    pq.write_table(table, tmp_path / "in.parquet")
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    done = scrub_file(source, out)
    assert (done.columns, done.left) == (("n", "t"), ("w", "d"))
    assert done.unread == ("b", "l", "Geburtstag", "metadata k")
    done = scrub_file(source, out, ["t"])
    assert (done.left, done.unread) == (("b", "l", "n", "w", "d", "Geburtstag"), ("metadata k",))
    for name in ("b", "w", "d"):
        assert scrub_file(source, out, [name]).unread == (name, "metadata k")
    assert scrub_file(source, out, ["n"]).unread == ("metadata k",)


@pytest.mark.parametrize(
    ("kind", "value", "is_kept"),
    [
        (pa.int64(), 491711234567, True),
        (pa.float64(), 491711234567.0, True),
        (pa.decimal128(20, 0), 86095742719, True),
        (pa.list_(pa.int64()), [5, 491711234567], True),
        (pa.struct([("Telefon", pa.int32())]), {"Telefon": 71234567}, True),
        (pa.map_(pa.string(), pa.uint64()), [("a", 491711234567)], True),
        (pa.int64(), 12345678901, False),
        (pa.int32(), 71234567, False),
        (pa.float64(), 491711234567.5, False),
        (pa.list_(pa.float32()), [0.5, float("inf"), float("nan")], False),
    ],
)
def test_numbers_of_parquet_are_looked_at_and_stay(
    tmp_path: Path, kind: pa.DataType, value: Any, is_kept: bool
) -> None:
    pq.write_table(pa.table({"v": pa.array([None, value], kind)}), tmp_path / "in.parquet")
    done = scrub_file(tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert (done.columns, done.unread) == (("v",), ("v",) if is_kept else ())
    out, source = (pq.read_table(tmp_path / name)["v"] for name in ("out.parquet", "in.parquet"))
    assert (out.type, repr(out.to_pylist())) == (source.type, repr(source.to_pylist()))
    pq.write_table(pa.table({"v": [1], "Telefon": [71234567]}), tmp_path / "in.parquet")
    assert scrub_file(tmp_path / "in.parquet", tmp_path / "out.parquet").unread == ("Telefon",)


@pytest.mark.parametrize(
    ("line", "clean"),
    [
        ('{"n": 491711234567, "m": 12}', '{"n": "<PHONE>", "m": 12}'),
        (
            '{"n": [491711234567.0, -491711234567, 491711234567.5]}',
            '{"n": ["<PHONE>", -491711234567, 491711234567.5]}',
        ),
        ('{"Telefon": 71234567, "n": 71234567}', '{"Telefon": "<PHONE>", "n": 71234567}'),
        ('{"n": 86095742719}', '{"n": "<TAX_ID>"}'),
        ('{"n": 4.91711234567e11, "m": 0.491711234567}', '{"n": 4.91711234567e11, "m": 0.491711234567}'),
    ],
)
def test_long_numbers_of_json_are_looked_at(tmp_path: Path, line: str, clean: str) -> None:
    out, done = scrubbed(tmp_path, "in.jsonl", line.encode())
    assert out.decode() == clean
    assert done.unread == ()
    out, _ = scrubbed(tmp_path, "in.jsonl", line.encode(), columns=["n"])
    assert json.loads(out)["n"] == json.loads(clean)["n"]


def test_the_name_of_a_column_announces_its_values(tmp_path: Path) -> None:
    rows = [
        {
            "Vorname": "Xaveria",
            "last_name": "Koch",
            "Telefon-Nr.": "1711234567",
            "Ort": "Xaveria",
            "Geburtstag": "1.2.1990",
        },
        {
            "Vorname": "",
            "last_name": "von Xanten",
            "Telefon-Nr.": "keine",
            "Ort": "1711234567",
            "Geburtstag": "1.2.1990",
        },
    ]
    clean = [
        {
            "Vorname": "<PERSON>",
            "last_name": "<PERSON>",
            "Telefon-Nr.": "<PHONE>",
            "Ort": "Xaveria",
            "Geburtstag": "<BIRTH_DATE>",
        },
        {
            "Vorname": "",
            "last_name": "<PERSON>",
            "Telefon-Nr.": "keine",
            "Ort": "1711234567",
            "Geburtstag": "<BIRTH_DATE>",
        },
    ]
    write_csv(tmp_path / "in.csv", rows)
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    for ending in ("csv", "jsonl", "parquet"):
        done = scrub_file(tmp_path / f"in.{ending}", tmp_path / f"out.{ending}")
        assert done.personal.kinds == {"birth_date": 2, "person": 3, "phone": 1}
        assert done.personal.examples["phone.cue"] == ("0000000000",)
    assert read_csv(tmp_path / "out.csv") == clean
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()] == clean
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == clean


ANNOUNCED = {
    "Straße": {"Am Anger 7": "<ADDRESS>", "Hauptstr. 5": "<ADDRESS>", "unbekannt": "unbekannt"},
    "Anschrift": {"Zum Sportplatz 3": "<ADDRESS>", "an der alten Mühle 4": "<ADDRESS>", "Köln": "Köln"},
    "Adresse": {"Allee 5": "<ADDRESS>", "Am Anger 7, 50667 Köln": "<ADDRESS>", "siehe oben": "siehe oben"},
    "Wohnort": {"Köln": "Köln", "Am Anger 7": "<ADDRESS>", "": ""},
    "Ansprechpartner": {"Xaveria Koch": "<PERSON>", "Dr. Hans Meier": "Dr. <PERSON>", "": ""},
    "Name": {
        "Anna": "<PERSON>",
        "Karl-Heinz": "<PERSON>",
        "P. Müller": "<PERSON>",
        "Petra Müller": "<PERSON>",
    },
    "IBAN": {"DE12 3456 7890 1234 5678 90": "<IBAN>", "folgt": "folgt", "": ""},
    "Konto-Nr.": {"1234567": "<BANK_ACCOUNT>", "bar": "bar", "": ""},
    "Führerschein": {"B072RRE2I55": "<ID_CARD>", "Klasse B": "Klasse B", "": ""},
    "SV-Nummer": {"65170839J008": "<SOCIAL_SECURITY>", "beantragt": "beantragt", "": ""},
    "KFZ-Kennzeichen": {"K-AB 12": "<PLATE>", "keines": "keines", "": ""},
}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", list(ANNOUNCED))
def test_columns_of_every_kind_announce_their_values(tmp_path: Path, ending: str, name: str) -> None:
    rows = [{name: value, "x": value} for value in ANNOUNCED[name]]
    assert list(columns_scrubbed(tmp_path, ending, rows)[name]) == list(ANNOUNCED[name].values())


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_of_names_may_hold_things(tmp_path: Path, ending: str) -> None:
    things = [
        "Schraube M8",
        "Bosch GmbH",
        "Bosch",
        "Müller",
        "Hammer",
        "Hugo Boss",
        "Köln",
        "Tisch Anna",
        "M8",
    ]
    rows = [{"Nr": str(number), "Name": thing} for number, thing in enumerate(things)]
    assert columns_scrubbed(tmp_path, ending, rows)["Name"] == things


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_beside_first_names_the_name_is_a_surname(tmp_path: Path, ending: str) -> None:
    rows = [{"Name": "Hammer", "Vorname": "Xaveria"}, {"Name": "Müller", "Vorname": "Ida"}]
    assert columns_scrubbed(tmp_path, ending, rows) == {"Name": ["<PERSON>"] * 2, "Vorname": ["<PERSON>"] * 2}


def test_a_first_name_in_another_object_is_none_of_this_one(tmp_path: Path) -> None:
    line = '{"kunde": {"name": "Hammer", "vorname": "Ida"}, "ware": {"name": "Hammer"}}'
    out, _ = scrubbed(tmp_path, "in.jsonl", line.encode())
    assert json.loads(out) == {
        "kunde": {"name": "<PERSON>", "vorname": "<PERSON>"},
        "ware": {"name": "Hammer"},
    }


def columns_scrubbed(folder: Path, ending: str, rows: list[dict[str, str]]) -> dict[str, list[str]]:
    """Scrub rows in one of the formats; return the copy by column."""
    source, out = folder / f"in.{ending}", folder / f"out.{ending}"
    if ending == "csv":
        write_csv(source, rows)
    elif ending == "jsonl":
        source.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(rows), source)
    scrub_file(source, out)
    if ending == "csv":
        clean = read_csv(out)
    elif ending == "jsonl":
        clean = [json.loads(line) for line in out.read_bytes().splitlines()]
    else:
        clean = pq.read_table(out).to_pylist()
    return {name: [row[name] for row in clean] for name in rows[0]}


@pytest.mark.parametrize("row", [2, 3, 5000])
def test_the_row_of_a_byte_that_is_no_text_is_named(tmp_path: Path, row: int) -> None:
    lines = [b"a,b"] + [b"1,x"] * 6000
    lines[row - 1] = b"1,M\xfcller"
    with pytest.raises(UsageError, match=f"row {row}: byte 0xfc is no UTF-8"):
        scrubbed(tmp_path, "in.csv", b"\n".join(lines))


def test_two_columns_of_one_name_in_parquet(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["t", "t"])
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(UsageError, match="two columns are called 't'"):
        scrub_file(tmp_path / "in.parquet", tmp_path / "out.parquet")


def test_damaged_parquet_is_an_error_about_the_source(tmp_path: Path) -> None:
    rows = [f"Zeile {number} {number * 7919 % 1009}" for number in range(3000)]
    pq.write_table(pa.table({"t": rows}), tmp_path / "in.parquet", use_dictionary=False)
    whole = (tmp_path / "in.parquet").read_bytes()
    rng = random.Random(5)
    failed = 0
    for _ in range(40):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        (tmp_path / "in.parquet").write_bytes(damaged)
        try:
            scrub_file(tmp_path / "in.parquet", tmp_path / "out.parquet")
        except UsageError as error:
            failed += 1
            assert "in.parquet" in error.message
    assert failed > 5
