"""Injected faults reach the clients as a failing Hub would."""

from __future__ import annotations

from pathlib import Path

from builders.rehearsal import Hub, Store
from tests.rehearsal.kit import REPO, client, serve, write_folder


def commits(hub: Hub) -> int:
    return len(hub.store.repo("dataset", REPO).commits)


def started() -> Store:
    store = Store()
    store.create_repo("dataset", REPO)
    return store


def test_statuses_headers_and_lost_answers() -> None:
    with serve(started()) as hub:
        hub.fault("POST", "/preupload/", 429, headers={"RateLimit": '"api";r=0;t=0'})
        hub.fault("POST", "/commit/main$", 503)
        hub.fault("POST", "/commit/main$", 504, after=True)
        seen = client(
            hub,
            """
answer([status(commit, [Add("a.txt", b"a")]), api.file_exists(repo, "a.txt", **kind),
        status(commit, [Add("b.txt", b"b")]), api.file_exists(repo, "b.txt", **kind),
        status(commit, [Add("c.txt", b"c")])])
""",
        )
        posted = [
            (request.path.split("/")[-2], request.status) for request in hub.log if request.method == "POST"
        ]
        assert seen == [503, False, 504, True, 200]
        assert posted[:3] == [("preupload", 429), ("preupload", 200), ("commit", 503)]
        assert commits(hub) == 3


def test_a_connection_that_breaks_off_before_and_after_the_commit() -> None:
    with serve(started()) as hub:
        hub.fault("POST", "/commit/main$", 0, drop=True)
        hub.fault("POST", "/commit/main$", 0, drop=True, after=True)
        seen = client(
            hub,
            """
first = name_of_error(commit, [Add("a.txt", b"a" * 100_000)])
between = api.file_exists(repo, "a.txt", **kind)
answer([first, between, name_of_error(commit, [Add("a.txt", b"a")]), api.file_exists(repo, "a.txt", **kind)])
""",
        )
        assert seen == ["RemoteProtocolError", False, "RemoteProtocolError", True]
        assert [request.status for request in hub.log if "/commit/" in request.path] == [0, 0]


def test_something_may_happen_while_the_client_waits() -> None:
    with serve(started()) as hub:
        seen: list[int] = []
        hub.fault("POST", "/commit/main$", 503, after=True, meanwhile=lambda: seen.append(commits(hub)))
        status = client(hub, 'answer(status(commit, [Add("a.txt", b"a")]))')
    assert (status, seen) == (503, [2])


def test_faults_end_and_match_method_and_path(tmp_path: Path) -> None:
    with serve() as hub:
        hub.store.add_folder("dataset", REPO, write_folder(tmp_path / "repo"))
        hub.fault("GET", "/tree/", 500)
        seen = client(
            hub,
            """
tree = lambda: list(api.list_repo_tree(repo, **kind))
answer([status(api.repo_info, repo, **kind), status(tree)])
""",
        )
        assert seen == [200, 200]
        assert [request.status for request in hub.log if "/tree/" in request.path] == [500, 200]
