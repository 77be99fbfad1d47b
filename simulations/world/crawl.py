"""A crawl in a world: peers with all their actors, virtual ports, a web, from the seeds until rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import ClassVar, Final, TypeAlias

from msgspec.structs import replace

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.node import Node
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.config import WEIGHT_DEFAULT
from mesh.keys.decree import POLICY, Decree
from mesh.membership.membership import MembershipStatistics
from mesh.membership.model.messages import DecreesInForce, PublishDecree
from mesh.slots import SlotTable, slot_of
from mesh.tables.lives import begin_life
from mesh.tables.memory_table import MemoryTable
from mesh.tables.table import Table, TableSection
from mesh.trace import TracedPage
from mesh.urls import host_of
from peers.actors import CELL_SECTION, CONTROLLER_SECTION, make_actors
from peers.crawler.addresses.lessor import Lessor
from peers.crawler.aliases.aliases import Aliases
from peers.crawler.controller import FRONTIER_SECTION, Controller, CrawlStatistics
from peers.crawler.model.settings import CrawlSettings
from peers.gateway.model.messages import AddSeeds
from peers.gateway.searcher import Searcher
from peers.handover.handover import Handover, HandoverStatistics
from peers.handover.settings import HandoverSettings
from peers.index.counting_index import CountingIndex
from peers.policy.rules import Policy, policy_bytes
from peers.storage.cell import CellStatistics
from peers.storage.ledger.stored_versions import StoredVersions
from simulations.webs.web import Web
from simulations.world.chance import random_of
from simulations.world.checks import Findings, judge
from simulations.world.hardware import LIMITLESS, Hardware
from simulations.world.members import SLOT_COUNT_DEFAULT, Members, VirtualDoor
from simulations.world.network import Network
from simulations.world.ports import (
    Listener,
    LoggedRequest,
    VirtualArchive,
    VirtualBackground,
    VirtualCell,
    VirtualFetcher,
    VirtualParser,
    VirtualQuestions,
    VirtualRecorder,
    VirtualSegments,
)
from simulations.world.revertible_table import RevertibleTable
from simulations.world.world import VirtualPort, World

LOOK_EVERY_S: Final = 10.0  # virtual seconds between two looks at whether the crawl is over
EVENTS_WITHOUT_PAGE_MAX: Final = 2_000_000  # a crawl that gets nowhere is ended: two peers repeat something
JOINED_S_MAX: Final = 300.0  # for all members to know each other

# progress(pages fetched so far, pages there are)
Progress: TypeAlias = Callable[[int, int], None]


class SimulatedCrawl:
    """One crawl; the same arguments make the same crawl, message by message.

    Without `members` membership does not run: the peers, p0, p1, ... unless they are named, know each other
    from the start, each is told at its start which slots it owns, and one that crashes keeps them. With it
    they join through the door of the first, and probe each other all the time: true to life, and slower by
    as much.
    """

    def __init__(
        self,
        web: Web,
        *,
        peers: int | Sequence[str],
        seed: int,
        replicas: int = 2,
        slots: int = SLOT_COUNT_DEFAULT,
        settings: CrawlSettings | None = None,
        network: Network | None = None,
        trace: list[TracedPage] | None = None,
        crashing: Iterable[str] = (),
        members: Members | None = None,
        policy: Policy | None = None,
        has_documents: bool = True,
        has_wires: bool = True,
        hardware: Mapping[str, Hardware] | None = None,
        parser: Callable[..., VirtualParser] = VirtualParser,
    ) -> None:
        """Set up the peers and the world between them.

        Args:
          peers: how many, or their names, which decide who owns what; with `members`, all of them.
          seed: of everything that is drawn beside the web, which has its own.
          slots: of the mesh.
          trace: takes pages as a live crawl with --record writes them.
          members: of the mesh; they bring their own number of replicas and slots.
          policy: what all go by from the start; None for none, which keeps them on the domains of the seeds.
          parser: makes that of a peer, over the web.
          crashing: peers that `plan_crash` may name; their tables remember what was committed.
          has_documents: without, peers fetch pages and exchange links, but store and index nothing, and links
            have no texts: the same course in two thirds of the time.
          has_wires: without, messages are not encoded, which saves a tenth; no bytes are counted then.
          hardware: of each peer; None for machines without limits.
        """
        names = tuple(f"p{number}" for number in range(peers)) if isinstance(peers, int) else tuple(peers)
        assert names
        assert members is None or len(members.peers) == len(names)
        if members is not None:
            replicas, slots = members.config.replicas, members.config.slot_count
        self.web = web
        self.settings = replace(settings or CrawlSettings(), audit_rate=0.0)  # each page is asked for once
        self.peers = members.peers if members else names
        self.table = SlotTable(dict.fromkeys(self.peers, WEIGHT_DEFAULT), slots, replicas)
        self._members, self._crashing = members, frozenset(crashing)
        self._parser, self._policy = parser, policy_bytes(policy) if policy else None
        self._doors: dict[str, VirtualDoor] = {}
        self._starts = dict.fromkeys(self.peers, 0)
        self.log: list[LoggedRequest] = []
        self._hardware = dict.fromkeys(self.peers, LIMITLESS) | dict(hardware or {})
        self.archives = {peer: VirtualArchive(self._hardware[peer]) for peer in self.peers}
        self.indexes = {peer: CountingIndex() for peer in self.peers}
        self._trace, self._has_documents = trace, has_documents
        # Actors that decide whether a peer rests: one that is not idle is enough.
        self._busy = ["controller", "handover", *(["cell"] if has_documents else [])]
        network = network or Network(random_of(seed, "network"))
        self.world = World(network) if has_wires else WirelessWorld(network)
        self._tables: dict[str, RevertibleTable] = {}  # of those that may crash
        for peer in self.peers:
            self._start(peer)

    def run(self, progress: Progress | None = None) -> None:
        """Start from the web's seeds and go on until no peer has anything left to do.

        Raises:
          RuntimeError: the members do not find together, or the peers go on sending messages without
            fetching anything.
        """
        self._begin()
        before: tuple[int, ...] = ()
        pages = events = 0
        while True:
            self.world.run(until=self.world.now + LOOK_EVERY_S)
            activity = self._activity()
            if activity == before and self.is_at_rest():
                return
            before = activity
            if len(self.log) > pages:
                pages, events = len(self.log), self.world.n_events
            elif self.world.n_events - events > EVENTS_WITHOUT_PAGE_MAX:
                raise RuntimeError(
                    f"nothing was fetched for {EVENTS_WITHOUT_PAGE_MAX} events, until {before}"
                )
            if progress is not None:
                copies = sum(len(archive.pages) for archive in self.archives.values())
                progress(copies // min(self.table.replicas, len(self.peers)), self.web.pages)

    def run_for(self, seconds: float) -> None:
        """Start from the web's seeds and go on for so long, of virtual time, even if work is left then."""
        self._begin()
        self.world.run(until=self.world.now + seconds)

    def run_to(self, pages: int) -> list[str]:
        """Start from the web's seeds; return the pages that were fetched, in order, when there are so many.

        They are fewer when nothing is left to do before.
        """
        self._begin()
        before: tuple[int, ...] = ()
        while True:
            self.world.run(until=self.world.now + LOOK_EVERY_S)
            ended = sorted(
                (each for each in self.log if each.status == 200 and each.until_s <= self.world.now),
                key=lambda request: request.until_s,
            )
            fetched = [each.url for each in ended if not each.url.endswith("/robots.txt")]
            activity = self._activity()
            if len(fetched) >= pages or (activity == before and self.is_at_rest()):
                return fetched
            before = activity

    def _begin(self) -> None:
        self._wait_for_members()
        first = self.peers[0]
        if self._members is not None and self._policy is not None:
            decree = PublishDecree(1, self._members.policy(1, self._policy))
            self.world.deliver(Address(first, "http"), Address(first, "membership"), decree)
        order = AddSeeds(ticket=1, urls=self.web.seeds)
        self.world.deliver(Address(first, "http"), Address(first, "searcher"), order)

    def plan_crash(self, peer: str, at_s: float, down_s: float) -> None:
        """Have a peer killed at a time, and started again on its disk after it was down for a while."""
        assert peer in self._crashing, f"{peer} is not among the peers that may crash"
        self.world.plan(at_s, lambda: self.world.crash(peer))
        self.world.plan(at_s + down_s, lambda: self._start(peer))

    def is_at_rest(self) -> bool:
        """Do all peers say that nothing is due, in flight or waiting to be stored, sent or indexed?"""
        return all(map(self.world.is_up, self.peers)) and all(
            _is_at_rest(self.world.node(peer).actor(name).observe())
            for name in self._busy
            for peer in self.peers
        )

    def observe(self, peer: str) -> dict[str, Statistics]:
        """Return the statistics of the actors of a peer."""
        return self.world.node(peer).observe()

    def crawl_statistics(self) -> dict[str, CrawlStatistics]:
        """Return the statistics of the controllers."""
        found = {peer: self.observe(peer)["controller"] for peer in self.peers}
        return {
            peer: statistics for peer, statistics in found.items() if isinstance(statistics, CrawlStatistics)
        }

    def judge(self) -> Findings:
        """Check the promises of the mesh now that the crawl is over."""
        return judge(
            self.log,
            self.web,
            delay_of=self._delay_of,
            teams=self._team_of,
            stored={peer: archive.pages for peer, archive in self.archives.items()},
            unbalanced_messages=self.world.unbalanced,
        )

    def _start(self, peer: str) -> None:
        """Begin a life of a peer, the first or another one, from the data on its disk."""
        table = self._table_of(peer)
        life = self._begin_life(peer, table)
        actors, ports = (
            self._with_documents(peer, table, life)
            if self._has_documents
            else self._without_documents(peer, table, life)
        )
        ports += [
            VirtualFetcher(peer, self.web, self.log, self._hardware[peer]),
            self._parser(self.web, has_documents=self._has_documents, hardware=self._hardware[peer]),
            VirtualRecorder(self._trace) if self._trace is not None else Listener("recorder"),
            *map(Listener, ("http", "meter")),
        ]
        self._starts[peer] += 1
        if self._members is not None:
            section = TableSection(table, b"M")
            actors = [self._members.membership(peer, section, self._starts[peer], actors), *actors]
            ports += [VirtualDoor(peer, self._doors, self.world.is_up), Listener("network")]
        else:
            actors = [Herald(peer, actors), *actors]
        node, table_kept = Node(peer, actors), self._tables.get(peer)
        self.world.add_peer(node, ports, table_kept, hardware=self._hardware[peer])
        if self._members is None:
            self._tell_policy(peer)
            self._tell_ownership(peer)

    def _with_documents(self, peer: str, table: Table, life: int) -> tuple[list[Actor], list[VirtualPort]]:
        index = self.indexes[peer]
        actors = make_actors(peer, table, self.settings, index, life)
        ports: list[VirtualPort] = [
            self.archives[peer],
            VirtualSegments(index, self._hardware[peer]),
            VirtualQuestions(index, self.table.slot_count, self._hardware[peer]),
            VirtualBackground(),
        ]
        return actors, ports

    def _without_documents(self, peer: str, table: Table, life: int) -> tuple[list[Actor], list[VirtualPort]]:
        stored = StoredVersions(TableSection(table, CELL_SECTION))
        crawl = TableSection(table, CONTROLLER_SECTION)
        controller = Controller(peer, crawl, self.settings, stored, life)
        handover = HandoverSettings()
        actors = [
            controller,
            Searcher(peer, life),
            Lessor(peer, life, handover.fence_s),
            Aliases(peer, TableSection(crawl, FRONTIER_SECTION), life),
            Handover(peer, [controller.keeps], life, handover),
        ]
        return actors, [VirtualCell(self.archives[peer]), Listener("indexer")]

    def _tell_policy(self, peer: str) -> None:
        if self._policy is not None:
            told = DecreesInForce(POLICY, (Decree(POLICY, "", 1, 0.0, inf, self._policy, b"", b""),))
            self.world.deliver(Address(peer, Herald.name), Address(peer, "controller"), told)

    def _tell_ownership(self, peer: str) -> None:
        ownership = OwnershipChanged(Ownership(peer, self.table, self.peers))
        self.world.deliver(Address(peer, "driver"), Address(peer, Herald.name), ownership)

    def _wait_for_members(self) -> None:
        """Let the mesh form, like a person that waits for all peers before giving seeds."""
        if self._members is None:
            return
        while self.world.now < JOINED_S_MAX:
            self.world.run(until=self.world.now + 1.0)
            seen = [self.observe(peer)["membership"] for peer in self.peers]
            if all(isinstance(each, MembershipStatistics) and each.alive == len(self.peers) for each in seen):
                self.world.run(until=self.world.now + 1.0)  # for the last table of slots to be made
                return
        raise RuntimeError(f"the members have not found together in {JOINED_S_MAX:g} virtual seconds")

    def _table_of(self, peer: str) -> Table:
        if peer in self._crashing:
            return self._tables.setdefault(peer, RevertibleTable())
        return MemoryTable()

    def _begin_life(self, peer: str, table: Table) -> int:
        life = begin_life(table, random_of(0, peer))
        if isinstance(table, RevertibleTable):
            table.commit()
        return life

    def _slot_of(self, host: str) -> int:
        return slot_of(host, self.table.slot_count)

    def _team_of(self, url: str) -> tuple[str, ...]:
        return self.table.team_of(self._slot_of(host_of(url)))

    def _delay_of(self, origin: str) -> float:
        return max(self.settings.delay_s, self.web.crawl_delay_s(origin))

    def _activity(self) -> tuple[int, ...]:
        """Changes whenever anything lasting happens."""
        archives, indexes = self.archives.values(), self.indexes.values()
        return (
            len(self.log),
            sum(archive.n_bytes for archive in archives),
            sum(index.generation for index in indexes),
        )


