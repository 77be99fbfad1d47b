"""An administrator's verdict on a submitted site, signed, so that every peer that keeps it can check it.

Theory of operation
===================
A verdict names the submission by its code, and is signed by an administrator's key, or the root's, for one
mesh. It stands in the row of the submission, and a row with a verdict that nobody has signed is taken from no
gateway and no member of the team. Of several verdicts the one that was signed last counts, so an old one that
somebody sends again changes nothing. One of a key that the mesh has expelled since counts as none: it stays
where it is, so that all copies of a row agree, and gives way to a later one.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from mesh.keys.decree import Authority, Signer
from mesh.keys.identity import verify_signature
from mesh.wire_fields import Key
from peers.policy.submission_rules import SITE_PAGES_MAX

CODE_BYTES: Final = 15  # 2 of the slot, 104 bits drawn
WHY_CHARS_MAX: Final = 300
TIME_S_MAX: Final = 1 << 37  # in the year 6325; calendars end in 9999
VERDICT_BYTES_MAX: Final = 2_048  # the longest reason has 1,200, keys and signatures 230
AHEAD_S: Final = 86_400.0  # by which clocks of members differ at most
KNOWN_MAX: Final = 1_024  # that need not be verified again; 0.3 ms each
FORGED_MAX: Final = 64  # in one message: no honest member has any, so further ones are not looked at
_VERDICT: Final = b"tianmesh verdict 1\x00"  # nothing else that these keys sign begins like this

Code: TypeAlias = Annotated[bytes, Meta(min_length=CODE_BYTES, max_length=CODE_BYTES)]
Why: TypeAlias = Annotated[str, Meta(max_length=WHY_CHARS_MAX)]


class Verdict(msgspec.Struct, frozen=True, array_like=True):
    """One signed verdict; `VerdictJudge` tells whether it counts."""

    code: Code  # of the submission
    is_accepted: bool
    why: Why  # of a refusal, for people
    pages: Annotated[int, Meta(ge=0, le=SITE_PAGES_MAX)]  # at most; 0 for what the policy said, never fewer
    is_unlimited: bool  # its pages are not limited any more, as if the site had been linked
    signed_s: Annotated[int, Meta(ge=0, le=TIME_S_MAX)]  # since the epoch
    signer: Key  # public Ed25519 key
    warrant: Key  # the root's signature over that key; empty when the root itself signed
    signature: Key = b""  # over all fields before

    @property
    def rank(self) -> tuple[int, bytes]:
        """Among verdicts on one submission: the greatest counts."""
        return self.signed_s, verdict_bytes(self)


def sign_verdict(
    signer: Signer,
    code: bytes,
    signed_s: float,
    *,
    is_accepted: bool,
    why: str = "",
    pages: int = 0,
    is_unlimited: bool = False,
) -> Verdict:
    """Make a verdict for the mesh of the signer.

    Raises:
      ValueError: there is no such verdict.
    """
    fields = code, is_accepted, why, pages, is_unlimited, int(signed_s), signer.key.public, signer.warrant
    plain = msgspec.convert(fields, Verdict)
    return replace(plain, signature=signer.key.sign(_signed(plain, signer.mesh_id)))


def verdict_bytes(verdict: Verdict) -> bytes:
    return _encode(verdict)


def verdict_in(packed: bytes) -> Verdict | None:
    """Return the verdict in these bytes, None when it is none; whether it counts is another question."""
    try:
        return _decode(packed) if len(packed) <= VERDICT_BYTES_MAX else None
    except (msgspec.MsgspecError, RecursionError):
        return None


class VerdictJudge:
    """Tells which verdicts count in one mesh."""

    def __init__(self, authority: Authority | None) -> None:
        """Args: authority: of the mesh; without it no verdict counts."""
        self._authority = authority
        self._revoked: frozenset[str] = frozenset()  # keys in hexadecimal
        self._known: dict[bytes, None] = {}  # the last ones verified
        self._n_forged = 0  # of this message

    def begin_message(self) -> None:
        """Look at the verdicts of another message."""
        self._n_forged = 0

    def revoke(self, subjects: frozenset[str]) -> bool:
        """Count no verdicts of these keys any more; tell whether one of them is new."""
        is_new = not subjects <= self._revoked
        self._revoked |= subjects
        return is_new

    def is_signed(self, verdict: Verdict, code: bytes) -> bool:
        """Has an administrator of this mesh, expelled or not, signed it about this submission?"""
        if verdict.code != code or self._authority is None:
            return False
        whole = verdict_bytes(verdict)
        if whole in self._known:
            return True
        if self._n_forged >= FORGED_MAX:
            return False
        if not self._authority.is_administrator(verdict.signer, verdict.warrant) or not verify_signature(
            verdict.signer, _signed(verdict, self._authority.mesh_id), verdict.signature
        ):
            self._n_forged += 1
            return False
        if len(self._known) >= KNOWN_MAX:
            del self._known[next(iter(self._known))]
        self._known[whole] = None
        return True

    def is_void(self, verdict: Verdict) -> bool:
        """Has the mesh expelled its signer?"""
        return verdict.signer.hex() in self._revoked

    def counts(self, verdict: Verdict, code: bytes, now_s: float) -> bool:
        """Is it to be obeyed? Args: now_s: seconds since the epoch; none is of a time to come."""
        is_of_its_time = verdict.signed_s <= now_s + AHEAD_S
        return is_of_its_time and not self.is_void(verdict) and self.is_signed(verdict, code)


def _signed(verdict: Verdict, mesh_id: bytes) -> bytes:
    fields = msgspec.structs.astuple(replace(verdict, signature=b""))
    return _VERDICT + msgspec.msgpack.encode((mesh_id, *fields))


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Verdict).decode
