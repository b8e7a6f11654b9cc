from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.configs.blurbs import CONFIG as BLURBS
from builders.configs.tenkgnad import CONFIG as TENKGNAD
from builders.errors import FindingsError
from builders.prepare.sets import draw, fill
from builders.spec import Clustering, Grouped, Sampled, Within

RULES = (Sampled("grob", "art"), Within("art", "sorte"), Sampled("fein", "sorte", count=3))


def documents(count: int) -> pl.DataFrame:
    number = pl.int_range(count, eager=True)
    return pl.DataFrame({
        "upstream_id": [f"id-{each:05}" for each in number],
        "art": [f"Art {each % 4}" for each in number],
        "sorte": [f"Sorte {each % 4} {each % 3}" for each in number],
        "s2s": [f"Titel {each}" for each in number],
    })


def mere(count: int, config: Clustering) -> pl.DataFrame:
    """As many documents, with the labels' columns and nothing else."""
    columns = {rule.label for rule in config.sets}
    return pl.DataFrame({column: [f"{number % 8}" for number in range(count)] for column in sorted(columns)})


@pytest.mark.parametrize(
    ("config", "count", "total"), [(BLURBS, 18_086, 174_637), (TENKGNAD, 10_277, 45_914)]
)
def test_the_published_numbers_of_documents_give_the_published_sizes(
    config: Clustering, count: int, total: int
) -> None:
    known = config.published
    assert known is not None and known.documents == count
    drawn = draw(mere(count, config), config.sets, seed=42)
    sizes: dict[str, list[int]] = {}
    for one in drawn:
        sizes.setdefault(one.level.partition(":")[0], []).append(len(one.rows))
    assert {level: tuple(sizes[level]) for level in known.sizes} == known.sizes
    assert sum(map(sum, sizes.values())) == total
    assert sum(sizes.get("within", [])) in {0, count}


def test_the_sizes_are_those_of_the_reference() -> None:
    assert BLURBS.published is not None and TENKGNAD.published is not None
    coarse, fine = BLURBS.published.sizes["coarse"], BLURBS.published.sizes["fine"]
    assert (sum(coarse), sum(fine), coarse[0], fine[2]) == (71_144, 85_407, 12_284, 16_425)
    assert TENKGNAD.published.sizes["topic"][:3] == (2_851, 1_436, 5_533)
    assert (len(BLURBS.published.labels["genre"]), len(BLURBS.published.labels["topic"])) == (8, 93)
    assert len(TENKGNAD.published.labels["section"]) == 9


def test_sets_stand_in_the_order_of_the_rules() -> None:
    levels = [one.level for one in draw(documents(100), RULES, seed=42)]
    assert levels == ["grob"] * 10 + [f"within:Art {number}" for number in range(4)] + ["fein"] * 3


def test_a_set_holds_no_document_twice_and_within_sets_hold_all() -> None:
    drawn = draw(documents(100), RULES, seed=42)
    assert all(len(set(one.rows)) == len(one.rows) for one in drawn)
    within = [row for one in drawn if one.level.startswith("within:") for row in one.rows]
    assert sorted(within) == list(range(100))
    assert all(10 <= len(one.rows) <= 100 for one in drawn if not one.level.startswith("within:"))


def test_rows_are_literal() -> None:
    """Another generator, seed or order would publish other sets: a major version."""
    drawn = draw(documents(20), RULES, seed=42)
    assert [one.rows for one in drawn[:2]] == [(4, 2, 9, 1, 8), (7, 19)]
    assert [(one.level, one.rows) for one in drawn[10:12]] == [
        ("within:Art 0", (12, 4, 0, 8, 16)),
        ("within:Art 1", (5, 1, 17, 9, 13)),
    ]


def test_another_seed_gives_other_sets() -> None:
    assert draw(documents(50), RULES, seed=42) == draw(documents(50), RULES, seed=42)
    assert draw(documents(50), RULES, seed=42) != draw(documents(50), RULES, seed=43)


def test_all_documents_are_drawn_about_equally_often() -> None:
    drawn = draw(documents(40), (Sampled("grob", "art", count=400),), seed=42)
    counts = Counter(row for one in drawn for row in one.rows)
    assert len(counts) == 40
    assert max(counts.values()) < 1.3 * min(counts.values())


