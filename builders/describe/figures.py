"""The card's figures: tables and sentences made from locks and citations; none is typed by hand."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from builders.checks.negatives import LEAST_YIELD
from builders.describe.dataset import Dataset, type_of
from builders.describe.licences import LICENCES
from builders.describe.markdown import Markdown, code, link, table
from builders.hub import HUB
from builders.lock import committed
from builders.lock.beside import CitedAudit
from builders.lock.lock import ClusteringFigures, Funnel, LockedSource, MiningReport, TextLengths
from builders.prepare.funnels import ROWS
from builders.printable import NOTHING, interval, percent, share, span
from builders.spec import Clustering, LocalFile, TextFigures
from builders.tables import SCHEMAS, SPLITS, Kind

_DROPS = {
    "positive": "a labelled positive",
    "undecided": "neither positive nor negative",
    "positive_text": "the text of a positive",
    "query_text": "the text of the query",
    "equivalent": "shares a class with a positive",
    "occupation": "enough of its occupation were kept already",
    "floor": "scores too low to be hard",
    "margin": "scores too close to the positive",
    "beyond_keep": "enough were kept already",
}
_DECISIONS = {
    "relevant": "Pairs that auditors found relevant",
    "excluded": "Pairs that auditors excluded: neither positive nor negative",
    "unmatched": "Of these, pairs that are not in this build",
    "qrels_added": "Relevant pairs that this added, with all queries and passages that mean the same",
    "qrels_removed": "Relevant pairs that this removed",
    "undecided_added": "Pairs that this kept from mining",
}
_PUBLISHED = {"queries", "passages", "pairs"}
"""Tables whose funnels end in published rows; others are followed further."""
_VARIANTS = {"s2s": "titles", "p2p": "titles and texts"}
_QUANTILES = {"p05": "5 %", "median": "median", "p95": "95 %"}
_FACTS = {
    "groups": "Groups of queries that mean the same",
    "components": "Components: sets of groups that share relevant passages, or differ in spelling alone",
    "largest_component": "Queries of the largest component",
    "positives_per_query_median": "Positives of a query, median",
    "positives_per_query_max": "Positives of a query, most",
    "passages_never_relevant": "Passages that are relevant to no query (distractors)",
    "undecided_pairs": "Pairs that are neither positive nor negative",
    "test_queries_sharing_positives_with_train": "Test queries that share a positive with a train query",
}


def starved(dataset: Dataset) -> bool:
    """Return whether mining left fewer than half of the queries with a hard negative."""
    mining = dataset.lock.mining
    report = mining.serving.report if mining else None
    return report is not None and report.yield_.any < LEAST_YIELD * report.queries


def source_url(source: LockedSource) -> str:
    """Return the page of a Hub source at its pinned revision, the address of a file, of another its name."""
    if source.kind == "http" and source.files:
        return source.files[0].path
    if source.kind != "hub":
        return source.name
    revision = source.resolved or source.revision
    return f"{HUB}/datasets/{source.name}" + (f"/tree/{revision}" if revision else "")


def _stand_ins(datasets: Sequence[Dataset]) -> list[str]:
    """Return why a build is not one from the pinned upstreams, or nothing."""
    return [reason for dataset in datasets for reason in committed.stand_ins(dataset.lock)]


def _contents(datasets: Sequence[Dataset]) -> Markdown:
    configs = [config for dataset in datasets for config in dataset.configs]
    rows = [(code(one.name), code(file.split), file.rows, file.size) for one in configs for file in one.files]
    return table(("Config", "Split", "Rows", "Bytes"), rows)


def _columns(dataset: Dataset) -> Markdown:
    rows = []
    for config in dataset.configs:
        types = {column.name: type_of(column) for column in SCHEMAS[config.kind]}
        listed = [f"{code(name)} {'list of ' * many}{dtype}" for name, (dtype, many) in types.items()]
        rows.append((code(config.name), Markdown(", ".join(listed))))
    return table(("Config", "Columns"), rows)


def _sources(datasets: Sequence[Dataset]) -> Markdown:
    rows = []
    for dataset in datasets:
        for source in dataset.lock.sources:
            linked = source.kind in {"hub", "http"}
            name = link(source.name, source_url(source)) if linked else code(source.name)
            rows.append((dataset.name, name, _revision(source), _licence_link(source.licence)))
    return table(("Dataset", "Source", "Revision", "Licence"), rows)


def _revision(source: LockedSource) -> Markdown:
    if source.files and (source.kind == "http" or source.revision == source.files[0].sha256):
        return code(f"sha256 {source.files[0].sha256}")
    return code(source.resolved or source.revision) or Markdown("none: a local copy")


def _licences(datasets: Sequence[Dataset]) -> Markdown:
    return table(("Dataset", "Licence"), [(d.name, _licence_link(d.lock.licence)) for d in datasets])


def _licence_link(hub_id: str) -> Markdown:
    if hub_id not in LICENCES:
        return code(hub_id) or Markdown(NOTHING)
    return link(LICENCES[hub_id].spdx, LICENCES[hub_id].url)


def _splits(dataset: Dataset) -> Markdown:
    kinds = {"Queries": Kind.QUERIES, "Relevant pairs": Kind.QRELS}
    if dataset.lock.mining is not None:
        kinds |= {"Hard negatives": Kind.HARD_NEGATIVES, "By v0": Kind.HARD_NEGATIVES_V0}
    rows = []
    for name, split in [*((code(split), split) for split in SPLITS), ("all", None)]:
        queries, pairs, *negatives = (dataset.rows(kind, split) for kind in kinds.values())
        rows.append((name, queries, pairs, f"{pairs / queries:.1f}" if queries else "", *negatives))
    queries_column, pairs_column, *mined = kinds
    return table(("Split", queries_column, pairs_column, "Pairs of a query, mean", *mined), rows)


def _german_names(dataset: Dataset) -> bool:
    """Return whether the build read a file of its own of names, beside its upstreams."""
    locked = {source.name for source in dataset.lock.sources}
    given = [source.name for source in dataset.spec.sources if isinstance(source, LocalFile)]
    return not locked.isdisjoint(given)


def _funnel(dataset: Dataset) -> Markdown:
    """Return the table of what happened to the upstream rows, reason by reason."""
    rows = [step for entry in dataset.lock.funnels for step in _steps(entry)]
    return table(("Table", "Step", "Rows"), rows)


def _steps(entry: Funnel) -> Iterator[tuple[object, ...]]:
    yield entry.table, "read", entry.read
    for reason, count in entry.dropped.items():
        yield entry.table, _named("dropped", reason, ROWS), count
    if entry.merged:
        yield entry.table, "merged with an equal row", entry.merged
    if entry.undecided:
        yield entry.table, "published as neither positive nor negative", entry.undecided
    yield entry.table, "published" if entry.table in _PUBLISHED else "left", entry.out


def _named(verb: str, reason: str, meanings: dict[str, str]) -> Markdown:
    name = f"{verb} {code(reason)}".strip()
    return Markdown(f"{name}: {meanings[reason]}" if reason in meanings else name)


def _relations(dataset: Dataset) -> Markdown:
    """Return the table of counts about relevance: the qrels with and without the extension, and overlaps."""
    facts, pairs = dataset.lock.facts, dataset.rows(Kind.QRELS)
    rows = [("Relevant pairs", pairs)]
    if added := facts.get("qrels_extended"):
        rows.append(("Relevant pairs without the extension", pairs - added))
        rows.append(("Relevant pairs that the extension adds", added))
    return table(("What", "Count"), rows + [(_FACTS[key], facts[key]) for key in _FACTS if key in facts])


def _shared_positives(dataset: Dataset) -> tuple[int, int]:
    """Return how many test queries share a positive with a train query, and the number of test queries."""
    shared = dataset.lock.facts.get("test_queries_sharing_positives_with_train", 0)
    return shared, dataset.rows(Kind.QUERIES, "test")


def _twins(dataset: Dataset) -> tuple[int, int]:
    """Return how many test queries are much like one of train or dev, and how many twins are parted."""
    counts = {finding.code: finding.count for finding in dataset.lock.findings}
    alike = counts.get("alike-across-splits", 0) + counts.get("alike-across-splits-many", 0)
    return alike, counts.get("twins-committed", 0)


def _connected(dataset: Dataset) -> tuple[int, int, int]:
    """Return the queries of a component too large to be dealt whole, all queries, and parted components."""
    counts = {finding.code: finding.count for finding in dataset.lock.findings}
    giant, parted = counts.get("component-giant", 0), counts.get("components-committed", 0)
    return giant, dataset.rows(Kind.QUERIES), parted


def _personal(dataset: Dataset) -> Markdown:
    """Return tables of what was replaced, and the kinds that were not found."""
    counts, reports = dataset.lock.personal, dataset.lock.scrubbed.values()
    tables = sorted(counts, key=lambda name: (name != "queries", name))
    found = sorted({kind for kinds in counts.values() for kind, count in kinds.items() if count})
    rows = [(code(kind), *(counts[name].get(kind, 0) for name in tables)) for kind in found]
    parts = [table(("Replaced", *(f"In {name}" for name in tables)), rows)] if rows else []
    if absent := [code(kind.value) for kind in dataset.spec.personal if kind.value not in found]:
        parts.append(Markdown(f"Looked for and not found: {', '.join(absent)}."))
    by_rule = []
    for rule in sorted({rule for report in reports for rule in report.rules}):
        count = sum(report.rules.get(rule, 0) for report in reports)
        forms = dict.fromkeys(form for report in reports for form in report.examples.get(rule, ()))
        by_rule.append((code(rule), count, Markdown(", ".join(map(code, list(forms)[:2])))))
    if by_rule:
        parts.append(table(("Rule", "Replaced", "For example, a letter as x and a digit as 0"), by_rule))
    return Markdown("\n\n".join(parts))


def _negatives_by_query(report: MiningReport) -> Markdown:
    counts = sorted((int(number), queries) for number, queries in report.by_count.items())
    rows = [(number, queries, share(queries, report.queries)) for number, queries in counts]
    return table(("Hard negatives", "Queries", "Share"), rows)


def _drops(report: MiningReport) -> Markdown:
    total = sum(report.dropped.values())
    rows = [(_named("", rule, _DROPS), n, share(n, total)) for rule, n in report.dropped.items()]
    return table(("Dropped because", "Passages", "Share"), rows)


def _spread(report: MiningReport) -> Markdown:
    """Return the table of scores: how close they lie together, and how hard the negatives are."""
    measures = {
        "Score of rank 1 less rank 10": report.top_spread,
        "Score of the guarding positive": report.scores["guard"],
        "Score of a hard negative": report.scores["negative"],
        "Hard negative below its guard by": report.scores["gap"],
        "Hard negative above its query's mean by": report.distance_from_mean.cosine,
    }
    rows = [
        (name, *(NOTHING if (value := quantiles.get(q)) is None else f"{value:.4f}" for q in _QUANTILES))
        for name, quantiles in measures.items()
    ]
    return table(("Cosine", *_QUANTILES.values()), rows)


def _what_if(report: MiningReport) -> Markdown:
    """Return the table of what other guards, depths and margins would have kept."""
    cases = report.what_if
    rows = [(one.guard, one.depth, f"{one.margin:g}", one.any, one.full, one.negatives) for one in cases]
    header = ("Guard", "Depth", "Margin", "Queries with one", "Queries with all", "Hard negatives")
    return table(header, rows)


def _findings(dataset: Dataset) -> Markdown:
    found = dataset.lock.findings
    rows = [(code(one.code), one.severity, one.count, one.message, one.waived or NOTHING) for one in found]
    return table(("Finding", "Kind", "Count", "What", "Accepted because"), rows)


def _sets(found: ClusteringFigures) -> Markdown:
    """Return the table of sets: each level's number, sizes, labels per set, and texts that repeat."""
    levels = dict.fromkeys(one.level for one in found.sets)
    variants = [variant for variant in _VARIANTS if variant in found.texts]
    rows = []
    for level in levels:
        of = [one for one in found.sets if one.level == level]
        repeated = (sum(one.repeated.get(variant, 0) for one in of) for variant in variants)
        sizes, labels = (span([getattr(one, field) for one in of]) for field in ("rows", "labels"))
        rows.append((code(level), len(of), sizes, labels, *repeated))
    columns = [f"Repeated texts, {variant}" for variant in variants]
    return table(("Level", "Sets", "Rows per set", "Labels per set", *columns), rows)


