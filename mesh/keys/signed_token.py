"""A signed token: at every gateway of a mesh its bearer has rights of an administrator, for a while.

Theory of operation
===================
A token says what may be done, for whom it was made, and when it ends; an administrator's key, or the root's,
has signed that for one mesh. Every member knows the public root key, so every gateway can judge a token and
no peer can make one. What has been heard about keys counts here as it does for decrees (`mesh.keys.decree`):
a key that the mesh has expelled opens nothing, whatever it has signed and whenever.

A token is a secret, and whoever has it is believed until it ends; a single one cannot be taken back. So
commands sign one of some minutes for themselves (`admin_token`), and one for months is a risk that a person
takes.
"""

from __future__ import annotations

import base64
import string
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from mesh.keys.decree import Authority, Signer
from mesh.keys.identity import verify_signature
from mesh.wire_fields import Key

PREFIX: Final = "tianmesh-token1-"
TOKEN_CHARS_MAX: Final = 500  # one with the longest name has 364; what is longer is not looked at
# Clocks of two machines may differ by this: a token is taken for so long after its end. Kerberos allows as
# much (RFC 4120, 8.2).
CLOCK_SKEW_S: Final = 300.0
KNOWN_MAX: Final = 256  # tokens that need not be verified again; 0.3 ms each
_TOKEN: Final = b"tianmesh token 1\x00"  # nothing else that these keys sign begins like this
_TIME_MAX: Final = 1 << 40  # seconds since the epoch; a date in the year 36,812
_YEAR_9999_S: Final = 253_402_300_799
HOLDER_CHARS_MAX: Final = 64
HOLDER_LETTERS: Final = frozenset(string.ascii_letters + string.digits + "@._+ -")  # none that a log minds


class TokenRight(StrEnum):
    """The rights that a token can give."""

    READ = "read"  # see all that administrators see
    ORDERS = "orders"  # and change the mesh


class SignedToken(msgspec.Struct, frozen=True, array_like=True):
    """The words of a token; `TokenJudge` tells whether they count."""

    right: TokenRight
    # For whom it is, for the log, of HOLDER_LETTERS.
    holder: Annotated[str, Meta(pattern=r"^[A-Za-z0-9@._+ -]+\Z", max_length=HOLDER_CHARS_MAX)]
    not_after: Annotated[int, Meta(ge=0, le=_TIME_MAX)]  # seconds since the epoch
    signer: Key  # public Ed25519 key
    warrant: Key  # the root's signature over that key; empty when the root itself signed
    signature: Key = b""  # over all fields before

    def text(self) -> str:
        """The letters that are sent."""
        return PREFIX + base64.urlsafe_b64encode(msgspec.msgpack.encode(self)).decode().rstrip("=")


class Judgement(NamedTuple):
    """The worth of a token."""

    token: SignedToken | None  # None when it counts for nothing
    why: str = ""  # that is so, for who has sent it


def sign_token(signer: Signer, right: TokenRight, holder: str, not_after: float) -> SignedToken:
    """Make a token for the mesh of the signer.

    Raises:
      ValueError: there is no such holder, or no such end.
    """
    fields = right, holder, int(not_after), signer.key.public, signer.warrant
    plain = msgspec.convert(fields, SignedToken)
    return msgspec.structs.replace(plain, signature=signer.key.sign(_signed(plain, signer.mesh_id)))


def is_signed_token(text: bytes) -> bool:
    """Does this want to be a token that somebody has signed?"""
    return text.startswith(PREFIX.encode())


class TokenJudge:
    """Tells which tokens count in one mesh."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._revoked: frozenset[str] = frozenset()  # keys in hexadecimal; members' ids do no harm here
        self._known: dict[bytes, SignedToken] = {}  # by a digest of its text, the last ones verified

    def revoke(self, subjects: frozenset[str]) -> None:
        """Accept no tokens any more that these keys have signed; expelled keys stay expelled."""
        self._revoked |= subjects

    @property
    def authority(self) -> Authority:
        """The judge of all that administrators sign, expelled ones too."""
        return self._authority

    def is_revoked(self, signer: str) -> bool:
        """Has the mesh expelled the holder of this key, in hexadecimal?"""
        return signer in self._revoked

    def is_known(self, text: bytes) -> bool:
        """Has this been verified? Then judging it costs nothing."""
        return _digest(text) in self._known

    def judge(self, text: bytes, now_s: float) -> Judgement:
        """Tell whether a text is a valid token; takes 0.3 ms at most, for any bytes.

        Args:
          now_s: seconds since the epoch.
        """
        key = _digest(text)
        token = self._known.get(key) or _token_in(text)
        if token is None:
            return Judgement(None, "the token is damaged or cut off")
        if now_s >= token.not_after + CLOCK_SKEW_S:
            return Judgement(None, f"the token ended at {_day(token.not_after)}; here it is {_day(now_s)}")
        if self.is_revoked(token.signer.hex()):
            return Judgement(None, "the mesh has expelled the administrator who signed the token")
        if key not in self._known:
            if not self._is_signed(token):
                return Judgement(None, "no administrator of this mesh has signed the token")
            if len(self._known) >= KNOWN_MAX:
                del self._known[next(iter(self._known))]
            self._known[key] = token
        return Judgement(token)

    def _is_signed(self, token: SignedToken) -> bool:
        signed = _signed(token, self._authority.mesh_id)
        return self._authority.is_administrator(token.signer, token.warrant) and verify_signature(
            token.signer, signed, token.signature
        )


def _token_in(text: bytes) -> SignedToken | None:
    if not is_signed_token(text) or len(text) > TOKEN_CHARS_MAX:
        return None
    body = text[len(PREFIX) :]
    try:
        packed = base64.b64decode(body + b"=" * (-len(body) % 4), altchars=b"-_", validate=True)
        return msgspec.msgpack.decode(packed, type=SignedToken)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None


def _digest(text: bytes) -> bytes:
    return blake2b(text, digest_size=16).digest()


def _signed(token: SignedToken, mesh_id: bytes) -> bytes:
    fields = msgspec.structs.astuple(msgspec.structs.replace(token, signature=b""))
    return _TOKEN + msgspec.msgpack.encode((mesh_id, *fields))


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(min(seconds, _YEAR_9999_S), UTC).strftime("%Y-%m-%d %H:%M UTC")
