"""Builds that are cut: by SIGKILL between any two steps and inside any write, by Ctrl-C, by another build."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from builders.files import exclusive
from builders.rehearsal import serve
from tests.end_to_end.bad_days import (
    JOBS,
    Bench,
    contents,
    from_hub,
    left_behind,
    processes_with,
    tables,
    wait_until_gone,
)
from tests.end_to_end.driver import Fate
from tests.end_to_end.kit import with_upstreams
from tests.marks import long_after

STEPS = ("fetch", "prepare", "split", "check", "write")
FILES = 15
"""What a build of germandpr writes: 7 tables, 3 frames, splits, personal data, lock, manifest."""


@pytest.fixture(scope="module")
def earlier(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of fewer queries, which the builds that are cut replace."""
    out = tmp_path_factory.mktemp("earlier") / "dist"
    assert bench.build("germandpr", "--limit", "60", out=out).code == 0
    assert contents(out).keys() == contents(bench.germandpr).keys()
    assert contents(out) != contents(bench.germandpr)
    return out


def passes(bench: Bench, out: Path) -> bool:
    return bench.driver.run("check", "--dist", out).code == 0


def assert_built_again(bench: Bench, out: Path) -> None:
    ran = bench.build("germandpr", out=out)
    assert ran.code == 0, ran.err
    assert contents(out) == contents(bench.germandpr)
    assert not left_behind(out)


@pytest.mark.parametrize("steps", long_after(2, range(len(STEPS), 0, -1)))
def test_killed_between_two_steps(bench: Bench, earlier: Path, tmp_path: Path, steps: int) -> None:
    out = bench.starting_from(earlier, tmp_path)
    killed = bench.build("germandpr", out=out, fate=Fate(kill_after_step=steps))
    assert killed.code == -signal.SIGKILL
    assert [line.split()[0] for line in killed.err.splitlines() if line[2:3].isalpha()][-1] == STEPS[
        steps - 1
    ]
    whole = bench.germandpr if STEPS[steps - 1] == "write" else earlier
    assert contents(out) == contents(whole)
    assert passes(bench, out)
    assert_built_again(bench, out)


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long)])
def test_killed_inside_every_write(bench: Bench, earlier: Path, tmp_path: Path, step: int) -> None:
    """A file is synced when it is written, its folder when it is renamed: a build dies at each of them."""
    whole, cut_in_half = (contents(earlier), contents(bench.germandpr)), 0
    for number in count(1, step):
        folder = tmp_path / str(number)
        folder.mkdir()
        out = bench.starting_from(earlier, folder)
        ran = bench.build("germandpr", out=out, fate=Fate(kill_in_sync=number))
        if ran.code == 0:
            break
        assert ran.code == -signal.SIGKILL
        cut_in_half += len(left_behind(out))
        assert not passes(bench, out) or contents(out) in whole
        assert_built_again(bench, out)
    assert cut_in_half == FILES or (step > 1 and cut_in_half > 0)
    assert number > 2 * FILES


def test_a_build_that_was_cut_has_no_lock_and_is_refused(bench: Bench, earlier: Path, tmp_path: Path) -> None:
    out = bench.starting_from(earlier, tmp_path)
    lock = out / "work/germandpr/lock.json"
    assert bench.build("germandpr", out=out, fate=Fate(kill_in_sync=FILES - 1)).code == -signal.SIGKILL
    assert not lock.exists()
    assert left_behind(out)
    for words in ("check", "--dist", out), ("release", "plan", "mteb-de", "--repo", "a/b", "--out", out):
        refused = bench.driver.run(*words)
        assert refused.code == 2
        assert "was built there" in refused.err
        assert f"mteb-de build --out {out}" in refused.err
    bench.build(*JOBS, out=out)
    for words in ("check", "--dist", out), ("release", "plan", "mteb-de", "--repo", "a/b", "--out", out):
        refused = bench.driver.run(*words)
        assert refused.code == 1
        assert "file-extra" in refused.out + refused.err
        assert "germandpr/" in refused.out + refused.err
    assert bench.build("germandpr", out=out).code == 0
    assert passes(bench, out)
    assert tables(out) == tables(bench.germandpr) | tables(bench.jobs)


