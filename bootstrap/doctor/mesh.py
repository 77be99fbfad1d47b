"""Findings about a mesh from a gateway: missing members, differing versions, wrong clocks. [io]"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Final
from urllib.request import urlopen

from bootstrap.doctor.finding import DoctorFinding, fault, good, warning
from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.counts import counted
from peers.gateway.model.member_lines import (
    down_lines,
    misconduct_lines,
    missing_lines,
    printable,
    stop_lines,
)
from peers.gateway.model.readiness_json import ReadinessJson
from peers.gateway.model.status import PeerStatus, Report
from peers.gateway.site.texts import text_in
from peers.options import read_told
from peers.program_version import VERSION

ABOUT: Final = "mesh"
CLOCK_S_MAX: Final = 5.0  # apart: a second is lost in the header that tells the time, more on the way
ASK_S: Final = 3.0
ASKED_AT_ONCE: Final = 16


def mesh_findings(client: GatewayClient) -> Iterator[DoctorFinding]:
    """Ask one gateway about its mesh, then all gateways in its report for their clocks."""
    try:
        report = read_told(client.status(), Report)
        readiness = read_told(client.readiness(), ReadinessJson)
    except GatewayError as error:
        said, _, hint = str(error).partition("; ")
        yield warning(ABOUT, "gateway", said, hint or "ask another one with --gateway")
        return
    yield from member_findings(report, readiness)
    yield from version_findings(report.peers, VERSION)
    yield from clock_findings(_clocks([peer.gateway for peer in report.peers if peer.gateway]))


def member_findings(report: Report, readiness: ReadinessJson) -> Iterator[DoctorFinding]:
    """Judge the members by the report and the readiness that a gateway gives."""
    say = partial(text_in, "en")
    faults = [*missing_lines(readiness, say), *down_lines(report, say)]
    faults += [f"the disk of {peer.id} is full: make room there" for peer in report.peers if peer.disk_full]
    warnings = [*stop_lines(report, say), *misconduct_lines(report, say)]
    yield from (fault(ABOUT, "members", line) for line in faults)
    yield from (warning(ABOUT, "members", line) for line in warnings)
    if not faults:
        said = (
            f"all slots answered for by {counted(len(report.peers), 'peer')}, "
            f"{counted(report.total.pages_indexed, 'page')}"
        )
        yield good(ABOUT, "members", said)


def version_findings(peers: Sequence[PeerStatus], installed: str) -> Iterator[DoctorFinding]:
    """Judge the versions that the members run, and that which is installed here."""
    versions = Counter(printable(peer.version) for peer in peers if peer.version)
    if len(versions) > 1:
        said = ", ".join(f"{version} ({n})" for version, n in sorted(versions.items()))
        yield warning(ABOUT, "versions", said, "upgrade the older ones, one after the other")
    elif versions and installed not in versions:
        said = f"{next(iter(versions))} runs, {installed} is installed here"
        yield warning(
            ABOUT, "versions", said, "restart the peers, one after the other, or upgrade this machine"
        )
    elif versions:
        yield good(ABOUT, "versions", installed)


def clock_findings(apart_s: Mapping[str, float]) -> Iterator[DoctorFinding]:
    """Judge by how much the clocks of others differ from ours, by gateway."""
    wrong = {gateway: seconds for gateway, seconds in apart_s.items() if abs(seconds) > CLOCK_S_MAX}
    for gateway, seconds in sorted(wrong.items()):
        said = f"that of {gateway} is {abs(seconds):,.0f} s {'ahead' if seconds > 0 else 'behind'}"
        yield warning(ABOUT, "clock", said, "`timedatectl set-ntp true` there, or here if all others differ")
    if apart_s and not wrong:
        yield good(ABOUT, "clock", f"those of {len(apart_s)} gateways agree with this one")


def _clocks(gateways: Sequence[str]) -> dict[str, float]:
    """By how many seconds the clocks are ahead of ours, of the gateways that say."""
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        told = zip(gateways, pool.map(_ahead_s, gateways), strict=True)
        return {gateway: ahead for gateway, ahead in told if ahead is not None}


def _ahead_s(gateway: str) -> float | None:
    if not gateway.startswith("http://"):  # what a member says of itself
        return None
    began = time.time()
    try:
        with urlopen(f"{gateway}/healthz", timeout=ASK_S) as answer:
            told = parsedate_to_datetime(answer.headers.get("Date", "")).timestamp()
    except (OSError, ValueError, TypeError):
        return None
    return told + 0.5 - (began + time.time()) / 2  # the header has whole seconds, cut
