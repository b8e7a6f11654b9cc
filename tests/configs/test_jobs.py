from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.checks.text import unscrubbed
from builders.configs.jobs import CONFIG, compose, read, relate
from builders.errors import SourceError, SourceSchema
from builders.prepare.retrieval import prepare
from builders.registry import load
from builders.spec import ALL_KINDS, Files, HubSource
from builders.text.normalise import normalise_frame
from tests.fixtures import hub, upstream

_PASSAGES: dict[str, pl.DataType] = {
    "upstream_id": pl.String(),
    "occupation": pl.String(),
    "occupation_uri": pl.String(),
    "name": pl.String(),
    "skills": pl.List(pl.String()),
    "skill_uris": pl.List(pl.String()),
    "region": pl.String(),
    "seniority": pl.String(),
    "kldb": pl.String(),
}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return hub.write_jobs(tmp_path)


def _profile(**columns: Any) -> dict[str, Any]:
    passages = pl.DataFrame([{"upstream_id": "r", **columns}], schema=_PASSAGES)
    return compose(passages).row(0, named=True)


class TestRead:
    def test_a_posting_is_query_passage_and_pair(self, files: Files) -> None:
        records = read(files)
        ids = [f"r-{number:02}" for number in range(1, 11)]
        assert records.queries["upstream_id"].to_list() == records.passages["upstream_id"].to_list() == ids
        assert records.pairs.rows() == list(zip(ids, ids, strict=True))
        assert records.queries.item(1, "text") == "  Imker (w/m/d) in Kassel "
        assert records.passages.schema == _PASSAGES
        assert records.passages.row(3) == (
            "r-04", "sailmaker", "http://esco.example/occupation/sailmaker", "sailmaker",
            [], [], None, "senior", "28222",
        )  # fmt: skip
        assert records.passages.item(7, "occupation") is None

    def test_the_employer_is_not_read(self, files: Files) -> None:
        records = read(files)
        for frame in (records.queries, records.passages, records.pairs):
            assert "Beispielbetrieb" not in frame.write_json()

    @pytest.mark.parametrize(
        ("column", "values"),
        [
            ("esco_occupation", None),
            ("esco_skills", None),
            ("title", None),
            ("kldb_2010", pa.array([11332] * 10)),
            ("title", pa.nulls(10)),
            ("esco_skills", pa.array([["honey"]] * 10)),
            ("esco_occupation", pa.array([{"uri": "u"}] * 10)),
        ],
    )
    def test_another_schema_is_refused(self, files: Files, column: str, values: pa.Array[Any] | None) -> None:
        path = files["postings"][0]
        table = pq.read_table(path).drop_columns([column])
        pq.write_table(table if values is None else table.append_column(column, values), path)
        with pytest.raises(SourceSchema, match=rf"train-00000-of-00001\.parquet.*{column}"):
            read(files)

    def test_a_repeated_id_is_named_with_file_and_row(self, files: Files) -> None:
        path = files["postings"][0]
        second = path.with_name("train-00001-of-00002.parquet")
        pq.write_table(pq.read_table(path).slice(4, 2), second)
        with pytest.raises(SourceError, match=r"train-00001-of-00002\.parquet, row 1: .*'r-05'.* 1 more"):
            read({"postings": [path, second]})

    def test_a_posting_without_an_id_is_dropped_for_a_reason(self, files: Files) -> None:
        path = files["postings"][0]
        row = hub.posting({**hub.load("jobs")[0], "id": None})
        hub.write(path, [hub.posting(hub.load("jobs")[1]), row], hub.POSTINGS)
        records = read(files)
        place = "train-00000-of-00001.parquet, row 2"
        assert records.nameless.rows() == [("rows", place)]
        prepared = prepare(CONFIG, records)
        assert prepared.dropped.rows() == [("rows", place, "place", "no_id")]
        rows, queries, _, pairs = prepared.funnels
        assert (rows.read, rows.dropped, rows.out, queries.read) == (2, {"no_id": 1}, 1, 1)
        assert (pairs.read, pairs.dropped, pairs.out) == (2, {"no_id": 1}, 1)

    def test_an_upstream_without_ids_is_refused(self, files: Files) -> None:
        row = hub.posting({**hub.load("jobs")[0], "id": None})
        hub.write(files["postings"][0], [row], hub.POSTINGS)
        with pytest.raises(SourceSchema, match="no row has an id in column 'id'"):
            read(files)


