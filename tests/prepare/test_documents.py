from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.prepare.documents import limit_documents, prepare_documents
from builders.spec import CONTACT, Clustering, Documents, Files, Sampled, Waiver

NONE = pl.DataFrame(schema={"id": pl.String, "problem": pl.String})


def _never_read(_: Files) -> Documents:
    raise AssertionError("nothing is read here")


def compose(rows: pl.DataFrame) -> pl.DataFrame:
    reason = pl.when(pl.col("art").is_null()).then(pl.lit("no_genre"))
    return rows.select("upstream_id", "title", "text", "art", reason=reason)


SPEC = Clustering(
    name="rezepte",
    release="tecb-de",
    title="Rezepte",
    licence="cc-by-nc-4.0",
    languages=("deu",),
    sources=(),
    read=_never_read,
    compose=compose,
    sets=(Sampled("grob", "art"),),
    personal=CONTACT,
)


def documents(*rows: tuple[str | None, str | None, str | None, str | None]) -> Documents:
    schema = dict.fromkeys(("upstream_id", "title", "text", "art"), pl.String)
    return Documents(pl.DataFrame(rows, schema=schema, orient="row"), NONE)


def test_title_and_text_are_normalised_scrubbed_and_joined() -> None:
    read = documents(
        ("b", " Gru\u0308ne  Soße ", "Kra\xaduter &amp;amp; Ei.\n Fragen: koch@kueche.example", "Soße"),
        ("a", "Brot", "Mehl.", "Brot"),
    )
    prepared = prepare_documents(SPEC, read)
    assert prepared.documents.select("upstream_id", "s2s", "p2p", "art").rows() == [
        ("a", "Brot", "Brot Mehl.", "Brot"),
        ("b", "Grüne Soße", "Grüne Soße Krauter &amp; Ei. Fragen: <EMAIL>", "Soße"),
    ]
    assert prepared.personal["documents"].kinds == {"email": 1}
    assert (prepared.funnel.read, prepared.funnel.dropped, prepared.funnel.out) == (2, {}, 2)


def test_the_config_gives_the_first_reason() -> None:
    read = documents(("a", None, None, None), ("b", None, None, "Brot"), ("c", "Titel", " \xad", "Brot"))
    prepared = prepare_documents(SPEC, read)
    assert prepared.dropped.rows() == [
        ("documents", "a", "upstream", "no_genre"),
        ("documents", "c", "upstream", "no_text"),
        ("documents", "b", "upstream", "no_title"),
    ]
    assert prepared.funnel.dropped == {"no_genre": 1, "no_text": 1, "no_title": 1}
    assert prepared.documents.is_empty()


def test_what_could_not_be_read_is_counted_where_it_is_waived() -> None:
    malformed = pl.DataFrame({"id": [f"a.txt:{n}" for n in range(7)], "problem": ["kaputt"] * 7})
    read = replace(documents(("a", "Brot", "Mehl.", "Brot")), malformed=malformed)
    with pytest.raises(SourceError, match="cannot be read: 7, waived 0") as error:
        prepare_documents(SPEC, read)
    assert error.value.message.count("kaputt") == 5 and "and 2 more" in error.value.message
    spec = replace(SPEC, waivers=(Waiver("row-malformed", "Zeilen ohne Ende", at_most=7),))
    prepared = prepare_documents(spec, read)
    assert (prepared.funnel.read, prepared.funnel.dropped, prepared.funnel.out) == (8, {"malformed": 7}, 1)
    assert prepared.dropped.height == 7


@pytest.mark.parametrize("ids", [("a", "a"), ("a", None), ("", "a")])
def test_ids_must_be_unique(ids: tuple[str | None, str | None]) -> None:
    read = documents(*((each, "Brot", "Mehl.", "Brot") for each in ids))
    with pytest.raises(SourceError, match="no id of their own"):
        prepare_documents(SPEC, read)


def test_a_limit_keeps_the_same_documents_whatever_their_order() -> None:
    rows = [(f"id-{n}", "Brot", "Mehl.", "Brot") for n in range(30)]
    kept = {
        tuple(limit_documents(documents(*order), 7).rows["upstream_id"].sort())
        for order in (rows, rows[::-1])
    }
    assert len(kept) == 1
    assert len(next(iter(kept))) == 7


def test_a_limit_keeps_a_row_without_an_id_to_be_refused() -> None:
    read = documents(*((each, "Brot", "Mehl.", "Brot") for each in ("a", None, "b")))
    with pytest.raises(SourceError, match="no id of their own"):
        prepare_documents(SPEC, limit_documents(read, 2))


@given(
    st.lists(
        st.tuples(st.text(max_size=8), st.text(max_size=8), st.sampled_from(["Brot", None])), max_size=12
    )
)
def test_every_row_is_a_document_or_dropped_for_one_reason(rows: list[tuple[str, str, str | None]]) -> None:
    read = documents(*((f"{n}", title, text, art) for n, (title, text, art) in enumerate(rows)))
    prepared = prepare_documents(SPEC, read)
    ids = [*prepared.documents["upstream_id"], *prepared.dropped["id"]]
    assert sorted(ids) == sorted(f"{n}" for n in range(len(rows)))
    assert sum(prepared.funnel.dropped.values()) + prepared.funnel.out == prepared.funnel.read == len(rows)
    for s2s, p2p in prepared.documents.select("s2s", "p2p").iter_rows():
        assert p2p.startswith(f"{s2s} ")
