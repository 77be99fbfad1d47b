from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mesh.actors import codec
from mesh.errors import RemoteProtocolError
from peers.gateway.model.quantity import COUNT_MAX
from peers.gateway.model.status import (
    HOT_HOSTS_MAX,
    REASONS_MAX,
    FrontierSize,
    PeerState,
    PeerStatus,
    Report,
    SlotCounts,
    decode,
    encode,
    report_of,
    state_of,
)
from peers.gateway.model.wire_messages import StatusTold
from tests.frames import DECODER


def test_a_status_begins_with_the_peer_that_it_is_of() -> None:
    assert list(PeerStatus.__struct_fields__)[:4] == ["id", "pid", "endpoint", "gateway"]


@pytest.mark.parametrize("most", [{"frontier": {"queued": COUNT_MAX}}, {"cpu_seconds": float(COUNT_MAX)}])
def test_a_report_can_be_read_whatever_a_member_says(most: dict[str, Any]) -> None:
    """Sums that no type takes, and infinities that JSON has no word for, would hide all other members."""
    eve = decode(msgspec.msgpack.encode({"id": "eve", **most}))
    ann = PeerStatus(id="ann", cpu_seconds=1.0, frontier=FrontierSize(1, 2, 3))
    told = msgspec.json.decode(msgspec.json.encode(report_of([ann, eve])))
    assert [peer.id for peer in msgspec.convert(told, Report).peers] == ["ann", "eve"]


def test_total_adds_what_adds_up() -> None:
    ann = PeerStatus(
        id="ann",
        pages_fetched=10,
        seconds=5.0,
        pages_per_second=2.0,
        fetch_status={"200": 9, "dns": 1},
        idle=True,
        frontier=FrontierSize(1, 2, 3),
        activity=4,
        searches=7,
        private_bytes=10,
        rss_bytes=30,
        searches_cached=3,
        slots=SlotCounts(1, 2, 3, 4, 5, 6, 7, 8),
        bytes_moved_per_s=1.5,
        hot_hosts=(("a.test", 5), ("b.test", 3)),
    )
    bob = PeerStatus(
        id="bob",
        pages_fetched=30,
        seconds=10.0,
        fetch_status={"200": 30},
        cpu_seconds=1.5,
        private_bytes=100,
        slots=SlotCounts(10, 20, 30, 40, 50, 60, 70, 80),
        bytes_moved_per_s=0.5,
        hot_hosts=(("c.test", 4),),
    )
    total = report_of([ann, bob]).total
    assert total.pages_fetched == 40
    assert total.seconds == 10.0
    assert total.pages_per_second == 4.0
    assert total.fetch_status == {"200": 39, "dns": 1}
    assert total.cpu_seconds == 1.5
    assert (total.private_bytes, total.rss_bytes) == (110, 30)
    assert total.frontier == FrontierSize(1, 2, 3)
    assert not total.idle
    assert total.activity == 4
    assert (total.searches, total.searches_cached) == (7, 3)
    assert total.slots == SlotCounts(11, 22, 33, 44, 55, 66, 77, 88)
    assert total.bytes_moved_per_s == 2.0
    assert total.hot_hosts == (("a.test", 5), ("c.test", 4), ("b.test", 3))


@pytest.mark.parametrize("name", ["s", "名" * 500, "\U0001f600" * 300])
def test_a_status_can_be_read_whatever_was_counted(name: str) -> None:
    status = PeerStatus(
        id="ann",
        fetch_status={f"{n}{name}": n for n in range(1, 5_001)} | {"200": 10_000_000},
        hot_hosts=tuple((f"http://{n}{name * 5}.test", 1 << 60) for n in range(50)),
    )
    encoded = encode(status)
    told = DECODER.decode(codec.encode("searcher", "searcher", StatusTold(1, encoded))).message
    assert told == StatusTold(1, encoded)
    seen = decode(encoded)
    assert len(seen.fetch_status) <= REASONS_MAX
    assert sum(seen.fetch_status.values()) == sum(status.fetch_status.values())
    assert seen.fetch_status["200"] == 10_000_000
    assert len(seen.hot_hosts) == HOT_HOSTS_MAX


