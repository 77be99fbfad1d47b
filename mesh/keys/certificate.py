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
from mesh.keys.identity import is_curve_key, verify_signature
from mesh.keys.signing_key import SigningKey
from mesh.keys.voucher import Voucher

PURPOSE: Final = b"tianmesh certificate 2\x00"  # no other thing that the root signs begins like this
SERIAL_CHARS: Final = 16  # base32 of 80 random bits
SERIAL_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"
BEGINNING_CHARS_MIN: Final = 4  # of an id that a person names a peer by; one letter more may be a slip
WEIGHT_MAX_DEFAULT: Final = 1_000  # ten times the weight of a peer by default


class Right(IntFlag):
    """The rights of a member beside gossip."""

    CRAWL = 1  # and keep what it crawls: have a weight
    ANSWER = 2  # have a serving weight
    IMPORT = 4  # give pages of files to others


ALL_RIGHTS: Final = Right.CRAWL | Right.ANSWER | Right.IMPORT


class Grant(msgspec.Struct, frozen=True, array_like=True):
    """The id, the term, the rights and the largest weight that the root grants to the holder of two keys."""

    serial: Annotated[str, Meta(pattern="^[a-z2-7]{16}$")]  # the peer's id
    valid_until: float = inf  # seconds since the epoch; inf for ever
    rights: Annotated[int, Meta(ge=0, le=int(ALL_RIGHTS))] = int(ALL_RIGHTS)
    weight_max: Annotated[int, Meta(ge=0, le=65_536)] = WEIGHT_MAX_DEFAULT

    @property
    def weight_allowed(self) -> int:
        """The largest weight that its holder may have: a peer also answers for the pages that it keeps."""
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
    signature: bytes  # 64 bytes, by the root key, or by that of an invitation
    voucher: Voucher | None = None  # the root's word for that invitation

    def is_valid(self, root_public: bytes) -> bool:
        """Tell whether the root stands for exactly this; times are not checked, published keys not valid."""
        signed = _signed(self.mesh_id, self.curve_public, self.signing_public, self.grant)
        signer = root_public
        if self.voucher is not None:
            if not (self._is_vouched_for(self.voucher) and self.voucher.is_valid(self.mesh_id, root_public)):
                return False
            signer = self.voucher.public
        return is_curve_key(self.curve_public) and verify_signature(signer, signed, self.signature)

    def _is_vouched_for(self, voucher: Voucher) -> bool:
        terms, serial = voucher.terms, self.grant.serial
        granted = Grant(serial, terms.valid_until, terms.rights, terms.weight_max)
        return self.grant == granted and serial in voucher.serials()

    def encoded(self) -> bytes:
        """Encode all but the keys for records and configurations: about 100 bytes, or 230 with a voucher."""
        beside = () if self.voucher is None else (self.voucher,)
        return msgspec.msgpack.encode((self.grant, self.signature, *beside))


class _Encoded(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The content of the bytes that `Certificate.encoded` writes."""

    grant: Grant
    signature: bytes
    voucher: Voucher | None = None


def read_certificate(
    mesh_id: bytes, curve_public: bytes, signing_public: bytes, encoded: bytes
) -> Certificate | None:
    """Put a certificate together from `Certificate.encoded` and the keys; None when that is malformed."""
    told = _encoded_in(encoded)
    if told is None or isnan(told.grant.valid_until):
        return None
    return Certificate(mesh_id, curve_public, signing_public, told.grant, told.signature, told.voucher)


def peer_in(certificate: str) -> str:
    """Read the id of a peer in the certificate of its configuration (hexadecimal); "" for none."""
    told = _encoded_in(bytes.fromhex(certificate))
    return told.grant.serial if told else ""


def rights_in(certificate: str) -> Right:
    """Read the rights in a configuration's certificate (hexadecimal); all rights, if it is none."""
    told = _encoded_in(bytes.fromhex(certificate))
    return Right(told.grant.rights) if told else ALL_RIGHTS


def _encoded_in(encoded: bytes) -> _Encoded | None:
    try:
        return msgspec.msgpack.decode(encoded, type=_Encoded)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def why_no_beginning(text: str) -> str:
    """Say why no peer can be named by such a beginning of its id; "" when one can."""
    if BEGINNING_CHARS_MIN <= len(text) <= SERIAL_CHARS and not set(text) - set(SERIAL_ALPHABET):
        return ""
    return (
        f"{text[: 4 * SERIAL_CHARS]!r} names no peer: give its id, or its first {BEGINNING_CHARS_MIN} "
        "letters or more, as `tianmesh status` shows it"
    )


def issue_by_voucher(
    invited: SigningKey, voucher: Voucher, serial: str, mesh_id: bytes, keys: tuple[bytes, bytes]
) -> Certificate:
    """Sign keys into the mesh with the key of an invitation.

    Args:
      serial: one of its ids.
      keys: CURVE (Z85) and signing key, public.
    """
    terms = voucher.terms
    grant = Grant(serial, terms.valid_until, terms.rights, terms.weight_max)
    return Certificate(mesh_id, *keys, grant, invited.sign(_signed(mesh_id, *keys, grant)), voucher)


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