@pytest.mark.parametrize(
    ("fate", "kept"),
    [
        pytest.param(
            {"kill_in_sync": 3}, 0, marks=pytest.mark.long
        ),  # inside the file of the queries' vectors
        pytest.param({"kill_after_step": 4}, "all", marks=pytest.mark.long),  # with the queries' vectors kept
        ({"kill_in_sync": 7}, "all"),  # inside the file of the passages' vectors
    ],
)
def test_killed_while_encoding(bench: Bench, tmp_path: Path, fate: dict[str, int], kept: int | str) -> None:
    home, out = tmp_path / "home", tmp_path / "dist"
    settings = {"MTEB_DE_HOME": str(home)}
    assert bench.build(*JOBS, out=out, fate=Fate(settings, **fate)).code == -signal.SIGKILL
    wait_until_gone(str(home))
    assert contents(out) == {}
    assert len(left_behind(home)) == ("kill_in_sync" in fate)
    again = bench.build(*JOBS, out=out, fate=Fate(settings))
    assert again.code == 0, again.err
    assert (" 0 encoded," in again.err) == (kept == "all")
    assert contents(out) == contents(bench.jobs)


def test_killed_again_and_again_while_fetching(bench: Bench, tmp_path: Path) -> None:
    """Each run goes on where the last one died, and dies before a later rename of ours."""
    out = tmp_path / "dist"
    with serve(with_upstreams(bench.upstreams)) as hub:
        alive = from_hub(hub.endpoint, tmp_path)
        for number in count(1):
            killed = bench.build("germandpr", out=out, fate=replace(alive, kill_before_rename=number))
            assert killed.code == -signal.SIGKILL
            if "  prepare " in killed.err:
                break
            assert contents(out) == {}
        assert number > 1, "it never died while it fetched"
        ran = bench.build("germandpr", "--offline", out=out, fate=alive)
    assert ran.code == 0, ran.err
    assert tables(out) == tables(bench.germandpr)
    assert not left_behind(out)


def test_ctrl_c_ends_a_build_that_held_its_folder_and_its_workers(bench: Bench, tmp_path: Path) -> None:
    """A build that encodes holds its folder; Ctrl-C ends it with its workers, and the folder is free."""
    home, out = tmp_path / "home", tmp_path / "dist"
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"  # whatever was inherited
        "from builders.cli import main; main()"
    )
    words = ("build", "jobs", "--encoder", "offline", "--workers", "2", "--out", str(out))
    settings = {"MTEB_DE_SOURCES": str(bench.upstreams), "MTEB_DE_HOME": str(home)}
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *words],
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    ) as build:
        assert build.stderr is not None
        said = ""
        while "  split " not in said:
            line = build.stderr.readline()
            assert line, said
            said += line
        other = bench.build("germandpr", out=out)
        while len(processes_with(str(home))) < 3:  # the build and its workers
            assert build.poll() is None
        os.killpg(build.pid, signal.SIGINT)
        printed, rest = build.communicate(timeout=120)
    assert other.code == 2
    assert f"{out}: another build holds this folder" in other.err
    assert "Wait for it, or use another --out." in other.err
    assert build.returncode == 130
    assert printed == ""
    assert rest.strip().splitlines()[-1].startswith("error: interrupted; nothing is half-written")
    assert "Traceback" not in rest
    wait_until_gone(str(home))
    assert not left_behind(tmp_path)
    assert contents(out) == {}
    assert_built_again(bench, out)


def test_two_builds_at_once_in_one_folder(bench: Bench, tmp_path: Path) -> None:
    out = bench.starting_from(bench.germandpr, tmp_path)
    with exclusive(out):
        ran = bench.build("germandpr", "--limit", "60", out=out)
    assert ran.code == 2
    assert f"{out}: another build holds this folder" in ran.err
    assert contents(out) == contents(bench.germandpr)
    assert_built_again(bench, out)
