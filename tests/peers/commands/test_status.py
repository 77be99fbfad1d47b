"""`tianmesh status`, against a gateway that answers from memory."""

from __future__ import annotations

import json

from peers.gateway.status import PeerState, PeerStatus, SlotCounts, report_of
from tests.peers.commands.running import run
from tests.peers.fake_gateway import ME, fake_gateway


def test_status_shows_slots_and_states_in_eighty_columns() -> None:
    slots = SlotCounts(
        owned=50_000, held=49_999, kept=50_000, complete=50_000, answered=50_000, wanted=50_000
    )
    peer = PeerStatus(
        id=ME,
        state=PeerState.UNLICENSED,
        slots=slots,
        bytes_moved_per_s=125e6,
        hot_hosts=(("big.test", 12_345),),
    )
    with fake_gateway() as gateway:
        gateway.reports = [report_of([peer])]
        shown = run(gateway, "status")
        row = json.loads(run(gateway, "status", "--json"))["peers"][0]
    assert all(len(line) <= 80 for line in shown.splitlines())
    for text in ("49,999", "50,000", "125.0", "unlicensed", "big.test (12,345)"):
        assert text in shown
    assert row["state"] == "unlicensed"
    assert row["slots"]["held"] == 49_999
