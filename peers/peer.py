"""The composition root: puts a peer together from its configuration and runs it. [io]"""

from __future__ import annotations

import logging
import socket
from functools import partial
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from secrets import token_bytes
from typing import TYPE_CHECKING, Final, Protocol

import msgspec
import trio

from mesh.actors.actor import Address
from mesh.actors.codec import Decoder
from mesh.actors.port import Port
from mesh.client.admin_token import make_token
from mesh.config import MemberConfig, MeshConfig, config_in, load_config
from mesh.domains import load_suffixes
from mesh.errors import ConfigError, StorageError, StorageFull
from mesh.keys.certificate import rights_in
from mesh.keys.decree import Authority
from mesh.membership.membership import MembershipStatistics
from mesh.process.allocator import giver_back
from mesh.process.background import Background
from mesh.process.cores import core_count
from mesh.process.member import Member
from mesh.process.memory import memory_used
from mesh.process.places import check_disk, check_place, mark_disk
from mesh.process.process import Tell, reloading
from mesh.process.runtime import Runtime
from mesh.process.workshop import Workshop
from mesh.tables.disk_space import NO_SPACE
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.private_files import FOLDER_MODE, make_private_folder
from mesh.tables.table import TableSection
from peers.actors import CELL_SECTION, FOLLOWERS, make_actors
from peers.charges import conduct_of
from peers.config import PeerConfig, StorageConfig, WebConfig
from peers.crawler.addresses.address_queues import AddressQueues
from peers.crawler.addresses.addresses import AddressPolicy, is_public
from peers.crawler.controller import CrawlStatistics
from peers.crawler.fetching.contact import Visitor, visitor_of
from peers.crawler.fetching.fetcher import Fetcher
from peers.crawler.fetching.fetcher_port import FetcherPort, decoding_in
from peers.crawler.fetching.recorder import TraceRecorder
from peers.crawler.fetching.resolver import FixedResolver, Resolver, SystemResolver
from peers.crawler.model.messages import StopCrawl, WebReached
from peers.crawler.parsing import page_process
from peers.crawler.parsing.parser_port import ParserPort, reading_in, robots_reading_in
from peers.damaged_data import set_aside_if_damaged
from peers.engine.index import Index
from peers.engine.segments.builder import build_encoded
from peers.gateway.http_port import Http, listen, url_of
from peers.gateway.model.messages import ChangeGateway
from peers.gateway.model.settings import GatewaySettings
from peers.handover.handover import HandoverStatistics
from peers.index import segment_process
from peers.index.index_reader import IndexReader
from peers.index.questions_port import QuestionsPort
from peers.index.segment_builder import SegmentBuilder
from peers.index.segments_port import SegmentsPort
from peers.leave_rule import may_leave
from peers.memory_keeper import MemoryKeeper
from peers.meter import Meter
from peers.policy.decreed import pins_of
from peers.rendering.browser import command_of
from peers.rendering.renderer import Renderer
from peers.sizes import builds_apart, crawl_settings, gateway_settings, handover_settings, process_count
from peers.storage.archive.archive import Archive
from peers.storage.archive.archive_port import ArchivePort
from peers.storage.cell import CellStatistics
from peers.storage.compaction import RetentionSettings
from peers.storage.ledger.ledger import last_extent
from peers.storage.settings import CellSettings
from peers.text.fingerprint import FINGERPRINT, fingerprint
from peers.text.regional_words import load_regional_words
from peers.text.segmentation import load_dictionary
from peers.text.version import ANALYSIS_VERSION
from peers.vitals import Vitals, vitals_of
from peers.wire_tags import WIRE_TAGS

if TYPE_CHECKING:
    from peers.crawler.fetching.proxy import Proxy

UNSPECIFIED: Final = ("0.0.0.0", "::", "[::]")
FINISH_S: Final = 20.0  # for pages that were fetched to be stored before the peer ends
FINISH_POLL_S: Final = 0.05
MODERATOR_KEY: Final = "moderator.key"  # beside config.toml: of an administrator, if /moderation is to judge
JUDGING_FOLDER: Final = "judging"  # in the data folder: pools that people judge, and their judgements
_PAUSED: Final = ("controller",)  # while the table has no space
WIRE: Final = Decoder(WIRE_TAGS.values())

