from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders import registry
from builders.evaluation.jobs import EvalOptions, evaluate
from builders.lock.lock import work_folder
from builders.rehearsal import serve
from tests.cli.kit import Said, call
from tests.encoders.dequantise import tiny_weights, write_model
from tests.end_to_end.kit import run
from tests.evaluation.built import Told, build_sample
from tests.evaluation.hydrated import write_hydrated

CHEAP = ("--encoder", "hashing")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    build_sample(folder, "germandpr", "tenkgnad")
    specs = [registry.load(name) for name in ("germandpr", "tenkgnad")]
    evaluate(specs, [], EvalOptions(out=folder / "dist"), Told())  # what needs no encoder is kept
    return folder / "dist"


@pytest.fixture
def out(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "dist"))


def words(out: Path, *more: str) -> tuple[str, ...]:
    return ("eval", *more, "--out", str(out), "-q")


def edit_lock(out: Path, config: str, **changed: Any) -> None:
    path = work_folder(out, config) / "lock.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changed), encoding="utf-8")


def as_from_upstream(out: Path, config: str) -> None:
    """Make a build of the sample look like one of the whole upstream."""
    lock = json.loads((work_folder(out, config) / "lock.json").read_bytes())
    commit = "64a4860e55ba6d8fcb923d5306d08e08b1c72794"
    pinned = {"kind": "hub", "revision": commit, "resolved": commit}
    edit_lock(out, config, sources=[source | pinned for source in lock["sources"]])


def test_tables_and_findings_on_stdout(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, *words(out, *CHEAP, "--encoder", "bm25"))
    assert said.code == 0, said.err
    assert "nDCG@10" in said.out and "V-measure" in said.out and "topic" in said.out
    assert re.search("not comparable +not built from the whole real upstream", said.out)
    assert "0 comparable (2: not built from the whole" in said.out and "0 outside the tolerance" in said.out
    assert said.err == ""


def test_json_is_one_document_with_everything(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, *words(out, "germandpr", *CHEAP, "--split", "all", "--json"))
    document = json.loads(said.out)
    assert document["schema_version"] == 1
    (result,) = document["results"]
    assert (result["config"], result["split"], result["encoder"]["name"]) == ("germandpr", "all", "hashing")
    assert {one["encoder"]["name"] for one in document["baselines"]} == {
        "random",
        "constant",
        "oracle",
        "bm25",
    }
    assert set(document["chances"]) == {"germandpr/all"}
    assert [finding["code"] for finding in document["findings"]] == ["eval-words-suffice"]


