"""The status of a peer, and the sum of those of all peers: the report of a mesh."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import astuple, replace

from mesh.actors.conduct import MEMBERS_TOLD_MAX
from mesh.errors import RemoteProtocolError
from mesh.membership.members import State
from mesh.membership.messages import UNREACHABLE_MAX
from mesh.membership.wire_messages import Rumour

STATUS_BYTES_MAX: Final = 65_536  # encoded, as `StatusTold` takes it
TEXT_CHARS_MAX: Final = 300  # of a name
REASONS_MAX: Final = 1_000  # distinct HTTP status codes and failure reasons of one peer
OTHER: Final = "other"  # counts together those that would be too many
HOT_HOSTS_MAX: Final = 10  # named, of one peer and of all
SEARCHED_WORDS_MAX: Final = 64
STORES_MAX: Final = 64  # of one peer
UNREACHABLE_TOLD_MAX: Final = UNREACHABLE_MAX + 1  # and the peer itself
OFFENCES_MAX: Final = 64  # kinds

# 2^53: what JSON numbers hold exactly, and the sum over a mesh still fits 64 bits.
COUNT_MAX: Final = 1 << 53
Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]
Amount = Annotated[float, Meta(ge=0)]
Text = Annotated[str, Meta(max_length=TEXT_CHARS_MAX)]


class FrontierSize(msgspec.Struct, frozen=True):
    """Counts of the hosts and URLs that a peer still has to fetch."""

    hosts: Count = 0  # with anything queued
    queued: Count = 0  # URLs
    in_flight: Count = 0  # fetches


class SlotCounts(msgspec.Struct, frozen=True):
    """The slots of a peer, counted by their present states."""

    owned: Count = 0  # to be crawled by it
    held: Count = 0  # crawled by it
    kept: Count = 0  # as owner or standby
    complete: Count = 0  # of those, everything is here
    answered: Count = 0  # searched here
    wanted: Count = 0  # to be brought here; one counts for every peer and store that has some of it
    strays: Count = 0  # not to be kept here any more, and not yet safe elsewhere
    stopping: Count = 0  # no longer to be crawled here, but pages of them are on their way


class StoreCounts(msgspec.Struct, frozen=True):
    """One store of a peer: the number of slots that it has data of, and the transfers of that data."""

    slots: Count = 0  # of which anything is here
    wanted: Count = 0  # slots to be brought here; one counts for every peer that has some of it
    moving: Count = 0  # transfers that are under way, in and out
    unkept: Count = 0  # changes on their way to others who keep the same slots, in messages
    bytes_received: Count = 0  # from other peers, when slots changed hands or were repaired
    bytes_sent: Count = 0  # to other peers, then


class MemberMisconduct(msgspec.Struct, frozen=True):
    """The offences of another member that a peer has seen itself; see `mesh.actors.conduct`."""

    peer: Text
    points: Amount  # of now
    is_quarantined: bool
    offences: Annotated[dict[Text, Count], Meta(max_length=OFFENCES_MAX)]  # since the start


class PeerState(Enum):
    """The state of a peer beside the crawl; the gravest that applies."""

    CUT_OFF = "cut off"  # most members are out of its sight: it begins no fetches
    UNLICENSED = "unlicensed"  # nobody has answered it lately: it begins no fetches
    DRAINED = "drained"  # nothing depends on it any more
    DRAINING = "draining"  # it gives its slots away
    CLAIMING = "claiming"  # it does not crawl all of its slots yet
    MOVING = "moving"  # it gets or gives what belongs to slots
    STEADY = "steady"


class MemberRow(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the mesh, whether it answers or not, as the peer that was asked believes."""

    id: str
    name: str = ""  # what people call it, as it says itself; may be anything
    is_door: bool = False  # a bootstrap node: it has no slots, no gateway and no status
    state: str  # alive, suspect, or down
    down_s: float | None = None  # seconds for which it has been down; None when longer than that is known
    endpoint: str = ""  # tcp://host:port of its inbox
    door: str = ""  # where newcomers knock
    key: str = ""  # that they must know then, Z85
    gateway: str = ""


class PeerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One peer since its start, where nothing else is said; counters grow, gauges are as of now."""

    id: Text
    pid: Count = 0
    endpoint: Text = ""  # tcp://host:port of its inbox
    gateway: Text = ""  # http://host:port
    pages_fetched: Count = 0
    pages_stored: Count = 0  # ever, as the owner of their slots
    pages_indexed: Count = 0  # found by searches that this peer answers: over all peers, every page once
    urls_seen: Count = 0  # ever
    fetch_status: Annotated[dict[Text, Count], Meta(max_length=REASONS_MAX)] = {}  # status or reason
    bytes_fetched: Count = 0
    links_found: Count = 0
    links_sent: Count = 0  # to other peers
    messages_sent: Count = 0  # to other peers
    bytes_sent: Count = 0  # to other peers
    seconds: Amount = 0.0  # since the start
    cpu_seconds: Amount = 0.0  # user and system, of the process and those that work for it
    pages_per_second: Amount = 0.0
    rss_bytes: Count = 0  # likewise; all that is resident, also of files that the system caches
    documents: Count = 0  # in the index, those of other owners included
    index_bytes: Count = 0
    archive_bytes: Count = 0
    idle: bool = False  # nothing is due, in flight or waiting to be stored, sent or indexed
    disk_full: bool = False  # it fetches nothing until there is space again
    frontier: FrontierSize = FrontierSize()
    pending: Count = 0  # pages and batches begun and not yet durable where they belong
    members: Count = 0  # live members this peer sees, itself included
    epoch: Annotated[str, Meta(max_length=64)] = ""  # hexadecimal
    activity: Count = 0  # changes whenever anything happens: equal twice and idle means at rest
    state: PeerState = PeerState.STEADY
    is_draining: bool = False
    weight: Count = 0  # its share of the slots, relative to those of others; see `mesh.membership.balance`
    slots: SlotCounts = SlotCounts()
    stores: Annotated[dict[Text, StoreCounts], Meta(max_length=STORES_MAX)] = {}  # by name
    bytes_moved: Count = 0  # got from other peers when slots changed hands, or were repaired
    bytes_moved_per_s: Amount = 0.0  # of now
    hot_hosts: Annotated[
        tuple[tuple[Text, Count], ...], Meta(max_length=HOT_HOSTS_MAX)
    ] = ()  # longest queues
    searches: Count = 0  # that it was asked for by people and programs
    searches_cached: Count = 0  # of these, answered by a page of results that was shown before
    misconduct: Annotated[tuple[MemberMisconduct, ...], Meta(max_length=MEMBERS_TOLD_MAX)] = ()
    machine: Text = ""  # what its machine calls itself
    version: Text = ""  # of tianmesh
    pages_per_second_now: Amount = 0.0
    private_bytes: Count = 0  # of memory: the part of `rss_bytes` that is of no file
    pages_max: Count = 0  # of the whole mesh by its policy, when that is why this peer fetches nothing
    # Peers that others do not reach and why: this one, or who asks to be let in here.
    unreachable: Annotated[tuple[tuple[Text, Text], ...], Meta(max_length=UNREACHABLE_TOLD_MAX)] = ()
    disk_free_bytes: Count = 0  # of the disk with archive and index; 0 when it is not told
    disk_bytes_per_s: Amount = 0.0  # by which these grow, over the last ten minutes
    relay: Text = ""  # the member over which others reach it
    relayed: Count = 0  # peers that others reach over this one
    searched_words: Annotated[
        tuple[Text, ...], Meta(max_length=SEARCHED_WORDS_MAX)
    ] = ()  # see `CrawlStatistics`
    disk_stop: Text = ""  # why it fetches nothing, when that is a limit of its disk by its settings
    policy_late_s: Amount = 0.0  # for how long the policy should have been followed by another


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """The peers of a report taken together."""

    pages_fetched: int = 0
    pages_stored: int = 0
    pages_indexed: int = 0
    urls_seen: int = 0
    fetch_status: dict[str, int] = {}
    bytes_fetched: int = 0
    links_found: int = 0
    links_sent: int = 0
    messages_sent: int = 0
    bytes_sent: int = 0
    seconds: float = 0.0  # the longest of any peer
    cpu_seconds: float = 0.0
    pages_per_second: float = 0.0  # all pages over `seconds`
    rss_bytes: int = 0
    documents: int = 0
    index_bytes: int = 0
    archive_bytes: int = 0
    idle: bool = False  # every peer is
    disk_full: bool = False  # any peer's is
    frontier: FrontierSize = FrontierSize()
    pending: int = 0
    activity: int = 0
    slots: SlotCounts = SlotCounts()
    stores: dict[str, StoreCounts] = {}
    bytes_moved: int = 0
    bytes_moved_per_s: float = 0.0
    hot_hosts: tuple[tuple[str, int], ...] = ()
    searches: int = 0
    searches_cached: int = 0
    private_bytes: int = 0
    pages_per_second_now: float = 0.0


class Report(msgspec.Struct, frozen=True):
    """The JSON of /api/status and of `--report`."""

    peers: tuple[PeerStatus, ...]
    total: Total
    members: tuple[MemberRow, ...] = ()  # of the mesh: also those that are down or have no status


def public_part(report: Report) -> Report:
    """The part of a report that anybody may see: no addresses, no processes, no hosts that are crawled."""
    peers = tuple(
        replace(
            peer,
            pid=0,
            endpoint="",
            gateway="",
            machine="",
            hot_hosts=(),
            fetch_status={},
            misconduct=(),
            unreachable=(),
            disk_free_bytes=0,
            disk_stop="",
            searched_words=(),
        )
        for peer in report.peers
    )
    members = tuple(
        replace(each, name="", endpoint="", door="", key="", gateway="") for each in report.members
    )
    return Report(peers, replace(report.total, hot_hosts=(), fetch_status={}), members)


_ADDED: Final = [
    "pages_fetched",
    "pages_stored",
    "pages_indexed",
    "urls_seen",
    "bytes_fetched",
    "links_found",
    "links_sent",
    "messages_sent",
    "bytes_sent",
    "cpu_seconds",
    "private_bytes",
    "rss_bytes",
    "documents",
    "index_bytes",
    "archive_bytes",
    "pending",
    "searches",
    "searches_cached",
    "activity",
    "bytes_moved",
    "bytes_moved_per_s",
    "pages_per_second_now",
]
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PeerStatus)


def report_of(peers: Iterable[PeerStatus], members: Iterable[MemberRow] = ()) -> Report:
    """Sort the peers by id and sum them up."""
    listed = tuple(sorted(peers, key=lambda peer: peer.id))
    return Report(listed, total_of(listed), tuple(sorted(members, key=lambda each: each.id)))


def member_rows(members: Iterable[Rumour], down_s: Mapping[str, float]) -> list[MemberRow]:
    """Return a row for each member as a membership believes it to be, for people."""
    return [
        MemberRow(
            id=record.peer,
            name=record.name,
            is_door=not (record.gateway or record.weight or record.serving),
            state=_STATES[State(state)],
            down_s=down_s.get(record.peer) if state == State.DEAD else None,
            endpoint=record.endpoint,
            door=record.door,
            key=record.curve_key.decode("ascii", "replace"),
            gateway=record.gateway,
        )
        for record, state in ((rumour.record, rumour.state) for rumour in members)
    ]


_STATES: Final = {State.ALIVE: "alive", State.SUSPECT: "suspect", State.DEAD: "down", State.LEFT: "gone"}


def total_of(peers: Iterable[PeerStatus]) -> Total:
    """Add up the counts of peers; seconds are the longest, pages_per_second all pages over those."""
    peers = tuple(peers)
    seconds = max((peer.seconds for peer in peers), default=0.0)
    pages = sum(peer.pages_fetched for peer in peers)
    return Total(
        **{field: sum(getattr(peer, field) for peer in peers) for field in _ADDED},
        fetch_status=_sum_by_key(peer.fetch_status for peer in peers),
        seconds=seconds,
        pages_per_second=pages / seconds if seconds else 0.0,
        idle=bool(peers) and all(peer.idle for peer in peers),
        disk_full=any(peer.disk_full for peer in peers),
        frontier=FrontierSize(
            hosts=sum(peer.frontier.hosts for peer in peers),
            queued=sum(peer.frontier.queued for peer in peers),
            in_flight=sum(peer.frontier.in_flight for peer in peers),
        ),
        slots=SlotCounts(*_sums(peer.slots for peer in peers)),
        stores=_sum_stores(peers),
        hot_hosts=_longest(host for peer in peers for host in peer.hot_hosts),
    )


def state_of(
    slots: SlotCounts, *, has_majority: bool, is_licensed: bool, is_draining: bool, is_quiet: bool
) -> PeerState:
    """Return the state of a peer, the gravest that applies.

    Args:
      is_quiet: nothing of its slots is moving or has to.
    """
    if not has_majority:
        return PeerState.CUT_OFF
    if is_draining:
        uses = (slots.owned, slots.held, slots.kept, slots.answered, slots.strays, slots.stopping)
        return PeerState.DRAINING if any(uses) else PeerState.DRAINED
    if not is_licensed:
        return PeerState.UNLICENSED
    if slots.held < slots.owned:
        return PeerState.CLAIMING
    return PeerState.STEADY if is_quiet else PeerState.MOVING


def encode(status: PeerStatus) -> bytes:
    """MessagePack, as `MeterRead` and `StatusTold` carry it.

    Whatever a web or a bug has made of names and counts, it is cut to what `decode` takes: a peer whose
    status cannot be read counts as gone.
    """
    hosts = status.hot_hosts[:HOT_HOSTS_MAX]
    cut = replace(status, hot_hosts=tuple((name[:TEXT_CHARS_MAX], min(n, COUNT_MAX)) for name, n in hosts))
    reasons = REASONS_MAX
    while True:
        encoded = _encoder.encode(replace(cut, fetch_status=_most(status.fetch_status, reasons)))
        if len(encoded) <= STATUS_BYTES_MAX:
            return encoded
        reasons //= 2
        assert reasons, "a status is small but for its reasons"


def decode(encoded: bytes) -> PeerStatus:
    """Read a status.

    Raises:
      RemoteProtocolError: it is none.
    """
    try:
        return _decoder.decode(encoded)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RemoteProtocolError(f"undecodable status of {len(encoded)} bytes: {error}") from error


def _most(counts: Mapping[str, int], limit: int) -> dict[str, int]:
    """The most frequent ones, with all others counted together, at most `limit` of both."""
    most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    n_named = len(counts) if len(counts) < limit else limit - 1
    named = [(name[:TEXT_CHARS_MAX], n) for name, n in most_first[:n_named]]
    kept: dict[str, int] = {}
    for name, n in (*named, *((OTHER, n) for _, n in most_first[n_named:])):
        kept[name] = min(kept.get(name, 0) + n, COUNT_MAX)
    return kept


def _longest(hosts: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """The hosts with most URLs to be fetched, longest first."""
    return tuple(sorted(hosts, key=lambda host: (-host[1], host[0]))[:HOT_HOSTS_MAX])


def _sums(counts: Iterable[msgspec.Struct]) -> Iterator[int]:
    """Add up the fields, one by one, of structs that have nothing but numbers."""
    return map(sum, zip(*map(astuple, counts), strict=True))


def _sum_stores(peers: Sequence[PeerStatus]) -> dict[str, StoreCounts]:
    names = sorted({name for peer in peers for name in peer.stores})
    return {
        name: StoreCounts(*_sums(peer.stores[name] for peer in peers if name in peer.stores))
        for name in names
    }


def _sum_by_key(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for count in counts:
        for key, value in count.items():
            total[key] = total.get(key, 0) + value
    return dict(sorted(total.items()))
