"""What a peer tells of itself, and the sum of what all peers tell: the report of a mesh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.errors import RemoteProtocolError

REASONS_MAX: Final = 1_000  # distinct HTTP status codes and failure reasons of one peer

# 2^53: what JSON numbers hold exactly, and the sum over a mesh still fits 64 bits.
Count = Annotated[int, Meta(ge=0, le=1 << 53)]
Amount = Annotated[float, Meta(ge=0)]
Text = Annotated[str, Meta(max_length=300)]


class FrontierSize(msgspec.Struct, frozen=True):
    """What a peer still has to fetch."""

    hosts: Count = 0  # with anything queued
    queued: Count = 0  # URLs
    in_flight: Count = 0  # fetches


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
    cpu_seconds: Amount = 0.0  # of the process, user and system
    pages_per_second: Amount = 0.0
    rss_bytes: Count = 0
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


class Report(msgspec.Struct, frozen=True):
    """The JSON of /api/status and of `--report`."""

    peers: tuple[PeerStatus, ...]
    total: Total


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
    "rss_bytes",
    "documents",
    "index_bytes",
    "archive_bytes",
    "pending",
    "activity",
]
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PeerStatus)


def report_of(peers: Iterable[PeerStatus]) -> Report:
    """Sort the peers by id and sum them up."""
    listed = tuple(sorted(peers, key=lambda peer: peer.id))
    return Report(listed, total_of(listed))


def total_of(peers: Iterable[PeerStatus]) -> Total:
    """Add what adds up; seconds are the longest, pages_per_second all pages over those."""
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
    )


def encode(status: PeerStatus) -> bytes:
    """MessagePack, as `MeterRead` and `StatusTold` carry it."""
    return _encoder.encode(status)


def decode(encoded: bytes) -> PeerStatus:
    """Read a status.

    Raises:
      RemoteProtocolError: it is none.
    """
    try:
        return _decoder.decode(encoded)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RemoteProtocolError(f"undecodable status of {len(encoded)} bytes: {error}") from error


def _sum_by_key(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for count in counts:
        for key, value in count.items():
            total[key] = total.get(key, 0) + value
    return dict(sorted(total.items()))
