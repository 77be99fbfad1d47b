"""A host in memory: its clock, its rules, and the beginning of its queue; and its registrable domain."""

from __future__ import annotations

from collections import deque
from collections.abc import Set
from heapq import heapify, heappush
from math import inf
from typing import Final, NamedTuple

from peers.crawler.frontier.keys import due_s_in, is_new, rank_in
from peers.crawler.frontier.traps import PatternBudgets
from peers.crawler.model.politeness import HostRecord
from peers.crawler.model.robots import RobotsRules

# Pages of a domain that the parser has at a time: what an ordinary host gives while a process is busy for as
# long as a page may take; before any page has told what they cost; and since one has ended a process.
UNPARSED_MAX: Final = 64
UNKNOWN_UNPARSED_MAX: Final = 8
SUSPECT_UNPARSED_MAX: Final = 1
COMPLETE: Final = None  # a window bound: nothing is in the table that is not in the window


class OriginRules(NamedTuple):
    """The robots.txt rules of an origin, held in memory."""

    status: int  # of the answer to a question for its robots.txt; 0 when there was none
    expires_s: float  # mesh clock
    rules: RobotsRules


class HostState:
    """A host in memory. `record` is the part that survives a restart; the rest follows from the table."""

    __slots__ = (
        "address",
        "address_s",
        "again_owed",
        "again_s",
        "bound",
        "domain",
        "has_unread",
        "hash",
        "is_busy",
        "leaving",
        "not_before_s",
        "origins",
        "out_count",
        "queued",
        "record",
        "slot",
        "ticket",
        "traps",
        "turn_s",
        "window",
        "window_urls",
    )

    def __init__(
        self, slot: int, record: HostRecord, digest: bytes, domain: DomainState, window_urls: int
    ) -> None:
        self.domain = domain
        self.window_urls = window_urls  # entries in the window, at most twice as many
        self.slot = slot
        self.record = record
        self.hash = digest
        # By origin that was asked for its robots.txt; read from the table when first needed.
        self.origins: dict[str, OriginRules] | None = None
        self.has_unread = False  # some of these have to be read by the parser first
        self.queued = 0  # new URLs
        self.out_count = 0  # URLs that were taken, and are not settled
        self.again_s = inf  # nothing that was visited is due before; what is may be later
        self.address = ""  # where it was found last, "" when it was not in this life
        self.address_s = -inf  # when that was
        self.not_before_s = 0.0  # by the policy of now: another one may want it sooner
        self.again_owed = 0.0  # turns that are theirs, if there are both
        self.traps: PatternBudgets | None = None  # read from the table when first needed
        # Up to which key of its queue pages were looked at that are to be shown no more, as it is lost; None
        # when they are not.
        self.leaving: bytes | None = None
        self.is_busy = False  # it stands in the heap or among the ready, or is taken
        self.ticket = 0  # of its valid entry in the heap; 0 when it has none
        self.turn_s = inf  # the time of that
        # A heap of all keys of new URLs below the bound that are not taken; the bound is COMPLETE when there
        # are no others.
        self.window: list[tuple[bytes, str, int]] = []
        self.bound: bytes | None = COMPLETE

    @property
    def host(self) -> str:
        return self.record.host

    def due_s(self) -> float:
        """When the host is to be asked next: when its clock allows it and something is due; inf for never."""
        ready_s = max(self.record.next_fetch_s, self.not_before_s)
        has_new = bool(self.window) or self.bound is not COMPLETE
        return ready_s if has_new or self.leaving is not None else max(ready_s, self.again_s)

    @property
    def first_rank(self) -> int:
        """The rank of its next new URL; 0 when there is none."""
        first = self.window[0][0] if self.window else self.bound
        return 0 if first is None else rank_in(first)

    @property
    def is_at_rest(self) -> bool:
        """Is nobody concerned with it, nor will be before the end of its turn in the heap, if it has one?"""
        return not self.out_count and (not self.is_busy or self.ticket > 0)

    def push(self, key: bytes, url: str, hops: int) -> None:
        """Put a queue entry into the window if it belongs there."""
        if not is_new(key):
            self.again_s = min(self.again_s, due_s_in(key))
        else:
            self.push_new(key, url, hops)

    def push_new(self, key: bytes, url: str, hops: int) -> None:
        """Put the queue entry of a new URL into the window if it belongs there."""
        if self.bound is COMPLETE or key < self.bound:
            heappush(self.window, (key, url, hops))
            if len(self.window) > 2 * self.window_urls:
                self.window.sort()
                self.bound = self.window[self.window_urls][0]
                del self.window[self.window_urls :]

    def pull(self, key: bytes) -> None:
        """Take a queue entry out of the window if it is there."""
        window = self.window
        for number, entry in enumerate(window):
            if entry[0] == key:
                window[number] = window[-1]
                window.pop()
                heapify(window)
                return


