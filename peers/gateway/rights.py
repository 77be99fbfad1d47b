"""Who a request is from, and what it may."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hmac import compare_digest
from ipaddress import ip_address

from peers.gateway.asgi import Header
from peers.gateway.quotas import client_of

_BEARER = b"bearer "


def client_behind(address: str, headers: Iterable[Header], proxies: Collection[str]) -> str:
    """Return whose request it is: what a trusted proxy passes on is from whom it names."""
    client = client_of(address)
    if client not in map(client_of, proxies):
        return client
    named = [value for name, value in headers if name == b"x-forwarded-for"]
    # The last one is what the proxy itself has added; those before it anybody may have written.
    last = named[-1].rpartition(b",")[2].strip().decode("latin-1") if named else ""
    return client_of(last) if _is_address(last) else client


def bears_token(headers: Iterable[Header], token: str) -> bool:
    """Does a request prove that it knows the administrator's token? Without a token none does."""
    given = next((value for name, value in headers if name == b"authorization"), b"")
    if not token or given[: len(_BEARER)].lower() != _BEARER:
        return False
    return compare_digest(given[len(_BEARER) :].strip(), token.encode())


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