def test_a_status_of_usual_size_is_not_cut() -> None:
    reasons = {str(n): n for n in range(1, REASONS_MAX)}
    status = PeerStatus(id="ann", fetch_status=reasons, hot_hosts=(("a.test", 5),))
    assert decode(encode(status)) == status


def test_longest_queues_of_all_are_as_many_as_of_one() -> None:
    hosts = [tuple((f"{peer}{n}.test", n) for n in range(HOT_HOSTS_MAX)) for peer in "ab"]
    total = report_of(PeerStatus(id=str(n), hot_hosts=each) for n, each in enumerate(hosts)).total
    assert len(total.hot_hosts) == HOT_HOSTS_MAX
    assert total.hot_hosts[0][1] == HOT_HOSTS_MAX - 1


ALL_HERE = SlotCounts(owned=10, held=10, kept=20, complete=20, answered=10)
WELL = {"has_majority": True, "is_licensed": True, "is_draining": False, "is_quiet": True}


@pytest.mark.parametrize(
    ("slots", "changes", "state"),
    [
        (ALL_HERE, {}, PeerState.STEADY),
        (ALL_HERE, {"is_quiet": False}, PeerState.MOVING),
        (SlotCounts(owned=10, held=9), {"is_quiet": False}, PeerState.CLAIMING),
        (ALL_HERE, {"is_draining": True}, PeerState.DRAINING),
        (SlotCounts(strays=1), {"is_draining": True}, PeerState.DRAINING),
        (SlotCounts(answered=1), {"is_draining": True}, PeerState.DRAINING),
        (SlotCounts(stopping=1), {"is_draining": True}, PeerState.DRAINING),
        (SlotCounts(), {"is_draining": True, "is_licensed": False}, PeerState.DRAINED),
        (SlotCounts(), {}, PeerState.STEADY),
        (ALL_HERE, {"is_licensed": False}, PeerState.UNLICENSED),
        (ALL_HERE, {"has_majority": False, "is_licensed": False, "is_draining": True}, PeerState.CUT_OFF),
    ],
)
def test_state_is_the_gravest_that_applies(
    slots: SlotCounts, changes: dict[str, bool], state: PeerState
) -> None:
    assert state_of(slots, **(WELL | changes)) is state


def test_nobody_is_not_idle() -> None:
    total = report_of([]).total
    assert total.pages_per_second == 0.0
    assert not total.idle


def test_report_lists_peers_by_id() -> None:
    report = report_of([PeerStatus(id="bob"), PeerStatus(id="ann")])
    assert [peer.id for peer in report.peers] == ["ann", "bob"]
    assert list(msgspec.json.decode(msgspec.json.encode(report))) == ["peers", "total", "members"]


def test_status_survives_the_wire() -> None:
    status = PeerStatus(
        id="ann",
        fetch_status={"timeout": 3},
        frontier=FrontierSize(1, 2, 3),
        state=PeerState.CUT_OFF,
        slots=SlotCounts(1, 2, 3, 4, 5, 6, 7, 8),
        hot_hosts=(("a.test", 3),),
    )
    assert decode(encode(status)) == status


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\xc1",
        b"\x91" * 100_000,
        msgspec.msgpack.encode({"pid": 1}),
        msgspec.msgpack.encode({"id": "a", "pid": -1}),
        msgspec.msgpack.encode({"id": "a", "seconds": float("nan")}),
        msgspec.msgpack.encode({"id": "a", "seconds": float("inf")}),
        msgspec.msgpack.encode({"id": "a", "rss_bytes": 1 << 60}),
    ],
)
def test_status_that_is_none_is_refused(garbage: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode(garbage)
