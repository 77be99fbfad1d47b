"""One simulated machine: its disk, its clocks, its keys, and the peer that runs on it or does not."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Final, TypeVar

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.conduct import ConductSettings, ConductStatistics
from mesh.actors.node import Node
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.config import MeshConfig
from mesh.keys.decree import Decree
from mesh.membership.membership import MembershipStatistics
from mesh.membership.model.messages import (
    CrawlLicensed,
    DrainPeer,
    LeaveMesh,
    MembershipRefused,
    PublishDecree,
    StopMembership,
)
from mesh.slot_set import SlotMask, decode_slots
from mesh.tables.lives import begin_life
from mesh.tables.table import TableSection
from mesh.urls import host_of
from peers.actors import MakeHolders, make_actors
from peers.charges import conduct_of
from peers.copies.copies import CopiesStatistics
from peers.crawler.auditing.auditor import Auditor, AuditorStatistics
from peers.crawler.controller import Controller, CrawlStatistics
from peers.crawler.model.messages import ChangeSettings, StopCrawl
from peers.crawler.model.settings import CrawlSettings, Tuning
from peers.crawler.model.web_request import AbandonFetches, FailureReason, FetchFailed, FetchPage
from peers.engine.index import Index
from peers.handover.handover import HandoverStatistics
from peers.handover.messages import HoldSlots
from peers.index.index_reader import IndexReader
from peers.leave_rule import may_leave
from peers.storage.cell import CellStatistics
from simulations.faults.clock import VirtualClock
from simulations.faults.disks import Disk, DiskArchive, DiskSegments
from simulations.webs.web import Served, Web
from simulations.world.members import Members, VirtualDoor
from simulations.world.ports import Listener, VirtualBackground, VirtualFetcher, VirtualQuestions, cut
from simulations.world.words import WordyParser
from simulations.world.world import PortAnswer, VirtualPort, World

if TYPE_CHECKING:
    from collections.abc import Iterable

_Statistics = TypeVar("_Statistics", bound=Statistics)

DRAIN_S_MAX: Final = 20.0  # as `peers.peer` waits for pages in progress before it ends
CLOCKS_APART_S: Final = 1e-6
LEAVE_S_MAX: Final = 300.0  # for slots to be handed over before a peer leaves

# fetched(machine, url, what was served): something was asked of a web server just now.
Fetched = Callable[["Machine", str, Served], None]
# told(machine, answer): the gateway of a peer has an answer for somebody.
Told = Callable[["Machine", Message], None]


class Machine:
    """A machine that may lose its process, its memory, its time and its disk."""

    def __init__(
        self,
        number: int,
        world: World,
        members: Members,
        web: Web,
        settings: CrawlSettings,
        doors: dict[str, VirtualDoor],
        *,
        clock: VirtualClock,
        fetched: Fetched,
        abandoned: Callable[[Machine], None],
        told: Told,
        unasked: Callable[[Machine, str], None] = lambda machine, url: None,
        looked: Fetched = lambda machine, url, served: None,
        further: MakeHolders = lambda me, table, life: [],
        conduct: ConductSettings | None = None,
        tuning: Tuning | None = None,
        parser: type[WordyParser] = WordyParser,
    ) -> None:
        """Set up a machine on which nothing runs yet.

        Args:
          unasked: is told of a URL that is not asked for, as it is not the turn of its address.
          looked: is told instead of `fetched` of a second look at a page of another peer.
          further: makes the actors of stores that its peer has besides those of every peer.
          conduct: what its peer takes of others; None for the defaults.
          tuning: limits of its controller, likewise.
          parser: the twin of the parser of its peer.
        """
        self.number = number
        self.name = f"p{number}"
        self.peer = members.peers[number]
        self.disk = Disk()
        self.clock = clock
        self.is_gone = False  # for good
        self.is_leaving = False
        self.refusal = ""
        self.changed_s = -inf  # when it last started, ended, stood still or went on
        self.lost_disk_s = -inf
        self._world = world
        self._members = members
        self._web = web
        self._settings = settings
        self._doors = doors
        self._fetched = fetched
        self._abandoned = abandoned
        self._unasked, self._looked = unasked, looked
        self._told = told
        self._further = further
        self._conduct_settings = conduct
        self._tuning = tuning
        self._parser = parser
        self._starts = 0

    @property
    def config(self) -> MeshConfig:
        return self._members.config

    @property
    def is_up(self) -> bool:
        """Does its process exist?"""
        return self._starts > 0 and self._world.is_up(self.peer)

    @property
    def is_running(self) -> bool:
        """Does its process do anything?"""
        return self._starts > 0 and self._world.is_running(self.peer)

    @property
    def has_lived(self) -> bool:
        return self._starts > 0

    def start(self) -> None:
        """Begin a life of the peer from the data on the disk."""
        assert not self.is_up
        assert not self.is_gone
        self._starts += 1
        self.changed_s = self._world.now
        disk, peer = self.disk, self.peer
        index = Index.open(disk.storage)
        life = begin_life(disk.table, self._members.chance_of(peer, self._starts))
        disk.table.commit()
        reader = IndexReader(index)
        secret = self._members.chance_of(peer, self._starts).randbytes(16)
        actors = make_actors(
            peer,
            disk.table,
            self._settings,
            reader,
            life,
            further=self._further,
            secret=secret,
            tuning=self._tuning,
            authority=self._members.authority,
        )
        controller, *others = actors
        self._controller = Overheard(controller)
        hearing = [self._parser.name, VirtualQuestions.name] if self._parser.hears_decrees else []
        section = TableSection(disk.table, b"M")
        membership = self._members.membership(peer, section, self._starts, actors, hearing)
        segments = DiskSegments(disk, index, self.config.slot_count)
        ports: list[VirtualPort] = [
            _Fetcher(
                self, self._web, self._world, self._fetched, self._looked, self._abandoned, self._unasked
            ),
            self._parser(self._web),
            DiskArchive(peer, disk),
            segments,
            VirtualQuestions(reader, self.config.slot_count),
            VirtualBackground(),
            VirtualDoor(peer, self._doors, self._is_reachable),
            _Network(self),
            _Gateway(self, self._told),
            *map(Listener, ("meter", "recorder")),
        ]
        node = Node(peer, [membership, self._controller, *others], conduct_of(self._conduct_settings))
        self._world.add_peer(node, ports, disk.table, self.clock)
        for actor, message in segments.begin():
            self._world.deliver(Address(peer, segments.name), Address(peer, actor), message)

    def crash(self, *, is_power_loss: bool = False) -> None:
        """End the process at once."""
        local = self._world.local_time(self.peer)
        self._world.crash(self.peer)
        if is_power_loss:
            self.disk.lose_power(local)
        self._end()

    def stop(self, has_ended: Callable[[], None]) -> None:
        """End the process in good order, a while from now: pages in progress are stored first."""
        self._tell("controller", StopCrawl())
        self._stop_when_drained(self._starts, self._world.now + DRAIN_S_MAX, has_ended)

    def wipe(self) -> None:
        """Put an empty disk into a machine that is down."""
        assert not self.is_up
        before = self.disk
        self.disk, self.lost_disk_s = Disk(), self._world.now
        self.disk.table.on_commit = before.table.on_commit
        self.clock.forget()

    def vanish(self) -> None:
        """Never come back, nor its disk; it is down."""
        self.is_gone, self.lost_disk_s = True, self._world.now

    def pause(self) -> None:
        self._world.pause(self.peer)
        self.changed_s = self._world.now

    def resume(self) -> None:
        self._world.resume(self.peer)
        self.changed_s = self._world.now

    def drain(self, *, is_draining: bool) -> None:
        """Have it give its slots away, or take its share again."""
        self._tell("membership", DrainPeer(is_draining))

    def write_off(self, other: Machine) -> None:
        """Have a person say to this one that another never comes back."""
        self.publish(self._members.write_off(other.peer))

    def publish(self, decree: Decree) -> None:
        """Have a person give it a decree of the owner of the mesh."""
        self._tell("membership", PublishDecree(1, decree))

    def leave(self, has_left: Callable[[], None]) -> None:
        """Have it leave for good, once others have all that it has; then call `has_left`."""
        self.is_leaving = True
        self.drain(is_draining=True)
        self._leave_when_empty(self._world.now + LEAVE_S_MAX, has_left)

    def change_settings(self, settings: CrawlSettings) -> None:
        """Have it crawl by other settings, in this life and in those that come."""
        self._settings = settings
        if self.is_up:
            self._tell("controller", ChangeSettings(settings))

    def order(self, message: Message) -> None:
        """Give the searcher an order, as the HTTP port does."""
        self._world.deliver(Address(self.peer, "http"), Address(self.peer, "searcher"), message)

    # --- What it says of itself ---

    def has_stored_all(self) -> bool:
        """Is nothing waiting to be stored, copied or indexed?"""
        cell = self.cell()
        return not (cell.pending or cell.unindexed or cell.anchors_unindexed or cell.replicas_waiting)

    def has_settled(self) -> bool:
        """Is everything where it belongs that is its to bring, keep or store?"""
        handover = self.handover()
        return handover.is_quiet and not handover.differing and self.has_stored_all()

    def has_named_copies(self) -> bool:
        """Does its index go by the roles of all pages, and do those of its groups know theirs?"""
        copies = self._statistics("copies", CopiesStatistics)
        return not (copies.untold or copies.waiting or copies.unmarked)

    def may_leave(self) -> bool:
        """Is it drained, and have others all that it had?"""
        return may_leave(self.membership(), self.handover(), self.cell())

    def would_crawl(self, host: str) -> bool:
        """Does it hold the slot of a host, under a licence?"""
        controller = self._controller
        return controller is not None and controller.would_crawl(host, self.local_time())

    def has_lent(self, host: str, peer: str) -> bool:
        """Has it lent a turn of a host to that peer, which lasts?"""
        return self._controller is not None and self._controller.has_lent(host, peer, self.local_time())

    def local_time(self) -> float:
        """Return the time on its mesh clock; it is running."""
        return self._world.local_time(self.peer)

    def wall_time(self) -> float:
        """Return the time on its wall clock, by which answers are dated, and never two at one microsecond.

        Due times are whole seconds: simulated peers ask at them without the delays that tell real ones apart.
        """
        return self._world.now + self.clock.wall_offset_s + self.number * CLOCKS_APART_S

    @property
    def ownership(self) -> Ownership | None:
        """Return the ownership of the slots, as far as it knows."""
        return self._controller.ownership if self._controller is not None else None

    def answerer_of(self, url: str) -> str | None:
        """The peer that answers for a page, as far as it knows; None for nobody."""
        ownership = self.ownership
        return None if ownership is None else ownership.answerer_of(ownership.slot_of(host_of(url)))

    def trouble(self) -> str:
        """Return the possible reasons why the mesh is not at rest, for people."""
        if not self.is_running:
            return "does not run"
        membership, handover, cell, crawl = self.membership(), self.handover(), self.cell(), self.crawl()
        said = f"sees {membership.alive} alive at epoch {membership.epoch}"
        said += "" if handover.is_quiet else f"; {handover}"
        said += "" if self.has_stored_all() else f"; {cell}"
        return said + ("" if crawl.is_idle else f"; {crawl}")

    # --- Asking its actors ---

    def crawl(self) -> CrawlStatistics:
        return self._statistics("controller", CrawlStatistics)

    def cell(self) -> CellStatistics:
        return self._statistics("cell", CellStatistics)

    def handover(self) -> HandoverStatistics:
        return self._statistics("handover", HandoverStatistics)

    def audits(self) -> AuditorStatistics:
        return self._statistics("auditor", AuditorStatistics)

    def conduct(self) -> ConductStatistics:
        return self._world.node(self.peer).conduct.observe()

    def membership(self) -> MembershipStatistics:
        return self._statistics("membership", MembershipStatistics)

    def _statistics(self, actor: str, kind: type[_Statistics]) -> _Statistics:
        found = self._world.node(self.peer).actor(actor).observe()
        assert isinstance(found, kind)
        return found

    # --- Details ---

    def _end(self) -> None:
        self.disk.forget_unsynced()
        self.changed_s = self._world.now

    def _tell(self, actor: str, message: Message) -> None:
        self._world.deliver(Address(self.peer, "network"), Address(self.peer, actor), message)

    def _stop_when_drained(self, start: int, until: float, has_ended: Callable[[], None]) -> None:
        if not self.is_up or self._starts != start:
            return
        crawl, now = self.crawl(), self._world.now
        if not self.is_running or ((crawl.in_flight or crawl.in_progress) and now < until):
            self._world.plan(now + 0.5, lambda: self._stop_when_drained(start, until, has_ended))
            return
        self._tell("membership", StopMembership())
        self._world.stop(self.peer)
        self._end()
        has_ended()

    def _leave_when_empty(self, until: float, has_left: Callable[[], None]) -> None:
        world = self._world
        if self.is_gone or world.now > until:
            self.is_leaving = False
            return
        if self.is_running and self.may_leave():
            self._tell("membership", LeaveMesh())
            world.stop(self.peer)
            self._end()
            self.is_gone = True
            has_left()
            return
        world.plan(world.now + 1.0, lambda: self._leave_when_empty(until, has_left))

    def _is_reachable(self, peer: str) -> bool:
        """Does a connection to a peer come about?"""
        return self._world.is_up(peer) and self._world.is_connected(self.peer, peer)


class _Fetcher(VirtualFetcher):
    """The fetcher's twin; pages are dated by the wall clock, which may be wrong, as live."""

    def __init__(
        self,
        machine: Machine,
        web: Web,
        world: World,
        fetched: Fetched,
        looked: Fetched,
        abandoned: Callable[[Machine], None],
        unasked: Callable[[Machine, str], None],
    ) -> None:
        super().__init__(machine.peer, web, [])
        self._abandoned = abandoned
        self._unasked = unasked
        self._machine = machine
        self._world = world
        self._fetched, self._looked = fetched, looked

    def receive(self, source: Address, message: Message, now: float) -> list[PortAnswer]:
        answers = super().receive(source, message, now)
        for _, _, answer in answers:
            is_busy = isinstance(answer, FetchFailed) and answer.reason is FailureReason.ADDRESS_BUSY
            if is_busy and isinstance(answer, FetchFailed) and source.actor != Auditor.name:
                self._unasked(self._machine, answer.url)
        if isinstance(message, AbandonFetches):
            self._abandoned(self._machine)
        elif self._log:
            request = self._log.pop()
            served = self._web.serve(request.url)
            assert isinstance(message, FetchPage)
            served = cut(served, message)
            if message.etag and message.etag == served.etag:
                served = served._replace(status=304)
            tell = self._looked if source.actor == Auditor.name else self._fetched
            tell(self._machine, request.url, served)
        return answers

    def dated(self, now: float) -> float:
        return self._machine.wall_time()


