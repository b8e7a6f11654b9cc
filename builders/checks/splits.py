"""Rules on the splits: no twin and no shared positive in another split, assignments that stay, ratios."""

import re
import unicodedata
from collections.abc import Iterator

import polars as pl

from builders.checks.finding import Code, Finding, error, gate, graded, note
from builders.checks.subject import Pairs, keyed
from builders.prepare.components import components, is_giant, largest
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
_STAY = "They stay where they were published; the next major version may deal them anew."
_COMMITTED = note(
    "twins-committed", "leak keys that lie in more than one split since an earlier version", _STAY
)
_PARTED = error(
    "components-across-splits",
    "components of shared positives whose queries lie in more than one split",
    "Deal whole components: look at the qrels that the queries were dealt by, and at the splits.tsv.",
)
_PARTED_COMMITTED = note(
    "components-committed",
    "components of shared positives that lie in more than one split since an earlier version",
    _STAY,
)
_GIANT = gate(
    "component-giant",
    "queries of a component that is too large to be dealt whole",
    "Groups alone are dealt, and splits share positives: look for passages that nearly all titles share, "
    "else waive it.",
)
MOVED = gate(
    "split-moved",
    "queries that left the split of an earlier version",
    "Build with the earlier splits.tsv, beside the config or by --splits; only a major version that waives "
    "this may deal anew.",
)
_UNCOMMITTED = note(
    "splits-uncommitted",
    "queries whose split is not committed",
    "A release to the Hub needs it: build from the real upstreams with --update-lock, and commit the files.",
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
    yield from _parted(published, earlier, "leak", _TWINS, _COMMITTED)
    if subject.spec.components:
        yield from _connected(subject, published, earlier)
    yield from _alike(published)
    both = published.join(earlier.select("query_id", committed="split"), on="query_id")
    moved = both.filter(pl.col("split") != pl.col("committed"))
    yield from MOVED.rows(moved, "{query_id}: {split}, committed to {committed}")
    yield from _ratio(published)


def uncommitted(queries: pl.DataFrame, committed: pl.DataFrame | None) -> Iterator[Finding]:
    """Find the published queries whose split is not committed: all where nothing is.

    Args:
        queries: ``query_id``, ``split`` str.
        committed: What `read_splits` returned; None where there is no such file.
    """
    known = queries.clear() if committed is None else committed
    new = queries.join(known, on=["query_id", "split"], how="anti")
    message = f"the splits of {new.height:,} of {queries.height:,} queries are not committed"
    yield from _UNCOMMITTED.rows(new, "{query_id}: {split}", message=message)


def _grouped(subject: Pairs) -> pl.DataFrame:
    queries, spec = subject.queries, subject.spec
    groups = keyed(keyed(queries["text"], spec.query_key), spec.relevance_key)
    leak = keyed(groups, spec.leak_key)
    return queries.select("query_id", "split", "text", group_hash=keyed(groups, digest), leak=leak)


def _connected(subject: Pairs, published: pl.DataFrame, earlier: pl.DataFrame) -> Iterator[Finding]:
    """Demand that components lie in one split, or that one of them is too large for it."""
    linked = published.join(components(published, subject.qrels), on="query_id", how="left")
    if not is_giant(linked):
        yield from _parted(linked, earlier, "component", _PARTED, _PARTED_COMMITTED)
        return
    held = largest(linked, "component")
    share = f"{held:,} of {published.height:,} queries ({held / published.height:.1%})"
    yield from _GIANT.counted(held, message=f"{share} are one component, so groups alone are dealt")


def _parted(
    published: pl.DataFrame, earlier: pl.DataFrame, key: str, fault: Code, excused: Code
) -> Iterator[Finding]:
    """Excuse what spans splits by a key only if its committed queries span them.

    Those are known by their id, and by their group's hash where they are gone since.
    """
    still_there = published.join(earlier, on=["query_id", "split"], how="semi")
    groups = published.select("group_hash", key).unique()
    gone = earlier.select("group_hash", "split").join(groups, on="group_hash")
    known = pl.concat([frame.select(key, "split") for frame in (still_there, gone)])
    spanned = known.unique().filter(pl.col(key).is_duplicated())
    texts, splits = pl.col("text").sort().head(3).str.join(" | "), pl.col("split").unique(maintain_order=True)
    grouped = published.group_by(key).agg(splits, texts=texts).filter(pl.col("split").list.len() > 1)
    spanning = grouped.with_columns(pl.col("split").list.join(", "))
    yield from fault.rows(spanning.join(spanned, on=key, how="anti"), "{split}: {texts}")
    yield from excused.rows(spanning.join(spanned, on=key, how="semi"), "{split}: {texts}")


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
