import datetime
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from builders.checks.release import check_release
from builders.describe import Target, render
from builders.describe.dataset import datasets_of
from builders.describe.plots import card_plots, plots
from builders.lock.beside import Citations, CitedScore
from builders.lock.lock import ClusteringFigures, Lock, SetFigures, write_manifest
from builders.plots.svg import is_plot, plot_path
from tests.describe import kit

SCORES = (
    CitedScore(
        build="f" * 16, config="jobs/test", model="verein/modell", revision="a", metric="ndcg_at_10",
        value=0.61, low=0.5, high=0.7,
    ),
    CitedScore(
        build="f" * 16, config="jobs/test", model="bm25s", revision="1", metric="ndcg_at_10", value=0.4
    ),
)  # fmt: skip


def texts(data: bytes) -> list[str]:
    return [e.text or "" for e in ET.fromstring(data).iter("{http://www.w3.org/2000/svg}text")]


def cited(lock: Lock, *scores: CitedScore) -> dict[str, Citations]:
    """Return the scores as if they had been computed from the rows of the lock."""
    update = {"build": lock.rows_id}
    return {lock.config: Citations(scores=tuple(score.model_copy(update=update) for score in scores))}


def drawn(built: kit.Built, *locks: Lock) -> dict[str, bytes]:
    return plots(datasets_of(kit.RELEASE, locks or built.locks, built.specs))


def with_sets(lock: Lock, *sets: SetFigures) -> Lock:
    return lock.model_copy(update={"clustering": ClusteringFigures(sets=sets, texts={}), "mining": None})


def test_the_card_shows_every_plot_and_no_other(built: kit.Built) -> None:
    citations = cited(built.locks[1], *SCORES)
    files = render(kit.RELEASE, built.locks, kit.TARGET, specs=built.specs, citations=citations)
    body = MarkdownIt("commonmark").render(files["README.md"].decode().split("---\n", 2)[2])

    shown = re.findall(r'<img src="([^"]+)" alt="([^"]+)"', body)
    assert [path for path, _ in shown] == ["plots/hard-negatives.svg", "plots/rows.svg", "plots/scores.svg"]
    assert {path for path, _ in shown} == {path for path in files if path.startswith("plots/")}
    assert all(is_plot(path) and len(alt) > 40 for path, alt in shown)
    assert body.index("At a glance") < body.index("How to use it")


def test_the_words_of_a_plot_have_the_figures_of_the_lock(built: kit.Built) -> None:
    plot = next(p for p in card_plots(datasets_of(kit.RELEASE, built.locks, built.specs)))
    mining = built.locks[1].mining
    assert mining is not None
    found = sum(count for number, count in mining.serving.report.by_count.items() if number != "0")

    assert f"jobs-hard_negatives: {100 * found / 10:.1f} % of 10 queries have at least one" in plot.alt
    assert plot.alt in ET.fromstring(drawn(built)[plot_path(plot.name)]).findtext(
        "{http://www.w3.org/2000/svg}title", ""
    )


def test_a_release_without_mining_and_scores_shows_where_rows_went(built: kit.Built) -> None:
    assert list(drawn(built, built.locks[0])) == ["plots/rows.svg"]


def test_sets_are_drawn_without_their_texts(built: kit.Built) -> None:
    lock = with_sets(
        built.locks[1],
        SetFigures(level="ids", rows=1200, labels=50, repeated={}),
        SetFigures(level="ids", rows=40, labels=10, repeated={}),
    )
    (plot, *_) = card_plots(datasets_of(kit.RELEASE, [lock], built.specs))

    assert plot.name == "clustering-sets"
    assert "jobs: 2 sets of 40 to 1,200 documents with 10 to 50 labels." in plot.alt
    assert "documents in the set" in texts(drawn(built, lock)[plot_path(plot.name)])


def test_no_sets_no_plot(built: kit.Built) -> None:
    assert "plots/clustering-sets.svg" not in drawn(built, with_sets(built.locks[1]))


def test_scores_of_other_rows_are_not_cited(built: kit.Built) -> None:
    citations = {built.locks[1].config: Citations(scores=SCORES)}
    without = render(kit.RELEASE, built.locks, kit.TARGET, specs=built.specs)
    assert render(kit.RELEASE, built.locks, kit.TARGET, specs=built.specs, citations=citations) == without


def test_hostile_names_stay_text(built: kit.Built) -> None:
    score = SCORES[0].model_copy(update={"model": "](javascript:x) <img src=x onerror=1> `|`"})
    citations = cited(built.locks[1], score)
    files = render(kit.RELEASE, built.locks, kit.TARGET, specs=built.specs, citations=citations)
    body = MarkdownIt("commonmark", {"html": True}).render(files["README.md"].decode().split("---\n", 2)[2])

    assert "<img src=x" not in body
    assert 'href="javascript' not in body
    assert b"<img" not in files["plots/scores.svg"]


def test_dates_and_hash_seeds_change_no_byte(built: kit.Built) -> None:
    later = Target(kit.TARGET.repo, "2.0.0", datetime.date(2030, 2, 3))
    one, two = (render(kit.RELEASE, built.locks, target, specs=built.specs) for target in (kit.TARGET, later))
    assert {path: one[path] for path in drawn(built)} == {path: two[path] for path in drawn(built)}

    script = (
        "import sys, tempfile; from pathlib import Path; from tests.describe import kit;"
        "from builders.describe.dataset import datasets_of; from builders.describe.plots import plots;"
        "built = kit.build(Path(tempfile.mkdtemp()));"
        "found = plots(datasets_of(kit.RELEASE, built.locks, built.specs));"
        "sys.stdout.buffer.write(b''.join(found.values()))"
    )
    told = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONHASHSEED": "7"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
    ).stdout
    assert told == b"".join(drawn(built).values())


@pytest.mark.parametrize(
    ("path", "extra"), [("plots/rows.svg", False), ("plots/a/b.svg", True), ("rows.svg", True)]
)
def test_the_folder_of_a_release_may_hold_its_plots(tmp_path: Path, path: str, extra: bool) -> None:
    built = kit.build(tmp_path / kit.RELEASE.name)
    for lock in built.locks:
        work = tmp_path / "work" / lock.config
        work.mkdir(parents=True)
        (work / "lock.json").write_text(lock.model_dump_json(), "utf-8")
    write_manifest(tmp_path, kit.RELEASE.name)
    (built.root / path).parent.mkdir(parents=True, exist_ok=True)
    (built.root / path).write_bytes(b"<svg/>")

    codes = {finding.code for finding in check_release(tmp_path, kit.RELEASE.name)}
    assert ("file-extra" in codes) is extra
