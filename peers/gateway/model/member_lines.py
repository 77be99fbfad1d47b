"""Texts about the members of a mesh, for the status page and `tianmesh status`. Pure.

A row for each member, also for those that are down or do not answer, and a sentence for whatever is wrong
that says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from math import inf
from typing import Final, NamedTuple, Protocol

from mesh.errors import RemoteProtocolError
from mesh.transport.tcp_endpoint import host_and_port
from peers.gateway.model.readiness_json import ReadinessJson
from peers.gateway.model.sentences import Put, in_english
from peers.gateway.model.status import MemberMisconduct, MemberRow, PeerStatus, Report
from peers.gateway.model.time_words import counted

DISK_FREE_MIN: Final = 2_000_000_000  # bytes, as `tianmesh doctor` wants them: merges need some at once
DISK_LEFT_S_MIN: Final = 3 * 86_400.0  # a long weekend, until somebody has read this

_SPANS: Final = {"s": "span_s", "min": "span_min", "h": "span_h", "days": "span_days"}


class Say(Protocol):
    """A text of `peers.gateway.site.texts` in the language of a reader."""

    def __call__(self, key: str, **values: object) -> str: ...


class Presence(StrEnum):
    """How a member is there."""

    ANSWERS = "answers"  # as it says of itself
    DOWN = "down"
    DOOR = "door"  # a bootstrap node, of which nothing else is to be told
    SILENT = "silent"  # alive, and its status did not come in time


class MemberLine(NamedTuple):
    """A member as a table has it."""

    peer: str
    name: str  # what people call it
    presence: Presence
    since: str  # for how long it is down, in words; "" where it is not, or that is not known
    status: PeerStatus | None  # what it tells of itself; None where that counts no more


def member_lines(report: Report, say: Say) -> list[MemberLine]:
    """Return a line for each member, by id, whether it answers or not."""
    told = {status.id: status for status in report.peers}
    members = {each.id: each for each in report.members}
    return [_line(peer, told.get(peer), members.get(peer), say) for peer in sorted({*told, *members})]


def _line(peer: str, status: PeerStatus | None, member: MemberRow | None, say: Say) -> MemberLine:
    name = printable(member.name if member is not None and member.name else status.machine if status else "")
    if member is not None and member.state == "down":
        return MemberLine(peer, name, Presence.DOWN, _since(member, say), status)
    if status is not None:
        return MemberLine(peer, name, Presence.ANSWERS, "", status)
    is_door = member is not None and member.is_door
    return MemberLine(peer, name, Presence.DOOR if is_door else Presence.SILENT, "", None)


def called(names: Mapping[str, str], peer: str) -> str:
    """Return the id of a peer, after its name where one is known: `mill (p2icet4poy4fn3j6)`."""
    name = names.get(peer, "")
    return printable(f"{name} ({peer})" if name else peer)


def _names(report: Report) -> dict[str, str]:
    return {each.id: each.name for each in report.members}


def doors(members: Iterable[MemberRow], most: int) -> list[str]:
    """Return where newcomers may knock, as `tianmesh invite --door` takes it: bootstrap nodes first."""
    open_ones = [each for each in members if each.door and each.state == "alive"]
    open_ones.sort(key=lambda each: not each.is_door)
    return [printable(f"{each.door}={each.key}") for each in open_ones[:most]]


def printable(text: str) -> str:
    """Return a text of a member without characters that would turn or hide the text around it."""
    return "".join(letter for letter in text if letter.isprintable())


# Controls, which a terminal carries out, and marks that turn the text around them: Unicode 16, UAX 9.
_CONTROLS: Final = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")
_TURNING: Final = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\u2060")
_HARMLESS: Final = _CONTROLS | _TURNING


def harmless(text: str) -> str:
    """Return a text of strangers, as long as before: blanks for controls, no characters that turn the text.

    Each that turns the text is a word joiner now, which nobody sees. Letters have a direction of their own.
    """
    return text if text.isprintable() else text.translate(_HARMLESS)


def advice(report: Report, readiness: ReadinessJson, say: Say, put: Put = in_english) -> list[str]:
    """Return sentences about all problems, such as missing slots and members that are down, with remedies."""
    return [
        *missing_lines(readiness, say),
        *unreachable_lines(report, say),
        *down_lines(report, say),
        *disk_lines(report, say),
        *stop_lines(report, say),
        *policy_lines(report, say),
        *misconduct_lines(report, say, put),
    ]


def missing_lines(readiness: ReadinessJson, say: Say) -> list[str]:
    """Return a line with the number of slots that nobody answers for, and the reasons; none if all do."""
    waits_for = "; ".join(readiness.waits_for)
    if not waits_for or not readiness.slots:  # nobody says how many there are yet
        return [waits_for] if waits_for else []
    missing, slots = f"{readiness.missing:,}", f"{readiness.slots:,}"
    return [f"{say('slots_missing', missing=missing, slots=slots)}: {waits_for}"]


def unreachable_lines(report: Report, say: Say) -> list[str]:
    """Return a line for each peer that is kept out until others reach it: the reason and the remedy."""
    told = {peer: why for status in report.peers for peer, why in status.unreachable}
    return [
        say("unreachable", peer=called(_names(report), peer), why=printable(why))
        for peer, why in sorted(told.items())
    ]


def down_lines(report: Report, say: Say) -> list[str]:
    """Return a line for each member that is down and not kept out: its last address, and the remedy."""
    kept_out = {peer for status in report.peers for peer, _ in status.unreachable}
    return [
        say(
            "door_is_down" if member.is_door else "peer_is_down",
            peer=called(_names(report), member.id),
            at=_at(member.endpoint),
            since=f" {since}" if (since := _since(member, say)) else "",
        )
        for member in report.members
        if member.state == "down" and member.id not in kept_out
    ]


def _at(endpoint: str) -> str:
    try:
        return f", {host_and_port(endpoint)[0]},"
    except RemoteProtocolError:  # it is not told, or is what a malicious member says
        return ""


def _since(member: MemberRow, say: Say) -> str:
    if member.down_s is None:
        return ""
    return span_text(member.down_s, say)


def span_text(seconds: float, say: Say) -> str:
    """Say how long something finite is."""
    number, unit = counted(seconds)
    return say(_SPANS[unit], number=number)


def disk_lines(report: Report, say: Say) -> list[str]:
    """Return a line for administrators for each peer with a disk that is nearly full, or soon will be."""
    return [line for status in report.peers if (line := _disk_line(status, say))]


def _disk_line(status: PeerStatus, say: Say) -> str:
    free = status.disk_free_bytes
    left_s = free / status.disk_bytes_per_s if status.disk_bytes_per_s else inf
    if not free or (free >= DISK_FREE_MIN and left_s >= DISK_LEFT_S_MIN):
        return ""
    pace = say("disk_fills", span=span_text(left_s, say)) if left_s < inf else ""
    return say("disk_low", peer=status.id, free=f"{free / 1e9:,.1f}") + pace + say("disk_advice")


def stop_lines(report: Report, say: Say) -> list[str]:
    """Return lines that say why nothing is fetched, when it is a limit of the policy or of a disk."""
    full = [
        say("disk_stopped", peer=status.id, why=printable(status.disk_stop))
        for status in report.peers
        if status.disk_stop
    ]
    stopped = [status for status in report.peers if status.pages_max]
    if not stopped:
        return full
    queued = sum(status.frontier.queued for status in report.peers)
    limit = f"{stopped[0].pages_max:,}"
    line = say("stopped", stopped=len(stopped), peers=len(report.peers), limit=limit, queued=f"{queued:,}")
    return [line, *full]


def policy_lines(report: Report, say: Say) -> list[str]:
    """Return a line when the policy should have been followed by another one."""
    late_s = report.total.policy_late_s
    return [say("policy_late", late=span_text(late_s, say))] if late_s else []


def searched_words(report: Report) -> list[str]:
    """Return the guide words that the crawl takes from searches, of all peers together."""
    return list(dict.fromkeys(printable(word) for status in report.peers for word in status.searched_words))


def misconduct_lines(report: Report, say: Say, put: Put = in_english) -> list[str]:
    """Return a line for each member that others hold for malicious, with the remedy."""
    seen: dict[str, list[tuple[str, MemberMisconduct]]] = {}
    for status in report.peers:
        for each in status.misconduct:
            seen.setdefault(each.peer, []).append((status.id, each))
    return [_misconduct(peer, told, say, put) for peer, told in sorted(seen.items())]


def _misconduct(peer: str, told: Sequence[tuple[str, MemberMisconduct]], say: Say, put: Put) -> str:
    _, worst = max(told, key=lambda each: each[1].points)
    keepers = [teller for teller, each in told if each.is_quarantined]
    first = list(worst.offences.items())[:3]
    reasons = ", ".join(put("{count} {offence}", count=n, offence=put(offence)) for offence, n in first)
    said = say("misconduct", peer=peer, points=f"{worst.points:.0f}", reasons=reasons)
    return said + say("in_quarantine", peer=peer, keepers=", ".join(keepers)) if keepers else said