def _set_texts(found: ClusteringFigures) -> Markdown:
    rows = [(code(name), meaning, *_lengths(found.texts[name])) for name, meaning in _VARIANTS.items()]
    return table(("Variant", "Sentences are", "Distinct texts", "Shortest", "Mean", "Longest"), rows)


def _compared(dataset: Dataset) -> Markdown | None:
    """Return the table that holds the sets against published ones, None where that would mean nothing.

    Only all of the real upstream can agree with what others made of it.
    """
    known = dataset.spec.published if isinstance(dataset.spec, Clustering) else None
    found, lock = dataset.lock.clustering, dataset.lock
    if known is None or found is None or not committed.whole_upstream(lock.sources, lock.parameters):
        return None
    rows: list[tuple[object, ...]] = [("Documents to draw from", lock.facts["documents"], known.documents)]
    for level, sizes in known.sizes.items():
        here = sum(one.rows for one in found.sets if one.level == level)
        rows.append((Markdown(f"Rows of all sets of {code(level)}"), here, sum(sizes)))
    for variant, there in known.texts.items():
        names = ("distinct texts", "shortest", "mean length", "longest")
        cells = zip(names, _lengths(found.texts[variant]), _lengths(there), strict=True)
        rows += [(Markdown(f"{code(variant)} {name}"), here, published) for name, here, published in cells]
    return table(("What", "Here", "Published"), rows)


