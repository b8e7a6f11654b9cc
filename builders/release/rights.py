"""Refusing a token that may not write, before anything is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from builders.errors import RemoteError
from builders.hub import hub_errors

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_TOKENS = "https://huggingface.co/settings/tokens"


def check_token(api: HfApi, repo: str) -> None:
    """Refuse a token that only reads, or that is of no member of the repository's owner.

    What the answer does not tell is left to the Hub, which refuses it with 403 before a file is sent.

    Raises:
        RemoteError: There is no token, it is not valid, or it may not write there.
    """
    with hub_errors("checking the token"):
        who: dict[str, Any] = api.whoami()
    owner = repo.partition("/")[0]
    role = who.get("auth", {}).get("accessToken", {}).get("role")
    whose = f"the token of {who['name']!s:.96}"
    if role == "read":
        raise RemoteError(f"{whose} may only read", hint=f"Use a token with the role write: {_TOKENS}.")
    members = {who["name"], *(org["name"] for org in who.get("orgs", []) if org.get("roleInOrg") != "read")}
    if role == "write" and owner not in members:
        hint = f"Log in as {owner} or as one of its members who may write, or choose another --repo."
        raise RemoteError(f"{whose} may write, but not for {owner}", hint=hint)
