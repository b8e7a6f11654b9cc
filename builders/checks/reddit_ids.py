"""Rules on clustering sets of ids: nothing but ids and names of subreddits, and those of the ledger."""

from collections.abc import Iterator

import polars as pl

from builders.checks import clustering
from builders.checks.finding import Finding, error, gate, note
from builders.checks.subject import IdSets, Rule
from builders.reddit.submission import PROFILE, SUBMISSION_ID, SUBREDDIT
from builders.tables import Kind

_SMALL = 100
"""Below this many submissions a subreddit is noted: the upstream has about 500 of each."""
_MOST_MISSING = 0.2
"""Of the ids: more are not lost by time, but were never asked for, as with a dump of other months."""
_ID_PATTERN = rf"^(?:{SUBMISSION_ID.pattern})$"
_SUBREDDIT = rf"^(?:{SUBREDDIT.pattern})$"
_LEDGER = "Run mteb-de hydrate subreddit, and build again."

_ID = error("submission-id", "ids that no submission can have", _LEDGER)
_LABEL = error(
    "submission-label",
    "labels that are no subreddit's name, are a user's, or differ in case alone",
    "A label is published: look at the ledger, and at `read` of the config.",
)
_TWICE = error("submission-twice", "ids that stand in one set more than once", _LEDGER)
_UNKNOWN = error("submission-unknown", "ids that the ledger does not hold as there, of this label", _LEDGER)
_PARTIAL = error(
    "submission-partial",
    "labels of which a set does not hold all submissions",
    "A set holds whole subreddits: look at the config's `sets`.",
)
_SETS = error(
    "submission-sets",
    "numbers of sets, or of labels in a set, that the config does not draw",
    "The build draws these itself: look at the config's `sets`.",
)
_FEW = note(
    "subreddit-small",
    f"subreddits with fewer than {_SMALL} submissions",
    "Small ones weigh little in a set; look whether the ledger has lost many.",
)
_LOST = gate(
    "submission-missing",
    f"ids that the ledger calls missing, which are more than {_MOST_MISSING:.0%} of all",
    "After dumps, run mteb-de hydrate subreddit without --dump, so that Reddit is asked for the rest.",
)


def _values(subject: IdSets) -> Iterator[Finding]:
    """Demand that ids and labels have their form, so that no text and no user's name can hide in them."""
    each = _rows(subject)
    ids = each.select("id").unique()
    yield from _ID.rows(ids.filter(~pl.col("id").str.contains(_ID_PATTERN)), "{id}")
    labels = each.select("label").unique().with_columns(folded=pl.col("label").str.to_lowercase())
    wrong = (
        ~pl.col("label").str.contains(_SUBREDDIT)
        | pl.col("label").str.contains(PROFILE.pattern)
        | pl.col("folded").is_duplicated()
    )
    yield from _LABEL.rows(labels.filter(wrong), "{label}")
    twice = each.group_by("set", "id").len("times").filter(pl.col("times") > 1)
    yield from _TWICE.rows(twice, "set {set}: {id} stands there {times} times")
    counts = each.group_by("label").agg(submissions=pl.col("id").n_unique())
    yield from _FEW.rows(counts.filter(pl.col("submissions") < _SMALL), "{label}: {submissions}")


def _known(subject: IdSets) -> Iterator[Finding]:
    """Demand ids that the ledger knows as there, under their label, all of a label in one set, few lost."""
    statuses = subject.beside.get("statuses")
    if statuses is None:
        yield from _UNKNOWN.lines(["there is no ledger beside the lock"])
        return
    there, each = statuses.filter(status="ok").select("id", label="subreddit"), _rows(subject)
    unknown = each.select("id", "label").unique().join(there, on=["id", "label"], how="anti")
    yield from _UNKNOWN.rows(unknown, "{id}: {label}")
    held = each.group_by("set", "label").agg(held=pl.col("id").n_unique())
    counted = held.join(there.group_by("label").len("all"), on="label")
    partial = counted.filter(pl.col("held") != pl.col("all"))
    yield from _PARTIAL.rows(partial, "set {set} {label}: {held} of {all}")
    missing = statuses.filter(status="missing").height
    if missing > _MOST_MISSING * statuses.height:
        yield from _LOST.counted(missing, [f"{missing:,} of {statuses.height:,}"])


def _drawn(subject: IdSets) -> Iterator[Finding]:
    """Demand as many sets as the config draws, with two labels or more, and no more than may be drawn."""
    sets = subject.numbered(Kind.CLUSTERING_IDS).select(
        "set", kinds=pl.col("labels").list.n_unique(), only=pl.col("labels").list.first()
    )
    lone = sets.filter(pl.col("kinds") == 1)
    yield from clustering.ONE_LABEL.rows(lone, "set {set}: {only}")
    expected = sum(rule.count for rule in subject.spec.sets)
    most = max((rule.most for rule in subject.spec.sets), default=0)
    wrong = [] if sets.height == expected else [f"{sets.height} sets, {expected} expected"]
    large = sets.filter(pl.col("kinds") > most)
    wrong += [f"set {number}: {kinds} labels, at most {most}" for number, kinds, _ in large.iter_rows()]
    yield from _SETS.lines(wrong)


RULES: tuple[Rule, ...] = (_values, _known, _drawn, clustering.recounted)


def _rows(subject: IdSets) -> pl.DataFrame:
    """Return one row per id and set: ``set`` (from 1), ``id``, ``label``."""
    return (
        subject
        .numbered(Kind.CLUSTERING_IDS)
        .select("set", id="submission_ids", label="labels")
        .explode("id", "label")
    )
