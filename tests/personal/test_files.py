from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.errors import UsageError
from builders.personal import CONTACT
from builders.personal.files import scrub_file

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
    assert (done.left, done.personal.kinds) == (("n",), {"handle": 7})


def test_other_processes_give_the_same_bytes(tmp_path: Path) -> None:
    rows = [{"id": str(number), "text": f"Zeile {number}: u/name{number}"} for number in range(9_000)]
    source = write_csv(tmp_path / "in.csv", rows)
    seen: list[int] = []
    alone = scrub_file(source, tmp_path / "alone.csv", workers=1)
    many = scrub_file(source, tmp_path / "many.csv", workers=2, progress=seen.append)
    assert (tmp_path / "alone.csv").read_bytes() == (tmp_path / "many.csv").read_bytes()
    assert alone == many
    assert (seen, seen[-1], many.personal.kinds) == (sorted(seen), 9_000, {"handle": 9_000})


def test_a_file_can_be_cleaned_in_place(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv", _ROWS)
    scrub_file(source, source)
    assert read_csv(source) == _CLEAN
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("short.csv", b"a,b\n1,2\n3\n", "row 3 has 1 values"),
        ("twice.csv", b"a,a\n1,2\n", "names a column twice"),
        ("empty.csv", b"", "header is empty"),
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
        scrub_file(tmp_path / name, tmp_path / "out", ["txt"])
    assert "text" in caught.value.hint
    assert not (tmp_path / "out").exists()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        scrub_file(tmp_path / "none.csv", tmp_path / "out.csv")


def test_an_error_in_another_process_keeps_its_hint(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"{}\n" * 10 + b"nope\n")
    with pytest.raises(UsageError, match="line 11") as caught:
        scrub_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl", workers=2)
    assert caught.value.hint