logger = logging.getLogger(__name__)


async def run_peer(config_file: Path, stop: trio.Event, tell: Tell) -> None:
    """Run a peer until `stop` is set; `tell` gets a description of it once its gateway is open.

    Raises:
      ConfigError: a setting, a key or an address is wrong, or the mesh refused the peer.
      StorageError: its disk cannot be used.
    """
    config_file = config_in(config_file)
    config = _config_in(config_file)
    load_dictionary()
    load_regional_words()
    gateway_host, _, gateway_port = config.gateway.listen.rpartition(":")
    with listen(gateway_host, int(gateway_port)) as listener:
        gateway = url_of(listener, _host_of(gateway_host, config.member))
        await _run(config_file, config, listener, gateway, stop, tell)


async def _run(
    config_file: Path,
    config: PeerConfig,
    listener: socket.socket,
    gateway: str,
    stop: trio.Event,
    tell: Tell,
) -> None:
    """Put a peer together around its gateway's socket, and run it."""
    folder = config_file.parent
    data = folder / config.storage.folder
    load_suffixes()
    table = await _table_in(folder, data)
    member = Member(folder, config.mesh, config.member, table, gateway)
    me = member.peer_id
    workshop = Workshop(page_process.COMMAND, processes_max=process_count(config, core_count()))
    index_workshop = _index_workshop(config)
    fetcher = _fetcher(folder, config.web, workshop, _visitor_of(config))
    renderer = _renderer(config, fetcher, workshop)
    settings = _gateway_settings(config, folder, data)

    # Two ports tell of the whole peer; they are asked when all of it is there.
    def statistics() -> dict[str, object]:
        return {
            **runtime.observe(),
            "runtime": runtime.statistics(),
            "process": memory_used()._asdict(),
            "loop": runtime.watchdog.observe(),
            **_observed(workshop=workshop, index_workshop=index_workshop, fetcher=fetcher, renderer=renderer),
            **_observed(transport=member.transport, borrowing=member.borrower, relay=member.relay),
        }

    # Only what is behind it is looked through, and may be cut as torn.
    durable = last_extent(TableSection(table, CELL_SECTION))
    with Archive(data / "archive", me, durable) as archive, _index_in(data, index_workshop) as index:
        reader = IndexReader(index)
        cell, life = _cell_settings(config.storage), member.life
        parts = crawl_settings(config), reader, life, handover_settings(config), settings
        authority = Authority(bytes.fromhex(config.mesh.root_key), config.mesh.digest())
        actors = make_actors(me, table, *parts, cell=cell, secret=token_bytes(), authority=authority)
        told = reading_in(workshop), _visitor_of(config), fetcher.private_among, authority
        http = Http(me, listener, statistics, lambda: vitals.measure(), settings, *told)
        ports: list[Port] = [
            FetcherPort(me, fetcher, renderer),
            ParserPort(me, workshop),
            ArchivePort(me, archive),
            SegmentsPort(me, index, config.mesh.slot_count, index_workshop),
            QuestionsPort(me, reader, config.mesh.slot_count),
            Meter(me, lambda: vitals.measure(), lambda status: vitals_of(status, http.search_classes())),
            http,
            *(MemoryKeeper(giver_back()), Background(me)),
        ]
        ports += [TraceRecorder(folder / config.web.trace)] if config.web.trace else []
        runtime = member.assemble(actors, ports, WIRE, None, FOLLOWERS, conduct_of(), pins_of, _PAUSED)
        workshops = workshop, index_workshop
        vitals = Vitals(member, runtime, index, workshops, gateway, data, config.storage.disk_limit)
        runtime.deliver(Address(me, "fetcher"), "controller", WebReached(_reach(folder, config.web)))
        tell({"id": me, "endpoint": member.record.endpoint, "gateway": gateway})
        async with reloading(partial(_reload, config_file, config, http, runtime)):
            await member.run(stop, before_stop=partial(_finish, me, runtime))


