"""Turns of our hosts that other peers get, to look at a page themselves that we have visited.

Theory of operation
===================
Nobody but the peer that holds a slot asks its hosts, and nobody else can see what they answer. So that others
can look at a page that it has told them of, it lends them a *turn*: for some seconds it leaves the host
alone.

*The turn ends by itself.* Its end, and the delay after it, stand in the clock of the host before it is lent,
as if we asked: a crash, a lost message or an auditor that dies moves nothing. It ends before our licence
does, as our own questions do, so whoever takes over from us finds it ended; and a slot that is taken from us
in good order is not given up before. The auditor counts it from when it asked for it (`auditing.auditor`).

*Auditors get turns of busy hosts, too.* When a host is not free its next turn is kept for who wants it, for
`KEPT_S`. No member can have us leave our hosts alone, or have them asked much: a turn of a host is kept for
it once in `KEPT_AGAIN_S`, and lent once in `AGAIN_S`, and of all hosts `TURNS_A_MINUTE`.
"""

from __future__ import annotations

from collections.abc import Container
from math import inf
from typing import Final

from mesh.actors.actor import Address, Send
from mesh.actors.allowance import Allowance
from mesh.urls import host_of, is_canonical
from peers.crawler.domain_budgets import DomainBudgets
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.host_state import HostState
from peers.crawler.host_clocks import HostClocks
from peers.crawler.model import politeness
from peers.crawler.model.path_rules import COMPARISONS_AT_ONCE
from peers.crawler.model.wire_messages import PAUSE_S_MAX, LendTurn, TurnLent
from peers.crawler.robots_files import RobotsFiles

TURN_S: Final = 5.0  # most servers answer within it; a licence is shorter by default
KEPT_S: Final = 2.0  # from when a host is free: a way there and back, with time to spare
BUSY_S: Final = 1.0  # after which to come again, where it cannot be said when a host will be free
ROBOTS_S: Final = 30.0  # likewise, where its robots.txt has to be asked for before
AGAIN_S: Final = 10.0
KEPT_AGAIN_S: Final = 60.0
TURNS_A_MINUTE: Final = 30
REMEMBERED_MAX: Final = 4_096  # turns; with more, those that are over are forgotten


