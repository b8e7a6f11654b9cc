"""What a token may do, told from what the Hub says of it, before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from builders.errors import RemoteError
from builders.release.remote import explained

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_TOKENS = "https://huggingface.co/settings/tokens"


def check_token(api: HfApi, repo: str, *, exists: bool) -> None:
    """Make sure that the token may write, before anything is sent.

    Args:
        api: The Hub's client.
        repo: "OWNER/NAME".
        exists: Whether the repository is there; else it must be made.

    Raises:
        RemoteError: There is no token, it is not valid, or it may not write there.
    """
    with explained("checking the token"):
        who: dict[str, Any] = api.whoami()
    reason, hint = refusal(who, repo, exists=exists)
    if reason:
        raise RemoteError(reason, hint=hint)


def refusal(who: Mapping[str, Any], repo: str, *, exists: bool) -> tuple[str, str]:
    """Return why a token may not write a dataset repository and what to do, two empty texts if it may.

    A token of a kind that the answer says nothing about (a login by OAuth, a CI identity) is let pass: the
    Hub itself refuses it then.

    Args:
        who: The Hub's answer to ``GET /api/whoami-v2``.
        repo: "OWNER/NAME".
        exists: Whether the repository is there.
    """
    owner = repo.partition("/")[0]
    token = _mapping(_mapping(who.get("auth")).get("accessToken"))
    role, whose = token.get("role"), f"the token of {who.get('name')!s:.96}"
    if role == "read":
        return f"{whose} may only read", f"Use a token with the role write: {_TOKENS}."
    if role == "fineGrained":
        return _fine_grained(_mapping(token.get("fineGrained")), whose, repo, exists=exists)
    if role in {"write", "admin"} and not _belongs(who, owner):
        hint = f"Log in as {owner} or as one of its members who may write, or choose another --repo."
        return f"{whose} may write, but not for {owner}", hint
    return "", ""


def _fine_grained(rights: Mapping[str, Any], whose: str, repo: str, *, exists: bool) -> tuple[str, str]:
    owner = repo.partition("/")[0]
    scopes = list(_scopes(rights))
    writable = {entity for entity, permissions in scopes if "repo.write" in permissions}
    if writable & {("user", owner), ("org", owner)}:
        return "", ""
    if ("dataset", repo) in writable:
        if exists:
            return "", ""
        hint = f"Make {repo} on the Hub first, or give the token write access to all repositories of {owner}."
        return f"{whose} is for {repo} alone, which is not there yet and which it cannot make", hint
    hint = f"Give it write access to the repositories of {owner}: {_TOKENS}."
    proposes = "discussion.write" in _texts(rights.get("global")) or any(
        "discussion.write" in permissions for _, permissions in scopes
    )
    if proposes and not writable:
        return f"{whose} is fine-grained and may open pull requests only, not write {repo}", hint
    return f"{whose} is fine-grained and may not write {repo}", hint


def _belongs(who: Mapping[str, Any], owner: str) -> bool:
    if "orgs" not in who or who.get("name") == owner:
        return True
    orgs = [_mapping(org) for org in who["orgs"]] if isinstance(who["orgs"], list) else []
    return any(org.get("name") == owner and org.get("roleInOrg") != "read" for org in orgs)


def _scopes(rights: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], list[str]]]:
    scoped = rights.get("scoped")
    for scope in map(_mapping, scoped if isinstance(scoped, list) else []):
        entity = _mapping(scope.get("entity"))
        yield (str(entity.get("type")), str(entity.get("name"))), _texts(scope.get("permissions"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