def _reload(config_file: Path, started: PeerConfig, http: Http, runtime: Runtime) -> None:
    """Read the settings again: those of the gateway count at once, others from the next start on.

    Args:
      started: the settings of the start.

    Raises:
      ConfigError: they are wrong; nothing has changed.
    """
    now = _config_in(config_file)
    folder = config_file.parent
    settings = _gateway_settings(now, folder, folder / started.storage.folder)
    change = ChangeGateway(msgspec.structs.replace(settings, listen=started.gateway.listen))
    http.receive(http.address, change)
    runtime.deliver(http.address, "searcher", change)
    waiting = [
        name
        for name in PeerConfig.__struct_fields__
        if name != "gateway" and getattr(now, name) != getattr(started, name)
    ]
    if now.gateway.listen != started.gateway.listen:
        waiting.append("gateway.listen")
    later = f"; what has changed in {', '.join(waiting)} counts from the next start on" if waiting else ""
    logger.warning("settings read again: those of the gateway count now%s", later)


def _gateway_settings(config: PeerConfig, folder: Path, data: Path) -> GatewaySettings:
    beside = str(data / JUDGING_FOLDER), str(folder / MODERATOR_KEY)
    return gateway_settings(config, make_token(folder), *beside)


def _host_of(listen: str, member: MemberConfig) -> str:
    """Where others find a gateway: if it listens on all addresses, at the one that the machine announces."""
    if listen not in UNSPECIFIED:
        return listen
    announced = member.announce or member.listen
    try:
        return listen if ip_address(announced).is_unspecified else announced
    except ValueError:  # a name, under which a gateway answers only if `gateway.names` has it
        return listen


def _config_in(config_file: Path) -> PeerConfig:
    config = load_config(config_file, PeerConfig)
    if config.member.certificate and not rights_in(config.member.certificate):
        raise ConfigError(
            f"{config_file} is that of a bootstrap node: start it with "
            f"`tianmesh bootstrap --config {config_file}`"
        )
    _check_analysis(config_file, config.mesh)
    return config


async def _table_in(home: Path, data: Path) -> LmdbTable:
    check_place(data)
    check_disk(home, data)
    await set_aside_if_damaged(data)
    _make_private(home, data)
    return LmdbTable(data / "table")


def _make_private(home: Path, data: Path) -> None:
    """Close the folder of a peer to others, also one that an earlier version has left open."""
    try:
        make_private_folder(data)
        data.chmod(FOLDER_MODE)
        mark_disk(home, data)
    except OSError as error:
        if error.errno in NO_SPACE:
            raise StorageFull(f"the disk of {data} is full: free some space and start again") from error
        raise ConfigError(
            f"cannot write in {data} ({error.strerror}), choose another folder in storage.folder"
        ) from error


def _index_in(data: Path, workshop: Workshop | None) -> Index:
    """Open the index of a data folder, which has its segments built in a workshop, if there is one.

    Raises:
      StorageFull: there is no space for the files that it begins with.
      StorageError: its disk cannot be used.
    """
    folder = data / "index"
    try:
        return Index.open(folder, SegmentBuilder(workshop) if workshop else build_encoded)
    except OSError as error:
        if error.errno in NO_SPACE:
            raise StorageFull(f"the disk of {folder} is full: free some space and start again") from error
        raise StorageError(f"the index in {folder} cannot be opened, check its disk: {error}") from error


def _check_analysis(config_file: Path, mesh: MeshConfig) -> None:
    """Refuse to run in a mesh with terms made by newer rules: the same word would not be found.

    One that was founded by older rules goes on by ours: a peer that is upgraded indexes its pages anew. While
    others are still to be, words that only one of both versions has are not found everywhere.
    """
    if mesh.analysis_version > ANALYSIS_VERSION:
        raise ConfigError(
            f"{config_file}: this mesh analyses text by version {mesh.analysis_version}, this program only "
            f"by version {ANALYSIS_VERSION}: install the version of tianmesh that the other peers run"
        )
    if fingerprint() != FINGERPRINT:
        raise ConfigError(
            f"the libraries installed analyse text otherwise than version {ANALYSIS_VERSION} does; "
            "install jieba, rjieba and pystemmer in the versions that tianmesh asks for"
        )