def _is_at_rest(statistics: Statistics) -> bool:
    """Is an actor idle, one of those that something may wait for?"""
    match statistics:
        case CrawlStatistics(is_idle=is_idle):
            return is_idle
        case CellStatistics():
            cell = statistics
            waiting = cell.pending + cell.unindexed + cell.anchors_unindexed + cell.replicas_waiting
            return waiting == 0
        case HandoverStatistics(is_quiet=is_quiet):
            return is_quiet
    return True


class Herald(Actor):
    """Stands for the membership in meshes of members that know each other from the start and never change.

    Passes an ownership on to all listeners, in one go as the membership does; hears all other messages.
    """

    name: ClassVar[str] = "membership"

    def __init__(self, me: str, listeners: Iterable[Actor]) -> None:
        self._listeners = [Address(me, actor.name) for actor in listeners]

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        if not isinstance(message, OwnershipChanged):
            return []
        return [Send(listener, message) for listener in self._listeners]


class MessageFrame(bytes):
    """A frame without bytes, which brings the message itself."""

    actor: str
    message: Message


class WirelessWorld(World):
    """A world in which messages cross from peer to peer as they are, for crawls without a count of bytes.

    Its base encodes and decodes them. Here nothing is encoded, so there is no digest, no message has a size,
    and a message that could not cross a wire is not noticed.
    """

    def _pack(self, source: Address, target: Address, message: Message) -> bytes:
        parcel = MessageFrame()
        parcel.actor, parcel.message = target.actor, message
        return parcel

    def _unpack(self, frame: bytes) -> tuple[str, Message]:
        assert isinstance(frame, MessageFrame)
        return frame.actor, frame.message

    def _note_local(self, source: Address, target: Address, message: Message) -> None:
        """There is no digest."""

    def _note(self, source: Address, target: Address, content: bytes) -> None:
        """There is no digest."""
