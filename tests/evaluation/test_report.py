import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from pydantic import TypeAdapter

from builders.evaluation.report import ReportContent, html, markdown, write_report
from builders.evaluation.results import ClusteringResult, EncoderFacts, LevelScore, Result, SetScore
from builders.evaluation.views import names
from tests.evaluation.report_kit import (
    BM25,
    E5,
    EVIL,
    HOSTILE,
    RANDOM,
    beds,
    clustering,
    compared,
    content,
    garden,
    retrieval,
)

TITLES = [
    "What was evaluated",
    "Retrieval scores",
    "Clustering scores",
    "Beside published scores",
    "V-measure against set size and number of labels",
    "Score against query length",
    "Yield of mining",
    "Lengths of texts",
    "Balance of labels",
    "Overlap of queries and corpus",
    "Findings",
]


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def drawn(page: str) -> list[str]:
    """The SVG of every image of a page."""
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    return [base64.b64decode(image).decode() for image in found]


def titles(made: ReportContent) -> list[str]:
    return re.findall(r"^## (.+)$", markdown(made), re.M)


def rows(text: str, heading: str) -> list[list[str]]:
    """The first table of a Markdown report after a heading, as a reader of tables sees it."""
    part = text.split(f"{heading}\n", 1)[1]
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(part.split("\n## ", 1)[0])
    return [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)
        for row in re.findall(r"<tr>(.*?)</tr>", page.split("</table>")[0], re.S)
    ]


@pytest.fixture(scope="module")
def told() -> str:
    return markdown(content())


@pytest.fixture(scope="module")
def page() -> str:
    return html(content())


def test_everything_that_was_measured_has_its_section() -> None:
    assert titles(content()) == TITLES


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (ReportContent(), ["Findings"]),
        (ReportContent(results=(retrieval(E5, 0.5),)), [TITLES[0], TITLES[1], TITLES[5], "Findings"]),
        (ReportContent(results=(clustering(E5),)), [TITLES[0], TITLES[2], TITLES[4], "Findings"]),
        (ReportContent(results=(retrieval(RANDOM, 0.1),)), [TITLES[0], TITLES[1], "Findings"]),
        (ReportContent(results=(clustering(RANDOM),)), [TITLES[0], TITLES[2], "Findings"]),
        (replace(content(), results=(), compared=(), findings=()), [TITLES[0], *TITLES[6:]]),
    ],
)
def test_any_subset_makes_a_report(made: ReportContent, expected: list[str], tmp_path: Path) -> None:
    assert titles(made) == expected
    text, page = (path.read_text(encoding="utf-8") for path in write_report(made, tmp_path / "neu"))
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == expected
    for title in expected:
        assert f">{title}</h2>" in page


def test_scores_stand_in_the_table_with_their_intervals(told: str) -> None:
    table = rows(told, "### garten, split test")
    assert table[0] == ["Encoder", "nDCG@10", "nDCG@10, 95 %", "MRR@10", "MRR@10, 95 %", "recall@10"]
    assert table[1] == ["e5", "0.6123", "0.5623 to 0.6623", "0.3061", "–", "1.0000"]
    assert [row[0] for row in table[1:]][-2:] == ["bm25", "random"]
    assert rows(told, "## Beside published scores")[1] == [
        "garten test", "e5", "–", "nDCG@10", "0.6123", "0.6000", "+0.0123", "0.0050", "differs", "–",
    ]  # fmt: skip
    assert rows(told, "<details><summary>Where they are published</summary>")[1] == [
        "garten test", "e5", "–", "nDCG@10", "verein/e5", "results | &lt;i&gt;Datei&lt;/i&gt;.json",
    ]  # fmt: skip


def test_what_explains_a_plot_stands_where_there_are_plots(told: str, page: str) -> None:
    for words in ("hollow diamond", "A point is a clustering set.", "dashed line", "equal areas"):
        assert words in page
        assert words not in told
    assert "hollow diamond" not in html(ReportContent(results=(retrieval(RANDOM, 0.1),)))


def test_levels_are_told_apart(told: str) -> None:
    table = rows(told, "## Clustering scores")
    assert table[0] == ["Encoder", "Pipeline", "V-measure", "Spread", "coarse sets", "within sets"]
    assert table[1] == ["e5", "minibatch-kmeans", "0.4000", "0.1633", "0.2000", "0.5000"]
    by_set = rows(told, "## V-measure against set size and number of labels")
    assert by_set[1] == ["e5", "coarse", "1", "80", "4", "0.2000", "0.2000", "0.2000"]
    assert by_set[2] == ["e5", "within", "2", "20 to 30", "2 to 3", "0.4000", "0.5000", "0.6000"]
    assert "random" not in [row[0] for row in by_set], "a rule reads no texts"


