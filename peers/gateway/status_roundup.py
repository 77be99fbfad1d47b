"""Asking every live peer how it is."""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import inf
from typing import Final

from mesh.actor import Address, Message, Send
from mesh.errors import RemoteProtocolError
from mesh.membership.members import State, is_live
from mesh.membership.wire_messages import MembersTold, MembersWanted, Rumour
from peers.gateway.errand import Errand
from peers.gateway.messages import GatherStatus, StatusGathered
from peers.gateway.round import Round
from peers.gateway.status import decode
from peers.gateway.wire_messages import StatusTold, StatusWanted

ROUNDUP_S_MAX: Final = 1.0


class StatusRoundup(Errand):
    """Answers one `GatherStatus` by one `StatusGathered`.

    Who has no gateway, as a bootstrap node, has no status, and would be waited for in vain.
    """

    def __init__(
        self, number: int, me: str, order: GatherStatus, silent: Set[str], down_at: Mapping[str, float]
    ) -> None:
        """Begin.

        Args:
          silent: as for `Round`.
          down_at: of members that are down, since when.
        """
        super().__init__(number, me, order.ticket)
        self._silent = silent
        self._down_at = down_at
        self._members: tuple[Rumour, ...] = ()
        self._round: Round | None = None
        self._limit_at = inf  # for our own membership to answer
        self._statuses: dict[str, bytes] = {}

    def start(self, now: float) -> list[Send]:
        self._limit_at = now + ROUNDUP_S_MAX
        return [Send(Address(self._me, "membership"), MembersWanted(()))]

    def _ask(self, members: tuple[Rumour, ...], now: float) -> list[Send]:
        self._members = tuple(rumour for rumour in members if rumour.state != State.LEFT)
        there = (rumour.record for rumour in members if is_live(rumour))
        peers = sorted({self._me, *(record.peer for record in there if record.gateway)})
        question = StatusWanted(self._number_question())
        questions = dict.fromkeys(peers, question)
        self._round = Round(question.request, "searcher", questions, self._silent, now, ROUNDUP_S_MAX)
        return self._round.ask()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        match message:
            case MembersTold(members) if self._round is None and source == Address(self._me, "membership"):
                return self._ask(members, now)
            case StatusTold(request=request) if self._round and self._round.accepts(source, request):
                if _is_of(source.peer, message.status):
                    self._statuses[source.peer] = message.status
                self._round.settle(source.peer)
                return self._finish_if_over(now)
            case _:
                return None

    def wake(self, now: float) -> list[Send]:
        if self._round is None:
            return self._end(StatusGathered(self.ticket, ())) if now >= self._limit_at else []
        repeated = self._round.wake(now)
        return self._finish_if_over(now) or repeated

    def wake_at(self) -> float:
        return self._limit_at if self._round is None else self._round.wake_at()

    def _finish_if_over(self, now: float) -> list[Send]:
        assert self._round is not None
        if not self._round.is_over(now):
            return []
        statuses = tuple(self._statuses[peer] for peer in sorted(self._statuses))
        down_s = tuple((peer, max(now - at, 0.0)) for peer, at in sorted(self._down_at.items()))
        return self._end(StatusGathered(self.ticket, statuses, self._members, down_s))


def _is_of(peer: str, status: bytes) -> bool:
    """Can it be read, and does the peer speak of itself?"""
    try:
        return decode(status).id == peer
    except RemoteProtocolError:
        return False