class TestCompose:
    def test_the_template(self) -> None:
        profile = _profile(
            occupation="beekeeper",
            occupation_uri="o:1",
            skills=["inspect hives", "harvest honey"],
            skill_uris=["s:2", "s:1"],
            region="Hessen",
            seniority="senior",
            kldb="11332",
        )
        assert profile["title"] == ""
        assert profile["text"] == (
            "beekeeper. Skills: inspect hives; harvest honey. Region: Hessen. Seniority: senior. "
            "KldB 2010: 11332."
        )

    @pytest.mark.parametrize(
        ("columns", "text"),
        [
            ({"occupation": "beekeeper"}, "beekeeper."),
            ({"occupation": "beekeeper", "skills": []}, "beekeeper."),
            ({"skills": ["a"]}, "Skills: a."),
            ({"skills": ["b", None, "a"]}, "Skills: b; a."),
            ({"occupation": "beekeeper", "seniority": "unknown", "kldb": "1"}, "beekeeper. KldB 2010: 1."),
            ({"occupation": "beekeeper", "seniority": "junior"}, "beekeeper. Seniority: junior."),
            ({"skills": ["a"], "region": "Tirol"}, "Skills: a. Region: Tirol."),
            ({"region": "Tirol", "seniority": "senior", "kldb": "1"}, None),
            ({"skills": [None]}, None),
            ({}, None),
        ],
    )
    def test_missing_parts_are_left_out(self, columns: dict[str, Any], text: str | None) -> None:
        assert _profile(**columns)["text"] == text

    def test_cores_are_equal_for_equal_occupation_skill_set_and_code_only(self) -> None:
        base = {"occupation_uri": "o:1", "skill_uris": ["s:1", "s:2"], "kldb": "1"}
        core = _profile(**base)["core"]
        assert core is not None
        for same in ({"region": "Tirol"}, {"skill_uris": ["s:2", "s:1", "s:2", None]}, {"occupation": "x"}):
            assert _profile(**{**base, **same})["core"] == core
        others = ({"occupation_uri": None}, {"skill_uris": ["s:1"]}, {"kldb": None}, {"skill_uris": None})
        cores = {_profile(**{**base, **other})["core"] for other in others}
        assert len(cores) == 4 and core not in cores and None not in cores

    def test_what_has_no_uri_is_known_by_its_label(self) -> None:
        cores = {
            _profile(occupation=occupation, skills=skills, skill_uris=uris)["core"]
            for occupation, skills, uris in (
                ("beekeeper", ["a"], None),
                ("beekeeper", ["b"], []),
                ("glazier", ["a"], None),
                ("glazier", ["a", "b"], ["s:1"]),
                ("glazier", ["a", "c"], ["s:1"]),
            )
        }
        assert len(cores) == 5

    def test_the_code_of_a_profile_is_its_occupation_where_it_has_no_kldb(self) -> None:
        assert _profile(occupation="x", occupation_uri="o:1", kldb="11332")["code"] == "11332"
        assert _profile(occupation="x", occupation_uri="o:1")["code"] == "o:1"
        assert _profile(occupation="x")["code"] == "x"
        assert _profile(skills=["a"])["code"] == _profile(skills=["a"])["core"] is not None

    def test_the_name_of_an_occupation_is_compared_without_its_paired_forms(self) -> None:
        assert _profile(name="Textildrucker/Textildruckerin")["named"] == "textildrucker"
        assert _profile()["named"] is None

    @pytest.mark.parametrize(
        ("uri", "kldb", "classes"),
        [
            ("o:1", "11332", ["esco o:1", "kldb 11332", "kldb4 1133"]),
            ("11332", None, ["esco 11332", None, None]),
            (None, "11332", [None, "kldb 11332", "kldb4 1133"]),
            ("o:1", "113", ["esco o:1", "kldb 113", None]),
            (None, None, [None, None, None]),
        ],
    )
    def test_occupation_and_code_are_classes(
        self, uri: str | None, kldb: str | None, classes: list[str | None]
    ) -> None:
        assert _profile(occupation_uri=uri, kldb=kldb)["classes"] == classes


