"""The command's manners: help, exit codes, streams."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import polars as pl
import pytest

import builders
from builders import registry
from builders.cli.entry import VERBS, cli
from builders.spec import HubSource
from tests.cli.kit import call

HEAVY = (
    "torch",
    "sentence_transformers",
    "mlcroissant",
    "datasets",
    "polars",
    "pyarrow",
    "pydantic",
    "sklearn",
)


def commands() -> dict[str, click.Command]:
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    nested = {
        f"{name} {sub}": command
        for name, group in found.items()
        if isinstance(group, click.Group)
        for sub, command in group.commands.items()
    }
    return {name: command for name, command in (found | nested).items() if command is not None}


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from builders.cli import run; run(['--help']);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    for verb in VERBS:
        assert f"  {verb} " in done.stdout


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_verb_has_help_with_exit_codes_and_is_in_the_readme(name: str) -> None:
    command = commands()[name]
    assert command.help
    if not isinstance(command, click.Group):
        assert "Exit codes:" in command.help
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.name}"
    readme = (Path(builders.__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"mteb-de {name}" in readme


def test_examples_in_help_keep_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "--help")
    assert said.code == 0
    assert re.search(r"^ +mteb-de build germandpr jobs$", said.out, re.MULTILINE)
    assert "\b" not in said.out
    assert "\\b" not in said.out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("bulid",), "Did you mean 'build'?"),
        (("build", "job"), "Did you mean jobs?"),
        (("build", "--limit", "0"), "See mteb-de build --help."),
        (("build", "--nonsense"), "See mteb-de build --help."),
        (("build", "--check", "--update-lock"), "Pass one of them."),
        (("build", "--against", "dist"), "Pass --check too."),
        (("release", "plan", "mteb-dee", "--repo", "a/b"), "See mteb-de release plan --help."),
        (("release", "verify", "a/b"), "OWNER/NAME@v1.0.0"),
        (("release", "plan", "mteb-de", "--repo", "nonsense"), "OWNER/NAME"),
        (("explain", "q-1", "--out", "nowhere"), "mteb-de build"),
    ],
)
def test_usage_errors_say_what_to_do_on_stderr(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], hint: str
) -> None:
    said = call(capsys, *words)
    assert said.code == 2
    assert said.out == ""
    assert hint in said.err
    assert "Traceback" not in said.err


def test_update_lock_is_refused_from_stand_ins_before_anything_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MTEB_DE_SOURCES", str(tmp_path))
    words = (
        "build",
        "--update-lock",
        "--encoder",
        "offline",
        "--limit",
        "3",
        "--sample",
        "--out",
        str(tmp_path / "d"),
    )
    said = call(capsys, *words)
    assert said.code == 1
    for reason in ("--encoder offline", "--sample", "--limit", "MTEB_DE_SOURCES"):
        assert reason in said.err
    assert not (tmp_path / "d").exists()


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sample") / "dist"
    done = subprocess.run(
        [sys.executable, "-m", "builders", "build", "germandpr", "--sample", "--out", str(out)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(r"germandpr: [\d,]+ rows in .*germandpr \(\d+ s\)\n", done.stdout)
    assert "queries 120 read" in done.stderr
    return out


def test_build_prints_one_json_document_when_asked(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    said = call(capsys, "build", "germandpr", "--sample", "--out", str(sample), "--json")
    document = json.loads(said.out)
    assert document["schema_version"] == 1
    assert document["locks"]["germandpr"]["splits"] == {"train": 96, "dev": 12, "test": 12}


def test_the_log_keeps_what_was_printed(sample: Path) -> None:
    log = (sample / "work/germandpr/build.log").read_text(encoding="utf-8")
    assert re.search(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ   fetch ", log, re.MULTILINE)
    assert "queries 120 read" in log


def test_list_shows_what_was_built(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    plain = call(capsys, "list", "--out", str(sample))
    assert plain.code == 0
    assert "mteb/GermanDPR@64a4860e55" in plain.out
    rows = {
        row["config"]: row
        for row in json.loads(call(capsys, "list", "--out", str(sample), "--json").out)["configs"]
    }
    assert rows["germandpr"]["rows"] == 300
    assert rows["jobs"]["rows"] is None


def test_explain_follows_an_id_both_ways(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    said = call(capsys, "explain", "q_3", "--out", str(sample))
    assert said.code == 0
    assert "germandpr-queries" in said.out
    found = json.loads(call(capsys, "explain", "doc_1_p_0", "--out", str(sample), "--json").out)["found"]
    assert found[0]["table"] == "corpus"
    assert found[0]["relevant"] == ["q_2", "q_3"]
    assert call(capsys, "explain", "q_999", "--out", str(sample)).code == 2


def test_check_against_a_committed_lock(
    capsys: pytest.CaptureFixture[str], sample: Path, tmp_path: Path
) -> None:
    words = (
        "build",
        "germandpr",
        "--sample",
        "--check",
        "--out",
        str(sample),
        "--locks",
        str(tmp_path),
        "-q",
    )
    assert call(capsys, *words).code == 2
    lock = (sample / "work/germandpr/lock.json").read_text(encoding="utf-8")
    (tmp_path / "germandpr.lock.json").write_text(lock, encoding="utf-8")
    shutil.copy(sample / "work/germandpr/splits.tsv", tmp_path / "germandpr.splits.tsv")
    assert call(capsys, *words).code == 0
    told = lock.replace('"qrels": 120', '"qrels": 119')
    (tmp_path / "germandpr.lock.json").write_text(told, encoding="utf-8")
    said = call(capsys, *words[:-1])
    assert said.code == 0, "the rows are equal, and the count is no row"
    assert "facts.qrels: locked 119, now 120" in said.err
    (tmp_path / "germandpr.lock.json").write_text(other_rows(lock), encoding="utf-8")
    said = call(capsys, *words)
    assert said.code == 1
    assert "files.germandpr/corpus/corpus.parquet.content: locked 0000" in said.err


def other_rows(lock: str) -> str:
    """Return a lock as if the corpus had held other rows."""
    document = json.loads(lock)
    for file in document["files"]:
        if file["split"] == "corpus":
            file["content"] = "0" * 64
    return json.dumps(document)


def test_check_against_another_build_needs_no_committed_lock(
    capsys: pytest.CaptureFixture[str], sample: Path, tmp_path: Path
) -> None:
    shutil.copytree(sample, tmp_path / "there")
    words = (
        "build",
        "germandpr",
        "--sample",
        "--check",
        "--locks",
        str(tmp_path),
        "--out",
        str(tmp_path / "out"),
    )
    there = str(tmp_path / "there")
    said = call(capsys, *words, "--against", there)
    assert said.code == 0
    assert f"rows equal to those of {there}" in said.err
    rows = tmp_path / "there/mteb-de/germandpr/queries/dev.parquet"
    pl.read_parquet(rows).with_columns(text=pl.lit("anders")).write_parquet(rows)
    said = call(capsys, *words, "--against", there)
    assert said.code == 1
    assert "germandpr-queries/dev" in said.err
    shutil.rmtree(tmp_path / "out")
    assert call(capsys, *words, "--against", "nirgends").code == 2
    assert not (tmp_path / "out/mteb-de").exists(), "refused before anything is built"


def test_a_config_that_is_named_twice_is_built_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = call(capsys, "build", "germandpr", "germandpr", "--sample", "--out", str(tmp_path / "dist"))
    assert said.code == 0
    assert said.out.count("germandpr: ") == 1


@pytest.fixture
def without_sample(monkeypatch: pytest.MonkeyPatch) -> str:
    """A new config, to which nobody has made a sample yet."""
    spec = dataclasses.replace(registry.load_retrieval("germandpr"), name="neu")
    (source,) = spec.sources
    assert isinstance(source, HubSource)
    hub = dataclasses.replace(source, repo="verein/neu")
    known = {"germandpr": registry.load("germandpr"), "neu": dataclasses.replace(spec, sources=(hub,))}
    monkeypatch.setattr("builders.registry.names", lambda: tuple(known))
    monkeypatch.setattr("builders.registry.load", known.__getitem__)
    return "verein/neu"


def test_a_config_without_a_sample_is_left_out_with_a_note(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, without_sample: str
) -> None:
    said = call(capsys, "build", "--sample", "--out", str(tmp_path / "dist"))
    assert said.code == 0
    assert f"neu: the bundled sample holds nothing of {without_sample}; left out" in said.err
    assert said.out.startswith("germandpr: ") and "neu" not in said.out
    named = call(capsys, "build", "neu", "--sample", "--out", str(tmp_path / "dist"))
    assert named.code == 2
    assert f"neu: the bundled sample holds nothing of {without_sample}" in named.err


def test_a_committed_assignment_stays(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    splits = (sample / "work/germandpr/splits.tsv").read_text(encoding="utf-8")
    moved = splits.replace("\ttest\n", "\t?\n").replace("\tdev\n", "\ttest\n").replace("\t?\n", "\tdev\n")
    assert moved != splits
    (tmp_path / "germandpr.splits.tsv").write_text(moved, encoding="utf-8")
    out = tmp_path / "dist"
    words = ("build", "germandpr", "--sample", "--out", str(out), "--locks", str(tmp_path), "-q")
    call(capsys, *words)
    assert (out / "work/germandpr/splits.tsv").read_text(encoding="utf-8") == moved


def test_earlier_splits_are_given_where_none_are_committed(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, given = tmp_path / "kept", tmp_path / "earlier.tsv"
    splits = (sample / "work/germandpr/splits.tsv").read_text(encoding="utf-8")
    moved = splits.replace("\ttest\n", "\t?\n").replace("\tdev\n", "\ttest\n").replace("\t?\n", "\tdev\n")
    lines = moved.splitlines(keepends=True)
    given.write_text("".join(lines[:-10]), encoding="utf-8")
    words = ("--sample", "--out", str(tmp_path / "dist"), "--locks", str(kept))
    said = call(capsys, "build", "germandpr", *words)
    assert "no earlier splits were given: all queries were dealt" in said.err
    said = call(capsys, "build", "germandpr", *words, "--splits", str(given))
    assert (said.code, "110 of 120 as they were, 10 new" in said.err) == (0, True)
    built = (tmp_path / "dist/work/germandpr/splits.tsv").read_text(encoding="utf-8")
    assert set(lines[:-10]) <= set(built.splitlines(keepends=True))
    assert not kept.exists(), "what was given is not committed"


def test_earlier_splits_are_refused_where_they_fit_nothing(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, given = tmp_path / "kept", str(sample / "work/germandpr/splits.tsv")
    words = ("--sample", "--out", str(tmp_path / "dist"), "--locks", str(kept), "--splits", given)
    for configs in ((), ("germandpr", "jobs"), ("tenkgnad",)):
        said = call(capsys, "build", *configs, *words)
        assert (said.code, "--splits gives the splits of one retrieval config" in said.err) == (2, True)
    other = tmp_path / "other.tsv"
    other.write_text("query-id\tgroup\tsplit\nfremd\t0123456789abcdef\tdev\n", encoding="utf-8")
    said = call(capsys, "build", "germandpr", *words[:-1], str(other))
    assert (said.code, f"{other}: holds no query of germandpr" in said.err) == (2, True)
    kept.mkdir()
    shutil.copy(given, kept / "germandpr.splits.tsv")
    said = call(capsys, "build", "germandpr", *words)
    assert (said.code, "the splits of germandpr are committed already" in said.err) == (2, True)
    assert not (tmp_path / "dist/mteb-de").exists()


def test_an_unforeseen_fault_is_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> tuple[str, ...]:
        raise RuntimeError("kaputt")

    monkeypatch.setattr("builders.registry.names", broken)
    said = call(capsys, "list")
    assert said.code == 2
    assert "RuntimeError: kaputt" in said.err
    assert "Traceback" not in said.err
    assert "Traceback" in call(capsys, "--debug", "list").err


def test_an_interrupt_is_130(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> tuple[str, ...]:
        raise KeyboardInterrupt

    monkeypatch.setattr("builders.registry.names", interrupted)
    said = call(capsys, "list")
    assert said.code == 130
    assert "run the same command again" in said.err


def test_a_damaged_work_folder_is_named(
    capsys: pytest.CaptureFixture[str], sample: Path, tmp_path: Path
) -> None:
    shutil.copytree(sample, tmp_path / "dist")
    path = tmp_path / "dist/work/germandpr/provenance.parquet"
    path.write_bytes(path.read_bytes()[:100])
    said = call(capsys, "explain", "q_3", "--out", str(tmp_path / "dist"))
    assert said.code == 2
    assert str(path) in said.err
    assert "Build the config again" in said.err


def test_a_difference_in_one_config_stops_no_other(
    capsys: pytest.CaptureFixture[str], sample: Path, tmp_path: Path
) -> None:
    first, words = tmp_path / "first", ("--sample", "--locks", str(tmp_path), "-q", "--out")
    assert call(capsys, "build", "tenkgnad", *words, str(first)).code == 0
    for name, out in (("germandpr", sample), ("tenkgnad", first)):
        lock = (out / f"work/{name}/lock.json").read_text(encoding="utf-8")
        changed = lock.replace('"content": "', '"content": "0')
        (tmp_path / f"{name}.lock.json").write_text(changed, encoding="utf-8")
    shutil.copy(sample / "work/germandpr/splits.tsv", tmp_path / "germandpr.splits.tsv")
    said = call(capsys, "build", "germandpr", "tenkgnad", "--check", *words, str(tmp_path / "dist"))
    assert said.code == 1
    assert said.err.count("differs from its committed lock") == 2


def test_a_lock_without_its_splits_stops_the_build(
    capsys: pytest.CaptureFixture[str], sample: Path, tmp_path: Path
) -> None:
    shutil.copy(sample / "work/germandpr/lock.json", tmp_path / "germandpr.lock.json")
    words = (
        "build",
        "germandpr",
        "--sample",
        "--locks",
        str(tmp_path),
        "--out",
        str(tmp_path / "dist"),
        "-q",
    )
    said = call(capsys, *words)
    assert said.code == 2
    assert "germandpr.splits.tsv" in said.err
    assert not (tmp_path / "dist/mteb-de").exists()
