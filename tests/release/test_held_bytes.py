"""What is published are the bytes that were compared with the plan, whatever becomes of the folder."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import files
from builders.errors import Busy, Refused
from builders.release.plan import make_plan, plan_path, read_plan
from builders.release.publish import apply
from builders.release.rehearse import rehearse
from tests.cli.kit import call
from tests.marks import long_after
from tests.rehearsal.kit import FaultyHub
from tests.release.kit import RELEASE, REPO, TARGET, api_of, edit, repo_of, writes

# the Hub's client sends files in a way that its HTTP library has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

CARD, TABLE = "README.md", "jobs/qrels/test.parquet"


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def link_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("weg"))
    path.parent.symlink_to(path.parent.with_name("weg"))


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


SWAPS: dict[str, Callable[[Path], object]] = {
    "replaced": lambda path: files.write_bytes(path, b"anders"),
    "edited": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\0"),
    "a link": link,
    "removed": lambda path: path.unlink(),
    "a pipe": pipe,
}


def main_of(hub: FaultyHub) -> dict[str, str]:
    tree = repo_of(hub).resolve("main").tree
    data = {path: blob.data for path, blob in tree.items() if path != ".gitattributes"}
    return {path: hashlib.sha256(blob).hexdigest() for path, blob in data.items() if isinstance(blob, bytes)}


@pytest.mark.parametrize("path", long_after(1, [TABLE, CARD]))
@pytest.mark.parametrize("swap", SWAPS.values(), ids=SWAPS)
@pytest.mark.parametrize("moment", long_after(1, ["/preupload/", "whoami-v2$"]))
def test_a_file_that_is_swapped_while_apply_runs_changes_nothing_of_what_is_published(
    rehearsed: Path, hub: FaultyHub, moment: str, path: str, swap: Callable[[Path], object]
) -> None:
    planned = {file.path: file.sha256 for file in read_plan(rehearsed, RELEASE).files}
    api = api_of(hub)
    call_of = {"whoami-v2$": "whoami", "/preupload/": "create_commit"}[moment]
    made = getattr(api, call_of)

    def meanwhile(*args: Any, **options: Any) -> Any:
        swap(rehearsed / RELEASE / path)
        return made(*args, **options)

    setattr(api, call_of, meanwhile)
    apply(rehearsed, RELEASE, api=api)
    assert main_of(hub) == planned
    assert repo_of(hub).tags == {"v1.0.0": repo_of(hub).branches["main"]}


@pytest.mark.parametrize(("path", "swap", "named"), [
    (CARD, link, "a link, not a file"),
    (TABLE, link, "a link, not a file"),
    (TABLE, pipe, "not a regular file"),
    (TABLE, link_folder, "missing"),
])  # fmt: skip
def test_a_link_or_a_pipe_is_no_planned_file(
    rehearsed: Path, hub: FaultyHub, path: str, swap: Callable[[Path], None], named: str
) -> None:
    swap(rehearsed / RELEASE / path)
    for verb in (lambda: apply(rehearsed, RELEASE, api=api_of(hub)), lambda: rehearse(rehearsed, RELEASE)):
        with pytest.raises(Refused, match=f"{path}: {named}"):
            verb()
    assert hub.log == []


def test_a_link_to_the_very_bytes_is_refused_too(rehearsed: Path, hub: FaultyHub) -> None:
    there = rehearsed / RELEASE / CARD
    there.rename(rehearsed / "card")
    there.symlink_to(rehearsed / "card")
    with pytest.raises(Refused, match="a link, not a file"):
        apply(rehearsed, RELEASE, api=api_of(hub))
    assert hub.log == []
    table = rehearsed / RELEASE / TABLE
    table.rename(rehearsed / "tabelle")
    table.symlink_to(rehearsed / "tabelle")
    with pytest.raises(Refused, match=f"links in place of files: README.md, {TABLE}"):
        make_plan(rehearsed, RELEASE, TARGET, api=api_of(hub))


def test_nobody_plans_builds_or_rehearses_in_the_folder_while_apply_runs(
    rehearsed: Path, hub: FaultyHub
) -> None:
    refused: list[type[Exception]] = []
    said: list[str] = []

    def meanwhile() -> None:
        for verb in (
            lambda: make_plan(rehearsed, RELEASE, TARGET, api=api_of(hub)),
            lambda: rehearse(rehearsed, RELEASE),
            lambda: apply(rehearsed, RELEASE, api=api_of(hub)),
        ):
            try:
                verb()
            except Busy as error:
                refused.append(type(error))
        build = ["build", "germandpr", "--sample", "--out", str(rehearsed), "--quiet"]
        ran = subprocess.run(
            [sys.executable, "-m", "builders", *build], capture_output=True, text=True, check=False
        )
        said.append(ran.stderr)
        assert ran.returncode == 2

    hub.fault("POST", "/preupload/", 503, meanwhile=meanwhile)
    before = plan_path(rehearsed, RELEASE).read_bytes()
    apply(rehearsed, RELEASE, api=api_of(hub))
    assert refused == [Busy] * 3
    assert "another build holds this folder" in said[0]
    assert plan_path(rehearsed, RELEASE).read_bytes() == before


def test_a_rehearsal_holds_the_folder_and_the_plan_that_it_read(
    rehearsed: Path, hub: FaultyHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from builders.release import child

    ask, refused = child.ask, []

    def meanwhile(request: dict[str, str], environment: dict[str, str]) -> Any:
        with pytest.raises(Busy):
            make_plan(rehearsed, RELEASE, TARGET, api=api_of(hub))
        refused.append(request["do"])
        edit(plan_path(rehearsed, RELEASE), message="anders")
        return ask(request, environment)

    monkeypatch.setattr(child, "ask", meanwhile)
    with pytest.raises(Refused, match="has changed while it was rehearsed"):
        rehearse(rehearsed, RELEASE)
    assert refused == ["push"]


def test_the_plan_that_is_asked_about_is_the_one_that_is_published(
    rehearsed: Path, hub: FaultyHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def confirm(question: str, *, err: bool) -> bool:
        asked.append(question)
        with pytest.raises(Busy):
            make_plan(rehearsed, RELEASE, TARGET, api=api_of(hub))
        return False

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.confirm", confirm)
    said = call(capsys, "release", "apply", RELEASE, "--out", str(rehearsed))
    assert said.code == 1 and "the answer was no" in said.err and writes(hub) == []
    assert [f"{REPO}@v1.0.0" in question for question in asked] == [True]
