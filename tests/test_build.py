"""The options of a build that the command does not have."""

from __future__ import annotations

from pathlib import Path

from builders import registry
from builders.build import Options, build
from builders.demo.sample_upstream import lay_out


class Silent:
    """Progress that nobody reads."""

    def title(self, text: str) -> None:
        pass

    def step(self, name: str, *lines: str) -> None:
        pass

    def tick(self, name: str, done: int, total: int) -> None:
        pass


def test_the_home_of_caches_is_laid_out_as_the_default_one(tmp_path: Path) -> None:
    lay_out(tmp_path / "sample")
    home = tmp_path / "home"
    options = Options(
        out=tmp_path / "dist",
        encoder="offline",
        offline=True,
        sources=(str(tmp_path / "sample"),),
        limit=40,
        home=home,
    )
    build(registry.load_retrieval("jobs"), options, Silent())
    assert [path.name for path in home.iterdir()] == ["vectors"]
    assert list(home.glob("vectors/*/query-*.npy"))
