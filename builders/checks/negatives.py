"""Rules on hard negatives, recomputed from the published tables and the lock's recipe alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import polars as pl
from pydantic import TypeAdapter, ValidationError

from builders.checks.finding import MOST_EXAMPLES, Finding, error, gate, note
from builders.checks.ids import pair_faults
from builders.checks.subject import Pairs
from builders.lock.lock import MinedTable
from builders.spec import PAIR, Recipe
from builders.tables import Kind

_SCORE_ROUNDING = 2.0**-23
"""Two cosines rounded to float32 differ from their float64 difference by no more than this."""
_BEYOND_ONE = 1e-6
LEAST_YIELD = 0.5
"""Below this share of queries with a hard negative, a build has a gate and the card begins with it."""

_MINE = "Mine again from these tables: the miner and the tables disagree."

_DANGLING_QUERY = error("dangling-negatives-query", "negatives whose query is in no split", _MINE)
_DANGLING_CORPUS = error("dangling-negatives-corpus", "negatives whose passage is not there", _MINE)
_WRONG_SPLIT = error("negatives-wrong-split", "negatives whose query is in another split", _MINE)
_POSITIVE = error("negative-is-positive", "negatives that are positives of their query", _MINE)
_TWIN = error("negative-twin", "negatives with the text of a positive or of their query", _MINE)
_UNDECIDED = error("negative-undecided", "negatives that are undecided pairs", _MINE)
_UNDECIDED_UNKNOWN = note(
    "undecided-unknown",
    "tables of undecided pairs that are not there, so that no negative was compared with them",
    "Build the config again: the build keeps undecided.parquet beside the lock.",
)
_MARGIN = error("negative-above-margin", "negatives closer to the positive than the margin", _MINE)
_KEEP = error("negatives-over-keep", "queries with more negatives than the recipe keeps", _MINE)
_DUPLICATE = error("negative-duplicate", "pairs that occur more than once in the negatives", _MINE)
_ORDER = error("negative-order", "negatives whose rank or score breaks their query's order", _MINE)
_DEPTH = error("negative-depth", "negatives ranked deeper than the recipe looks", _MINE)
_SCORE = error("negative-score", "negatives with a score that is no cosine", _MINE)
_GUARD = error("positive-score", "queries whose negatives name different positive scores", _MINE)
_RECIPE = error(
    "mining-recipe",
    "differences between the recipe of the config and of the lock",
    "Build again: the recipe changed since these negatives were mined.",
)
_REPORT = error(
    "mining-report",
    "figures of the mining report that the published rows do not have",
    "The report must be counted from the rows that are written.",
)
_YIELD = gate(
    "mining-yield",
    "queries without a hard negative",
    "Choose another recipe, or waive it with this count: the card says the yield first.",
)
_PUBLISHED_YIELD = note(
    "published-yield",
    "queries without a hard negative of the published procedure",
    "Nothing to do: its margin is wider than scores of a dense corpus lie apart. The other table serves.",
)
_BELOW_FLOOR = error("negative-below-floor", "negatives that score lower than the recipe's floor", _MINE)
_SUSPICIOUS = error("negative-suspicious", "negatives of queries whose best positive is suspicious", _MINE)
_EQUIVALENT = error("negative-equivalent", "negatives that share a class with a positive", _MINE)
_CROWDED = error("negative-occupation", "queries with too many negatives of one occupation", _MINE)
_SCALE_UNKNOWN = note(
    "scale-unknown",
    "tables that the recipe's rules need and that are not there, so that the rules were not applied",
    "Build the config again: the build keeps scale, classes and occupations beside the lock.",
)

_PAIR_ROW = "/{split} {query_id} → {passage_id}"


@dataclass(frozen=True, slots=True)
class _Mined:
    """A table of hard negatives.

    Attributes:
        subject: The config that it belongs to.
        kind: Which of its tables.
        own: The recipe that the config mines it by.
        locked: What the lock says of it; None where it says nothing.
    """

    subject: Pairs
    kind: Kind
    own: Recipe
    locked: MinedTable | None

    @property
    def negatives(self) -> pl.DataFrame:
        """Its rows of all splits, with a column ``split``."""
        return self.subject.stacked(self.kind)

    @property
    def recipe(self) -> Recipe:
        """The recipe that mined; the config's where the lock has none that can be read."""
        try:
            return TypeAdapter(Recipe).validate_python(self.locked and self.locked.recipe)
        except ValidationError:
            return self.own

    def named(self, example: str) -> str:
        """Begin an example with the name of the table."""
        return f"{self.kind}{example}"


