from __future__ import annotations

from pathlib import Path

import pytest

from builders import registry
from builders.build.order import Options as BuildOptions
from builders.build.order import build
from builders.built import read_hydrated
from builders.demo.bundled import lay_out
from builders.errors import UsageError
from builders.evaluation.candidates import candidate, require_citable
from builders.evaluation.jobs import EvalOptions, cited_scores, evaluate
from builders.lock.beside import citations_path, cite_scores, read_citations
from tests.evaluation.built import Told
from tests.evaluation.hydrated import write_hydrated

NAMES = ("germandpr", "tenkgnad")


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


def test_scores_are_cited_of_the_rows_they_were_computed_from(options: BuildOptions) -> None:
    specs = [registry.load(name) for name in NAMES]
    plain = {spec.name: build(spec, options, Told()) for spec in specs}
    names = [candidate(name) for name in ("hashing", "bm25", "oracle")]
    found = evaluate(specs, names, EvalOptions(out=options.out), Told())
    for name, scores in cited_scores(found.results, found.configs).items():
        cite_scores(citations_path(options.committed, name), scores)
    told = Told()
    assert {spec.name: build(spec, options, told) for spec in specs} == plain
    assert not [line for line in told.lines if "cited" in line]
    cited = {
        name: read_citations(citations_path(options.committed, name)).of_rows(plain[name].rows_id)
        for name in NAMES
    }
    assert {name: len(of.scores) for name, of in cited.items()} == dict.fromkeys(NAMES, 2)
    first = cited["germandpr"].scores[0]
    assert (first.config, first.metric) == ("germandpr/test", "ndcg_at_10")
    assert first.low is not None and first.low <= first.value
    assert [one.config for one in cited["tenkgnad"].scores] == [
        "tenkgnad-clustering-s2s",
        "tenkgnad-clustering-p2p",
    ]
    assert evaluate(specs, names, EvalOptions(out=options.out), Told()).results == found.results


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
    texts = {"subreddit": read_hydrated(write_hydrated(tmp_path / "hydrated"), registry.load("subreddit"))}
    options = EvalOptions(out=tmp_path / "dist", texts=texts)
    found = evaluate([registry.load("subreddit")], [candidate("hashing")], options, Told())
    assert len(found.results) == 2 and cited_scores(found.results, found.configs) == {}
