"""Asking every live peer which pages and hosts of its slots have the highest ranks."""

from __future__ import annotations

from collections.abc import Set
from typing import ClassVar

from msgspec.structs import replace

from mesh.actors.actor import Message
from mesh.actors.ownership import Ownership
from mesh.urls import host_of, is_canonical
from peers.gateway.errands.roundup import Roundup
from peers.gateway.model.messages import GatherRanks, RanksGathered
from peers.link_graph.wire_messages import ListRanks, RanksListed
from peers.policy.rules import Policy


class RankRoundup(Roundup):
    """Answers one `GatherRanks` by one `RanksGathered`."""

    actor: ClassVar[str] = "link_graph"

    def __init__(
        self,
        number: int,
        me: str,
        order: GatherRanks,
        silent: Set[str],
        policy: Policy,
        ownership: Ownership,
    ) -> None:
        """Begin.

        Args:
          silent: as for `Round`.
        """
        super().__init__(number, me, order.ticket, silent)
        self._order, self._policy, self._ownership = order, policy, ownership
        self._told: dict[str, RanksListed] = {}

    def _question(self, request: int) -> Message:
        return ListRanks(request, self._order.most)

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, RanksListed) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, RanksListed)
        pages = tuple(page for page in answer.pages if self._is_shown(peer, page.url))
        hosts = tuple(host for host in answer.hosts if self._is_host(peer, host.host))
        self._told[peer] = replace(answer, pages=pages, hosts=hosts)

    def _is_host(self, peer: str, host: str) -> bool:
        url = f"http://{host}/"
        return self._is_shown(peer, url) and host_of(url) == host

    def _is_shown(self, peer: str, url: str) -> bool:
        """May this peer speak for a page, and the reader see it?"""
        if not is_canonical(url) or not self._policy.shows(url, self._order.hidden):
            return False
        return self._ownership.owner_of(self._ownership.slot_of(host_of(url))) == peer

    def _gathered(self, now: float) -> Message:
        silent = tuple(peer for peer in self.peers if peer not in self._told)
        return RanksGathered(self.ticket, tuple(sorted(self._told.items())), silent)
