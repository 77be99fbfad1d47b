"""Who is let into the mesh: the decision at the door, one sentence for each refusal."""

from __future__ import annotations

from mesh.credentials import Credentials
from mesh.membership.catching_up import CatchingUp
from mesh.membership.learning import Learning
from mesh.membership.members import MemberList, State
from mesh.membership.messages import AnswerDoor, DoorKnocked
from mesh.membership.outbox import Outbox
from mesh.membership.proclaiming import Proclaiming
from mesh.membership.standing import Standing
from mesh.membership.wire_messages import MEMBERS_MAX, JoinMesh, JoinRefused, Rumour, Welcomed


class Admission:
    """Answers those who knock at the door of this peer."""

    def __init__(
        self,
        mesh_digest: bytes,
        members: MemberList,
        credentials: Credentials,
        learning: Learning,
        proclaiming: Proclaiming,
        catching_up: CatchingUp,
        standing: Standing,
        outbox: Outbox,
    ) -> None:
        self.n_admitted = 0  # count, repeated knocks too
        self.n_refused = 0  # count
        self._mesh_digest = mesh_digest
        self._members = members
        self._credentials = credentials
        self._learning = learning
        self._proclaiming = proclaiming
        self._catching_up = catching_up
        self._standing = standing
        self._outbox = outbox

    def answer(self, knock: DoorKnocked, now: float) -> None:
        """Answer a stranger; who is no member, or has no majority, cannot, so it tries another door."""
        standing = self._standing
        if not standing.is_member or standing.is_ended or not self._may_admit(knock.join.record.peer):
            return
        reason = refusal_of(
            knock.join,
            knock.curve_key,
            mesh_digest=self._mesh_digest,
            members=self._members,
            credentials=self._credentials,
        ) or self._learning.why_not_new(knock.join.record, now)
        if reason:
            self.n_refused += 1
            proof = self._proclaiming.fate_of(knock.join.record.peer, now)
            self._outbox.tell("door", AnswerDoor(knock.handle, JoinRefused(reason, proof)))
            return
        self.n_admitted += 1
        self._learning.learn(Rumour(knock.join.record, State.ALIVE), now)
        welcome = Welcomed(
            tuple(self._members),
            self._proclaiming.welcome(now),
            self._catching_up.is_done,
            tuple(sorted(self._members.newcomers)),
        )
        self._outbox.tell("door", AnswerDoor(knock.handle, welcome))

    def _may_admit(self, peer: str) -> bool:
        """Whoever counts already may come in; newcomers might make a majority out of those who have none."""
        return peer in self._members.remaining() or self._members.has_majority()


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
