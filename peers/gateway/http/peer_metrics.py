"""The metrics of a peer that keep their names: dashboards and alerts lean on them. Pure.

What actors and ports count besides is told under their own names, which may change with any version
(`metrics.internals`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from math import isinf
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from peers.gateway.model.histogram import Histogram
from peers.gateway.model.status import PeerState, PeerStatus

Labels: TypeAlias = Mapping[str, str]


class Kind(StrEnum):
    COUNTER = "counter"  # since the start of the peer, where its help does not say otherwise
    GAUGE = "gauge"  # of now
    HISTOGRAM = "histogram"


class Sample(NamedTuple):
    """One number of a family."""

    value: float
    labels: Labels = MappingProxyType({})
    suffix: str = ""  # of the name


class Family(NamedTuple):
    """A metric with all its samples."""

    name: str
    kind: Kind
    help: str
    samples: tuple[Sample, ...]


class _Told(NamedTuple):
    """A metric that the status of a peer tells."""

    name: str
    kind: Kind
    help: str
    read: Callable[[PeerStatus], float]


_C, _G = Kind.COUNTER, Kind.GAUGE
_TOLD: Final = (
    _Told("pages_fetched_total", _C, "Pages that were asked for and answered.", lambda s: s.pages_fetched),
    _Told("pages_stored_total", _C, "Pages stored as owner of their slots, ever.", lambda s: s.pages_stored),
    _Told("urls_seen_total", _C, "URLs met, ever.", lambda s: s.urls_seen),
    _Told("fetched_bytes_total", _C, "Bytes of bodies that were fetched.", lambda s: s.bytes_fetched),
    _Told("links_found_total", _C, "Links found on pages.", lambda s: s.links_found),
    _Told("links_sent_total", _C, "Links sent to other peers.", lambda s: s.links_sent),
    _Told("messages_sent_total", _C, "Messages sent to other peers.", lambda s: s.messages_sent),
    _Told("sent_bytes_total", _C, "Bytes sent to other peers.", lambda s: s.bytes_sent),
    _Told("moved_bytes_total", _C, "Bytes received with slots that changed hands.", lambda s: s.bytes_moved),
    _Told("cpu_seconds_total", _C, "Processor time, helping processes included.", lambda s: s.cpu_seconds),
    _Told("searches_total", _C, "Searches that people and programs asked for.", lambda s: s.searches),
    _Told("searches_cached_total", _C, "Searches answered from memory.", lambda s: s.searches_cached),
    _Told("up_seconds", _G, "Seconds since the start.", lambda s: s.seconds),
    _Told(
        "pages_indexed",
        _G,
        "Pages that searches find here; over all peers every page counts once.",
        lambda s: s.pages_indexed,
    ),
    _Told("documents", _G, "Documents in the index, those of other owners included.", lambda s: s.documents),
    _Told("index_bytes", _G, "Size of the index on disk.", lambda s: s.index_bytes),
    _Told("archive_bytes", _G, "Size of the archive on disk.", lambda s: s.archive_bytes),
    _Told("private_bytes", _G, "Memory that is of no file.", lambda s: s.private_bytes),
    _Told("resident_bytes", _G, "Memory, files that the system caches included.", lambda s: s.rss_bytes),
    _Told("frontier_hosts", _G, "Hosts with anything queued.", lambda s: s.frontier.hosts),
    _Told("frontier_urls", _G, "URLs that wait to be fetched.", lambda s: s.frontier.queued),
    _Told("fetches_in_flight", _G, "Fetches under way.", lambda s: s.frontier.in_flight),
    _Told("pending", _G, "Pages and batches begun, not yet durable where they belong.", lambda s: s.pending),
    _Told("members", _G, "Live members that this peer sees, itself included.", lambda s: s.members),
    _Told("weight", _G, "Share of the slots, relative to those of others.", lambda s: s.weight),
    _Told("idle", _G, "1 when there is nothing to do.", lambda s: s.idle),
    _Told("disk_free_bytes", _G, "Space left on the disk of archive and index.", lambda s: s.disk_free_bytes),
    _Told(
        "disk_full",
        _G,
        "1 while nothing is fetched for lack of space.",
        lambda s: s.disk_full or bool(s.disk_stop),
    ),
    _Told(
        "members_quarantined",
        _G,
        "Members that this peer believes nothing of, for what they did.",
        lambda s: sum(each.is_quarantined for each in s.misconduct),
    ),
)


def families_of(status: PeerStatus) -> Iterator[Family]:
    """Yield the metrics that the status of a peer has."""
    for told in _TOLD:
        yield Family(f"tianmesh_{told.name}", told.kind, told.help, (Sample(told.read(status)),))
    outcomes = status.fetch_status.items()
    yield Family(
        "tianmesh_fetches_total",
        Kind.COUNTER,
        "Fetches by how they ended: a status of HTTP, or a reason.",
        tuple(Sample(count, {"outcome": outcome}) for outcome, count in outcomes),
    )
    slots = status.slots
    yield Family(
        "tianmesh_slots",
        Kind.GAUGE,
        "Slots by what is true of them; see `tianmesh status`.",
        tuple(Sample(getattr(slots, what), {"what": what}) for what in slots.__struct_fields__),
    )
    yield Family(
        "tianmesh_state",
        Kind.GAUGE,
        "1 for what the peer is busy with beside the crawl.",
        tuple(Sample(state is status.state, {"state": state.value}) for state in PeerState),
    )
    who = {"peer": status.id, "machine": status.machine, "version": status.version}
    yield Family("tianmesh_peer_info", Kind.GAUGE, "Who this peer is; always 1.", (Sample(1, who),))


def histogram_family(name: str, text: str, histogram: Histogram) -> Family:
    """Return the family of a histogram; `name` ends with its unit."""
    classes = list(histogram.cumulated())
    buckets = [
        Sample(count, {"le": "+Inf" if isinf(bound) else repr(bound)}, "_bucket") for bound, count in classes
    ]
    whole = (Sample(histogram.sum_s, suffix="_sum"), Sample(classes[-1][1], suffix="_count"))
    return Family(name, Kind.HISTOGRAM, text, (*buckets, *whole))