def _relevance(mined: _Mined) -> Iterator[Finding]:
    """Demand published ends, once; refuse positives in any split, undecided pairs, and twins of either."""
    codes, row = (_DANGLING_QUERY, _WRONG_SPLIT, _DANGLING_CORPUS, _DUPLICATE), mined.named(_PAIR_ROW)
    yield from pair_faults(mined.subject, mined.kind, *codes)
    negatives, qrels = mined.negatives, mined.subject.qrels
    yield from _POSITIVE.rows(negatives.join(qrels, on=PAIR, how="semi"), row)
    yield from _TWIN.rows(_twins(mined.subject, negatives.join(qrels, on=PAIR, how="anti")), row)
    undecided = mined.subject.beside.get("undecided")
    if undecided is None:
        yield from _UNDECIDED_UNKNOWN.counted(int(mined.kind is Kind.HARD_NEGATIVES))
    else:
        yield from _UNDECIDED.rows(negatives.join(undecided, on=PAIR, how="semi"), row)


def _twins(subject: Pairs, negatives: pl.DataFrame) -> pl.DataFrame:
    """Return the negatives whose text, under whatever title, is a positive's or their query's."""
    texts = subject.corpus.select("text", "passage_id")
    queries = subject.queries.select("text", "query_id")
    qrels = subject.qrels.join(negatives, on="query_id", how="semi")
    positives = qrels.select(PAIR).join(texts, on="passage_id").select("text", "query_id")
    relevant = pl.concat([positives, queries])
    return negatives.join(texts, on="passage_id").join(relevant, on=["query_id", "text"], how="semi")


def _limits(mined: _Mined) -> Iterator[Finding]:
    """Refuse scores above the guard's minus the margin, or below the floor, beyond the rounding to float32.

    With a floor, refuse negatives of a query whose best positive is suspicious; which positive is the best is
    only published where the highest-scoring one guards.
    """
    recipe, scale = mined.recipe, mined.subject.beside.get("scale")
    negatives = mined.negatives
    score, guard = pl.col("score").cast(pl.Float64), pl.col("positive_score").cast(pl.Float64)
    if scale is not None:
        negatives = negatives.join(scale, on="query_id", how="left")
    if scale is not None or recipe.margin_kind != "deviations":
        units = {"absolute": pl.lit(1.0), "relative": guard.abs(), "deviations": pl.col("deviation")}
        limited = negatives.with_columns(limit=guard - recipe.margin * units[recipe.margin_kind])
        above = limited.filter(score > pl.col("limit") + _SCORE_ROUNDING)
        yield from _MARGIN.rows(above, mined.named(" {query_id} → {passage_id}: {score} above {limit}"))
    if scale is not None and recipe.floor is not None:
        mean, deviation = pl.col("mean"), pl.col("deviation")
        measured = negatives.with_columns(score, guard, floor=mean + recipe.floor * deviation)
        below = measured.filter(score < pl.col("floor") - _SCORE_ROUNDING)
        yield from _BELOW_FLOOR.rows(below, mined.named(" {query_id} → {passage_id}: {score} below {floor}"))
        if recipe.guard == "highest":
            least = mean + recipe.suspicious_below * deviation
            near = measured.filter(guard < least - _SCORE_ROUNDING)
            yield from _SUSPICIOUS.rows(
                near, mined.named(" {query_id} → {passage_id}: positive {positive_score}")
            )