class DomainState:
    """The hosts of one registrable domain that are in memory, as far as their turns go."""

    __slots__ = (
        "exhausted_count",
        "host_count",
        "is_cost_known",
        "is_in_turn",
        "is_ordinary",
        "known",
        "later",
        "name",
        "new",
        "not_before_s",
        "out_count",
        "parked",
        "resting",
        "unparsed_count",
        "was_asked",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.host_count = 0  # in memory
        self.out_count = 0  # of these, given out to be asked and not given back
        self.was_asked = False  # for a page, at one host or another
        self.is_in_turn = False  # it stands in the queue of domains
        self.unparsed_count = 0  # pages that the parser has
        # What follows is for `parsing_costs` to say; part of it is read from the table when first needed.
        self.not_before_s = -inf  # it waits until then, for what its pages have cost the parser
        self.exhausted_count = 0  # how often it has waited since one of them has ended a process
        self.is_cost_known = False
        self.is_ordinary = False  # the last page of it that was taken apart was not dear
        # Hosts in memory that may be waiting for long, or for ever, those that began first before the others:
        # they make room. Some have been asked for more since.
        self.resting: dict[HostState, None] = {}
        # Slots with hosts that have something to come and are in the table only: those that are looked
        # through for one that is due, in this order, after which hash; and when to look through the others.
        self.parked: dict[int, bytes] = {}
        self.later: dict[int, float] = {}
        # Hosts that may be asked now; of the first no page has been asked so far.
        self.new: deque[HostState] = deque()
        self.known: deque[HostState] = deque()

    @property
    def is_ready(self) -> bool:
        """May a host of it be asked now, as far as that host is concerned?"""
        return bool(self.new or self.known)

    def is_full(self, hosts_out_max: int) -> bool:
        """Have fetcher and parser as much of it as they may have?

        What a page costs the parser is known late; by then each one there may have been made to cost as much.
        """
        unparsed_max = UNPARSED_MAX if self.is_ordinary else UNKNOWN_UNPARSED_MAX
        if self.exhausted_count:
            unparsed_max = SUSPECT_UNPARSED_MAX
        return self.out_count >= hosts_out_max or self.unparsed_count >= unparsed_max

    def let_rest(self, state: HostState) -> None:
        """Let a host be the last of those that make room, if they do not wait for something soon."""
        self.resting.pop(state, None)
        self.resting[state] = None

    def add(self, state: HostState) -> None:
        """Let a host be among those that may be asked now."""
        (self.known if state.record.fetched else self.new).append(state)

    @property
    def first_rank(self) -> int:
        """The rank of the next page of its next host."""
        return (self.new or self.known)[0].first_rank

    def next_host(self) -> HostState:
        """Take out a host: one of which no page has been asked if there is any."""
        return (self.new or self.known).popleft()

    def take_out(self, slots: Set[int]) -> list[HostState]:
        """Take the hosts of some slots out of those that may be asked now; return them."""
        gone = [state for state in (*self.new, *self.known) if state.slot in slots]
        if gone:
            self.new = deque(state for state in self.new if state.slot not in slots)
            self.known = deque(state for state in self.known if state.slot not in slots)
        return gone