async def _finish(me: str, runtime: Runtime) -> bool:
    """End all that was begun; return whether this peer leaves the mesh.

    Of one that is down the others think that it may have what nobody else has, and wait for it.
    """
    await _finish_pages(me, runtime)
    seen = runtime.observe()
    membership, handover, cell = seen["membership"], seen["handover"], seen["cell"]
    assert isinstance(membership, MembershipStatistics)
    assert isinstance(handover, HandoverStatistics)
    assert isinstance(cell, CellStatistics)
    return may_leave(membership, handover, cell)


async def _finish_pages(me: str, runtime: Runtime) -> None:
    """Begin no more fetches, let the pages in progress be stored, and the others hear of it.

    Nobody waits here for a full disk to be emptied.
    """
    runtime.deliver(Address(me, "fetcher"), "controller", StopCrawl())
    with trio.move_on_after(FINISH_S):
        while True:
            seen = runtime.observe()
            crawl, cell = seen["controller"], seen["cell"]
            assert isinstance(crawl, CrawlStatistics)
            assert isinstance(cell, CellStatistics)
            # Who takes over must know what is done, or it fetches that again.
            if not crawl.in_flight and not crawl.in_progress and crawl.is_shared:
                return
            if cell.is_full or runtime.is_disk_full:
                break
            await trio.sleep(FINISH_POLL_S)
    logger.warning("pages in progress left to the next start")


def _visitor_of(config: PeerConfig) -> Visitor:
    return visitor_of(config.crawl, config.web.allow_private, is_closed=bool(config.web.resolver))


def _index_workshop(config: PeerConfig) -> Workshop | None:
    """The process that builds segments of the index, where the peer has more than one core."""
    return Workshop(segment_process.COMMAND) if builds_apart(config, core_count()) else None


def _cell_settings(config: StorageConfig) -> CellSettings:
    retention = RetentionSettings(
        versions_max=config.versions_max,
        version_days=config.version_days,
        host_bytes_max=config.host_bytes_max,
    )
    return CellSettings(retention=retention)


class _Observable(Protocol):
    def observe(self) -> object: ...


def _observed(**parts: _Observable | None) -> dict[str, object]:
    """Return the statistics of those parts that exist, by name."""
    return {name: part.observe() for name, part in parts.items() if part is not None}


def _fetcher(folder: Path, config: WebConfig, workshop: Workshop, visitor: Visitor) -> Fetcher:
    return Fetcher(
        _resolver(folder, config),
        decode_beginning=decoding_in(workshop),
        addresses=AddressPolicy.of(config.allow_private, is_anonymous=visitor.is_anonymous),
        turns=AddressQueues((lambda _: True) if config.spares_private else is_public, is_leasing=True),
        proxy=_proxy(config.proxy) if config.proxy else None,
    )


def _proxy(url: str) -> Proxy:
    from peers.crawler.fetching.proxy import Proxy

    return Proxy(url)


def _reach(folder: Path, config: WebConfig) -> bytes:
    """Return a digest of the settings and addresses that decide which hosts can be reached."""
    table = (folder / config.resolver).read_bytes() if config.resolver else b""
    settings = msgspec.json.encode((config.resolver, config.allow_private, config.proxy))
    return sha256(settings + table).digest()


def _renderer(config: PeerConfig, fetcher: Fetcher, workshop: Workshop) -> Renderer | None:
    """The renderer that shows pages in a browser, where some have to be.

    Raises:
      ConfigError: there is no such browser.
    """
    if not config.web.render:
        return None
    command = command_of(config.web.renderer)
    served = fetcher.fetch, decoding_in(workshop), robots_reading_in(workshop)
    return Renderer(command, config.web.render, *served, browsers_max=process_count(config, core_count()))


def _resolver(folder: Path, config: WebConfig) -> Resolver:
    if not config.resolver:
        return SystemResolver()
    path = folder / config.resolver
    try:
        return FixedResolver.load(path)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot use the resolver table {path}: {error}; "
            'it must be JSON such as {"www.example.org": "127.0.0.1"}'
        ) from error
