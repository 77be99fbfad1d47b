"""What is said of members: on the status page and by `tianmesh status`."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

from peers.gateway.model import member_lines
from peers.gateway.model.member_lines import Presence
from peers.gateway.model.readiness_json import ReadinessJson
from peers.gateway.model.status import (
    FrontierSize,
    MemberMisconduct,
    MemberRow,
    PeerStatus,
    public_part,
    report_of,
)
from peers.gateway.site.texts import text_in

SAY: Final = partial(text_in, "en")


def misconduct_lines(*told: PeerStatus) -> list[str]:
    return member_lines.misconduct_lines(report_of(told), SAY)


def test_a_policy_that_should_have_been_followed_by_another_is_told_once() -> None:
    told = [PeerStatus(id="ann"), PeerStatus(id="bob", policy_late_s=7_300.0), PeerStatus(id="cyd")]
    [line] = member_lines.policy_lines(report_of(told), SAY)
    assert "another one 2 h ago" in line
    assert member_lines.policy_lines(report_of(told[:1]), SAY) == []


def stop_lines(*told: PeerStatus) -> list[str]:
    return member_lines.stop_lines(report_of(told), SAY)


def test_every_member_has_a_line_whether_it_answers_or_not() -> None:
    members = [
        MemberRow(id="ann", state="alive"),
        MemberRow(id="bob", state="down", down_s=7_300.0),
        MemberRow(id="cat", state="down"),
        MemberRow(id="dan", state="alive", is_door=True),
        MemberRow(id="eve", state="suspect"),
    ]
    lines = member_lines.member_lines(report_of([PeerStatus(id="ann")], members), SAY)
    assert [(line.peer, line.presence, line.since) for line in lines] == [
        ("ann", Presence.ANSWERS, ""),
        ("bob", Presence.DOWN, "2 h"),
        ("cat", Presence.DOWN, ""),
        ("dan", Presence.DOOR, ""),
        ("eve", Presence.SILENT, ""),
    ]
    assert [line.status is not None for line in lines] == [True, False, False, False, False]


def test_what_is_missing_comes_before_who_is_down() -> None:
    members = [MemberRow(id="bob", state="down", down_s=130.0, endpoint="tcp://10.0.0.2:7410")]
    waiting = ReadinessJson("waiting", 10, 7, 3, ("bob with 3 slots has not answered",))
    missing, down = member_lines.advice(report_of([], members), waiting, SAY)
    assert missing == "not answered: 3 of 10 slots: bob with 3 slots has not answered"
    assert down.startswith("bob, 10.0.0.2, is down 2 min: start that peer again")


def test_who_is_in_quarantine_is_named_with_reasons_and_what_to_do() -> None:
    bad = MemberMisconduct("eve", 123.4, True, {"forged decrees": 40, "forged records": 3})
    lesser = MemberMisconduct("eve", 12.0, False, {"forged records": 6})
    [line] = misconduct_lines(
        PeerStatus(id="ann", misconduct=(bad,)), PeerStatus(id="bob", misconduct=(lesser,))
    )
    assert line.startswith("eve: 123 points")
    assert "40 forged decrees, 3 forged records" in line
    assert "in quarantine at ann:" in line
    assert "tianmesh expel eve" in line


def test_who_has_a_few_points_is_named_with_reasons() -> None:
    few = MemberMisconduct("eve", 12.0, False, {"forged records": 6})
    assert misconduct_lines(PeerStatus(id="ann", misconduct=(few,))) == [
        "eve: 12 points at worst, for 6 forged records"
    ]


def test_nothing_is_said_where_all_behave_or_to_strangers() -> None:
    assert misconduct_lines(PeerStatus(id="ann")) == []
    bad = MemberMisconduct("eve", 123.4, True, {"forged decrees": 40})
    shown = public_part(report_of([PeerStatus(id="ann", misconduct=(bad,))]))
    assert shown.peers[0].misconduct == ()


def test_limit_of_pages_that_stops_the_crawl_is_told() -> None:
    frontier = FrontierSize(queued=1_200)
    [line] = stop_lines(PeerStatus(id="ann", pages_max=5_000, frontier=frontier), PeerStatus(id="bob"))
    assert line.startswith(
        "nothing is fetched any more by 1 of 2 peers: the mesh has visited about 5,000 pages"
    )
    assert "1,200 stay queued" in line
    assert stop_lines(PeerStatus(id="ann")) == []


def test_limit_of_a_disk_that_stops_a_peer_is_told() -> None:
    [line] = stop_lines(PeerStatus(id="ann"), PeerStatus(id="bob", disk_stop="2.00 GB are used"))
    assert line.startswith("bob fetches no more, as 2.00 GB are used: make room")


def disk_lines(**told: float) -> list[str]:
    status = msgspec.convert({"id": "ann", **told}, PeerStatus)
    return member_lines.disk_lines(report_of([status]), SAY)


def test_a_disk_that_will_be_full_soon_is_told_in_time() -> None:
    [line] = disk_lines(disk_free_bytes=7_200_000_000, disk_bytes_per_s=1e6)
    assert line.startswith(
        "ann has 7.2 GB of disk left, which at the pace of the last minutes is full in 2 h"
    )
    [line] = disk_lines(disk_free_bytes=1_500_000_000)
    assert line.startswith("ann has 1.5 GB of disk left: make room")


def test_a_disk_with_space_or_of_which_nothing_is_told_is_no_worry() -> None:
    assert disk_lines(disk_free_bytes=300_000_000_000, disk_bytes_per_s=1e6) == []
    assert disk_lines(disk_free_bytes=300_000_000_000) == []
    assert disk_lines(disk_bytes_per_s=1e6) == []


def test_how_much_a_disk_has_is_for_administrators() -> None:
    report = public_part(report_of([PeerStatus(id="ann", disk_free_bytes=1)]))
    assert member_lines.disk_lines(report, SAY) == []


def test_a_member_has_its_name_also_while_it_is_down_and_for_strangers_none() -> None:
    members = [MemberRow(id="bob", name="mill\u202e", state="down", endpoint="tcp://10.0.0.2:7410")]
    report = report_of([], members)
    (line,) = member_lines.member_lines(report, SAY)
    assert (line.peer, line.name) == ("bob", "mill")
    assert member_lines.down_lines(report, SAY)[0].startswith("mill (bob), 10.0.0.2, is down")
    assert member_lines.member_lines(public_part(report), SAY)[0].name == ""


def test_who_runs_and_is_kept_out_is_not_to_be_started_again() -> None:
    members = [MemberRow(id="bob", name="mill", state="down"), MemberRow(id="cat", state="down")]
    seen = PeerStatus(id="ann", unreachable=(("bob", "set member.announce"),))
    report = report_of([seen], members)
    assert member_lines.unreachable_lines(report, SAY) == ["mill (bob) is kept out: set member.announce"]
    (line,) = member_lines.down_lines(report, SAY)
    assert line.startswith("cat is down")