class _Network:
    """Port `network`: nothing to do where the world carries every frame to the peer it is for."""

    name = "network"

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        if isinstance(message, MembershipRefused):
            self._machine.refusal = message.reason
        return ()


class _Gateway:
    """Port `http`: where answers for people come."""

    name = "http"

    def __init__(self, machine: Machine, told: Told) -> None:
        self._machine = machine
        self._told = told

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        self._told(self._machine, message)
        return ()


class Overheard(Actor):
    """The controller of a simulated peer, with an observer that hears which slots it may crawl.

    Hands everything on to the real controller.
    """

    name = Controller.name
    remote_messages = Controller.remote_messages

    def __init__(self, controller: Actor) -> None:
        assert controller.name == self.name
        self.ownership: Ownership | None = None
        self._held: SlotMask | None = None
        self._licensed_until = inf
        self._controller = controller

    def would_crawl(self, host: str, now: float) -> bool:
        """Does it hold the slot of a host, under a licence that has not run out?"""
        if self._held is None or self.ownership is None or now >= self._licensed_until:
            return False
        return bool(self._held[self.ownership.slot_of(host)])

    def has_lent(self, host: str, peer: str, now: float) -> bool:
        """Has it lent a turn of a host to that peer, which lasts?"""
        assert isinstance(self._controller, Controller)
        return self._controller._visits.lending.has_lent(host, peer, now)

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case OwnershipChanged(ownership):
                self.ownership = ownership
            case HoldSlots(slots) if self.ownership is not None:
                self._held = decode_slots(slots, self.ownership.table.slot_count)
            case CrawlLicensed(until):
                self._licensed_until = until
        return self._controller.receive(source, message, now)

    def wake(self, now: float) -> list[Send]:
        return self._controller.wake(now)

    def wake_at(self) -> float:
        return self._controller.wake_at()

    @property
    def has_news(self) -> bool:
        return self._controller.has_news

    def before_commit(self, now: float) -> list[Send]:
        return self._controller.before_commit(now)

    def observe(self) -> Statistics:
        return self._controller.observe()
