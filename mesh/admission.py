"""Who is let into the mesh: the decision at the door, one sentence for each refusal."""

from __future__ import annotations

from mesh.credentials import Credentials
from mesh.members import MemberList
from mesh.messages import MEMBERS_MAX, JoinMesh


def refusal_of(
    join: JoinMesh, curve_key: bytes, *, mesh_digest: bytes, members: MemberList, credentials: Credentials
) -> str:
    """Tell a stranger why it may not join, "" when it may.

    Args:
      curve_key: Z85 text of the key it has proved to have.
      mesh_digest: of the mesh behind this door.
    """
    record = join.record
    known = members.get(record.peer)
    if join.mesh_digest != mesh_digest:
        return (
            f"this peer is configured for mesh {join.mesh_digest.hex()[:32]} and knocked at mesh "
            f"{mesh_digest.hex()}: give it the configuration of the mesh it shall join"
        )
    if record.curve_key != curve_key:
        return "the record is of another key than the connection: start this peer with its own key file"
    if known is not None and known.record.curve_key != record.curve_key:
        return f"the id {record.peer} is taken by a peer with another key: make new keys for this peer"
    if not credentials.is_genuine(record):
        return (
            "the certificate or signature of this peer is not valid in this mesh: "
            "ask the holder of the mesh's root key for a certificate"
        )
    if known is None and len(members) >= MEMBERS_MAX:
        return f"the mesh is full with {MEMBERS_MAX} members: join another mesh"
    return ""