def _postings(*rows: tuple[str, str, str, str], **columns: pl.Expr) -> pl.DataFrame:
    """Rows of (query, passage, group, core); the code is the core unless `columns` say otherwise."""
    frame = pl.DataFrame(rows, schema=["query_id", "passage_id", "group", "core"], orient="row")
    return frame.with_columns(
        code=columns.get("code", pl.col("core")),
        named=columns.get("named", pl.lit(None, dtype=pl.String)),
        occupation=pl.format("o {}", "core"),
        classes=pl.concat_list(pl.format("kldb {}", "core")),
    )


class TestRelate:
    def test_profiles_of_the_group_and_of_its_cores_are_relevant(self) -> None:
        relations = relate(
            _postings(
                ("q1", "d1", "imker", "A"),
                ("q2", "d2", "imker", "-B"),
                ("q3", "d3", "winzer", "A"),
                ("q3", "d4", "winzer", "-B"),
                ("q4", "d5", "glaser", "C"),
            )
        )
        assert relations.qrels.rows() == [
            ("q1", "d1", False),
            ("q1", "d2", False),
            ("q1", "d3", True),
            ("q1", "d4", True),
            ("q2", "d1", False),
            ("q2", "d2", False),
            ("q2", "d3", True),
            ("q2", "d4", True),
            ("q3", "d1", True),
            ("q3", "d2", True),
            ("q3", "d3", False),
            ("q3", "d4", False),
            ("q4", "d5", False),
        ]
        assert relations.undecided.is_empty()

    def test_a_repeated_posting_gives_one_pair(self) -> None:
        relations = relate(_postings(*[("q1", "d1", "imker", "A")] * 3))
        assert relations.qrels.rows() == [("q1", "d1", False)]

    @pytest.mark.parametrize(("others", "is_rare"), [(18, False), (19, False), (20, True), (30, True)])
    def test_a_core_below_five_percent_of_a_group_of_twenty_is_undecided(
        self, others: int, *, is_rare: bool
    ) -> None:
        rows = [("q1", "common", "imker", "A")] * others
        rows += [("q2", "odd", "imker", "B"), ("q9", "odd twin", "winzer", "B")]
        relations = relate(_postings(*rows))
        imker = relations.qrels.filter(pl.col("query_id") == "q2")
        if is_rare:
            assert imker.rows() == [("q2", "common", False)]
            assert relations.undecided.rows() == [
                (query, passage, "rare") for query in ("q1", "q2") for passage in ("odd", "odd twin")
            ]
        else:
            assert imker.rows() == [("q2", "common", False), ("q2", "odd", False), ("q2", "odd twin", True)]
            assert relations.undecided.is_empty()
        assert relations.qrels.filter(pl.col("query_id") == "q9").rows() == [
            ("q9", "odd", True),
            ("q9", "odd twin", False),
        ]

    def test_a_code_is_rare_and_not_a_core(self) -> None:
        rows = [("q1", "common", "imker", "A")] * 24
        rows += [("q1", "odd", "imker", "B1"), ("q1", "other", "imker", "B2")]
        assert relate(_postings(*rows)).undecided.height == 2
        relations = relate(_postings(*rows, code=pl.col("core").str.head(1)))
        assert relations.undecided.is_empty() and relations.qrels.height == 3

    def test_an_occupation_of_the_title_s_name_is_undecided_unless_a_posting_says_so(self) -> None:
        named = pl.col("passage_id").replace_strict(
            {"d1": "imker", "d2": "imker", "d3": "winzer"}, default=None, return_dtype=pl.String
        )
        relations = relate(
            _postings(
                ("q1", "d1", "imker", "A"),
                ("q2", "d2", "glaser", "B"),
                ("q2", "d3", "glaser", "B"),
                named=named,
            )
        )
        assert relations.undecided.rows() == [("q1", "d2", "occupation_is_title")]
        assert ("q1", "d1", False) in relations.qrels.rows()

    def test_a_passage_has_one_occupation(self) -> None:
        relations = relate(_postings(("q1", "d1", "imker", "B"), ("q2", "d1", "winzer", "A")))
        assert relations.occupations is not None
        assert relations.occupations.rows() == [("d1", "o A")]

    def test_another_core_makes_a_profile_relevant(self) -> None:
        rows = [("q1", "d1", "imker", "A")] * 30
        rows += [("q1", "d2", "imker", "B"), ("q9", "d2", "winzer", "A"), ("q9", "d3", "winzer", "B")]
        relations = relate(_postings(*rows))
        assert relations.qrels.filter(pl.col("query_id") == "q1").rows() == [
            ("q1", "d1", False),
            ("q1", "d2", True),
        ]
        assert relations.undecided.rows() == [("q1", "d3", "rare")]

    def test_a_group_of_rare_codes_only_keeps_them_all(self) -> None:
        relations = relate(_postings(*[("q1", f"d{number}", "imker", f"C{number}") for number in range(25)]))
        assert relations.qrels.height == 25
        assert relations.undecided.is_empty()

    @settings(deadline=None, max_examples=60)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["q1", "q2", "q3"]),
                st.sampled_from(["d1", "d2", "d3", "d4"]),
                st.sampled_from(["A", "A", "A", "A", "-B", "C"]),
            ),
            min_size=1,
            max_size=70,
        )
    )
    def test_it_agrees_with_the_rule_written_out(self, drawn: list[tuple[str, str, str]]) -> None:
        rows = [(query, passage, "one" if query < "q3" else "two", core) for query, passage, core in drawn]
        relations = relate(_postings(*rows))
        qrels, undecided = _written_out(rows)
        assert set(relations.qrels.rows()) == qrels and relations.qrels.height == len(qrels)
        assert set(
            relations.undecided.select("query_id", "passage_id").rows()
        ) == undecided and relations.undecided.height == len(undecided)