def _lengths(figures: TextFigures | TextLengths) -> tuple[object, ...]:
    return figures.unique, figures.shortest, f"{figures.mean:,.2f}", figures.longest


def _audit(found: CitedAudit) -> Markdown:
    shares = {
        "Hard negatives that are relevant": found.false_negatives,
        "Hard negatives that are relevant or related": found.false_negatives_or_related,
        "Labelled positives that are relevant": found.precision,
        "The same in the mean over queries": found.precision_by_query,
        "Relevant pairs, confirmed by hand, that auditors call so": found.sensitivity,
        "Other pairs, confirmed by hand, that auditors do not call relevant": found.specificity,
    }
    rows = [
        (name, share.pairs, percent(share.value), interval(share.value, share.low, share.high))
        for name, share in shares.items()
        if share.pairs
    ]
    return table(("What", "Pairs", "Share", "95 % interval"), rows)


def _decisions(dataset: Dataset) -> Markdown:
    rows = [(label, dataset.lock.decisions.get(key, 0)) for key, label in _DECISIONS.items()]
    return table(("Decisions of auditors", "Count"), rows)


FIGURES: Mapping[str, Callable[..., object]] = {
    figure.__name__.removeprefix("_"): figure
    for figure in (
        *(starved, _stand_ins, _contents, _columns, _sources, _licences, _funnel, _personal, _findings),
        *(_splits, _german_names, _relations, _shared_positives, _twins, _connected, _audit, _decisions),
        *(_negatives_by_query, _drops, _spread, _what_if),
        *(_sets, _set_texts, _compared),
    )
}
"""The figures by the names under which templates call them: of all, retrieval, mining, and clustering."""
