"""Whether this machine can carry a peer: memory, descriptors, clock, Python, confinement. [io]

What the system says is read by one function, what it means is judged by another, which is pure.
"""

from __future__ import annotations

import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from bootstrap.doctor.finding import DoctorFinding, fault, good, warning
from mesh.counts import counted
from mesh.process.cores import core_count

ABOUT: Final = "machine"
PYTHON_MIN: Final = (3, 11)
MEMORY_MIN: Final = 512 << 20  # a peer has 110 MB idle, 250 to 500 MB while it crawls, beside all else
MEMORY_FREE_MIN: Final = 256 << 20
# A member and a fetch have a connection each; what is over is refused and tried again, so that few go slow.
DESCRIPTORS_MIN: Final = 1_024
DESCRIPTORS_WISHED: Final = 8_192
ASK_S: Final = 3.0  # for the time service


def machine_findings() -> Iterator[DoctorFinding]:
    """Look at this machine."""
    yield python_finding(sys.version_info[:3], platform.python_implementation())
    total, available = _memory()
    if total:
        yield memory_finding(total, available)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield descriptors_finding(soft, hard)
    is_synchronised = _is_clock_synchronised()
    if is_synchronised is not None:
        yield clock_finding(is_synchronised=is_synchronised)
    yield confinement_finding(_lacking())


def confinement_finding(lacking: Sequence[str]) -> DoctorFinding:
    """Judge the rights that a process working on pages could not give up."""
    if lacking:
        advice = (
            "a newer kernel (5.13) has all of it; a container may have to be let use seccomp and Landlock"
        )
        return warning(ABOUT, "confinement", "; ".join(lacking), advice)
    return good(ABOUT, "confinement", "what works on pages reads no keys, and has no network")


def python_finding(version: tuple[int, ...], implementation: str) -> DoctorFinding:
    said = f"{implementation} {'.'.join(map(str, version))}, {counted(core_count(), 'core')}"
    if version < PYTHON_MIN:
        return fault(ABOUT, "python", said, "install Python 3.11 or later, and tianmesh for it")
    return good(ABOUT, "python", said)


def memory_finding(total: int, available: int) -> DoctorFinding:
    """Judge how much memory there is, and how much of it could be had now; bytes."""
    said = f"{total / 1e9:.1f} GB, {available / 1e9:.1f} GB of them free"
    if total < MEMORY_MIN:
        advice = "a peer needs 512 MB: take a larger machine, or let this one have a node without slots"
        return warning(ABOUT, "memory", said, advice)
    if available < MEMORY_FREE_MIN:
        return warning(ABOUT, "memory", said, "end what else takes memory here, or give the peer less weight")
    return good(ABOUT, "memory", said)


def descriptors_finding(soft: int, hard: int) -> DoctorFinding:
    """Judge how many files and connections a process may have open: now, and if it asks for more."""
    said = "no limit" if soft == resource.RLIM_INFINITY else f"{soft:,} open files and connections a process"
    if soft == resource.RLIM_INFINITY or soft >= DESCRIPTORS_WISHED:
        return good(ABOUT, "descriptors", said)
    more = DESCRIPTORS_WISHED if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_WISHED)
    advice = f"`ulimit -n {more}` before the start, or run the peer by `tianmesh service install`"
    if soft < DESCRIPTORS_MIN:
        return warning(ABOUT, "descriptors", said, advice)
    return good(ABOUT, "descriptors", f"{said}; for more than some hundred members {advice}")


def clock_finding(*, is_synchronised: bool) -> DoctorFinding:
    if is_synchronised:
        return good(ABOUT, "clock", "kept right by the network")
    advice = "`timedatectl set-ntp true`, or install chrony: pages and certificates go by the clock"
    return warning(ABOUT, "clock", "not kept right by anything", advice)


def _lacking() -> list[str]:
    """Have a process give up all rights that it can; return the rights it could not give up."""
    command = [sys.executable, "-P", "-m", "mesh.process.confinement"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [str(error)]
    return done.stdout.splitlines() or done.stderr.splitlines()[-1:]


def _memory() -> tuple[int, int]:
    """Return total and available memory in bytes; zeros where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        total, available = (int(lines[name].split()[0]) << 10 for name in ("MemTotal", "MemAvailable"))
    except (OSError, ValueError, KeyError, IndexError):
        return 0, 0
    return total, available


def _is_clock_synchronised() -> bool | None:
    """Ask the system whether its clock is synchronised; None if it cannot tell, as in a container."""
    if shutil.which("timedatectl") is None:
        return None
    command = ["timedatectl", "show", "--property=NTPSynchronized", "--value"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {"yes": True, "no": False}.get(done.stdout.strip())
