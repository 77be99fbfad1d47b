"""Asking one question of each peer that keeps a slot: of a URL, of its links, or of rows by other names."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.urls import host_of
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.round import Round

_NOBODY: frozenset[str] = frozenset()  # is known to be silent: a team is small, and all of it is wanted


class SlotErrand(Errand):
    """Asks the owner of the slot and its standbys, and ends with the answers that came in time.

    Attributes:
      actor: who answers at each peer.
      limit_s: seconds after which the answers that came have to do.
      team: who is asked, the owner first; who is down is not.
    """

    actor: ClassVar[str]
    limit_s: ClassVar[float] = 2.0

    def __init__(self, number: int, me: str, ticket: int, slot: int, ownership: Ownership) -> None:
        super().__init__(number, me, ticket)
        self.slot = slot
        team = ownership.team_of(slot) if slot < ownership.table.slot_count else ()  # there is no such slot
        self.team = tuple(peer for peer in team if peer in ownership.alive)

    def start(self, now: float) -> list[Send]:
        request = self._number_question()
        questions = {peer: self._question(request, peer) for peer in self.team}
        self._round = Round(request, self.actor, questions, _NOBODY, now, self.limit_s)
        return self._end_if_over(now) or self._round.ask_each()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        request = self._request_of(message)
        if request is None or not self._round.accepts(source, request):
            return None
        self._take(source.peer, message)
        self._round.settle(source.peer)
        return self._end_if_over(now)

    def wake(self, now: float) -> list[Send]:
        repeated = self._round.wake(now)
        return self._end_if_over(now) or repeated

    def wake_at(self) -> float:
        return self._round.wake_at()

    @abstractmethod
    def _question(self, request: int, peer: str) -> Message: ...

    @abstractmethod
    def _request_of(self, message: Message) -> int | None:
        """The number of the question that this answers; None when it is no answer of this kind."""

    @abstractmethod
    def _take(self, peer: str, answer: Message) -> None:
        """Note the answer of a peer, of which there is one, if it can be believed."""

    @abstractmethod
    def _gathered(self) -> Message:
        """The answer that ends the errand."""

    def _end_if_over(self, now: float) -> list[Send]:
        return self._end(self._gathered()) if self._round.is_over(now) else []


class TeamErrand(SlotErrand):
    """Asks those that keep the slot of a URL, which is `url`."""

    def __init__(self, number: int, me: str, ticket: int, url: str, ownership: Ownership) -> None:
        super().__init__(number, me, ticket, ownership.slot_of(host_of(url)), ownership)
        self.url = url


class RowsErrand(SlotErrand):
    """Finds a row of a store that a policy switches on, joined of those that the team tells.

    That none has it is known once each has said so by a policy with the store: who is late may have it.
    """

    def __init__(self, number: int, me: str, ticket: int, slot: int, ownership: Ownership) -> None:
        super().__init__(number, me, ticket, slot, ownership)
        there_is = slot < ownership.table.slot_count
        self._untold = set(self.team) or ({""} if there_is else set())  # where none lives, none can say

    @property
    def is_complete(self) -> bool:
        return not self._untold
