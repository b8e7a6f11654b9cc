from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from builders.lock.manifest import work_folder
from builders.rehearsal import serve
from tests.cli.kit import call
from tests.encoders.dequantise import tiny_weights, write_model
from tests.end_to_end.kit import run
from tests.evaluation.built import build_sample

CHEAP = ("--encoder", "hashing")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    build_sample(folder, "germandpr", "tenkgnad")
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
    assert "not comparable: bm25 is near" in said.out
    assert "0 comparable, 0 outside the tolerance" in said.out
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


def test_a_score_outside_its_tolerance_is_exit_1(
    out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from builders.evaluation import compare
    from builders.evaluation.compare import Published

    as_from_upstream(out, "tenkgnad")
    row = Published(
        task="TenKGnadClusteringS2S",
        model="character 3-5-grams",
        model_revision="",
        dataset_revision="",
        mteb_version="1",
        pipeline="minibatch-kmeans",
        metric="v_measure",
        value=0.01,
        source="a test",
    )
    facts = (*compare.published_scores(), row)
    monkeypatch.setattr(compare, "published_scores", lambda: facts)
    said = call(capsys, *words(out, "tenkgnad", *CHEAP))
    assert said.code == 1
    assert "tenkgnad-clustering-s2s: hashing v_measure" in said.out and "tolerance 0.024" in said.out
    edit_lock(out, "tenkgnad", parameters={"limit": 90})
    said = call(capsys, *words(out, "tenkgnad", *CHEAP))
    assert said.code == 0 and "not built from the whole real upstream" in said.out


def test_an_error_about_scores_is_exit_1_and_nothing_is_cited(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A positive that is not in the corpus keeps the oracle below 1."""
    import hashlib

    import polars as pl

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
    cited = json.loads((locks / "germandpr.scores.json").read_bytes())
    assert [score["config"] for score in cited["scores"]] == ["germandpr/test"]


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
