"""Asking one question of every live peer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Set
from math import inf
from typing import ClassVar

from mesh.actors.actor import Address, Message, Send
from mesh.membership.model.members import is_live
from mesh.membership.model.wire_messages import MemberRecord, MembersTold, MembersWanted, Rumour
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.round import Round


class Roundup(Errand):
    """Asks our membership for the members, then all of them, and ends with the answers that came in time.

    Attributes:
      actor: who answers at each peer.
      limit_s: seconds after which the answers that came have to do, of the membership too.
      members: what the membership believes, once it has said so.
      peers: who was asked.
    """

    actor: ClassVar[str]
    limit_s: ClassVar[float] = 1.0

    def __init__(self, number: int, me: str, ticket: int, silent: Set[str]) -> None:
        """Begin.

        Args:
          silent: as for `Round`.
        """
        super().__init__(number, me, ticket)
        self.members: tuple[Rumour, ...] = ()
        self.peers: tuple[str, ...] = ()
        self._silent = silent
        self._round: Round | None = None
        self._limit_at = inf  # for our own membership to answer

    def start(self, now: float) -> list[Send]:
        self._limit_at = now + self.limit_s
        return [Send(Address(self._me, "membership"), MembersWanted(()))]

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        if isinstance(message, MembersTold):
            is_awaited = self._round is None and source == Address(self._me, "membership")
            return self._ask(message.members, now) if is_awaited else None
        request = self._request_of(message)
        if request is None or self._round is None or not self._round.accepts(source, request):
            return None
        self._take(source.peer, message)
        self._round.settle(source.peer)
        return self._end_if_over(now)

    def wake(self, now: float) -> list[Send]:
        if self._round is None:
            return self._end(self._gathered(now)) if now >= self._limit_at else []
        repeated = self._round.wake(now)
        return self._end_if_over(now) or repeated

    def wake_at(self) -> float:
        return self._limit_at if self._round is None else self._round.wake_at()

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """The names of the members that have one, by id."""
        records = (rumour.record for rumour in self.members)
        return tuple(sorted((record.peer, record.name) for record in records if record.name))

    def _questions(self, request: int) -> dict[str, Message]:
        """The question to each peer: the same to all of them, unless a roundup knows better."""
        return dict.fromkeys(self.peers, self._question(request))

    @abstractmethod
    def _question(self, request: int) -> Message: ...

    @abstractmethod
    def _request_of(self, message: Message) -> int | None:
        """The number of the question that this answers; None when it is no answer of this kind."""

    @abstractmethod
    def _take(self, peer: str, answer: Message) -> None:
        """Note the answer of a peer, of which there is one, if it can be believed."""

    @abstractmethod
    def _gathered(self, now: float) -> Message:
        """The answer that ends the roundup."""

    def _is_asked(self, record: MemberRecord) -> bool:
        """Has this live member anything to tell?

        Who has no gateway, as a bootstrap node, has not, and would be waited for in vain.
        """
        return bool(record.gateway)

    def _ask(self, members: tuple[Rumour, ...], now: float) -> list[Send]:
        self.members = members
        there = (rumour.record for rumour in members if is_live(rumour))
        asked = (record.peer for record in there if self._is_asked(record))
        self.peers = tuple(sorted({self._me, *asked}))
        request = self._number_question()
        questions = self._questions(request)
        self._round = Round(request, self.actor, questions, self._silent, now, self.limit_s)
        return self._round.ask()

    def _end_if_over(self, now: float) -> list[Send]:
        assert self._round is not None
        return self._end(self._gathered(now)) if self._round.is_over(now) else []