def _scores(mined: _Mined) -> Iterator[Finding]:
    """Demand scores that are cosines (NaN compares greater than any), and one guard for a query."""
    negatives = mined.negatives
    cosines = pl.col("score", "positive_score")
    wrong = negatives.filter(pl.any_horizontal(cosines.abs() > 1 + _BEYOND_ONE))
    yield from _SCORE.rows(
        wrong, mined.named(" {query_id} → {passage_id}: {score}, positive {positive_score}")
    )
    guards = negatives.group_by("query_id").agg(guards=pl.col("positive_score").n_unique())
    yield from _GUARD.rows(guards.filter(pl.col("guards") > 1), mined.named(" {query_id}: {guards} scores"))


def _ranking(mined: _Mined) -> Iterator[Finding]:
    """Demand ranks over all passages: they rise while scores fall, within depth and keep."""
    recipe, qrels = mined.recipe, mined.subject.qrels
    negatives = mined.negatives.sort("query_id", "rank")
    before = negatives.with_columns(pl.col("rank", "score").shift(1).over("query_id").name.suffix("_before"))
    broken = (pl.col("rank") <= pl.col("rank_before")) | (pl.col("score") > pl.col("score_before"))
    out_of_order = before.filter((pl.col("rank") < 1) | broken)
    yield from _ORDER.rows(
        out_of_order, mined.named(" {query_id} → {passage_id}: rank {rank}, score {score}")
    )

    positives = qrels.unique(PAIR).group_by("query_id").len("positives")
    extra = pl.col("positives").fill_null(0) if recipe.depth_counts == "candidates" else pl.lit(0)
    passages = mined.subject.corpus.height
    deepest = pl.min_horizontal(extra + (passages if recipe.depth is None else recipe.depth), passages)
    limited = negatives.join(positives, on="query_id", how="left").with_columns(deepest=deepest)
    deeper = limited.filter(pl.col("rank") > pl.col("deepest"))
    yield from _DEPTH.rows(deeper, mined.named(" {query_id} → {passage_id}: rank {rank} of {deepest}"))

    numbers = negatives.group_by("query_id").len("negatives")
    over = numbers.filter(pl.col("negatives") > recipe.keep)
    yield from _KEEP.rows(over, mined.named(" {query_id}: {negatives} negatives"))


def _record(mined: _Mined) -> Iterator[Finding]:
    """Hold the lock's recipe against the config's, and its report against the rows."""
    if mined.locked is None:
        yield from _RECIPE.lines([f"the lock records no mining of {mined.kind}"])
        return
    locked, wanted = mined.locked.recipe, asdict(mined.own)
    names = sorted(name for name in {*wanted, *locked} if wanted.get(name) != locked.get(name))
    yield from _RECIPE.lines([
        mined.named(f" {name}: {locked.get(name)!r}, config {wanted.get(name)!r}") for name in names
    ])
    report = mined.locked.report
    reported = {
        "negatives": report.negatives,
        "queries": report.queries,
        "yield": report.yield_.any,
        "by_count": {number: queries for number, queries in report.by_count.items() if queries},
    }
    yield from _REPORT.lines([
        mined.named(f" {name}: {reported[name]!r}, published {count}")
        for name, count in _counted(mined).items()
        if reported[name] != count
    ])


def _counted(mined: _Mined) -> dict[str, object]:
    """Count the first figures of the report from the published rows."""
    numbers = mined.negatives.group_by("query_id").len("number")
    each = mined.subject.queries.join(numbers, on="query_id", how="left")["number"].fill_null(0)
    return {
        "negatives": int(numbers["number"].sum()),
        "queries": len(each),
        "yield": int((each > 0).sum()),
        "by_count": {str(number): count for number, count in each.value_counts().sort("number").rows()},
    }


