"""`tianmesh status`, against a gateway that answers from memory."""

from __future__ import annotations

import json

from msgspec.structs import replace

from peers.gateway.model.status import MemberRow, PeerState, PeerStatus, SlotCounts, report_of
from tests.peers.commands.running import run
from tests.peers.fake_gateway import ME, WAITING, fake_gateway

KEY = "k" * 40  # Z85


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


def test_status_shows_who_is_down_and_what_to_do_and_what_is_missing() -> None:
    dead, door = "dddddddddddddddd", "bbbbbbbbbbbbbbbb"
    row = PeerStatus(id=ME, machine="\x1blab-1.example.org", pages_indexed=5_349, pages_per_second_now=12.5)
    row = replace(row, relay=door, relayed=2)
    members = [
        MemberRow(id=ME, state="alive", endpoint="tcp://10.0.0.1:7410", door="tcp://10.0.0.1:7411", key=KEY),
        MemberRow(id=dead, state="down", down_s=7.2, endpoint="tcp://10.0.0.2:7410"),
        MemberRow(id=door, state="alive", is_door=True, door="tcp://10.255.255.255:17401", key=KEY),
        MemberRow(id="e" * 16, state="down", endpoint="nonsense"),
    ]
    with fake_gateway() as gateway:
        gateway.reports = [report_of([row], members)]
        gateway.readiness = [WAITING]
        shown = run(gateway, "status")
        told = json.loads(run(gateway, "status", "--json"))["members"]
    assert all(len(line) <= 80 for line in shown.splitlines())
    text = " ".join(shown.split())
    assert f"{dead} down 7.2 s" in text
    assert f"{dead}, 10.0.0.2, is down 7.2 s: start that peer again; if its machine is lost" in text
    assert f"`tianmesh drain {dead}` writes it off" in text
    assert f"{door} bootstrap" in text
    assert f"{ME} lab-1.example. steady 5,349 12.5" in text
    assert f"{ME} over relay {door} relay of 2" in text
    assert "not answered: 3 of 10 slots: bob brings or compares" in text
    assert f"door tcp://10.255.255.255:17401={KEY} door tcp://10.0.0.1:7411={KEY}" in text
    assert [each["state"] for each in told] == ["alive", "alive", "down", "down"]


def test_members_whose_addresses_are_not_told_are_shown() -> None:
    with fake_gateway() as gateway:
        gateway.reports = [report_of([], [MemberRow(id=ME, state="down")])]
        assert f"{ME} is down: start that peer again" in " ".join(run(gateway, "status").split())
