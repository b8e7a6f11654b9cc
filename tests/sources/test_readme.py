from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.errors import MtebDeError, SourceError, SourceMissing
from builders.sources.repository import _select
from builders.spec import Part

PATHS = ["a.parquet", "data/test-0.parquet", "data/test-1.parquet", "data/train-0.parquet", "x/y/z.parquet"]
PART = (Part("rows", ("default", "qrels")),)


def readme(configs: object) -> bytes:
    return f"---\n{yaml.safe_dump({'configs': configs})}---\n# Titel\n".encode()


def chosen(document: bytes, part: Part = PART[0]) -> list[str]:
    return _select("x/y", [part], document, PATHS)["rows"]


@pytest.mark.parametrize(
    ("data_files", "expected"),
    [
        ("data/test-*", ["data/test-0.parquet", "data/test-1.parquet"]),
        (["data/train-*", "a.parquet"], ["data/train-0.parquet", "a.parquet"]),
        ([{"split": "test", "path": "data/test-1*"}], ["data/test-1.parquet"]),
        (
            [{"split": "b", "path": ["x/**", "a.*"]}, {"split": "a", "path": "data/train-*"}],
            ["x/y/z.parquet", "a.parquet", "data/train-0.parquet"],
        ),
        (
            ["data/*-0.parquet", "data/test-*"],
            ["data/test-0.parquet", "data/train-0.parquet", "data/test-1.parquet"],
        ),
    ],
)
def test_every_form_of_data_files(data_files: object, expected: list[str]) -> None:
    assert chosen(readme([{"config_name": "default", "data_files": data_files}])) == expected


def test_the_first_config_that_exists_is_taken() -> None:
    both = [
        {"config_name": "qrels", "data_files": "a.parquet"},
        {"config_name": "default", "data_files": "x/**"},
    ]
    assert chosen(readme(both)) == ["x/y/z.parquet"]
    assert chosen(readme(both[:1])) == ["a.parquet"]
    assert chosen(readme([{"data_files": "a.parquet"}])) == ["a.parquet"]


def test_a_config_s_name_is_a_string_whatever_it_looks_like() -> None:
    document = b"---\nconfigs:\n- config_name: no\n  data_files: a.parquet\n---\n"
    assert chosen(document, Part("rows", ("no",))) == ["a.parquet"]


def test_line_ends_and_byte_order_mark_do_not_matter() -> None:
    document = readme([{"config_name": "default", "data_files": "a.parquet"}])
    assert chosen(b"\xef\xbb\xbf" + document.replace(b"\n", b"\r\n")) == ["a.parquet"]


def test_data_dir_is_the_folder_of_the_patterns() -> None:
    config = {"config_name": "default", "data_dir": "data", "data_files": "test-*"}
    assert chosen(readme([config])) == ["data/test-0.parquet", "data/test-1.parquet"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"", "no YAML header"),
        (b"# Titel\n---\nconfigs: []\n---\n", "no YAML header"),
        (b"---\nlicense: mit\n", "no YAML header"),
        (b"---\nlicense: mit\n---\n", "names no configs"),
        (readme([]), "no config 'default' or 'qrels'"),
        (readme([{"config_name": "corpus", "data_files": "a.parquet"}]), "found 'corpus'"),
        (readme([{"config_name": "default"}]), "no data_files"),
        (readme([{"config_name": "default", "data_files": ["a.parquet", "b-*"]}]), "'b-*'"),
    ],
)
def test_what_is_missing_is_named(document: bytes, words: str) -> None:
    with pytest.raises(SourceMissing) as error:
        chosen(document)
    assert words in error.value.message and "x/y" in error.value.message and error.value.hint


@pytest.mark.parametrize(
    "pattern", ["../x", "/etc/*", "data/../../*", "https://example.org/x", "hf://datasets/a/b/*", "", "a\0"]
)
def test_patterns_that_leave_the_repository_are_refused(pattern: str) -> None:
    with pytest.raises(SourceError, match="does not stay inside"):
        chosen(readme([{"config_name": "default", "data_files": pattern}]))
    with pytest.raises(SourceError, match="does not stay inside"):
        chosen(readme([{"config_name": "default", "data_dir": "..", "data_files": "x"}]))


def lines(*text: str) -> bytes:
    return "\n".join(["---", *text, "---", ""]).encode()


BOMB = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 40))]
MERGES = [
    "a0: &a0 {x: 1}",
    *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 40)),
]


@pytest.mark.parametrize(
    ("words", "document"),
    [
        ("line 2: not YAML", lines("configs: [}")),
        ("line 2: not YAML", lines("configs: *nowhere")),
        ("not a mapping", lines("- a list")),
        ("not a list of mappings", lines("configs: text")),
        ("not a list of mappings", lines("configs: [text]")),
        ("not a name or not unique", lines("configs: [{config_name: [default]}]")),
        ("not a name or not unique", lines("configs: [{config_name: a}, {config_name: a}]")),
        ("not a list of paths", lines("configs: [{config_name: default, data_files: [[[a]]]}]")),
        ("not a list of paths", lines("configs: [{config_name: default, data_files: []}]")),
        ("not a list of paths", lines("configs: [{config_name: default, data_files: [{split: test}]}]")),
        ("not YAML", lines("configs: &a [*a]")),
        ("not YAML", lines("configs: [{config_name: default, data_files: &a [*a]}]")),
        ("not YAML", lines("? [a, b]", ": c")),
        ("not a list of mappings", lines("configs: !!python/object/apply:os.system ['true']")),
        ("RecursionError", lines("configs: " + "[\n" * 5000)),
        ("RecursionError", lines("configs: " + "{a: " * 5000)),
        ("not a list of mappings", lines(*BOMB, "configs: *a39")),
        ("not a list of mappings", lines(*MERGES, "configs: *a39")),
        ("longer than", lines("x: " + "1" * 300_000)),
        ("not UTF-8 (byte 4)", b"---\n\xff\xfe\n---\n"),
        ("ReaderError", b"---\nconfigs: \x07\n---\n"),
        ("more than 4194304", b"-" * (5 << 20)),
    ],
    ids=range(22),
)
def test_rubbish_is_an_error_of_the_source(words: str, document: bytes) -> None:
    with pytest.raises(SourceError) as error:
        chosen(document)
    assert words in error.value.message
    assert "x/y" in error.value.message and len(error.value.message) < 600


def test_aliases_do_not_grow() -> None:
    document = lines(*BOMB, "configs: [{config_name: default, data_files: a.parquet, more: *a39}]")
    assert chosen(document) == ["a.parquet"]


@settings(deadline=None)
@given(st.binary(max_size=200), st.text(max_size=200))
def test_no_readme_makes_another_error(data: bytes, text: str) -> None:
    for document in (data, b"---\n" + data + b"\n---\n", lines(f"configs: {text}")):
        try:
            chosen(document)
        except MtebDeError:
            pass
