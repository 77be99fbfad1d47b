"""The links of assessors, which let one person judge one pool at one gateway, until they end. Pure.

A link names the pool, the assessor and its end, and has a sum over them that only one peer can make. It
opens nothing else: no order, no page for administrators, no pool or assessor but its own. Whoever has it
judges under its name. It ends at its time, with the pool, or with the peer's admin.token.
"""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest
from typing import Final, NamedTuple

DAYS_MAX: Final = 366
_MAC_BYTES: Final = 16
_CODE_CHARS_MAX: Final = 64  # of an end and a sum: 44


class AssessorLink(NamedTuple):
    """The content of such a link, but for its sum."""

    pool: str
    assessor: str
    until_s: int  # seconds since the epoch

    def code(self, key: bytes) -> str:
        """Return the last part of the link: its end and the sum."""
        return f"{self.until_s}-{self._mac(key)}"

    def _mac(self, key: bytes) -> str:
        """BLAKE2b with a key, in hexadecimal digits; no name has a line feed."""
        said = f"{self.until_s}\n{self.pool}\n{self.assessor}".encode("utf-8", "replace")
        return blake2b(said, key=key, digest_size=_MAC_BYTES).hexdigest()


def key_of(secret: str) -> bytes:
    """Return the key of a peer's invitations. Args: secret: of this peer, at least one character."""
    assert secret
    return blake2b(secret.encode(), person=b"invite to judge").digest()


def link_in(pool: str, assessor: str, code: str, key: bytes, now_s: float) -> AssessorLink | None:
    """Return the content of a link; None where it is not ours, was changed, or has ended."""
    until, _, _ = code.partition("-")
    is_plain = len(code) <= _CODE_CHARS_MAX and until.isascii() and until.isdigit()
    if not is_plain or str(int(until)) != until:
        return None
    read = AssessorLink(pool, assessor, int(until))
    is_ours = compare_digest(read.code(key).encode(), code.encode("utf-8", "replace"))
    return read if is_ours and now_s < read.until_s else None
