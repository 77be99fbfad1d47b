"""The cryptography of a membership: signing its own record and judging those of others."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import Final, Protocol

import msgspec
from msgspec.structs import astuple, replace

from mesh.config import MeshConfig
from mesh.keys.certificate import Certificate, Grant, read_certificate
from mesh.keys.identity import Identity, verify_signature
from mesh.membership.model.wire_messages import MEMBERS_MAX, MemberRecord

PURPOSE: Final = b"tianmesh member record 1\x00"  # nothing else that a peer signs begins like this

_SIGNED_FIELDS: Final = MemberRecord.__struct_fields__.index("signature")  # those before it


class Credentials(Protocol):
    """The keys of one peer and the root key of its mesh, behind three questions."""

    def sign(self, record: MemberRecord) -> MemberRecord:
        """Return this peer's own record with a signature over all other fields."""

    def is_genuine(self, record: MemberRecord) -> bool:
        """Tell whether its peer wrote this record and the mesh has admitted that peer.

        That is: the certificate is the mesh root's, over both keys and this id, it allows the weights, and
        the signature is the signing key's over the record. Never raises, whatever the bytes.
        """

    def grant_of(self, record: MemberRecord) -> Grant:
        """Return the grant in the certificate of a genuine record; the time of its end is not checked."""

    def joins_until(self, record: MemberRecord) -> float:
        """When the invitation of a genuine record ends for newcomers; inf for one that needed none."""


class PeerCredentials:
    """The real `Credentials` of one peer."""

    def __init__(self, identity: Identity, config: MeshConfig) -> None:
        self._identity = identity
        self._mesh_id = config.digest()
        self._root_public = bytes.fromhex(config.root_key)

    def sign(self, record: MemberRecord) -> MemberRecord:
        assert record.curve_key == self._identity.curve_public, "a peer writes its own record only"
        return replace(record, signature=self._identity.sign(_signed(record)))

    def is_genuine(self, record: MemberRecord) -> bool:
        certificate = _certificate(self._mesh_id, record.curve_key, record.signing_key, record.certificate)
        return (
            certificate is not None
            and certificate.grant.serial == record.peer
            and certificate.grant.allows(record.weight, record.serving)
            and _is_valid(certificate, self._root_public)
            and _is_signed(record.signing_key, _signed(record), record.signature)
        )

    def grant_of(self, record: MemberRecord) -> Grant:
        certificate = _certificate(self._mesh_id, record.curve_key, record.signing_key, record.certificate)
        assert certificate is not None, "only genuine records are asked about"
        return certificate.grant

    def joins_until(self, record: MemberRecord) -> float:
        certificate = _certificate(self._mesh_id, record.curve_key, record.signing_key, record.certificate)
        voucher = certificate.voucher if certificate is not None else None
        return inf if voucher is None else voucher.terms.joins_until


_certificate = lru_cache(maxsize=MEMBERS_MAX)(read_certificate)


@lru_cache(maxsize=MEMBERS_MAX)
def _is_valid(certificate: Certificate, root_public: bytes) -> bool:
    """`Certificate.is_valid`, remembered: a member's keys stay the same from record to record."""
    return certificate.is_valid(root_public)


@lru_cache(maxsize=MEMBERS_MAX)
def _is_signed(signing_key: bytes, signed: bytes, signature: bytes) -> bool:
    """`verify_signature`, cached: every member passes on the signed records of all members."""
    return verify_signature(signing_key, signed, signature)


def _signed(record: MemberRecord) -> bytes:
    return PURPOSE + msgspec.msgpack.encode(astuple(record)[:_SIGNED_FIELDS])