def _written_out(
    rows: list[tuple[str, str, str, str]],
) -> tuple[set[tuple[str, str, bool]], set[tuple[str, str]]]:
    """The rule of `relate` in loops, with nothing of its code."""
    qrels, undecided = set(), set()
    for asked in {query for query, *_ in rows}:
        group = next(g for query, _, g, _ in rows if query == asked)
        postings = [(passage, core) for _, passage, g, core in rows if g == group]
        seen = Counter(core for _, core in postings)
        observed, extended, doubtful = set(), set(), set()
        for core, count in seen.items():
            own = {passage for passage, c in postings if c == core}
            everywhere = {p for _, p, _, c in rows if c == core}
            if count / len(postings) < 0.05 <= max(seen.values()) / len(postings):
                doubtful |= own | everywhere
            else:
                observed |= own
                extended |= everywhere
        qrels |= {(asked, passage, False) for passage in observed}
        qrels |= {(asked, passage, True) for passage in extended - observed}
        undecided |= {(asked, passage) for passage in doubtful - observed - extended}
    return qrels, undecided


def test_the_fixture_goes_the_whole_way(files: Files) -> None:
    prepared = prepare(CONFIG, read(files))
    assert dict(prepared.dropped.select("id", "reason").rows()) == {
        "r-06": "empty_query",
        "r-07": "empty_query",
        "r-08": "empty_profile",
    }
    assert sorted(prepared.queries["text"].to_list()) == [
        "Glaser m/w/d",
        "IMKER/IN - Ref. 4711/B",
        "Imker (w/m/d) in Kassel",
        "Imker/Imkerin (m/w/d)",
        "Käsesommelier (all genders)",
        "Segelmacher & Co",
        "Segelmacher (gn)",
    ]
    assert set(prepared.queries["group"]) == {"imker", "segelmacher", "glaser", "käsesommelier"}
    assert sorted(prepared.corpus["text"].to_list()) == [
        "beekeeper. Skills: harvest honey; inspect hives. Region: Hessen. KldB 2010: 11332.",
        "beekeeper. Skills: inspect hives; harvest honey. Region: Bayern. KldB 2010: 11332.",
        "cheese & dairy adviser. Skills: taste cheese. Region: Tirol. KldB 2010: 62322.",
        "glazier. Skills: cut glass. Region: Berlin.",
        "sailmaker. Region: Bremen. KldB 2010: 28222.",
        "sailmaker. Seniority: senior. KldB 2010: 28222.",
    ]
    assert prepared.relations.qrels.height == 3 * 2 + 2 * 2 + 1 + 1
    assert prepared.relations.classes is not None
    coded = prepared.relations.classes.join(prepared.corpus, on="passage_id")
    by_class = coded.group_by("class").agg(pl.col("text").str.head(6).sort())
    assert dict(by_class.filter(pl.col("class").str.starts_with("kldb ")).rows()) == {
        "kldb 11332": ["beekee", "beekee"],
        "kldb 28222": ["sailma", "sailma"],
        "kldb 62322": ["cheese"],
    }
    assert not prepared.relations.qrels["extended"].any()


