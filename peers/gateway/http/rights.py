"""The sender of a request, and the rights that it has.

What may be done is said by the token that a request bears. There are two kinds: the peer's own, which opens
this gateway alone and is as secret as its file, and those that an administrator of the mesh has signed, which
every gateway of it takes (`mesh.keys.signed_token`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hmac import compare_digest
from ipaddress import ip_address
from typing import Final

from mesh.keys.decree import Authority
from mesh.keys.signed_token import Judgement, SignedToken, TokenJudge, TokenRight, is_signed_token
from peers.gateway.http.asgi import Header
from peers.gateway.http.quotas import client_of

_BEARER: Final = b"bearer "
NOBODY: Final = Judgement(None)
OWN: Final = SignedToken(TokenRight.ORDERS, "who has its admin.token", 1 << 40, b"", b"")  # of this peer


def client_behind(address: str, headers: Iterable[Header], proxies: Collection[str]) -> str:
    """Return the client behind a request: the one that a trusted proxy names, else the sender itself."""
    client = client_of(address)
    if client not in map(client_of, proxies):
        return client
    named = [value for name, value in headers if name == b"x-forwarded-for"]
    # The last one is what the proxy itself has added; those before it anybody may have written.
    last = named[-1].rpartition(b",")[2].strip().decode("latin-1") if named else ""
    return client_of(last) if _is_address(last) else client


def borne_by(headers: Iterable[Header]) -> bytes:
    """Return the token that a request bears (RFC 6750, 2.1), b"" for none."""
    given = next((value for name, value in headers if name == b"authorization"), b"")
    return given[len(_BEARER) :].strip() if given[: len(_BEARER)].lower() == _BEARER else b""


class Rights:
    """The rights that the bearers of tokens have at one gateway."""

    def __init__(self, judge: TokenJudge | None = None) -> None:
        """Args: judge: of signed tokens; without it none of them counts."""
        self.judge = judge

    def of(self, given: bytes, own: str, now_s: float) -> Judgement:
        """Judge a token: return its rights, or the reason why it has none.

        Args:
          given: by who asks.
          own: token of this peer; "" for none, which nobody bears then.
          now_s: seconds since the epoch.
        """
        if own and compare_digest(given, own.encode()):
            return Judgement(OWN)
        if self.judge is None or not is_signed_token(given):
            return NOBODY if not given else Judgement(None, "it is not the token of this peer")
        return self.judge.judge(given, now_s)

    def is_costly(self, given: bytes) -> bool:
        """Does it take time to judge this token, so that its sender should pay for that?"""
        return self.judge is not None and is_signed_token(given) and not self.judge.is_known(given)

    def revoke(self, subjects: Iterable[str]) -> None:
        """Take nothing any more that the administrators with these keys, in hexadecimal, have signed."""
        if self.judge is not None:
            self.judge.revoke(frozenset(subjects))

    @property
    def authority(self) -> Authority | None:
        """The judge of all that administrators sign; None where none of them is known."""
        return None if self.judge is None else self.judge.authority

    def is_revoked(self, signer: str) -> bool:
        """Has the administrator with this key, in hexadecimal, been expelled?"""
        return self.judge is not None and self.judge.is_revoked(signer)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
