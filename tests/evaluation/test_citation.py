from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders import registry
from builders.build.order import Options as BuildOptions
from builders.build.order import build
from builders.demo.sample_upstream import lay_out
from builders.errors import StorageError, UsageError
from builders.evaluation.candidates import candidate
from builders.evaluation.citation import (
    Citation,
    merged,
    read_citation,
    rows_id,
    scores_for,
    scores_path,
    write_citation,
)
from builders.evaluation.cite import citations, require_citable
from builders.evaluation.places import TextFolder
from builders.evaluation.run import Options, evaluate
from builders.lock.lock import ScoreLock
from tests.evaluation.built import Told
from tests.evaluation.hydrated import write_hydrated

NAMES = ("germandpr", "tenkgnad")
SCORE = ScoreLock(
    config="germandpr/test", model="verein/modell", revision="a" * 40, metric="ndcg_at_10", value=0.5
)


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> BuildOptions:
    folder = tmp_path_factory.mktemp("cited")
    lay_out(folder / "sample")
    return BuildOptions(
        out=folder / "dist",
        encoder="offline",
        offline=True,
        sources=(str(folder / "sample"),),
        home=folder / "home",
        committed=folder / "configs",
    )


def test_the_next_build_of_the_same_rows_cites_the_scores(options: BuildOptions) -> None:
    specs = [registry.load(name) for name in NAMES]
    plain = {spec.name: build(spec, options, Told()).lock for spec in specs}
    assert all(lock.scores == () for lock in plain.values())
    names = [candidate(name) for name in ("hashing", "bm25", "oracle")]
    found = evaluate(specs, names, Options(out=options.out), Told())
    cited = citations(found.results, found.locks)
    for name, citation in cited.items():
        write_citation(scores_path(options.committed, name), citation)
    told = Told()
    locks = {spec.name: build(spec, options, told).lock for spec in specs}
    assert [line for line in told.lines if "cited" in line] == ["write: 2 cited scores"] * 2
    assert {name: (len(lock.scores), lock.files) for name, lock in locks.items()} == {
        name: (2, plain[name].files) for name in NAMES
    }
    first = locks["germandpr"].scores[0]
    assert (first.config, first.metric) == ("germandpr/test", "ndcg_at_10")
    assert first.low is not None and first.low <= first.value
    assert [one.config for one in locks["tenkgnad"].scores] == [
        "tenkgnad-clustering-s2s",
        "tenkgnad-clustering-p2p",
    ]
    assert evaluate(specs, names, Options(out=options.out), Told()).results == found.results


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_other_rows_are_left_out_and_told(options: BuildOptions, tmp_path: Path, name: str) -> None:
    write_citation(scores_path(tmp_path, name), Citation(rows="0" * 16, scores=(SCORE,)))
    told = Told()
    other = replace(options, out=tmp_path / "dist", committed=tmp_path)
    lock = build(registry.load(name), other, told).lock
    assert lock.scores == ()
    assert any("of other rows" in line and "eval --cite" in line for line in told.lines)


def test_rows_name_the_citation_whatever_wrote_the_bytes(options: BuildOptions) -> None:
    files = build(registry.load("germandpr"), options, Told()).lock.files
    citation = Citation(rows=rows_id(files), scores=(SCORE,))
    rewritten = [file.model_copy(update={"sha256": "0" * 64, "size": 1}) for file in reversed(files)]
    assert scores_for(citation, rewritten) == (SCORE,)
    assert scores_for(citation, files[1:]) == ()
    changed = [files[0].model_copy(update={"content": "0" * 64}), *files[1:]]
    assert scores_for(citation, changed) == () == scores_for(None, files)


def test_a_citation_comes_back_as_it_was(tmp_path: Path) -> None:
    path = scores_path(tmp_path, "germandpr")
    assert path.name == "germandpr.scores.json" and read_citation(path) is None
    citation = Citation(rows="f" * 16, scores=(SCORE,))
    write_citation(path, citation)
    assert read_citation(path) == citation


def test_citing_again_keeps_what_was_cited_of_the_same_rows() -> None:
    old = Citation(rows="a" * 16, scores=(SCORE, SCORE.model_copy(update={"model": "verein/anderes"})))
    newer = SCORE.model_copy(update={"value": 0.6, "revision": "b" * 40})
    more = SCORE.model_copy(update={"config": "germandpr/all"})
    new = Citation(rows="a" * 16, scores=(more, newer))
    assert merged(old, new).scores == (newer, old.scores[1], more)
    assert merged(None, new) == new
    other = new.model_copy(update={"rows": "c" * 16})
    assert merged(old, other) == other


def test_a_folder_is_not_cited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "e5").mkdir()
    (tmp_path / "verein").mkdir()
    monkeypatch.chdir(tmp_path)
    require_citable(["e5", "bm25", "verein/modell@abcdef1"])
    with pytest.raises(UsageError, match="'verein' is a folder") as caught:
        require_citable(["e5", "verein"])
    assert "OWNER/NAME@COMMIT" in caught.value.hint


def test_a_model_of_a_stand_in_is_not_cited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    require_citable(["bm25", "hashing", "offline"])
    for name in ("e5", "verein/modell@abcdef1"):
        with pytest.raises(UsageError, match="stand-in for the Hub") as caught:
            require_citable(["bm25", name])
        assert "HF_ENDPOINT" in caught.value.hint


def test_hydrated_texts_are_not_cited(tmp_path: Path) -> None:
    texts = {"subreddit": TextFolder(write_hydrated(tmp_path / "hydrated"))}
    options = Options(out=tmp_path / "dist", texts=texts)
    found = evaluate([registry.load("subreddit")], [candidate("hashing")], options, Told())
    assert len(found.results) == 2 and citations(found.results, found.locks) == {}


@pytest.mark.parametrize("text", ["", "[]", '{"rows": "x"}', '{"rows": "x", "scores": [{"config": 1}]}'])
def test_what_is_no_citation_stops_the_build(tmp_path: Path, text: str) -> None:
    path = tmp_path / "germandpr.scores.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StorageError, match="not cited scores") as caught:
        read_citation(path)
    assert "eval --cite" in caught.value.hint