def test_markdown_escapes_what_a_user_named(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mo|del_*<b>"
    write_model(tiny_weights(), folder)
    said = call(capsys, *words(out, "germandpr", "--encoder", str(folder), "--markdown"))
    assert said.code == 0, said.err
    table = [line for line in said.out.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert "<b>" not in said.out and "## Retrieval" in said.out


PROGRAM = """
import sys
from builders.cli import run
from builders.evaluation import published

row = dict(task="TenKGnadClusteringS2S", model="verein/klein", model_revision="", dataset_revision="",
    mteb_version="1", pipeline="minibatch-kmeans", metric="v_measure", value=0.01, source="a test")
facts = (*published.published_scores(), published.Published(**row))
published.published_scores = lambda: facts
published._prompted_alike = lambda: frozenset({"verein/klein"})
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.long
@pytest.mark.parametrize("failing", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_score_outside_its_tolerance_is_exit_1_but_for_a_failure(
    out: Path, tmp_path: Path, failing: bool
) -> None:
    """A score of a model of our own is put among the published ones."""
    as_from_upstream(out, "tenkgnad")
    write_model(tiny_weights(), tmp_path / "klein")
    with serve() as hub:
        commit = hub.store.add_folder("model", "verein/klein", tmp_path / "klein")
        missing = f"verein/gibtsnicht@{commit}"
        asked = ["--encoder", f"verein/klein@{commit}", *(["--encoder", missing] if failing else [])]
        said = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words(out, "tenkgnad"), *asked],
            env=hub.environment(tmp_path / "clients", token=None)
            | {"MTEB_DE_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
    assert said.returncode == (2 if failing else 1), said.stderr
    assert (missing in said.stderr) == failing
    (line,) = [one for one in said.stdout.splitlines() if one.startswith("tenkgnad-clustering-s2s: verein/")]
    assert "v_measure" in line and "tolerance 0.0" in line and "other rows of the same sizes" in line
    assert "1 published scores beside ours, 1 comparable, 1 outside the tolerance" in said.stdout


def test_an_error_about_scores_is_exit_1_and_nothing_is_cited(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A positive that is not in the corpus keeps the oracle below 1."""
    path = out / "mteb-de/germandpr/qrels/test.parquet"
    rows = pl.read_parquet(path)
    rows[1:].vstack(rows[:1].with_columns(pl.lit("nirgends").alias("corpus-id"))).write_parquet(path)
    lock = json.loads((work_folder(out, "germandpr") / "lock.json").read_bytes())
    for file in lock["files"]:
        if file["path"] == "germandpr/qrels/test.parquet":
            file |= {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "content": "changed"}
    edit_lock(out, "germandpr", files=lock["files"])
    said = call(capsys, *words(out, "germandpr", *CHEAP))
    assert said.code == 1 and "error eval-oracle-below-one" in said.out
    as_from_upstream(out, "germandpr")
    locks = tmp_path / "configs"
    assert call(capsys, *words(out, "germandpr", *CHEAP, "--cite", "--locks", str(locks))).code == 1
    assert not locks.exists()


def test_the_report_is_written_where_it_was_asked_for(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(capsys, *words(out, *CHEAP, "--report", str(tmp_path / "report")))
    assert said.code == 0, said.err
    names = {path.name for path in (tmp_path / "report").iterdir()}
    assert names == {"evaluation.md", "evaluation.html"}
    assert "hashing" in (tmp_path / "report" / "evaluation.md").read_text(encoding="utf-8")
    again = call(capsys, *words(out, *CHEAP, "--report", str(tmp_path / "again")))
    assert again.out == said.out
    for name in names:  # from kept results, which JSON keeps in another order
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "report" / name).read_bytes()


@pytest.mark.parametrize("place", ["datei", "datei/bericht"])
def test_a_report_that_cannot_be_written_is_told_before_anything_is_scored(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (tmp_path / "datei").write_text("", encoding="utf-8")
    before = sorted(out.glob("work/*/eval/*"))
    said = call(capsys, *words(out, *CHEAP, "--report", str(tmp_path / place)))
    assert said.code == 2 and said.out == "" and "--report" in said.err
    assert sorted(out.glob("work/*/eval/*")) == before


@pytest.mark.long
def test_what_could_be_scored_is_shown_before_the_run_fails(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "kaputt"
    write_model(tiny_weights(), folder)
    (folder / "model.safetensors").write_bytes(b"nichts")
    asked = words(out, *CHEAP, "--encoder", str(folder))
    said = call(capsys, *asked)
    assert said.code == 2 and "kaputt" in said.err
    assert "hashing" in said.out and "Clustering" in said.out
    said = call(capsys, *asked, "--json")
    document = json.loads(said.out)
    assert said.code == 2 and {one["encoder"]["name"] for one in document["results"]} == {"hashing"}
    assert document["failures"] and all(one["encoder"] == str(folder) for one in document["failures"])


def test_a_name_reaches_no_terminal_raw(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / f"\x1b[31mrot{'x' * 150}"
    write_model(tiny_weights(), folder)
    said = call(capsys, "eval", "germandpr", "--out", str(out), "--encoder", str(folder))
    assert said.code == 0, said.err
    assert "\x1b" not in said.out + said.err
    assert max(map(len, said.out.splitlines())) < 250


def test_hints_stand_in_markdown_too(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, *words(out, "germandpr", *CHEAP, "--split", "all", "--markdown"))
    (line,) = [one for one in said.out.splitlines() if "eval-words-suffice" in one]
    assert line.endswith("→ Words alone find the positives: the split does not tell encoders apart.")


def test_hydrated_texts_are_evaluated_where_they_are(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(capsys, *words(out, "subreddit", *CHEAP))
    assert said.code == 2 and "mteb-de hydrate subreddit" in said.err
    said = call(capsys, *words(out, *CHEAP, "--hydrated", str(tmp_path)))
    assert said.code == 2 and "no hydrated texts" in said.err
    write_hydrated(out / "hydrated")
    report = tmp_path / "report"
    said = call(capsys, *words(out, *CHEAP, "--report", str(report), "--json"))
    assert said.code == 0, said.err
    configs = {one["config"] for one in json.loads(said.out)["results"]}
    assert {"germandpr", "subreddit-clustering-s2s", "subreddit-clustering-p2p"} < configs
    assert "subreddit-clustering-p2p" in (report / "evaluation.md").read_text(encoding="utf-8")
    elsewhere = write_hydrated(tmp_path / "texte")
    asked = ("eval", "subreddit", "--out", str(tmp_path / "leer"), *CHEAP, "--hydrated", str(elsewhere))
    before = files_of(report)
    said = call(capsys, *asked, "--report", str(report))
    assert said.code == 2 and "--overwrite" in said.err and files_of(report) == before
    said = call(capsys, *asked, "--report", str(report), "--overwrite")
    assert said.code == 0 and "subreddit-clustering-s2s" in said.out
    assert files_of(report) != before


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_narrower_evaluation_keeps_a_fuller_report(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def asked(*more: str) -> Said:
        return call(capsys, *words(out, *CHEAP, "--report", str(tmp_path / "report"), *more))

    assert asked("--encoder", "bm25").code == 0
    before = files_of(tmp_path / "report")
    other = ("--pipeline", "agglomerative", "--encoder", "bm25")
    for narrower in ((), ("germandpr",), ("germandpr", "--encoder", "bm25"), ("--split", "all"), other):
        said = asked(*narrower)
        assert said.code == 2 and said.out == "" and "results that this evaluation lacks, of " in said.err
        assert files_of(tmp_path / "report") == before
    assert asked("--encoder", "bm25").code == 0 and files_of(tmp_path / "report") == before
    assert asked("--encoder", "bm25", "--encoder", "random", "--pipeline", "pca+minibatch-kmeans",
                 "--pipeline", "minibatch-kmeans").code == 0  # fmt: skip
    assert asked("--encoder", "bm25", "--overwrite").code == 0
    assert files_of(tmp_path / "report") == before


@pytest.mark.long
def test_a_report_that_lacks_what_failed_does_not_replace_the_whole_one(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "modell"
    write_model(tiny_weights(), folder)
    asked = words(out, "germandpr", *CHEAP, "--encoder", str(folder), "--report", str(tmp_path / "report"))
    assert call(capsys, *asked).code == 0
    before = files_of(tmp_path / "report")
    (folder / "model.safetensors").write_bytes(b"nichts")
    said = call(capsys, *asked)
    assert said.code == 2 and "hashing" in said.out and files_of(tmp_path / "report") == before


@pytest.mark.parametrize("name", ["evaluation.md", "evaluation.html"])
def test_a_file_of_ones_own_is_not_written_over(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / name).write_text("Mein Bericht", encoding="utf-8")
    said = call(capsys, *words(out, "germandpr", *CHEAP, "--report", str(tmp_path)))
    assert said.code == 2 and "does not say what it holds" in said.err
    assert (tmp_path / name).read_text(encoding="utf-8") == "Mein Bericht"


def test_citing_is_for_builds_that_may_be_published(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locks = tmp_path / "configs"
    said = call(capsys, *words(out, "germandpr", *CHEAP, "--cite", "--locks", str(locks)))
    assert said.code == 1 and "was read from a folder" in said.err and not locks.exists()
    as_from_upstream(out, "germandpr")
    edit_lock(out, "germandpr", parameters={"limit": 5})
    assert call(capsys, *words(out, "germandpr", *CHEAP, "--cite", "--locks", str(locks))).code == 1
    edit_lock(out, "germandpr", parameters={"limit": None})
    said = call(capsys, *words(out, "germandpr", *CHEAP, "--cite", "--locks", str(locks)))
    assert said.code == 0, said.err
    cited = json.loads((locks / "germandpr.citations.json").read_bytes())
    assert [score["config"] for score in cited["scores"]] == ["germandpr/test"]
    more = ("--encoder", "bm25", "--cite", "--locks", str(locks))
    assert call(capsys, *words(out, "germandpr", *more)).code == 0
    both = json.loads((locks / "germandpr.citations.json").read_bytes())
    assert both["scores"][:1] == cited["scores"] and len(both["scores"]) == 2
    said = call(capsys, *words(out, "germandpr", "--encoder", str(tmp_path), "--cite", "--locks", str(locks)))
    assert said.code == 2 and "is a folder" in said.err


@pytest.mark.parametrize(
    ("more", "hint"),
    [
        (("jobs",), "mteb-de build jobs"),
        (("job",), "Did you mean jobs?"),
        (("germandpr", "--encoder", "e6"), "OWNER/NAME@COMMIT"),
        (("germandpr", "--encoder", "verein/modell@main", "--offline"), "branches and tags move"),
        (("germandpr", *CHEAP, "--pipeline", "k-modes"), "minibatch-kmeans"),
        (("germandpr", *CHEAP, "--json", "--markdown"), "Pass one of them."),
    ],
)
def test_what_cannot_run_says_what_to_do(
    out: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], hint: str
) -> None:
    said = call(capsys, *words(out, *more))
    assert (said.code, said.out) == (2, "")
    assert hint in said.err


def test_nothing_built_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "eval", "--out", str(tmp_path))
    assert said.code == 2 and f"mteb-de build --out {tmp_path}" in said.err


@pytest.mark.long
def test_a_model_on_the_hub_at_a_commit(out: Path, tmp_path: Path) -> None:
    """A short commit becomes 40 digits; a second run is offline and computes nothing."""
    write_model(tiny_weights(), tmp_path / "klein")
    with serve() as hub:
        commit = hub.store.add_folder("model", "verein/klein", tmp_path / "klein")
        env = hub.environment(tmp_path / "clients", token=None)
        asked = ("eval", "germandpr", "--out", str(out), "--json", "--encoder")
        short = run(*asked, f"verein/klein@{commit[:9]}", env=env, home=tmp_path / "home", threads=1)
        branch = run(*asked, "verein/klein@main", env=env, home=tmp_path / "home", threads=1)
    assert short.returncode == 0, short.stderr
    (result,) = json.loads(short.stdout)["results"]
    assert result["encoder"] == {
        "name": f"verein/klein@{commit[:9]}",
        "kind": "dense",
        "model": "verein/klein",
        "revision": commit,
        "dimensions": 16,
        "miner": False,
    }
    assert branch.returncode == 2 and "not a commit" in branch.stderr
    again = run(*asked, f"verein/klein@{commit}", "--offline", env=env, home=tmp_path / "home", threads=1)
    assert again.returncode == 0, again.stderr
    (kept,) = json.loads(again.stdout)["results"]
    assert kept | {"encoder": result["encoder"]} == result
