"""What a token may do, by the Hub's own answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import RemoteError
from builders.rehearsal import Hub
from builders.rehearsal.model import Account
from builders.release import apply
from builders.release.rights import check_token, refusal
from tests.release.kit import RELEASE, REPO, TARGET, api_of, repo_of, writes

READ = ("repo.content.read",)
PROPOSE = (*READ, "discussion.write")
WRITE = (*READ, "repo.write")
OWNER = TARGET.owner


def who(role: str, *orgs: tuple[str, str]) -> dict[str, Any]:
    return {
        "name": "maintainer",
        "orgs": [{"name": name, "roleInOrg": role_there} for name, role_there in orgs],
        "auth": {"accessToken": {"role": role}},
    }


def fine(*scoped: dict[str, Any], everywhere: tuple[str, ...] = ()) -> dict[str, Any]:
    rights = {"scoped": list(scoped), "global": list(everywhere)}
    return {"name": "maintainer", "auth": {"accessToken": {"role": "fineGrained", "fineGrained": rights}}}


def scope(kind: str, name: str, permissions: tuple[str, ...]) -> dict[str, Any]:
    return {"entity": {"type": kind, "name": name}, "permissions": list(permissions)}


@pytest.mark.parametrize(("said", "exists", "refused"), [
    (who("read", (OWNER, "admin")), True, "may only read"),
    (who("write", (OWNER, "write")), False, ""),
    (who("write", (OWNER, "contributor")), False, ""),
    (who("write", (OWNER, "read")), True, f"may write, but not for {OWNER}"),
    (who("write", ("anderer", "admin")), True, f"may write, but not for {OWNER}"),
    (fine(scope("org", OWNER, WRITE)), False, ""),
    (fine(scope("user", "maintainer", WRITE)), True, "may not write"),
    (fine(scope("org", OWNER, READ)), True, "may not write"),
    (fine(scope("org", OWNER, PROPOSE)), True, "pull requests only"),
    (fine(everywhere=("discussion.write",)), True, "pull requests only"),
    (fine(scope("dataset", REPO, WRITE)), True, ""),
    (fine(scope("dataset", REPO, WRITE)), False, "not there yet"),
    (fine(scope("model", REPO, WRITE)), True, "may not write"),
    (fine(scope("dataset", f"{REPO}-2", WRITE)), True, "may not write"),
    (who("fineGrained"), True, "may not write"),
    ({"name": OWNER, "orgs": [], "auth": {"accessToken": {"role": "write"}}}, False, ""),
    ({"name": "maintainer", "auth": {"type": "oauth"}}, True, ""),
])  # fmt: skip
def test_each_kind_of_token(said: dict[str, Any], exists: bool, refused: str) -> None:
    reason, hint = refusal(said, REPO, exists=exists)
    assert refused in reason
    assert bool(reason) is bool(refused) is bool(hint)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([
                "name",
                "orgs",
                "auth",
                "accessToken",
                "role",
                "fineGrained",
                "scoped",
                "entity",
            ]),
            inner | st.just("fineGrained"),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["name", "orgs", "auth"]), JSON))
def test_no_answer_upsets_it(said: dict[str, Any]) -> None:
    reason, hint = refusal(said, REPO, exists=True)
    assert bool(reason) is bool(hint)


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
def test_tokens_for_one_repository_or_for_proposals_are_told_before_anything_is_sent(
    rehearsed: Path, hub: Hub
) -> None:
    def token(name: str, permissions: tuple[str, ...], *scopes: tuple[str, str]) -> str:
        hub.store.accounts[name] = Account("maintainer", "fineGrained", (OWNER,), permissions, scopes or None)
        return name

    proposing = token("hf_propose", PROPOSE)
    for refused in (
        proposing,
        token("hf_model", WRITE, ("model", REPO)),
        token("hf_user", WRITE, ("user", "x")),
    ):
        with pytest.raises(RemoteError, match="fine-grained") as caught:
            apply(rehearsed, RELEASE, api=api_of(hub, refused))
        assert OWNER in caught.value.hint
    single = token("hf_single", WRITE, ("dataset", REPO))
    with pytest.raises(RemoteError, match="not there yet"):
        apply(rehearsed, RELEASE, api=api_of(hub, single))
    assert writes(hub) == [] and hub.store.repos == {}
    hub.store.create_repo("dataset", REPO)
    apply(rehearsed, RELEASE, api=api_of(hub, single))
    assert "v1.0.0" in repo_of(hub).tags
    with pytest.raises(RemoteError, match="pull requests only"):
        check_token(api_of(hub, proposing), REPO, exists=True)
