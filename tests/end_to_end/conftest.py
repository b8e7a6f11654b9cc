from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.demo.bundled import lay_out
from builders.rehearsal import Hub, serve
from tests.end_to_end.bad_days import JOBS, Bench
from tests.end_to_end.driver import driver
from tests.end_to_end.kit import ROWS, Tree, build, with_upstreams, without_network
from tests.fixtures.upstream import upstream
from tests.vectors import sharing_vectors


@pytest.fixture(scope="session")
def upstream_hub() -> Iterator[Hub]:
    with serve(with_upstreams(upstream() / "hub")) as hub:
        yield hub


@pytest.fixture(scope="session")
def built(upstream_hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """Both configs, built once: all of germandpr, `ROWS` postings of jobs."""
    folder = tmp_path_factory.mktemp("built")
    tree = build(upstream_hub, folder, "germandpr", home=sharing_vectors(folder / "home"))
    jobs = build(upstream_hub, folder, "jobs", "--limit", str(ROWS), home=tree.home)
    return Tree(tree.out, tree.home, tree.printed + jobs.printed)


@pytest.fixture
def shuffled_upstream(tmp_path: Path) -> Path:
    """The stand-ins with the rows of every parquet file in another order."""
    import polars as pl

    source = upstream() / "hub"
    for path in sorted(source.rglob("*")):
        target = tmp_path / "shuffled" / path.relative_to(source)
        if path.suffix == ".parquet":
            target.parent.mkdir(parents=True, exist_ok=True)
            rows = pl.read_parquet(path).sample(fraction=1, shuffle=True, seed=7)
            rows.write_parquet(target)
        elif path.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return tmp_path / "shuffled"


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Undisturbed builds of the bundled sample, and the means to disturb others."""
    folder = tmp_path_factory.mktemp("bench")
    upstreams, home = folder / "upstreams", folder / "home"
    lay_out(upstreams)
    settings = {"MTEB_DE_SOURCES": str(upstreams), "MTEB_DE_HOME": str(home), "OMP_NUM_THREADS": "1"}
    with driver(folder, without_network() | settings) as runs:
        bench = Bench(runs, upstreams, folder / "germandpr", folder / "jobs", home)
        for words, out in (("germandpr",), bench.germandpr), (JOBS, bench.jobs):
            ran = bench.build(*words, out=out)
            assert ran.code == 0, ran.err
        yield bench
