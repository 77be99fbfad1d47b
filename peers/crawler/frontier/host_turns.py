"""Which host may be asked next.

Turns go by registrable domains, and within a domain by hosts. Who owns a domain can have as many host names
as they like, each of them new, for nothing; so a wildcard domain with a million hosts that may be asked gets
no more turns than a site of one, and no more than some of the fetches under way, however slow its servers
are. What others leave it may have.

Domains that may be asked take turns one after the other; those of which no page has been asked so far get
every second one if there are any, so that new sites are found early and no number of them keeps the known
ones waiting for long. Within a domain those hosts come first of which no page has been asked, so that every
host gives one page before any gives its second, as in WebCrawler (Pinkerton 1994).

A domain waits as a whole for what its pages cost the parser, see `parsing_costs`, and while the parser has
many of them.

So it is in each *lane*. Breadth-first there is one; by other orders a domain waits in that of its next page
(`orders.lane_of`), and who is in a lower one goes first, but for the turns that are at random.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Set
from heapq import heapify, heappop, heappush
from math import inf

from xxhash import xxh3_64_intdigest

from mesh.domains import registrable_domain
from peers.crawler.frontier.host_state import DomainState, HostState
from peers.crawler.frontier.order_in_force import OrderInForce
from peers.crawler.frontier.orders import is_random_turn


class Lane:
    """Domains with hosts that may be asked now and less than the most of them out, in their order."""

    def __init__(self) -> None:
        self._new: deque[DomainState] = deque()  # no page of them has been asked so far
        self._known: deque[DomainState] = deque()
        self._is_turn_of_new = True  # if there are both

    def __bool__(self) -> bool:
        return bool(self._new or self._known)

    def add(self, domain: DomainState) -> None:
        (self._known if domain.was_asked else self._new).append(domain)

    def take(self) -> DomainState:
        is_new = self._is_turn_of_new if self._known else True
        domains = self._new if is_new and self._new else self._known
        self._is_turn_of_new = domains is self._known
        return domains.popleft()

    def tidy(self) -> None:
        """Let domains go that have no hosts left."""
        self._new, self._known = self._still_ready(self._new), self._still_ready(self._known)

    @staticmethod
    def _still_ready(domains: deque[DomainState]) -> deque[DomainState]:
        for domain in domains:
            domain.is_in_turn = domain.is_ready
        return deque(domain for domain in domains if domain.is_ready)


class HostTurns:
    """The hosts that have something to come: by the time of their turn, or ready for it."""

    def __init__(self, hosts_out_max: int, order: OrderInForce) -> None:
        """Begin without hosts.

        Args:
          hosts_out_max: of one domain that are asked at a time; may be replaced.
        """
        self.hosts_out_max = hosts_out_max
        self._order = order
        self.stopped: set[int] = set()  # slots of which no host is given out
        self._waiting: list[tuple[float, int, HostState]] = []  # heap by time of the next turn, and ticket
        self._tickets = 0
        self._stale_count = 0  # entries of hosts that were let go, at most
        self._domains: dict[str, DomainState] = {}  # of the hosts in memory
        # Domains with hosts that are parked, of whose others some may have come to rest.
        self.crowded: dict[str, DomainState] = {}
        self._lanes: dict[int, Lane] = {}  # by number
        self._turn_count = 0

    def domain_of(self, host: str) -> DomainState:
        """Return the domain of a host that comes into memory."""
        name = registrable_domain(host)
        domain = self._domains.get(name)
        if domain is None:
            domain = self._domains[name] = DomainState(name)
        return domain

    def next_time(self) -> float:
        """When a host may be asked next, mesh clock; -inf when one may now, inf when none ever."""
        if any(self._lanes.values()) or self.crowded:
            return -inf
        return self._waiting[0][0] if self._waiting else inf

    def take(self, now: float) -> HostState | None:
        """Return a host that may be asked now and has something due; it stays busy until it is released."""
        while self._waiting and self._waiting[0][0] <= now:
            _, ticket, state = heappop(self._waiting)
            if ticket == state.ticket:
                state.ticket = 0
                self._let_be_asked(state)
        while any(self._lanes.values()):
            domain = self._next_domain()
            if domain.is_full(self.hosts_out_max):
                continue
            state = domain.next_host()
            if max(state.due_s(), domain.not_before_s) <= now:
                domain.out_count += 1
                self._queue(domain)
                return state
            self._queue(domain)
            state.is_busy = False  # its clock, or its domain's, was put forward meanwhile, or nothing is left
            self.schedule(state, now)
        return None

    def release(self, state: HostState, now: float) -> None:
        """Take back a host that was given out, and give it its next turn."""
        domain = state.domain
        domain.out_count -= 1
        domain.was_asked = domain.was_asked or state.record.fetched > 0
        state.is_busy = False
        self._queue(domain)
        self.schedule(state, now)

    def note_parsed(self, domain: DomainState) -> None:
        """Take in that the parser is done with a page of a domain."""
        domain.unparsed_count -= 1
        self._queue(domain)

    def schedule(self, state: HostState, now: float) -> None:
        """Give a host its turn, or an earlier one, if something is to come of it."""
        if state.is_busy and not state.ticket:
            return  # it has its turn now
        at_s = max(state.due_s(), state.domain.not_before_s)
        if at_s == inf or state.slot in self.stopped:
            return
        if state.is_busy:
            if at_s < state.turn_s:  # something new is due sooner than what it waits for
                self._wait(state, at_s)
            return
        state.is_busy = True
        if at_s <= now:
            self._let_be_asked(state)
        else:
            self._wait(state, at_s)

    def stop(self, slots: Set[int]) -> None:
        """Give out no more hosts of slots."""
        self.stopped |= slots
        self._remove(slots)

    def drop(self, slots: Set[int]) -> None:
        """Forget the hosts of slots."""
        self.stopped -= slots
        self._remove(slots)

    def forget(self, state: HostState) -> None:
        """Let a host go from memory that has no turn, or waits for one."""
        if state.ticket:
            state.ticket, state.is_busy = 0, False
            self._stale_count += 1
            if 2 * self._stale_count > len(self._waiting):
                self._waiting = [entry for entry in self._waiting if entry[1] == entry[2].ticket]
                heapify(self._waiting)
                self._stale_count = 0
        state.domain.resting.pop(state, None)
        state.domain.host_count -= 1
        self.tidy(state.domain)

    def tidy(self, domain: DomainState) -> None:
        """Let a domain go from memory of which there is no host there, and none waits for a place."""
        if not (domain.host_count or domain.parked or domain.later):
            self._domains.pop(domain.name, None)

    def let_rest(self, state: HostState) -> None:
        """Note that a host may be waiting for long, and its place be wanted."""
        state.domain.let_rest(state)
        self.note_crowded(state.domain)

    def note_crowded(self, domain: DomainState) -> None:
        """Have it looked whether a domain has places for hosts that are parked."""
        if domain.parked:
            self.crowded[domain.name] = domain

    def _wait(self, state: HostState, at_s: float) -> None:
        self._tickets += 1
        state.ticket, state.turn_s = self._tickets, at_s
        heappush(self._waiting, (at_s, self._tickets, state))
        self.let_rest(state)

    def _let_be_asked(self, state: HostState) -> None:
        state.domain.add(state)
        self._queue(state.domain)

    def _queue(self, domain: DomainState) -> None:
        """Give a domain its turn, behind the others, if it may have one."""
        if domain.is_in_turn or not domain.is_ready or domain.is_full(self.hosts_out_max):
            return
        domain.is_in_turn = True
        number = self._order.lane_of(domain.first_rank)
        lane = self._lanes.get(number)
        if lane is None:
            lane = self._lanes[number] = Lane()
        lane.add(domain)

    def _next_domain(self) -> DomainState:
        domain = self._next_lane().take()
        domain.is_in_turn = False
        return domain

    def _next_lane(self) -> Lane:
        """The lowest of those that have any domains; at random turns any of them."""
        numbers = sorted(number for number, lane in self._lanes.items() if lane)
        self._turn_count += 1
        place = 0
        if len(numbers) > 1 and is_random_turn(self._turn_count, self._order.random_turns):
            place = xxh3_64_intdigest(self._turn_count.to_bytes(8, "big")) % len(numbers)
        return self._lanes[numbers[place]]

    def _remove(self, slots: Set[int]) -> None:
        """Take the hosts of some slots out of those that wait for being asked."""
        if not slots:
            return
        waiting = [entry for entry in self._waiting if entry[1] == entry[2].ticket]
        self._waiting, self._stale_count = [], 0
        for entry in waiting:
            if entry[2].slot in slots:
                entry[2].is_busy = False
                entry[2].ticket = 0
            else:
                self._waiting.append(entry)
        heapify(self._waiting)
        for domain in self._domains.values():
            for state in domain.take_out(slots):
                state.is_busy = False
        for lane in self._lanes.values():
            lane.tidy()