def test_lengths_yield_balance_and_overlap_have_their_numbers(told: str) -> None:
    assert rows(told, "## Score against query length")[1][:3] == ["0 to 19", "3", "0.6123"]
    serving, published = rows(told, "## Yield of mining")[1:]
    assert serving == ["garten-hard_negatives", "3", "2", "0", "0", "0", "0", "1", "33.3 %"]
    assert published == ["garten-hard_negatives_v0", "3", "3", "0", "0", "0", "0", "0", "0.0 %"]
    assert rows(told, "## Lengths of texts")[1] == ["queries", "3", "13", "19", "22"]
    balance = told.split("## Balance of labels")[1]
    assert rows(balance, "### beete")[1] == ["coarse", "1", "4", "2", "0.7500", "1", "0.8113"]
    assert sum(int(row[1]) for row in rows(told, "## Overlap of queries and corpus")[1:]) == 2


def test_a_miner_is_named_with_the_config_that_it_mined(told: str) -> None:
    encoders = rows(told, "### Encoders")
    assert encoders[1] == ["e5", "dense", "verein/e5", "a" * 40, "384", "garten, beete-clustering-s2s"]
    assert encoders[3] == ["bm25", "lexical", "bm25s", "0.3.16", "–", "–"]


def test_what_was_evaluated_has_no_empty_column() -> None:
    text = markdown(ReportContent(results=(retrieval(BM25, 0.4),), statistics=(beds(),)))
    assert rows(text, "### Tables") == [["Config", "Sets"], ["beete", "2"]]
    assert rows(text, "### Encoders") == [
        ["Encoder", "Kind", "Model", "Revision"], ["bm25", "lexical", "bm25s", "0.3.16"],
    ]  # fmt: skip


def test_names_are_short_and_never_shared() -> None:
    def facts(name: str, revision: str = "") -> EncoderFacts:
        return EncoderFacts(name=name, kind="dense", revision=revision)

    long = facts("verein/modell@" + "b" * 40)
    assert list(names([facts("/heim/anna/modelle/klein/"), long, BM25]).values()) == [
        "klein", "modell@" + "b" * 10, "bm25",
    ]  # fmt: skip
    same = [facts("a/modell"), facts("b/modell"), facts("e5", "1"), facts("e5", "2"), facts("e5", "1")]
    assert list(names(same).values()) == ["a/modell", "b/modell", "e5", "e5 (2)"]
    miner = facts("e5", "1").model_copy(update={"miner": True})
    assert set(names([facts("e5", "1"), miner]).values()) == {"e5"}


def test_no_markup_of_others_reaches_the_markdown(told: str) -> None:
    made = MarkdownIt("commonmark", {"html": True}).enable("table").render(told)
    tags = set(re.findall(r"<(\w+)", made))
    assert tags == {"h1", "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"}
    assert "javascript:" in made
    assert "href" not in made


def test_a_hostile_config_breaks_no_heading() -> None:
    result = retrieval(E5, 0.5).model_copy(update={"config": f"{HOSTILE}\n# Titel"})
    told = ReportContent(results=(result,))
    made = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown(told))
    assert "<script" not in made and "href" not in made
    assert made.count("<h1>") == 1
    assert not {tag for tag, _ in Page(html(told)).tags} & {"script", "z"}


def test_the_page_holds_no_markup_of_others_and_loads_nothing(page: str) -> None:
    parsed = Page(page)
    tags = {tag for tag, _ in parsed.tags}
    assert not tags & {"script", "svg", "link", "iframe", "object", "b", "i", "image", "foreignobject"}
    for tag, attributes in parsed.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        assert (attributes.get("href") or "#").startswith("#")
        assert (attributes.get("src") or "data:image/svg+xml;base64,").startswith(
            "data:image/svg+xml;base64,"
        )
    assert not re.search("<script|onload|<foreignObject", "".join(drawn(page)))
    assert HOSTILE in "".join(parsed.texts)
    assert "@import" not in page and "url(http" not in page


def test_the_policy_admits_the_pages_own_style_alone(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    style = re.search(r"<style>(.*?)</style>", page, re.S)
    assert policy and style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    only = f"img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert policy[1] == f"default-src 'none'; {only}"
    assert page.count("<style") == 1


def test_every_plot_is_described_and_followed_by_its_numbers(page: str) -> None:
    parsed = Page(page)
    plots = [attributes for tag, attributes in parsed.tags if tag == "img"]
    assert len(plots) == len(drawn(page)) == 10
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids)), "names of parts clash"
    assert all(len(plot["alt"] or "") > 30 for plot in plots)
    for figure in re.findall(r"<figure>.*?</figure>\s*(<\w+)", page, re.S):
        assert figure == "<div"
    for target in re.findall(r'href="#([^"]+)"', page):
        assert target in ids


