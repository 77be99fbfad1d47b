"""What a membership needs of cryptography: to sign its own record and to judge those of others."""

from __future__ import annotations

from typing import Protocol

from mesh.messages import MemberRecord


class Credentials(Protocol):
    """The keys of one peer and the root key of its mesh, behind two questions."""

    def sign(self, record: MemberRecord) -> MemberRecord:
        """Return this peer's own record with a signature over all other fields."""

    def is_genuine(self, record: MemberRecord) -> bool:
        """Tell whether its peer wrote this record and the mesh has admitted that peer.

        That is: the id follows from the CURVE key, the certificate is the mesh root's over both keys,
        and the signature is the signing key's over the record. Never raises, whatever the bytes.
        """
