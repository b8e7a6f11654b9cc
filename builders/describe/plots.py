"""The plots of a card, drawn from locks alone: the same locks give the same bytes. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from builders.describe.dataset import Dataset
from builders.describe.markdown import Markdown, escape
from builders.plots import charts
from builders.plots.svg import Figure, plot_path, svg
from builders.printable import share, span

_METRICS = {"ndcg_at_10": "nDCG@10", "mrr_at_10": "MRR@10", "v_measure": "V-measure"}
_MOST_IN_WORDS = 8


@dataclass(frozen=True, slots=True, eq=False)
class _CardPlot:
    """A plot of a card: the name of its file, its description in words, its figure."""

    name: str
    alt: str
    draw: partial[Figure]

    def __eq__(self, other: object) -> bool:
        """Return whether both show the same."""
        return repr(self) == repr(other)

    def __hash__(self) -> int:
        """Return the hash of all that is shown."""
        return hash(repr(self))

    @property
    def image(self) -> Markdown:
        """The image as the card shows it."""
        return Markdown(f"![{escape(self.alt)}]({plot_path(self.name)})")


def plots(datasets: Sequence[Dataset]) -> dict[str, bytes]:
    """Return the plots of a release as SVG, by path."""
    return {plot_path(plot.name): _svg(plot) for plot in card_plots(datasets)}


@lru_cache(maxsize=32)
def _svg(plot: _CardPlot) -> bytes:
    """Draw a plot once: drawing takes longer than all else of a plan, which describes a release twice."""
    return svg(plot.draw, title=plot.alt)


def card_plots(datasets: Sequence[Dataset]) -> tuple[_CardPlot, ...]:
    """Return the plots that a release has something to show in, in the order of the card."""
    return tuple([*_mining(datasets), *_sets(datasets), *_funnels(datasets), *_scores(datasets)])


def _mining(datasets: Sequence[Dataset]) -> Iterator[_CardPlot]:
    mined = {
        f"{dataset.name}-{table}": of_table
        for dataset in datasets
        if (mining := dataset.lock.mining)
        for table, of_table in mining.tables.items()
    }
    if not mined:
        return
    reports = {name: table.report for name, table in mined.items()}
    parts = range(max(int(number) for one in reports.values() for number in one.by_count or ("0",)) + 1)
    rows = {name: [one.by_count.get(str(number), 0) for number in parts] for name, one in reports.items()}
    words = [
        f"{name}: {share(one.yield_.any, one.queries)} of {one.queries:,} queries have at least one, "
        f"{share(one.yield_.full, one.queries)} have all {mined[name].recipe['keep']}"
        for name, one in reports.items()
    ]
    yield _CardPlot(
        "hard-negatives",
        f"Queries by number of hard negatives. {_words(words)}",
        partial(charts.stacked, rows, [str(n) for n in parts], across="queries by number of hard negatives"),
    )


def _sets(datasets: Sequence[Dataset]) -> Iterator[_CardPlot]:
    sets = {d.name: d.lock.clustering.sets for d in datasets if d.lock.clustering and d.lock.clustering.sets}
    if not sets:
        return
    points = {name: [(float(one.rows), float(one.labels)) for one in of] for name, of in sets.items()}
    panel = charts.Panel("documents in the set", points, log=True)
    words = [
        f"{name}: {len(of)} sets of {span([one.rows for one in of])} documents "
        f"with {span([one.labels for one in of])} labels"
        for name, of in sets.items()
    ]
    yield _CardPlot(
        "clustering-sets",
        f"Size of each clustering set against its number of labels. {_words(words)}",
        partial(charts.scatter, (panel,), up="labels", top=None),
    )


def _funnels(datasets: Sequence[Dataset]) -> Iterator[_CardPlot]:
    funnels = {f"{d.name}: {one.table}": one for d in datasets for one in d.lock.funnels if one.read}
    if not funnels:
        return
    fates = ("left", "neither positive nor negative", "merged with an equal row", "dropped for a reason")
    dropped = {name: sum(one.dropped.values()) for name, one in funnels.items()}
    rows = {name: (one.out, one.undecided, one.merged, dropped[name]) for name, one in funnels.items()}
    words = [f"{name}: {one.out:,} of {one.read:,} left" for name, one in funnels.items()]
    yield _CardPlot(
        "rows",
        f"What became of the rows of each table. {_words(words)}",
        partial(charts.stacked, rows, fates, across="rows that were read", ramp=False),
    )


def _scores(datasets: Sequence[Dataset]) -> Iterator[_CardPlot]:
    scores = [score for dataset in datasets for score in dataset.cited.scores]
    if not scores:
        return
    metrics = {score.metric: _METRICS.get(score.metric, score.metric) for score in scores}
    dots = []
    for score in scores:
        model = score.model.rpartition("/")[2] or score.model
        series = f"{model}, {metrics[score.metric]}" if len(metrics) > 1 else model
        dots.append(charts.Dot(score.config, series, score.value, score.low, score.high))
    words = [f"{score.config}, {score.model}: {score.value:.3f}" for score in scores]
    yield _CardPlot(
        "scores",
        f"Reference scores, {', '.join(metrics.values())}. {_words(words)}",
        partial(charts.dots, dots, across="score" if len(metrics) > 1 else next(iter(metrics.values()))),
    )


def _words(rows: Sequence[str]) -> str:
    more = f"; and {len(rows) - _MOST_IN_WORDS} more" if len(rows) > _MOST_IN_WORDS else ""
    return f"{'; '.join(rows[:_MOST_IN_WORDS])}{more}."
