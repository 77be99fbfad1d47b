from __future__ import annotations

import msgspec
import pytest

from mesh.errors import RemoteProtocolError
from peers.gateway.status import FrontierSize, PeerStatus, decode, encode, report_of, total_of

# As the report is documented.
REPORT_FIELDS = [
    *("id", "pid", "endpoint", "gateway", "pages_fetched", "pages_stored", "pages_indexed", "urls_seen"),
    *("fetch_status", "bytes_fetched", "links_found", "links_sent", "messages_sent", "bytes_sent", "seconds"),
    *("cpu_seconds", "pages_per_second", "rss_bytes", "documents", "index_bytes", "archive_bytes"),
]


def test_status_has_the_fields_of_the_report_first() -> None:
    assert list(PeerStatus.__struct_fields__)[: len(REPORT_FIELDS)] == REPORT_FIELDS


def test_total_has_every_number_of_the_peers() -> None:
    per_peer = {"id", "pid", "endpoint", "gateway", "members", "epoch"}
    total = report_of([PeerStatus(id="ann")]).total
    assert set(total.__struct_fields__) == set(PeerStatus.__struct_fields__) - per_peer


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
    )
    bob = PeerStatus(id="bob", pages_fetched=30, seconds=10.0, fetch_status={"200": 30}, cpu_seconds=1.5)
    total = total_of([ann, bob])
    assert total.pages_fetched == 40
    assert total.seconds == 10.0
    assert total.pages_per_second == 4.0
    assert total.fetch_status == {"200": 39, "dns": 1}
    assert total.cpu_seconds == 1.5
    assert total.frontier == FrontierSize(1, 2, 3)
    assert not total.idle
    assert total.activity == 4


def test_nobody_is_not_idle() -> None:
    total = total_of([])
    assert total.pages_per_second == 0.0
    assert not total.idle


def test_report_lists_peers_by_id() -> None:
    report = report_of([PeerStatus(id="bob"), PeerStatus(id="ann")])
    assert [peer.id for peer in report.peers] == ["ann", "bob"]
    assert list(msgspec.json.decode(msgspec.json.encode(report))) == ["peers", "total"]


def test_status_survives_the_wire() -> None:
    status = PeerStatus(id="ann", fetch_status={"timeout": 3}, frontier=FrontierSize(1, 2, 3))
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
        msgspec.msgpack.encode({"id": "a", "rss_bytes": 1 << 60}),
    ],
)
def test_status_that_is_none_is_refused(garbage: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode(garbage)