def test_a_code_in_a_title_is_no_licence_plate(files: Files) -> None:
    records = read(files)
    title = pl.when(pl.col("upstream_id") == "r-02").then(pl.lit("Techniker M-IT 247")).otherwise("text")
    prepared = prepare(CONFIG, replace(records, queries=records.queries.with_columns(text=title)))
    assert "Techniker M-IT 247" in prepared.queries["text"].to_list()
    place = {"table": ["queries"], "split": ["test"], "id": ["q"], "field": ["text"]}
    texts = pl.DataFrame({**place, "text": ["Techniker M-IT 247"]})
    assert not list(unscrubbed(texts, CONFIG.personal, titles=pl.lit(CONFIG.titles)))
    assert list(unscrubbed(texts, CONFIG.personal))


def test_the_spec_says_what_it_is() -> None:
    assert load("jobs") is CONFIG
    assert CONFIG.languages == ("deu", "eng") and CONFIG.licence == "cc-by-4.0"
    source = CONFIG.sources[0]
    assert isinstance(source, HubSource) and source.revision == "d49f1e4243"
    assert CONFIG.personal == ALL_KINDS
    assert CONFIG.titles
    assert (CONFIG.ids, CONFIG.rows, CONFIG.empty_passage) == ("content", "pair", "empty_profile")
    assert CONFIG.mining is not None and CONFIG.mining.recipe.name == "v1"
    assert CONFIG.mining.encoder.revision == "d128750597"


@pytest.mark.upstream
@pytest.mark.long
def test_the_stand_in_gives_the_known_counts_and_no_twins_are_left() -> None:
    records = read(upstream.jobs())
    assert records.queries.height == 20_000
    assert normalise_frame(records.queries, keep=["upstream_id"])["text"].null_count() == 43
    prepared = prepare(CONFIG, records)
    reasons = Counter(prepared.dropped["reason"].to_list())
    assert reasons["empty_query"] == 43
    queries = prepared.queries
    assert not queries["text"].str.contains(r"&amp;|\u0308|  ").any()
    markers = r"m/w/d|w/m/d|d/m/w|\(gn\)|ref\. \d|& co$|[a-z]/in$| in (köln|halle|ulm|kiel)$"
    traces = rf"{markers}|<[a-z]+>|tel\.|bewerbung an|hd\."
    assert queries.filter(pl.col("group").str.contains(traces)).rows() == []
    assert queries["group"].n_unique() < queries.height / 2
    pairs = prepared.relations.qrels.height
    assert queries.height < pairs < 200 * queries.height