@pytest.mark.long
def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    paths = write_report(content(), tmp_path / "a")
    assert [path.name for path in paths] == ["evaluation.md", "evaluation.html"]
    script = (
        "import sys; from pathlib import Path; from tests.evaluation.report_kit import content;"
        "from builders.evaluation.report import write_report; write_report(content(), Path(sys.argv[1]))"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "b")],
        env=os.environ | {"PYTHONHASHSEED": "11", "TZ": "Pacific/Apia"},
        cwd=Path(__file__).parents[2],
        check=True,
    )
    for path in paths:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_a_published_score_is_drawn_beside_ours_where_both_may_be_compared() -> None:
    near = compared().model_copy(update={"verdict": "not comparable", "why": "another revision"})
    other = ReportContent(results=(retrieval(EVIL, 0.5),), compared=(compared(),))
    pages = [
        html(ReportContent(results=(retrieval(E5, 0.6123),), compared=told))
        for told in ((compared(),), (near,), ())
    ]
    shown = [">published</text>" in "".join(drawn(page)) for page in (*pages, html(other))]
    assert shown == [True, False, False, False]
    assert "another revision" in pages[1]


def test_results_that_were_kept_give_the_same_report() -> None:
    """A file of JSON has sorted keys: what stands there in an order of its own is not to be relied on."""
    kinds: TypeAdapter[Result] = TypeAdapter(Result)
    shuffled = clustering(E5).model_copy(
        update={"sets": clustering(E5).sets[::-1], "levels": dict(reversed(clustering(E5).levels.items()))}
    )
    made = replace(content(), results=(retrieval(E5, 0.5), retrieval(BM25, 0.4), shuffled))
    kept = [kinds.validate_json(json.dumps(r.model_dump(mode="json"), sort_keys=True)) for r in made.results]
    told, again = made, replace(made, results=tuple(kept))

    assert (markdown(again), html(again)) == (markdown(told), html(told))
    assert rows(markdown(told), "## Clustering scores")[0][-2:] == ["coarse sets", "within sets"]


def test_configs_stand_in_the_order_of_the_results() -> None:
    results = [
        clustering(E5).model_copy(update={"config": f"{name}-clustering-{variant}"})
        for name in ("rosen", "beete")
        for variant in ("s2s", "p2p")
    ]
    text = markdown(ReportContent(results=(*results, *results)))
    scores = text.split("## Clustering scores")[1].split("\n## ")[0]
    assert [line[4:] for line in scores.splitlines() if line.startswith("### ")] == [
        result.config for result in results
    ]


def test_hydrated_texts_have_scores_without_tables_of_a_release() -> None:
    topics = tuple(
        SetScore(level="topic", rows=n * 40, labels=10 + n, v_measure=0.3, ami=0.0) for n in (1, 2)
    )
    results = [
        ClusteringResult(
            config=f"subreddit-clustering-{variant}",
            encoder=E5,
            pipeline="minibatch-kmeans",
            v_measure=0.3,
            spread=0.0,
            levels={"topic": LevelScore(sets=2, mean=0.3, spread=0.0)},
            sets=topics,
        )
        for variant in ("s2s", "p2p")
    ]
    told = ReportContent(results=tuple(results))
    assert titles(told) == [TITLES[0], TITLES[2], TITLES[4], "Findings"]
    for variant in ("s2s", "p2p"):
        assert rows(markdown(told), f"### subreddit-clustering-{variant}")[1] == [
            "e5", "minibatch-kmeans", "0.3000", "0.0000",
        ]  # fmt: skip


def test_sets_with_one_number_of_labels_are_not_drawn_against_it() -> None:
    sets = tuple(one.model_copy(update={"labels": 9}) for one in clustering(E5).sets)
    alike = clustering(E5).model_copy(update={"sets": sets})
    pages = [html(ReportContent(results=(made,))) for made in (alike, clustering(E5))]
    assert [">labels in the set</text>" in "".join(drawn(page)) for page in pages] == [False, True]
    assert ["Every set has 9 labels." in page for page in pages] == [True, False]


def test_the_sets_of_one_encoder_are_told_apart_by_level() -> None:
    one, two = (
        "".join(drawn(html(ReportContent(results=results))))
        for results in ((clustering(E5),), (clustering(E5), clustering(EVIL)))
    )
    assert ">within</text>" in one and ">coarse</text>" in one
    assert ">within</text>" not in two and ">e5</text>" in two


def test_what_was_built_of_stand_ins_is_told(tmp_path: Path) -> None:
    made = replace(content(), statistics=(replace(garden(), stand_in=True), beds()))
    text, page = (path.read_text(encoding="utf-8") for path in write_report(made, tmp_path))
    told = "from stand-ins or a part: garten."
    assert told in text and told in page
    assert "stand-ins" not in write_report(content(), tmp_path)[0].read_text(encoding="utf-8")
