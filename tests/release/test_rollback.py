"""Going back to an earlier version, with the real clients."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from builders.errors import Refused, RemoteError, UsageError
from builders.rehearsal import READ_TOKEN
from builders.rehearsal.store import Blob, Operation
from builders.release.rollback import plan_rollback, rollback
from builders.release.verify import verify
from tests.cli.kit import call
from tests.rehearsal.kit import FaultyHub
from tests.release.kit import RELEASE, REPO, api_of, least, publish, repo_of, rewrite, without, writes

# the Hub's client sends files in a way that its HTTP library has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

BACK = ("release", "rollback", "--repo", REPO, "--to")


@pytest.fixture
def two(out: Path, hub: FaultyHub) -> Path:
    """Version 1.1.0 with both datasets, and 2.0.0 with fewer rows and no jobs."""
    publish(hub, out, "1.1.0")
    rewrite(out, "germandpr/qrels/dev.parquet", lambda rows: rows[1:])
    without(out, "jobs")
    (out / RELEASE / "README.md").unlink()
    publish(hub, out, "2.0.0")
    return out


def tree(hub: FaultyHub, revision: str) -> Mapping[str, Blob]:
    return repo_of(hub).resolve(revision).tree


def test_the_files_of_a_version_come_back_under_a_new_tag(two: Path, hub: FaultyHub, tmp_path: Path) -> None:
    planned = plan_rollback(REPO, "v1.1.0", api=api_of(hub))
    before = dict(repo_of(hub).tags)
    assert (planned.bump, planned.latest, planned.delete) == ("major", "2.0.0", ())
    assert planned.change.tag == "v3.0.0"
    assert {"jobs/corpus/corpus.parquet", "README.md", "germandpr/qrels/dev.parquet"} <= set(planned.restore)
    assert "germandpr/corpus/corpus.parquet" not in planned.restore, "the same in both"
    uploads = len([path for path in writes(hub) if "/storage/" in path])
    applied = rollback(planned, api=api_of(hub))
    assert (applied.tag, applied.already) == ("v3.0.0", False)
    assert tree(hub, "v3.0.0") == tree(hub, "v1.1.0") != tree(hub, "v2.0.0")
    assert repo_of(hub).tags == before | {"v3.0.0": applied.commit}, "nothing is taken away"
    assert repo_of(hub).commits[applied.commit].parent == before["v2.0.0"]
    assert len([path for path in writes(hub) if "/storage/" in path]) == uploads, "copied on the Hub"
    verify(REPO, "v3.0.0", environment=hub.environment(tmp_path))
    with pytest.raises(Refused, match=r"holds the files of v1\.1\.0 already, as v3\.0\.0"):
        plan_rollback(REPO, "v1.1.0", api=api_of(hub))


def test_what_was_added_since_goes_and_a_later_build_is_weighed_against_it(two: Path, hub: FaultyHub) -> None:
    rollback(plan_rollback(REPO, "v1.1.0", api=api_of(hub)), api=api_of(hub))
    planned = plan_rollback(REPO, "v2.0.0", api=api_of(hub))
    assert "jobs/corpus/corpus.parquet" in planned.delete
    rollback(planned, api=api_of(hub))
    assert tree(hub, "v4.0.0") == tree(hub, "v2.0.0")
    with pytest.raises(Refused, match=r"nothing has changed since 4\.0\.0"):
        least(hub, two)


def test_a_disturbed_main_is_restored_as_a_patch(two: Path, hub: FaultyHub) -> None:
    card = Operation("README.md", b"# Von Hand")
    hub.store.commit(repo_of(hub), "main", [card, Operation("neu.txt", b"x")], title="Eingriff")
    planned = plan_rollback(REPO, "v2.0.0", api=api_of(hub))
    assert (planned.bump, planned.change.tag) == ("none", "v2.0.1")
    assert (planned.restore, planned.delete) == (("README.md",), ("neu.txt",))
    rollback(planned, api=api_of(hub))
    assert tree(hub, "main") == tree(hub, "v2.0.1") == tree(hub, "v2.0.0")


def test_versions_tags_and_repositories_that_will_not_do(two: Path, hub: FaultyHub) -> None:
    with pytest.raises(Refused, match=r"2\.9\.0 is below 3\.0\.0: going back is a major change"):
        plan_rollback(REPO, "v1.1.0", version="2.9.0", api=api_of(hub))
    assert plan_rollback(REPO, "v1.1.0", version="3.1.0", api=api_of(hub)).change.tag == "v3.1.0"
    for repo, tag, version in (
        (REPO, "v9.0.0", None),
        ("verein/fehlt", "v1.1.0", None),
        (REPO, "v1.1.0", "3"),
    ):
        with pytest.raises(UsageError) as caught:
            plan_rollback(repo, tag, version=version, api=api_of(hub))
        assert caught.value.hint


def test_a_repository_that_moved_and_a_token_that_may_not(two: Path, hub: FaultyHub) -> None:
    planned = plan_rollback(REPO, "v1.1.0", api=api_of(hub, READ_TOKEN))
    sent = writes(hub)
    with pytest.raises(RemoteError, match="may only read"):
        rollback(planned, api=api_of(hub, READ_TOKEN))
    assert writes(hub) == sent
    hub.store.commit(repo_of(hub), "main", [], title="dazwischen")
    with pytest.raises(Refused, match="has changed since"):
        rollback(planned, api=api_of(hub))
    assert "v3.0.0" not in repo_of(hub).tags and writes(hub) == sent


@pytest.mark.long
def test_a_run_cut_before_its_tag_is_finished_by_the_next(
    two: Path, hub: FaultyHub, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.fault("POST", "/tag/", 503, times=3)
    said = call(capsys, *BACK, "v1.1.0", "--yes")
    assert said.code == 2 and "main has moved to" in said.err and "tagging it v3.0.0" in said.err
    said = call(capsys, *BACK, "v1.1.0", "--yes", "--json")
    assert said.code == 0
    assert json.loads(said.out)["tag"] == "v3.0.0"
    titles = [commit.title for commit in repo_of(hub).commits.values()]
    assert titles.count("Go back to v1.1.0 as 3.0.0") == 1


def test_it_asks_before_it_publishes(two: Path, hub: FaultyHub, capsys: pytest.CaptureFixture[str]) -> None:
    sent = writes(hub)
    said = call(capsys, *BACK, "v1.1.0")
    assert said.code == 2 and "--yes" in said.err and writes(hub) == sent
