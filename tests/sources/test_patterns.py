from __future__ import annotations

import re

import pytest
from fsspec.utils import glob_translate
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.files import safe_path
from builders.hub import shown_url
from builders.sources.repository import matching

NAMES = st.text("ab._", min_size=1, max_size=4).filter(lambda name: set(name) != {"."})
PARTS = st.text("ab*?._", min_size=1, max_size=4).filter(lambda part: set(part) != {"."})
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PATTERNS = st.lists(PARTS | st.just("**"), min_size=1, max_size=4).map("/".join)


def as_datasets_does(pattern: str, path: str) -> bool:
    """The rule of `datasets`: fsspec's glob, then as many hidden parts in the path as in the pattern."""
    dots = [[p for p in text.split("/") if p.startswith(".")] for text in (pattern, path)]
    folders = [[p for p in text.split("/")[:-1] if p.startswith("__")] for text in (pattern, path)]
    return (
        re.match(glob_translate(pattern), path) is not None
        and len(dots[0]) == len(dots[1])
        and len(folders[0]) == len(folders[1])
    )


@settings(deadline=None)
@given(PATTERNS, st.lists(PATHS, max_size=5))
@example("**", ["a", "a/b", ".a/b", "a/.b", "__a/b"])
@example("a/**/b", ["a/b", "a/a/b", "a/a/a/b", "b"])
@example("**/a/**/b", ["a/a/b/a/b", "a/b/a", "x/a/b"])
def test_patterns_match_as_the_hub_s_own_do(pattern: str, paths: list[str]) -> None:
    if any("**" in part and part != "**" for part in pattern.split("/")):
        return  # fsspec refuses those
    assert matching(pattern, paths) == sorted(path for path in paths if as_datasets_does(pattern, path))


def test_wildcards_stay_inside_one_folder() -> None:
    paths = ["data/train-1.parquet", "data/old/train-0.parquet", "data/train-0.parquet", "train-0.parquet"]
    assert matching("data/train-*", paths) == ["data/train-0.parquet", "data/train-1.parquet"]
    assert matching("**/train-0.parquet", paths) == [
        "data/old/train-0.parquet",
        "data/train-0.parquet",
        "train-0.parquet",
    ]
    assert matching("data/train-[1-9].*", paths) == ["data/train-1.parquet"]
    assert matching("data", paths) == []


def test_a_hostile_pattern_takes_linear_time() -> None:
    assert matching("*a" * 400 + "/x", ["a" * 250 + "b/x"]) == []
    assert matching("/".join(["**", "a"] * 200), ["/".join(["a"] * 400 + ["b"])]) == []


@pytest.mark.parametrize("path", ["README.md", "data/train-00.parquet", ".hidden", "a..b/c", "ä/ö", "a/b:c"])
def test_paths_inside_are_returned(path: str) -> None:
    assert safe_path(path, what="file", repo="x/y") == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/etc/passwd",
        "..",
        "../x",
        "a/../../x",
        "a/..",
        "./a",
        "a/./b",
        "a//b",
        "a/",
        "a\\..\\b",
        "a\0b",
        "a\nb",
        "\x1b[2J",
        "hf://datasets/x/y",
        "https://example.org/x",
        "C:/x",
        "\ud800",
        "a" * 256,
        "/".join(["ab"] * 600),
    ],
)
def test_paths_outside_are_refused_in_one_printable_line(path: str) -> None:
    with pytest.raises(SourceError) as error:
        safe_path(path, what="file", repo="x/y")
    assert error.value.message.isprintable() and len(error.value.message) < 400


def test_urls_are_shown_without_secrets() -> None:
    assert (
        shown_url("https://user:geheim@example.org:8443/a/b?token=geheim#x") == "https://example.org:8443/a/b"
    )
    assert "geheim" not in shown_url("http://geheim@[::1/x")
