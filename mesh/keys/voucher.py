"""The root's word for an invitation: its holder may name a few keys as members, until a day.

The root key lies in a safe, and a newcomer makes its keys where they stay. So what is handed to it is
another key, drawn for this one invitation, for which the root has signed what it may grant: the same to
each of so many members. Their ids follow from the invitation's public key and a number, so that nobody can
draw keys until it owns a host of its choice; who uses an id that is taken is refused at the doors. What the
invitation's key has signed is a certificate like any other, which every member checks by itself: no member
has to be asked.
"""

from __future__ import annotations

from base64 import b32encode
from hashlib import blake2b
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.keys.identity import verify_signature
from mesh.keys.signing_key import SigningKey

PURPOSE: Final = b"tianmesh voucher 1\x00"  # no other thing that the root signs begins like this
USES_MAX: Final = 100
_SERIAL_BYTES: Final = 10


class Terms(msgspec.Struct, frozen=True, array_like=True):
    """The uses and end of an invitation, and the rights and largest weight that each of its members gets."""

    uses: Annotated[int, Meta(ge=1, le=USES_MAX)]
    joins_until: float  # seconds since the epoch; later no newcomer is let in with it
    valid_until: float  # of their certificates; inf for ever
    rights: Annotated[int, Meta(ge=0)]
    weight_max: Annotated[int, Meta(ge=0, le=65_536)]


class Voucher(msgspec.Struct, frozen=True, array_like=True):
    """An invitation as certificates carry it; it is no secret."""

    public: Annotated[bytes, Meta(min_length=32, max_length=32)]  # Ed25519
    terms: Terms
    signature: Annotated[bytes, Meta(max_length=64)]  # by the root key

    def serials(self) -> tuple[str, ...]:
        """The ids of its members, in the order of their numbers."""
        return tuple(_serial(self.public, number) for number in range(self.terms.uses))

    def is_valid(self, mesh_id: bytes, root_public: bytes) -> bool:
        """Tell whether the root signed exactly this; the times in it are not checked."""
        return verify_signature(root_public, _signed(mesh_id, self.public, self.terms), self.signature)


def vouch(root: SigningKey, mesh_id: bytes, public: bytes, terms: Terms) -> Voucher:
    """Have the root stand for an invitation with this public key."""
    return Voucher(public, terms, root.sign(_signed(mesh_id, public, terms)))


def _serial(public: bytes, number: int) -> str:
    drawn = blake2b(public + number.to_bytes(2, "big"), digest_size=_SERIAL_BYTES, person=b"tianmesh serial")
    return b32encode(drawn.digest()).decode().lower()


def _signed(mesh_id: bytes, public: bytes, terms: Terms) -> bytes:
    return PURPOSE + msgspec.msgpack.encode((mesh_id, public, terms))