def _mining_yield(mined: _Mined) -> Iterator[Finding]:
    """Demand a hard negative for half of the queries; of the published procedure, note that it has none."""
    queries = mined.subject.queries
    without, total = queries.join(mined.negatives, on="query_id", how="anti"), queries.height
    served = total - without.height
    if served >= LEAST_YIELD * total:
        return
    share = f"{served:,} of {total:,} queries ({served / total:.1%}) have a hard negative"
    code, message = _YIELD, f"only {share}"
    if mined.kind is not Kind.HARD_NEGATIVES:
        code, message = _PUBLISHED_YIELD, f"by the published procedure, {share}"
    yield from code.rows(without, "queries/{split} {query_id}", message=message)


def _equivalence(mined: _Mined) -> Iterator[Finding]:
    """Refuse negatives that share a class with a positive of their query in any split."""
    classes, negatives = mined.subject.beside.get("classes"), mined.negatives
    if not mined.recipe.equivalence or classes is None:
        return
    positives = mined.subject.qrels.join(negatives, on="query_id", how="semi")
    taken = positives.join(classes, on="passage_id").select("query_id", "class").unique()
    shared = negatives.join(classes, on="passage_id").join(taken, on=["query_id", "class"])
    first = shared.sort("class").unique(PAIR, keep="first", maintain_order=True)
    yield from _EQUIVALENT.rows(first, mined.named(" {query_id} → {passage_id}: {class}"))


def _crowding(mined: _Mined) -> Iterator[Finding]:
    """Refuse more negatives of a query from one occupation than the recipe takes."""
    limit, occupations = mined.recipe.per_occupation, mined.subject.beside.get("occupations")
    if limit is None or occupations is None:
        return
    known = mined.negatives.join(occupations, on="passage_id")
    numbers = known.group_by("query_id", "occupation").len("negatives")
    over = numbers.filter(pl.col("negatives") > limit)
    yield from _CROWDED.rows(over, mined.named(" {query_id}: {negatives} of {occupation}"))


def _known(mined: _Mined) -> Iterator[Finding]:
    """Note tables that the recipe's rules need and that are missing."""
    recipe, names = mined.recipe, []
    beside = mined.subject.beside
    if recipe.floor is not None or recipe.margin_kind == "deviations":
        scale = beside.get("scale")
        if scale is None:
            names.append("scale")
        else:
            lost = mined.negatives.join(scale, on="query_id", how="anti")
            names += [f"scale of {query}" for query in lost["query_id"].unique().sort()]
    needed = {"classes": recipe.equivalence, "occupations": recipe.per_occupation is not None}
    names += [name for name, rule in needed.items() if rule and name not in beside]
    yield from _SCALE_UNKNOWN.lines(names)


_RULES: tuple[Callable[[_Mined], Iterator[Finding]], ...] = (
    _relevance,
    _limits,
    _scores,
    _ranking,
    _record,
    _mining_yield,
    _known,
    _equivalence,
    _crowding,
)


def check(subject: Pairs) -> Iterator[Finding]:
    """Apply all rules on hard negatives to each of a config's tables of them."""
    if subject.spec.mining is None:
        return
    locked = subject.mining.tables if subject.mining else {}
    found: dict[str, list[Finding]] = {}
    for name, recipe in subject.spec.mining.recipes.items():
        mined = _Mined(subject, Kind(name), recipe, locked.get(name))
        for finding in (finding for rule in _RULES for finding in rule(mined)):
            found.setdefault(finding.code, []).append(finding)
    yield from (_together(findings) for findings in found.values())


def _together(findings: Sequence[Finding]) -> Finding:
    """Make one finding of those of a code in several tables."""
    return replace(
        findings[0],
        count=sum(finding.count for finding in findings),
        message="; ".join(dict.fromkeys(finding.message for finding in findings)),
        examples=tuple(dict.fromkeys(line for finding in findings for line in finding.examples))[
            :MOST_EXAMPLES
        ],
    )
