"""Links: each goes to the peer that crawls its host, once, and is safe there before anything is promised.

Links to pages of other peers wait in the outbox until their owner has promised to keep them. Who sends us
links gets its promise when the living team has ours too, and the owners of those that we pass on have
accepted them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import inf
from typing import Final

from mesh.actor import Address, Send
from mesh.ownership import Ownership
from mesh.urls import canonical, host_of, looks_like_trap
from peers.crawler.frontier import Frontier
from peers.crawler.outbox import RESEND_S, Batch, Outbox
from peers.crawler.settings import CrawlSettings, Tuning
from peers.crawler.wire_messages import FoundLink, LinksAccepted, LinksFound, LinkUse
from peers.engine.linkers import entries_of
from peers.handover.mirror import Mirror, Pledge
from peers.policy.rules import EVERYTHING, Policy

FLUSH_S: Final = 0.05  # links to other peers wait this long for company
HOSTS_REMEMBERED: Final = 1 << 16  # hosts whose slot and owner are cached
QUIET_S: Final = 2.0  # without pages of files, until link texts go to the index at once


class Links:
    """Links on their way from the page that has them to the frontier of their owner."""

    def __init__(
        self,
        me: str,
        actor: str,
        frontier: Frontier,
        outbox: Outbox,
        mirror: Mirror,
        settings: CrawlSettings,
        tuning: Tuning,
    ) -> None:
        """Begin without knowing the mesh; `actor` is who takes links in at every peer."""
        self._settings = settings
        self._tuning = tuning
        self._me = me
        self._actor = actor
        self._frontier = frontier
        self._outbox = outbox
        self._mirror = mirror
        self._ownership: Ownership | None = None
        self._has_owners = False  # does anybody own slots? all are owned or none is
        self._places: dict[str, tuple[int, str]] = {}  # cache by host: its slot, and who crawls it
        self._unsent: dict[str, list[FoundLink]] = defaultdict(list)  # by owner
        self._accepting: set[tuple[Address, int]] = set()  # batches of links that we have yet to promise
        self._remembered: set[tuple[str, str, str]] = set()
        self._remembered_before: set[tuple[str, str, str]] = set()
        self.flush_at_s = inf  # when `pack` is to be called
        self.quiet_s = -inf  # pages of files come in until then
        self._policy = EVERYTHING
        self.sent_count = self.received_count = self.refused_count = self.left_out_count = 0

    def change_settings(self, settings: CrawlSettings) -> None:
        self._settings = settings
        self._outbox.links_max = settings.outbox_links_max

    def change_policy(self, policy: Policy) -> None:
        """Queue from now on what the owner of the mesh wants."""
        self._policy = policy

    def change_ownership(self, ownership: Ownership, now: float) -> None:
        """Go by new owners; what waits for who is not alive any more is due at once."""
        self._ownership = ownership
        self._has_owners = ownership.owner_of(0) is not None
        self._places.clear()
        self._outbox.hasten(ownership.alive, now)

    @property
    def has_owners(self) -> bool:
        """Does anybody own slots?"""
        return self._has_owners

    @property
    def waiting_count(self) -> int:
        """Links that no other peer has accepted so far."""
        return self._outbox.link_count + sum(map(len, self._unsent.values()))

    @property
    def is_full(self) -> bool:
        """Do other peers leave us with more links than we want to wait with?"""
        return self._outbox.is_full

    @property
    def is_idle(self) -> bool:
        return not (self._unsent or self._outbox.batch_count)

    # --- from our pages ---

    def route(self, links: Iterable[FoundLink], now: float) -> None:
        """Bring links of a page of ours to the peers that own their hosts, if that was not done just now."""
        for link in links:
            if not self._is_new(link):
                continue
            host = host_of(link.url)
            slot, owner = self.place_of(host)
            if owner == self._me:
                self._add(link, host, slot, now)
            else:
                self._unsent[owner].append(link)
                self.flush_at_s = min(self.flush_at_s, now + FLUSH_S)

    def pack(self, now: float) -> list[int]:
        """Put what has gathered for others into the outbox; return the numbers of the batches."""
        batches = [
            batch for peer, links in self._unsent.items() for batch in self._outbox.add(peer, links, now)
        ]
        self.sent_count += sum(map(len, self._unsent.values()))
        self._unsent.clear()
        self.flush_at_s = inf
        return batches

    def pledge_pages(self, batches: Iterable[int], keys: tuple[bytes, ...]) -> None:
        """Have others hear of these rows once these batches are accepted and the team has everything else."""
        self._mirror.pledge(Pledge(set(batches), keys=keys))

    def _is_new(self, link: FoundLink) -> bool:
        """Tell whether a link is to be brought to its owner: not if that was done a moment ago."""
        key = (link.url, link.anchor, link.linker)
        if key in self._remembered or key in self._remembered_before or looks_like_trap(link.url):
            return False
        self._remembered.add(key)
        if len(self._remembered) >= self._tuning.links_remembered:
            self._remembered_before, self._remembered = self._remembered, set()
        return True

    # --- from other peers ---

    def take_in(self, source: Address, batch: int, links: tuple[FoundLink, ...], now: float) -> list[Send]:
        """Take in links for our slots and pass on those of others.

        We promise to keep them when the living team has ours, and their owners have accepted the others.
        """
        if not self._has_owners:
            return []  # the sender repeats them
        depth_max = self._settings.depth_max
        wanted = [link for link in links if canonical(link.url) == link.url and link.depth <= depth_max]
        if (source, batch) in self._accepting or self._is_too_much(wanted):
            return []
        self.received_count += len(links)
        self.refused_count += len(links) - len(wanted)
        # What is for others goes out after a pause: two peers whose tables differ must not throw links at
        # each other as fast as they can.
        passed_on = self._keep(wanted, now, hold_off_s=RESEND_S)
        promise = Send(source, LinksAccepted(batch))
        if not passed_on and self._frontier.changes is None:
            return [promise]
        self._accepting.add((source, batch))
        self._mirror.pledge(Pledge(set(passed_on), (promise,)))
        return []

    def note_promise(self, to: Address, batch: int) -> None:
        """The promise for a batch is given: if it comes again, it is promised again."""
        self._accepting.discard((to, batch))

    def accepted(self, peer: str, batch: int, now: float) -> list[Pledge]:
        """Another peer has promised to keep a batch; return what may be redeemed for that."""
        return self._mirror.accepted(batch) if self._outbox.accepted(batch, peer, now) else []

    def _is_too_much(self, links: list[FoundLink]) -> bool:
        """Should we keep links for others, and already wait with so many that they are to wait elsewhere?"""
        if len(self._accepting) < self._tuning.accepting_max and not self._outbox.is_full:
            return False
        return any(self.place_of(host_of(link.url))[1] != self._me for link in links)

    def _keep(self, links: Iterable[FoundLink], now: float, *, hold_off_s: float = 0.0) -> list[int]:
        """Put links into the table at once: ours into the frontier, those of others into batches."""
        elsewhere: dict[str, list[FoundLink]] = defaultdict(list)
        for link in links:
            host = host_of(link.url)
            slot, owner = self.place_of(host)
            if owner == self._me:
                self._add(link, host, slot, now)
            else:
                elsewhere[owner].append(link)
        return [
            batch
            for peer, theirs in elsewhere.items()
            for batch in self._outbox.add(peer, theirs, now, hold_off_s=hold_off_s)
        ]

    def _add(self, link: FoundLink, host: str, slot: int, now: float) -> None:
        if link.use is LinkUse.FETCH:
            if self._policy.has_room_for(link.url, link.depth):
                self._frontier.add(link.url, host, slot, link.depth, link.hops, now)
            else:
                self.left_out_count += 1
        elif link.use is LinkUse.STORED:
            self._frontier.add_stored(link.url, slot)
            self.quiet_s = now + QUIET_S
        if entries := entries_of(link.anchor, link.linker):
            self._frontier.add_anchor(link.url, slot, *entries)

    # --- to other peers ---

    def due_s(self) -> float:
        """When to call `send`, mesh clock."""
        return self._outbox.wake_at() if self._has_owners else inf

    def send(self, now: float) -> list[Send]:
        """Send the batches that are due, and put links that belong to others by now into new ones."""
        sends: list[Send] = []
        for batch in self._outbox.wake(now):
            if not batch.has_waited or self._is_for_its_peer(batch):
                sends.append(Send(Address(batch.peer, self._actor), LinksFound(batch.number, batch.links)))
                continue
            self._outbox.remove(batch)
            self._mirror.replaced(batch.number, self._keep(batch.links, now))
        return sends

    def _is_for_its_peer(self, batch: Batch) -> bool:
        return all(self.place_of(host_of(link.url))[1] == batch.peer for link in batch.links)

    def place_of(self, host: str) -> tuple[int, str]:
        """The slot of a host and who crawls it; we keep its links while nobody does."""
        place = self._places.get(host)
        if place is None:
            ownership = self._ownership
            assert ownership is not None
            if len(self._places) >= HOSTS_REMEMBERED:
                self._places.clear()
            slot = ownership.slot_of(host)
            place = self._places[host] = slot, ownership.owner_of(slot) or self._me
        return place
