"""Rules on the texts of queries and passages."""

from collections.abc import Iterator

import polars as pl

from builders.checks.finding import Finding, error, gate, note
from builders.checks.subject import Pairs, Rule, keyed
from builders.spec import PersonalKind
from builders.text.merge import encoded_text

_LONG = 10_000
_MOST_MERGED = 0.001
"""Above this share of the queries, those that lost their meaning to the scrubber are a gate."""
_UNFOLDED = r"^ | $|  |[\s--[ ]]|\p{Cc}"
_INVISIBLE = r"[\u{ad}\u{200b}\u{2060}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{feff}]"
_ENTITY_PATTERN = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});"

EMPTY = error(
    "text-empty",
    "queries or passages without text",
    "Drop them in the build, with a reason; a query whose key is empty has no text either.",
)
_NOT_NORMALISED = error(
    "text-not-normalised",
    "texts that are not NFC, or hold unfolded white space or characters nobody sees",
    "Normalise after the last change to a text: composing and scrubbing can undo it.",
)
_ENTITY = note(
    "text-entity",
    "texts that still hold something like an HTML entity",
    "Entities are unescaped exactly once: look whether the upstream escaped these twice.",
)
_TOO_LONG = note(
    "text-long",
    f"texts of more than {_LONG:,} characters",
    "An encoder reads only their beginning: look whether these are single passages.",
)
_DUPLICATE_PASSAGE = error(
    "duplicate-passage",
    "passages that share their title and text with another",
    "Merge them and remap the qrels: else one twin counts as not relevant.",
)
_DUPLICATE_QUERY = error(
    "duplicate-query",
    "queries that share their key with another",
    "Merge them and remap the qrels: look at the config's `query_key`.",
)
_QUERY_IS_PASSAGE = note(
    "query-is-passage",
    "queries whose text is the whole text of a passage",
    "Such queries are found by string comparison: say so in the card.",
)
_PERSONAL = error(
    "personal-data",
    "places that look like personal data",
    "Scrub after the last change to a text; `mteb-de scrub` shows the places of a file.",
)
_MERGED = note(
    "titles-merged",
    "queries that scrubbing made of titles of different occupations",
    "Nothing to do where a contact was replaced; else look whether the scrubber took a trade for a name.",
)
_MERGED_UNCUED = gate(
    "titles-merged-uncued",
    "queries that scrubbing made of titles of different occupations, without a contact cue",
    "The scrubber took a trade, a brand or a code for a name, plate or number: make its rule stricter.",
)

_NO_TITLES = pl.lit(value=False)
_WHERE = "{table}/{split} {id} {field}: {text}"


def _texts(subject: Pairs) -> pl.DataFrame:
    """Return each published text as a row: ``table``, ``split``, ``id``, ``field``, ``text``."""
    corpus = subject.corpus.rename({"passage_id": "id"})
    queries = subject.queries.rename({"query_id": "id"})
    parts = ((corpus, "corpus", "title"), (corpus, "corpus", "text"), (queries, "queries", "text"))
    return pl.concat(
        frame.select(table=pl.lit(table), split="split", id="id", field=pl.lit(field), text=field)
        for frame, table, field in parts
    )


def _queries(subject: Pairs) -> pl.DataFrame:
    return subject.queries.with_columns(key=keyed(subject.queries["text"], subject.spec.query_key))


def _values(subject: Pairs) -> Iterator[Finding]:
    """Demand texts and keys that are there, normalised, and without personal data; a title may be empty."""
    texts, blank = _texts(subject), pl.col("text").str.strip_chars() == ""
    keyless = _queries(subject).filter(pl.col("key") == "", ~blank).rename({"query_id": "id"})
    keyless = keyless.with_columns(table=pl.lit("queries"), field=pl.lit("key")).select(texts.columns)
    empty = texts.filter(pl.col("field") == "text", blank)
    yield from EMPTY.rows(pl.concat([empty, keyless]), _WHERE)
    yield from malformed(texts)
    titles = (pl.col("table") == "queries") & subject.spec.titles
    yield from unscrubbed(texts, subject.spec.personal, titles)


def malformed(texts: pl.DataFrame) -> Iterator[Finding]:
    """Report texts that are not normalised, hold entities, or are very long, out of a frame of `_texts`."""
    text = pl.col("text")
    unfolded = text.str.contains(f"{_UNFOLDED}|{_INVISIBLE}")
    yield from _NOT_NORMALISED.rows(texts.filter((text != text.str.normalize("NFC")) | unfolded), _WHERE)
    yield from _ENTITY.rows(texts.filter(text.str.contains(_ENTITY_PATTERN)), _WHERE)
    long = texts.with_columns(length=text.str.len_chars()).filter(pl.col("length") > _LONG)
    yield from _TOO_LONG.rows(long, "{table}/{split} {id} {field}: {length} characters")


def _duplicates(subject: Pairs) -> Iterator[Finding]:
    """Demand one passage of a text, and one query of a key, whatever the split."""
    corpus, queries, example = subject.corpus, _queries(subject), "queries/{split} {query_id}: {text}"
    corpus = corpus.with_columns(encoded=encoded_text(corpus))
    twins = corpus.filter(pl.col("encoded").is_duplicated())
    yield from _DUPLICATE_PASSAGE.rows(twins, "{passage_id}: {encoded}")
    yield from _DUPLICATE_QUERY.rows(queries.filter(pl.col("key").is_duplicated()), example)
    whole = pl.concat([corpus["encoded"], corpus["text"]]).unique()
    yield from _QUERY_IS_PASSAGE.rows(queries.filter(pl.col("text").is_in(whole.implode())), example)


def unscrubbed(
    texts: pl.DataFrame, kinds: tuple[PersonalKind, ...], titles: pl.Expr = _NO_TITLES
) -> Iterator[Finding]:
    """Report what the scrubber would still replace in a frame of `_texts`; `titles` are its titles of jobs.

    Examples name the place, never the value.
    """
    if not kinds:
        return
    from builders.personal import scrub

    found = []
    for flag in (True, False):
        rows = texts.drop_nulls("text").filter(titles == flag).with_row_index("row")
        spans = scrub(rows["text"], kinds, titles=flag).spans
        places = spans.select(pl.col("row").cast(pl.UInt32), "kind", "start", "end", "rule")
        found.append(places.join(rows, on="row", maintain_order="left"))
    place = "{table}/{split} {id} {field}: {kind} at {start}-{end} ({rule})"
    yield from _PERSONAL.rows(pl.concat(found), place)


def _merged(subject: Pairs) -> Iterator[Finding]:
    """Count titles that scrubbing made one query; those that differed in no contact must be few."""
    merges, queries = subject.beside.get("scrub_merges"), subject.queries
    if merges is None:
        return
    found = merges.join(queries, on="query_id")
    uncued = found.filter(~pl.col("cue"))
    many = uncued.height > _MOST_MERGED * queries.height
    example = "{query_id}: {text}, of {titles} titles"
    if many:
        share = f"{_MERGED_UNCUED.meaning}: {uncued.height:,} of {queries.height:,}"
        yield from _MERGED_UNCUED.rows(uncued, example, message=share)
    noted = found.filter("cue") if many else found
    count = f"{noted.height:,}, {noted.height - noted['cue'].sum():,} without a contact cue"
    yield from _MERGED.rows(noted, example, message=f"{_MERGED.meaning}: {count}")


RULES: tuple[Rule, ...] = (_values, _duplicates, _merged)
