"""Rules on the splits: no twin in another split, assignments that stay, ratios."""

import re
import unicodedata
from collections.abc import Iterator

import polars as pl

from builders.checks.finding import Finding, error, gate, graded, note
from builders.checks.subject import Pairs, keyed
from builders.text.merge import digest

_RATIOS = {"train": 0.8, "dev": 0.1, "test": 0.1}
_FAR_OFF = 0.05
_MANY = 0.1
"""Above this share of the test or dev queries with a likeness elsewhere, the splits are not apart."""

_TWINS = error(
    "twins-across-splits",
    "groups whose queries lie in more than one split",
    "Deal whole groups: look at the config's `group_key` and its splits.tsv.",
)
_COMMITTED = note(
    "twins-committed",
    "leak keys that lie in more than one split since an earlier version",
    "They stay where they were published; the next major version may deal them anew.",
)
_MOVED = error(
    "split-moved",
    "queries that left the split they are committed to",
    "The committed splits.tsv is an input: give it to the build.",
)
_RATIO = gate(
    "split-ratio",
    "queries above their split's share",
    "Large groups or many removed queries do this: waive it, or deal anew with a major version.",
)
_READ = "Read the examples: if they ask the same, the config's `leak_key` is too fine."
_COARSER = "Read the examples: if they ask the same, make the config's `leak_key` coarser, else waive it."
_TEST_ALIKE = graded(
    "alike-across-splits", "test queries that differ from one of train or dev in little", _READ, _COARSER
)
_DEV_ALIKE = graded("alike-in-dev", "dev queries that differ from one of train in little", _READ, _COARSER)

_BRACKETS = re.compile(r"[(\[{<][^()\[\]{}<>]{0,80}[)\]}>]")
_FEMININE = re.compile(r"(?<=\w{5})in(?:nen)?\b")
_SHORT_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,3}(?![^\W\d_])")


def check(subject: Pairs) -> Iterator[Finding]:
    """Apply all rules on splits."""
    published = _grouped(subject)
    earlier = published.clear() if subject.committed is None else subject.committed
    yield from _twins(published, earlier)
    yield from _alike(published)
    both = published.join(earlier.select("query_id", committed="split"), on="query_id")
    moved = both.filter(pl.col("split") != pl.col("committed"))
    yield from _MOVED.rows(moved, "{query_id}: {split}, committed to {committed}")
    yield from _ratio(published)


def _grouped(subject: Pairs) -> pl.DataFrame:
    queries, spec = subject.queries, subject.spec
    groups = keyed(keyed(queries["text"], spec.query_key), spec.relevance_key)
    leak = keyed(groups, spec.leak_key)
    return queries.select("query_id", "split", "text", group_hash=keyed(groups, digest), leak=leak)


def _twins(published: pl.DataFrame, earlier: pl.DataFrame) -> Iterator[Finding]:
    """Excuse a leak key that spans splits only if it spanned them when its queries were committed.

    Its committed queries are known by their id, and by their group's hash where they are gone since.
    """
    still_there = published.join(earlier, on=["query_id", "split"], how="semi")
    groups = published.select("group_hash", "leak").unique()
    gone = earlier.select("group_hash", "split").join(groups, on="group_hash")
    known = pl.concat([frame.select("leak", "split") for frame in (still_there, gone)])
    excused = known.unique().filter(pl.col("leak").is_duplicated())
    texts, splits = pl.col("text").sort().head(3).str.join(" | "), pl.col("split").unique(maintain_order=True)
    grouped = published.group_by("leak").agg(splits, texts=texts).filter(pl.col("split").list.len() > 1)
    spanning = grouped.with_columns(pl.col("split").list.join(", "))
    yield from _TWINS.rows(spanning.join(excused, on="leak", how="anti"), "{split}: {texts}")
    yield from _COMMITTED.rows(spanning.join(excused, on="leak", how="semi"), "{split}: {texts}")


def _alike(published: pl.DataFrame) -> Iterator[Finding]:
    """Compare the queries of test and dev with those of the splits before by a key of this check's own."""
    alike = published.with_columns(rough=keyed(published["text"], _rough)).filter(pl.col("rough") != "")
    for split, others, (few, many) in (
        ("test", ("train", "dev"), _TEST_ALIKE),
        ("dev", ("train",), _DEV_ALIKE),
    ):
        there = alike.filter(pl.col("split").is_in(others)).sort("text")
        there = there.group_by("rough").agg(pl.col("text").first())
        found = alike.filter(pl.col("split") == split).join(there, on="rough", suffix="_elsewhere")
        total = published.filter(pl.col("split") == split).height
        code = many if found.height > _MANY * total else few
        share = f"{found.height:,} of {total:,} {split} queries"
        message = f"{share} differ from one of {' or '.join(others)} in little"
        yield from code.rows(found, "{query_id}: {text} | {text_elsewhere}", message=message)


def _rough(text: str) -> str:
    """Return the letters of a text, case-folded, without marks, short words, brackets and feminine endings.

    It shares no code with the configs' keys, so that it sees what those do not.
    """
    letters = unicodedata.normalize("NFKD", _BRACKETS.sub(" ", text).casefold())
    bare = "".join(character for character in letters if not unicodedata.combining(character))
    words = _FEMININE.sub("", _SHORT_WORD.sub(" ", bare))
    return "".join(character for character in words if character.isalpha())


def _ratio(published: pl.DataFrame) -> Iterator[Finding]:
    total = published.height
    sizes = {split: published.filter(pl.col("split") == split).height for split in _RATIOS}
    excess = {split: sizes[split] - ratio * total for split, ratio in _RATIOS.items()}
    tolerated = _FAR_OFF * total + 1
    if any(abs(difference) > tolerated for difference in excess.values()):
        shares = ", ".join(f"{split} {size / total:.1%}" for split, size in sizes.items())
        above = round(sum(difference for difference in excess.values() if difference > 0))
        yield from _RATIO.counted(above, message=f"far off 80/10/10: {shares}")