class Lending:
    """The turns that are lent, and those that are kept for others."""

    def __init__(
        self,
        frontier: Frontier,
        clocks: HostClocks,
        robots: RobotsFiles,
        budgets: DomainBudgets,
        asked: Container[str],
    ) -> None:
        """Begin without any.

        Args:
          asked: hosts that are being asked by this peer.
        """
        self.lent_count = 0  # since the start
        self._frontier = frontier
        self._clocks = clocks
        self._robots = robots
        self._budgets = budgets
        self._asked = asked
        self._turns: dict[str, tuple[str, int, float]] = {}  # by host: for whom, its slot, and the end
        self._kept: dict[str, str] = {}  # by host: for whom its next turn is kept
        self._kept_s: dict[tuple[str, str], float] = {}  # by host and peer: when one was kept last
        self._had_s: dict[tuple[str, str], float] = {}  # likewise: when one was lent
        self._count_to_tidy = REMEMBERED_MAX
        self._allowance = Allowance()

    def slots(self, now: float) -> set[int]:
        """Return the slots of the hosts that others may be asking."""
        return {slot for _, slot, until_s in self._turns.values() if now < until_s}

    def is_lent(self, host: str, now: float) -> bool:
        """May another peer be asking the host?"""
        turn = self._turns.get(host)
        return turn is not None and now < turn[2]

    def has_lent(self, host: str, peer: str, now: float) -> bool:
        """May this other peer be asking the host?"""
        return self.is_lent(host, now) and self._turns[host][0] == peer

    def answer(self, source: Address, wanted: LendTurn, until_s: float, now: float) -> list[Send]:
        """Lend a turn, say when to come again, or that the page is not to be asked for.

        Args:
          until_s: until when we may ask ourselves.
        """
        return [Send(source, self._answer(source.peer, wanted, until_s, now))]

    def _answer(self, peer: str, wanted: LendTurn, until_s: float, now: float) -> TurnLent:
        number = wanted.number
        if not is_canonical(wanted.url):
            return TurnLent(number, is_refused=True)
        host = host_of(wanted.url)
        state = self._frontier.find(host)
        if state is None or self._frontier.is_stopped(state.slot) or until_s - now < politeness.LICENCE_S_MIN:
            return TurnLent(number, pause_s=BUSY_S)
        known = self._robots.known(state, wanted.url, now)
        if known is not None:  # a look at dear rules counts as a part of a turn
            cost = known.rules.paths.comparison_count / COMPARISONS_AT_ONCE
            if not self._allowance.spend(peer, cost, TURNS_A_MINUTE, now):
                return TurnLent(number, pause_s=AGAIN_S)
        if self._is_excluded(state, wanted.url) or (known and not known.rules.allows(wanted.url)):
            return TurnLent(number, is_refused=True)
        if known is None:
            return TurnLent(number, pause_s=ROBOTS_S)
        pause_s = self._pause_s(state, peer, now)
        if pause_s > 0.0:
            return TurnLent(number, pause_s=min(pause_s, PAUSE_S_MAX))
        if not self._allowance.spend(peer, 1.0, TURNS_A_MINUTE, now):
            return TurnLent(number, pause_s=AGAIN_S)
        seconds = min(TURN_S, until_s - now)
        return self._lend(state, peer, number, seconds, now)

    def _is_excluded(self, state: HostState, url: str) -> bool:
        """Tell whether the policy lets nobody ask for a page, or its host is left alone for its failures."""
        rules = self._clocks.policy.rules_for(url, state.address)
        reasons = [politeness.policy_reason(rule, 0) for rule in rules]
        return None not in reasons or state.record.given_up or state.leaving is not None

    def _pause_s(self, state: HostState, peer: str, now: float) -> float:
        """Return in how many seconds there is a turn, which is kept if it is near; 0.0 for now."""
        host, clocks = state.host, self._clocks
        again_s = self._had_s.get((host, peer), now - AGAIN_S) + AGAIN_S
        is_kept = now < clocks.kept_until_s.get(host, now) and self._kept.get(host) != peer
        if again_s > now or is_kept:
            return max(again_s - now, KEPT_S)
        opens_s = politeness.paused_until_s(clocks.policy.host_rule(host, state.address), now)
        own_s = politeness.ready_s(self._frontier.asked_s(state.slot), clocks.delay_s(state))
        free_s = max(state.record.next_fetch_s, own_s, opens_s)
        is_asked = host in self._asked
        if free_s <= now and not is_asked:
            return 0.0
        free_s = max(free_s, now + BUSY_S) if is_asked else free_s
        may_be_kept = now >= self._kept_s.get((host, peer), -inf) + KEPT_AGAIN_S
        if may_be_kept and free_s <= now + PAUSE_S_MAX:
            self._kept_s[host, peer], self._kept[host] = now, peer
            clocks.kept_until_s[host] = free_s + KEPT_S
            self._tidy(now)
        return free_s - now

    def _lend(self, state: HostState, peer: str, number: int, seconds: float, now: float) -> TurnLent:
        host = state.host
        self._had_s[host, peer] = now
        self._turns[host] = peer, state.slot, now + seconds
        self._kept.pop(host, None)
        self._clocks.kept_until_s.pop(host, None)
        delay_s = self._clocks.note_lent(state, seconds, now)
        self._budgets.count_questions(state.domain.name, 1)
        self.lent_count += 1
        self._tidy(now)
        return TurnLent(number, seconds, delay_s=min(delay_s, PAUSE_S_MAX))

    def _tidy(self, now: float) -> None:
        """Forget now and then the turns that are over, and those that were kept in vain."""
        if self._count() < self._count_to_tidy:
            return
        kept_until_s = self._clocks.kept_until_s
        for host in [host for host, until_s in kept_until_s.items() if until_s <= now]:
            del kept_until_s[host], self._kept[host]
        self._turns = {host: turn for host, turn in self._turns.items() if now < turn[2]}
        self._kept_s = {key: at_s for key, at_s in self._kept_s.items() if now < at_s + KEPT_AGAIN_S}
        self._had_s = {key: at_s for key, at_s in self._had_s.items() if now < at_s + AGAIN_S}
        self._count_to_tidy = max(REMEMBERED_MAX, 2 * self._count())

    def _count(self) -> int:
        return len(self._turns) + len(self._kept) + len(self._kept_s) + len(self._had_s)
