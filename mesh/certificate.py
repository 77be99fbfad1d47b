"""Leave to join a mesh: the root's signature over the keys of a peer, its name, its rights and their end.

The root draws the *serial* when it makes a member: it is the peer's id for ever, and what slots are drawn by
(`slot_ranking`). So nobody can make keys until it owns a host of its choice, and a renewed certificate moves
no slot. The root key signs once per peer and renewal and may then lie in a safe: a member needs only the
public root key, which is in the `MeshConfig`, to tell a member's keys from a stranger's.

*What it allows.* To crawl and keep slots up to a largest weight, to answer for them, and to bring pages of
files into the mesh: a record that claims more is nobody's. After its end a member counts as one that has
left, unless a renewal (`decree.RENEWAL`) reached it before. A *revocation* ends it at once, for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from math import inf, isnan
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.errors import ConfigError
from mesh.identity import is_curve_key, verify_signature
from mesh.signing_key import SigningKey

PURPOSE: Final = b"tianmesh certificate 2\x00"  # no other thing that the root signs begins like this
SERIAL_CHARS: Final = 16  # base32 of 80 random bits
WEIGHT_MAX_DEFAULT: Final = 1_000  # ten times the weight of a peer by default


class Right(IntFlag):
    """What a member may do beside gossip."""

    CRAWL = 1  # and keep what it crawls: have a weight
    ANSWER = 2  # have a serving weight
    IMPORT = 4  # give pages of files to others


ALL_RIGHTS: Final = Right.CRAWL | Right.ANSWER | Right.IMPORT


class Grant(msgspec.Struct, frozen=True, array_like=True):
    """What the root grants to the holder of two keys."""

    serial: Annotated[str, Meta(pattern="^[a-z2-7]{16}$")]  # the peer's id
    valid_until: float = inf  # seconds since the epoch; inf for ever
    rights: Annotated[int, Meta(ge=0, le=int(ALL_RIGHTS))] = int(ALL_RIGHTS)
    weight_max: Annotated[int, Meta(ge=0, le=65_536)] = WEIGHT_MAX_DEFAULT

    @property
    def weight_allowed(self) -> int:
        """The largest weight that its holder may have: what a peer keeps it also answers for."""
        return self.weight_max if Right.CRAWL & self.rights and Right.ANSWER & self.rights else 0

    def allows(self, weight: int, serving: int) -> bool:
        """May its holder claim so much?"""
        return max(weight, serving) <= self.weight_allowed


@dataclass(frozen=True, slots=True)
class Certificate:
    """The root's word that the holder of two keys is a member of one mesh."""

    mesh_id: bytes  # MeshConfig.digest()
    curve_public: bytes  # Z85, 40 characters
    signing_public: bytes  # Ed25519, 32 bytes
    grant: Grant
    signature: bytes  # by the root key, 64 bytes

    def is_valid(self, root_public: bytes) -> bool:
        """Tell whether the root signed exactly this, at whatever time; published keys are never valid."""
        signed = _signed(self.mesh_id, self.curve_public, self.signing_public, self.grant)
        return is_curve_key(self.curve_public) and verify_signature(root_public, signed, self.signature)

    def encoded(self) -> bytes:
        """What of it stands in records and configurations, beside the keys: about 100 bytes."""
        return msgspec.msgpack.encode((self.grant, self.signature))


def read_certificate(
    mesh_id: bytes, curve_public: bytes, signing_public: bytes, encoded: bytes
) -> Certificate | None:
    """Put together what `Certificate.encoded` told and the keys; None when that is malformed."""
    try:
        grant, signature = msgspec.msgpack.decode(encoded, type=tuple[Grant, bytes])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return (
        None
        if isnan(grant.valid_until)
        else Certificate(mesh_id, curve_public, signing_public, grant, signature)
    )


def peer_in(certificate: str) -> str:
    """Read the id of a peer in the certificate of its configuration (hexadecimal); "" for none."""
    try:
        return msgspec.msgpack.decode(bytes.fromhex(certificate), type=tuple[Grant, bytes])[0].serial
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


def issue(
    root: SigningKey, mesh_id: bytes, curve_public: bytes, signing_public: bytes, grant: Grant
) -> Certificate:
    """Sign a peer's keys into the mesh.

    Raises:
      ConfigError: the CURVE key is malformed, or one whose secret is printed in a manual.
    """
    if not is_curve_key(curve_public):
        raise ConfigError(
            "the CURVE key is malformed or a published test key: make a new one with `tianmesh init`"
        )
    signature = root.sign(_signed(mesh_id, curve_public, signing_public, grant))
    return Certificate(mesh_id, curve_public, signing_public, grant, signature)


def _signed(mesh_id: bytes, curve_public: bytes, signing_public: bytes, grant: Grant) -> bytes:
    return PURPOSE + msgspec.msgpack.encode((mesh_id, curve_public, signing_public, grant))
