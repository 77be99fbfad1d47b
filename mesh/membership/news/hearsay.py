"""The weighing of bad news that others tell of a member: one that lies must not be able to bury anybody.

Theory of operation. Gossip carries what others believe, and any member can lie. Of that somebody *left*
nothing but its own signature or a decree convinces (`rumour_intake`). That somebody is *dead* is believed of
others at once only

* when the member itself has signed that it goes down,
* when a probe of our own found it silent, too, and it has been a suspect for the shortest time in which
  any is dead: whoever believes it before may take slots whose owner may still crawl (`licence`), or
* when a second member says the same of the same incarnation.

Otherwise it is an accusation: the member is a suspect here, as if the teller had found it silent, and has
time to refute. All who heard of the suspicion bury a member that has really crashed by their own clocks,
within the time that the news took; so its death is known hardly later than if it were believed at once.

That somebody *is silent* shortens its time to refute with every accuser (`suspicions`). Whom a teller names
cannot be verified, so each accuser counts once it has said so itself: whoever passes the news on begins a
suspicion, and confirms none.

Every piece of bad news costs its teller some of an allowance that comes back with time: enough for a
partition that takes half of the mesh, and too little to keep everybody busy with refuting.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from mesh.actors.allowance import Allowance
from mesh.membership.model.members import State, is_live
from mesh.membership.model.wire_messages import Rumour

WITNESSES: Final = 2  # members that have to say that one is dead
ALLOWED_PER_MEMBER: Final = 2  # pieces of bad news: suspect, then dead
ALLOWED_MIN: Final = 16


class Hearsay:
    """The bad news of late and its tellers, and the members that we found silent ourselves."""

    def __init__(self) -> None:
        self.n_doubted = 0  # count: deaths that were taken for accusations
        self.allowance = Allowance()  # of bad news
        self._silent: dict[str, int] = {}  # the incarnation under which our own probe found it silent
        self._buriers: dict[str, tuple[int, set[str]]] = {}  # incarnation, and who says that it is dead

    def note_silent(self, peer: str, incarnation: int) -> None:
        """Our own probe of this member had no answer."""
        self._silent[peer] = incarnation

    def forget(self, peer: str) -> None:
        """The member is alive, or dead beyond doubt."""
        self._silent.pop(peer, None)
        self._buriers.pop(peer, None)

    def weighed(
        self,
        rumour: Rumour,
        known: Rumour | None,
        teller: str,
        now: float,
        member_count: int,
        *,
        is_due: bool,
    ) -> Rumour:
        """Return the form in which to believe a rumour that would be news to us.

        Args:
          known: what is believed so far.
          teller: the member that told it, which may be wrong or lie.
          is_due: whether it has been a suspect for so long that it could be dead.
        """
        record = rumour.record
        is_bad = rumour.state in (State.SUSPECT, State.DEAD) and record.parting < rumour.state
        if not is_bad or known is None or not is_live(known):
            return rumour
        allowed = max(ALLOWED_MIN, ALLOWED_PER_MEMBER * member_count)
        if not self.allowance.spend(teller, 1.0, allowed, now):
            return Rumour(record, State.ALIVE)
        if rumour.state == State.DEAD and not self._is_certain(rumour, teller, is_due=is_due):
            self.n_doubted += 1
            return Rumour(record, State.SUSPECT, (teller,))
        return rumour

    def _is_certain(self, rumour: Rumour, teller: str, *, is_due: bool) -> bool:
        peer, incarnation = rumour.record.peer, rumour.record.incarnation
        said_of, buriers = self._buriers.get(peer, (incarnation, set()))
        if said_of != incarnation:
            buriers = set()
        buriers.add(teller)
        self._buriers[peer] = incarnation, buriers
        is_silent = is_due and self._silent.get(peer) == incarnation
        return is_silent or len(buriers) >= WITNESSES


def first_hand(rumour: Rumour, teller: str) -> Rumour:
    """Return the rumour of a teller without the accusers that it only names."""
    if not rumour.accusers or not teller:
        return rumour
    return replace(rumour, accusers=(teller,) if teller in rumour.accusers else ())