def test_a_new_value_leaves_the_sets_of_random_size_alone() -> None:
    """Sizes come from a generator of their own, so within sets cannot change them."""
    with_within, without = (
        [len(one.rows) for one in draw(documents(60), rules, seed=42) if not one.level.startswith("within")]
        for rules in (RULES, (RULES[0], RULES[2]))
    )
    assert with_within == without


@pytest.mark.parametrize("count", [0, 1, 9])
def test_too_few_documents_are_told(count: int) -> None:
    with pytest.raises(FindingsError, match=f"{count} documents are too few for sets of at least 10%"):
        draw(documents(count), RULES, seed=42)


def test_filling_keeps_text_and_label_together() -> None:
    rows = documents(30)
    drawn = draw(rows, RULES, seed=42)
    table = fill(rows, drawn, "s2s")
    assert table.columns == ["sentences", "labels", "level"]
    assert table.schema["sentences"] == table.schema["labels"] == pl.List(pl.String)
    art = dict(rows.select("s2s", "art").iter_rows())
    sorte = dict(rows.select("s2s", "sorte").iter_rows())
    for one, (sentences, labels, level) in zip(drawn, table.iter_rows(), strict=True):
        of = art if level == "grob" else sorte
        assert sentences == [f"Titel {row}" for row in one.rows]
        assert labels == [of[sentence] for sentence in sentences]
        assert level == one.level


@settings(deadline=None, max_examples=30)
@given(st.integers(10, 80), st.integers(0, 1000))
def test_equal_documents_give_equal_sets(count: int, seed: int) -> None:
    rows = documents(count)
    assert draw(rows, RULES, seed=seed) == draw(rows.clone(), RULES, seed=seed)


SUBREDDITS = (Grouped("subreddit", "subreddit"),)


def submissions(subreddits: int, each: int = 2) -> pl.DataFrame:
    labels = [f"Thema{number:02}" for number in range(subreddits) for _ in range(each)]
    return pl.DataFrame({"subreddit": labels})


def test_eighty_subreddits_give_the_published_numbers_of_labels() -> None:
    rows = submissions(80)
    drawn = draw(rows, SUBREDDITS, seed=42)
    labels = [rows[list(one.rows)]["subreddit"].n_unique() for one in drawn]
    assert labels == [50, 44, 20, 37, 25, 45, 32, 40, 40, 20]
    assert {one.level for one in drawn} == {"subreddit"}


def test_the_labels_of_the_first_sets_are_literal() -> None:
    """Another generator, seed, or order of the labels would publish other sets: a major version."""
    rows = submissions(12)
    few = draw(rows, (Grouped("subreddit", "subreddit", count=2, fewest=2, most=5),), seed=42)
    labels = [sorted(set(rows[list(one.rows)]["subreddit"])) for one in few]
    assert labels == [["Thema01", "Thema08"], ["Thema07", "Thema11"]]
    assert few[1].rows == (14, 22, 15, 23)


def test_a_set_holds_all_of_its_labels_and_nothing_twice() -> None:
    rows = submissions(60, each=3)
    for one in draw(rows, SUBREDDITS, seed=42):
        assert len(set(one.rows)) == len(one.rows)
        counts = Counter(rows[list(one.rows)]["subreddit"].to_list())
        assert set(counts.values()) == {3}
        assert list(one.rows) != sorted(one.rows)


def test_groups_do_not_depend_on_the_order_in_which_labels_are_first_seen() -> None:
    rows = submissions(60)
    drawn, turned = (draw(frame, SUBREDDITS, seed=42) for frame in (rows, rows.reverse()))
    for one, other in zip(drawn, turned, strict=True):
        assert set(rows[list(one.rows)]["subreddit"]) == set(rows.reverse()[list(other.rows)]["subreddit"])


def test_fewer_labels_than_asked_for_are_all_taken() -> None:
    drawn = draw(submissions(3), SUBREDDITS, seed=42)
    assert [sorted(one.rows) for one in drawn] == [list(range(6))] * 10


def test_no_document_to_group_is_told() -> None:
    with pytest.raises(FindingsError, match="no documents to draw sets from"):
        draw(submissions(0), SUBREDDITS, seed=42)
