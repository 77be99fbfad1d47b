"""The watch on a run with faults: it judges every request and every commit at the moment it is made.

It sees what a web server logs, what commits leave in the tables, and which links and processes work. It
asks no peer about itself but one thing: which slots it would crawl now.

The rules
=========
*Politeness.* A host is asked when its delay has passed since the end of the request before, whoever made
that, and so is an address, whichever of its hosts was asked; a request ends with its answer, with the process
that made it, or when that has stood still for so long that it will read no answer. Clocks may run 2 % fast.

*One crawler.* While a peer asks a host, no other running peer may ask it too: nobody else holds its slot
under a licence that has not run out. Who does not reach a majority of the members, be it through others,
begins no fetch later than `MINORITY_S` after it has lost them.

*Looks.* Who looks at a page once more, by a turn that the crawler of its host has lent, is held to the same.

*Once.* A URL that was answered for good is asked again when it is due, and before only if that answer was
lost with, or locked up in, a peer to which something happened: who asks again must not have a row in its own
table, be it committed or not, that is not due by its own clock, nor may a peer that has been up and connected
for `TOLD_S` have one; and the peer that got the answer must have been disturbed between its request and
`SETTLE_S` after its answer, or some fault must have kept it from telling. Of visits that two made who knew
nothing of each other the one with the later time is the newest, whoever's clock said so: when that one is
due, so is the URL.

*Clocks.* The time at which a host may be asked never goes back in the table of a peer, but once when it was
not asked after all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Final, NamedTuple

import msgspec

from mesh.slots import slot_of
from mesh.stamp import BEFORE_ALL, Stamp
from mesh.tables.table import TableSection
from mesh.urls import fingerprint, host_of, origin_of
from peers.actors import CELL_SECTION, URL_ROWS_SECTION
from peers.crawler.frontier.keys import HOST, URL, kind_in, name_in, url_key
from peers.crawler.model.url_rows import is_new_row, row_in
from peers.storage.ledger.stored_versions import StoredVersions
from simulations.faults.doubtful_versions import DoubtfulVersions
from simulations.faults.machine import Machine
from simulations.webs.web import Served, Web

DRIFT_MAX: Final = 0.02
CLOCK_ERROR_S: Final = 1e-3
MINORITY_S: Final = 30.0
# From when a process stands still until it would read no answer any more (`SwimSettings.licence_s`).
STILL_S: Final = 2.25
TOLD_S: Final = 40.0
SETTLE_S: Final = 5.0
MEMBERS_STABLE_S: Final = 30.0  # after a member has come or gone all count the same members again
VIOLATIONS_MAX: Final = 20

# Answers after which a crawler may ask again.
_PASSING: Final = frozenset((0, 408, 425, 429, 500, 502, 503, 504))


class AnsweredRequest(NamedTuple):
    """A request that was answered for good."""

    machine: Machine
    at: float
    until: float
    body: bytes = b""
    before: AnsweredRequest | None = None  # of the same URL
    stamp: Stamp = BEFORE_ALL  # of the visit: above all that its machine knew of, and the date of the answer


class Settled(NamedTuple):
    """The entry in the table of a machine for a URL that was visited."""

    since: float  # when it came to know of that visit
    visit: tuple[int, float]  # its number and its time
    due_s: float  # by the clock of whoever looks at it


class Looked(NamedTuple):
    """A second look at a page."""

    machine: Machine
    url: str
    at: float
    served: Served


class _HostClock(msgspec.Struct):
    """The last request to a host."""

    machine: Machine
    until: float


class Watch:
    """Sees every request and every commit; notes violations of the rules."""

    def __init__(
        self,
        web: Web,
        delay_of: Callable[[str], float],
        delay_s: float,
        now: Callable[[], float],
        is_calm: Callable[[Machine | None, float, float], bool],
        tell: Callable[[str], None],
    ) -> None:
        """Begin.

        Args:
          delay_of: seconds that must pass before an origin is asked.
          delay_s: that must pass for any host.
          now: time of the world.
          is_calm: whether no fault touched a peer (None: anybody) between two times, nor has just ended.
          tell: takes the lines of the transcript.
        """
        self.machines: list[Machine] = []
        self.violations: list[str] = []
        self.doubts = DoubtfulVersions()
        self.n_requests = 0
        self.n_refetched = 0
        self.looks: list[Looked] = []  # at pages that others have visited
        self.last: dict[str, AnsweredRequest] = {}  # by URL: its last answer for good
        self.acknowledged: dict[str, dict[bytes, None]] = {}  # by URL: digests of bodies that count as stored
        self.stored: dict[str, float] = {}  # URL to when its page counted as stored for the first time
        self.findable: dict[str, float] = {}  # and from when on a majority can have it
        self.settled: dict[int, dict[bytes, Settled]] = {}  # by machine and key: URLs that were visited
        self._given_away: dict[int, dict[bytes, Settled]] = {}  # likewise: of slots that others have by now
        self._urls: dict[bytes, str] = {}
        self._web = web
        self._delay_of = delay_of
        self._delay_s = delay_s
        self._now = now
        self._is_calm = is_calm
        self._tell = tell
        self._hosts: dict[str, _HostClock] = {}
        self._addresses: dict[str, _HostClock] = {}  # of machines with several hosts
        self._unasked: set[tuple[int, str]] = set()  # machine and host that it has not asked after all
        self._clocks: dict[int, dict[bytes, float]] = {}
        self._isolated_since: dict[int, float] = {}
        self._untold: dict[int, tuple[float, float]] = {}  # since when, and until when it may not know
        self._stored_apart: dict[int, list[str]] = {}  # by machine: what it stored while it was isolated
        self._members_changed_s = -inf

    def is_of_liar(self, url: str) -> bool:
        """Was a page last asked for by the liar? Until it does no more, it may keep that page to itself."""
        last, liar = self.last.get(url), self.doubts.liar
        return liar is not None and last is not None and last.machine is liar

    def is_to_be_asked(self, machine: Machine, within_s: float) -> bool:
        """Is anything that was visited not due yet in the table of a machine, and will be in a while?"""
        now = machine.local_time()
        return any(now < known.due_s <= now + within_s for known in self.settled[machine.number].values())

    # --- What happens ---

    def add(self, machine: Machine) -> None:
        """Watch a machine from now on."""
        self.machines.append(machine)
        self.settled[machine.number], self._clocks[machine.number] = {}, {}
        self._given_away[machine.number] = {}
        machine.disk.table.on_commit = lambda before: self._committed(machine, before)

    def requested(self, machine: Machine, url: str, served: Served) -> None:
        """Judge a request that is made now."""
        now, host = self._now(), host_of(url)
        self._tell(f"{machine.name} asks {url}: {served.status or served.failure} in {served.seconds:.2f} s")
        self._judge_request(machine, url, served, now)
        self._judge_alone(machine, url, host)
        if url.endswith("/robots.txt") or served.status in _PASSING:
            return
        self._urls[fingerprint(url)] = url
        self.doubts.requested(machine, url, served, now)
        before = self.last.get(url)
        stamp = self._stamp_now(machine, url)
        self.last[url] = AnsweredRequest(machine, now, now + served.seconds, served.body, before, stamp)
        if before is not None:
            self._judge_repetition(machine, url, before, now)

    def asked_for_proof(self, machine: Machine, url: str, served: Served) -> None:
        """Judge a look for the proof of a submitted site: it is asked like a page, and is none."""
        now, host = self._now(), host_of(url)
        self._tell(f"{machine.name} looks for a proof at {url}: {served.status or served.failure}")
        self._judge_request(machine, url, served, now)
        self._judge_alone(machine, url, host)

    def looked(self, machine: Machine, url: str, served: Served) -> None:
        """Judge a second look at a page, by a turn that the peer must have lent that crawls the host."""
        now, host = self._now(), host_of(url)
        self.looks.append(Looked(machine, url, now, served))
        self._tell(f"{machine.name} looks at {url}: {served.status or served.failure}")
        self._judge_request(machine, url, served, now)
        for other in self.machines:
            is_crawler = other is not machine and other.is_running and other.would_crawl(host)
            if is_crawler and not other.has_lent(host, machine.peer):
                self.violate(f"{machine.name} looked at {url} without a turn of {other.name}")

    def _judge_request(self, machine: Machine, url: str, served: Served, now: float) -> None:
        """Judge that a host is asked now, be it for a visit or a second look."""
        host = host_of(url)
        self.n_requests += 1
        # Who asks for the rules of a host may not know the delay that they want.
        delay_s = self._delay_s if url.endswith("/robots.txt") else self._delay_of(origin_of(url))
        self._judge_politeness(machine, url, self._hosts.get(host), delay_s, now)
        if served.ip:
            self._judge_politeness(machine, url, self._addresses.get(served.ip), self._delay_s, now)
            self._addresses[served.ip] = _HostClock(machine, now + served.seconds)
        self._judge_majority(machine, url, now)
        if self._web.is_forbidden(url):
            self.violate(f"{machine.name} asked {url}, which robots.txt forbids")
        self._hosts[host] = _HostClock(machine, now + served.seconds)

    def _judge_alone(self, machine: Machine, url: str, host: str) -> None:
        for other in self.machines:
            if other is not machine and other.is_running and other.would_crawl(host):
                self.violate(f"{machine.name} asked {url}, which {other.name} holds too")

    def ended(self, machine: Machine) -> None:
        """A machine's process has ended, and with it the requests that were under way."""
        self._end_requests(machine, self._now())

    def _end_requests(self, machine: Machine, now: float) -> None:
        for clock in (*self._hosts.values(), *self._addresses.values()):
            if clock.machine is machine:
                clock.until = min(clock.until, now)

    def unasked(self, machine: Machine, url: str) -> None:
        """It has not asked a host after all, as it was not the turn of its address."""
        self._unasked.add((machine.number, host_of(url)))

    def abandoned(self, machine: Machine) -> None:
        """It has broken off all requests, so none of them was answered."""
        now = self._now()
        self.ended(machine)
        for url, asked in list(self.last.items()):
            if asked.machine is not machine or asked.until <= now:
                continue
            del self.last[url]
            if asked.before is not None:
                self.last[url] = asked.before

    def wiped(self, machine: Machine) -> None:
        """Its disk is empty."""
        self.settled[machine.number].clear()
        self._given_away[machine.number].clear()
        self._clocks[machine.number].clear()

    def members_changed(self) -> None:
        self._members_changed_s = self._now()

    def links_changed(self, passes: Callable[[Machine, Machine], bool]) -> None:
        """Note the members that do not reach a majority from now on, and back, be it through others."""
        now = self._now()
        members = [machine for machine in self.machines if machine.has_lived and not machine.is_gone]
        smallest = min((machine.peer for machine in members), default="")
        for machine in members:
            there = _reached(machine, members, passes)
            back = _reached(machine, members, lambda source, target: passes(target, source))
            reached = there & back
            twice = 2 * len(reached)
            has_tie = twice == len(members) and any(other.peer == smallest for other in reached)
            if machine.is_running and (twice > len(members) or has_tie):
                self._note_return(machine, now)
                for url in self._stored_apart.pop(machine.number, ()):
                    self.findable[url] = now + TOLD_S
            else:
                self._isolated_since.setdefault(machine.number, now)

    def _note_return(self, machine: Machine, now: float) -> None:
        since = self._isolated_since.pop(machine.number, None)
        if since is None:
            return
        before, told_s = self._untold.get(machine.number, (inf, -inf))
        self._untold[machine.number] = (min(since, before) if since < told_s else since, now + TOLD_S)

    def may_know(self, machine: Machine, at_s: float) -> bool:
        """Can it have been told of pages that others have stored since then?

        Not while it is cut off from a majority, nor before it has been told what it missed.
        """
        since, told_s = self._untold.get(machine.number, (inf, -inf))
        isolated_since = self._isolated_since.get(machine.number, inf)
        is_untold = min(self._now(), isolated_since) < told_s
        return at_s < (min(since, isolated_since) if is_untold else isolated_since)

    def goes_on(self, machine: Machine) -> None:
        """It stood still until now: if for long, it will read no answers to its earlier requests."""
        unread_s = machine.changed_s + STILL_S
        if unread_s < self._now():
            self._end_requests(machine, unread_s)

    def lies_end(self, is_there: Callable[[str, bytes], bool]) -> None:
        """From now on nobody lies; versions that only the liar has read count if they are on a disk by now.

        Args:
          is_there: whether the version of a page with this digest is on the disk of any peer.
        """
        self.doubts.lies_until_s = self._now()
        for version in self.doubts.confirm(is_there):
            self._note_stored(*version)

    def violate(self, sentence: str) -> None:
        """Note that something is that must not be."""
        self._tell(f"VIOLATION {sentence}")
        if len(self.violations) < VIOLATIONS_MAX:
            self.violations.append(sentence)

    # --- Requests ---

    def _judge_politeness(
        self, machine: Machine, url: str, last: _HostClock | None, delay_s: float, now: float
    ) -> None:
        """Judge a request to a host, or to an address, after the last request to it."""
        if last is None:
            return
        if not last.machine.is_running:
            self._end_requests(last.machine, last.machine.changed_s + STILL_S)
        free_at = last.until + delay_s / (1 + DRIFT_MAX) - CLOCK_ERROR_S
        if now < free_at:
            self.violate(
                f"{machine.name} asked {url} {free_at - now:.3f} s too early, after {last.machine.name}"
            )

    def _judge_majority(self, machine: Machine, url: str, now: float) -> None:
        since = self._isolated_since.get(machine.number)
        is_clear = now > self._members_changed_s + MEMBERS_STABLE_S
        if since is not None and is_clear and now > since + MINORITY_S:
            self.violate(f"{machine.name} asked {url} {now - since:.1f} s after it had lost the majority")

    def _judge_repetition(self, machine: Machine, url: str, before: AnsweredRequest, now: float) -> None:
        key = fingerprint(url)
        own = self._known_now(machine, url, key)
        if own is not None and machine.local_time() < own.due_s:
            early_s = own.due_s - machine.local_time()
            self.violate(
                f"{machine.name} asked {url} again {early_s:.1f} s before it is due in its own table"
            )
            return
        if own is not None and own.since >= before.until:
            return  # it knows of the visit before, and the next one is due
        self.n_refetched += 1
        is_calm = self._is_calm(None, now - TOLD_S, now)
        for other in self.machines:
            known = self.settled[other.number].get(key)
            if known is not None and own is not None and own.visit >= known.visit:
                continue  # by the order of visits its own is the newest, and due by its own clock
            if known is None or not other.is_running or other.local_time() >= known.due_s:
                continue
            if is_calm and max(known.since, other.changed_s) < now - TOLD_S:
                self.violate(f"{machine.name} asked {url} again, though {other.name} knows it is not due")
                return
        asker = before.machine
        if asker is self.doubts.liar:
            return  # its links and pages may not have been taken from it, and it may have said nothing
        entry = self.settled[asker.number].get(key) or self._given_away[asker.number].get(key)
        if own is not None and entry is not None and entry.since > before.at and own.visit >= entry.visit:
            return  # two were cut off from each other; by the order of visits its own is the newest, and due
        since = entry.since if entry is not None and entry.since > before.at else before.until
        if self._is_calm(asker, before.at, now):
            self.violate(f"{machine.name} asked {url} again, though nothing happened to {asker.name}")
        elif self._is_calm(None, before.at, since + SETTLE_S) and since + SETTLE_S < now:
            self.violate(
                f"{machine.name} asked {url} again, which {asker.name} had {SETTLE_S:g} s in peace to tell"
            )

    def _known_now(self, machine: Machine, url: str, key: bytes) -> Settled | None:
        """The entry in the table of a machine for a URL, be it committed or not: it goes by that."""
        slot = slot_of(host_of(url), machine.config.slot_count)
        row = machine.disk.table.get(URL_ROWS_SECTION + url_key(slot, key))
        if row is None or is_new_row(row):
            return self.settled[machine.number].get(key)
        return self._settled_by(machine, key, row)

    def _stamp_now(self, machine: Machine, url: str) -> Stamp:
        """Return the stamp of a visit that a machine makes now: its table says how many it knows of."""
        known = self._known_now(machine, url, fingerprint(url))
        slot = slot_of(host_of(url), machine.config.slot_count)
        newest = StoredVersions(TableSection(machine.disk.table, CELL_SECTION)).newest(slot, url)
        visits = 0 if known is None else known.visit[0], 0 if newest is None else newest.visit
        return Stamp(max(visits) + 1, machine.wall_time())

    # --- Commits ---

    def _committed(self, machine: Machine, before: Mapping[bytes, bytes | None]) -> None:
        table = machine.disk.table
        for key in before:
            if not key.startswith(URL_ROWS_SECTION) or len(key) < 6:
                continue
            value = table.get(key)
            row_key = key.removeprefix(URL_ROWS_SECTION)
            if kind_in(row_key) == URL:
                self._note_url(machine, name_in(row_key), value)
            elif kind_in(row_key) == HOST:
                self._note_clock(machine, key, value, was_deleted=key in table.deleted)

    def _note_url(self, machine: Machine, key: bytes, value: bytes | None) -> None:
        settled = self.settled[machine.number]
        if value is None or is_new_row(value):
            gone = settled.pop(key, None)
            if gone is not None:
                self._given_away[machine.number][key] = gone
            return
        settled[key] = self._settled_by(machine, key, value)
        row = row_in(value)
        url = self._urls.get(key)
        if url is not None and row.is_stored and not self.doubts.is_doubtful(machine, url, row.digest):
            self._note_stored(machine, url, row.digest)

    def _settled_by(self, machine: Machine, key: bytes, value: bytes) -> Settled:
        """The visit in a row, and the time since when the machine has known of it."""
        row = row_in(value)
        known = self.settled[machine.number].get(key)
        visit = row.visit, row.visited_s
        since = known.since if known is not None and known.visit == visit else self._now()
        return Settled(since, visit, row.due_s)

    def _note_stored(self, machine: Machine, url: str, digest: bytes) -> None:
        self.acknowledged.setdefault(url, {})[digest] = None
        if url not in self.stored:
            self.stored[url] = self.findable[url] = self._now()
            if machine.number in self._isolated_since:
                self.findable[url] = inf
                self._stored_apart.setdefault(machine.number, []).append(url)
            self._tell(f"{machine.name} has stored {url}")

    def _note_clock(self, machine: Machine, key: bytes, value: bytes | None, *, was_deleted: bool) -> None:
        clocks = self._clocks[machine.number]
        if was_deleted:  # the slot was handed over, and may be filled again by now
            clocks.pop(key, None)
        if value is None:
            return
        record = _decode(value)
        next_fetch_s = record[1]
        is_early = next_fetch_s < clocks.get(key, -inf) - CLOCK_ERROR_S
        if is_early and (machine.number, record[0]) in self._unasked:
            self._unasked.discard((machine.number, record[0]))
        elif is_early:
            self.violate(f"the clock of {record[0]} at {machine.name} went back to {next_fetch_s:.3f}")
        clocks[key] = next_fetch_s


_decode = msgspec.msgpack.Decoder().decode


def _reached(
    start: Machine, members: Sequence[Machine], passes: Callable[[Machine, Machine], bool]
) -> set[Machine]:
    """Return all members that a message from `start` gets to if each passes it on, `start` included."""
    reached, waiting = {start}, [start]
    for source in waiting:
        new = [target for target in members if target not in reached and passes(source, target)]
        reached.update(new)
        waiting += new
    return reached
