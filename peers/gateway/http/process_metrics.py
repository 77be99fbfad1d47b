"""Metrics of the process, under the names that every client library of Prometheus gives them. [io]

Dashboards that are made for any program show them.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from peers.gateway.http.peer_metrics import Family, MetricSample
from peers.gateway.model.quantity import Kind

_SELF: Final = Path("/proc/self")


def process_families() -> Iterator[Family]:
    """Yield the system's figures of this process without its helpers; on systems with /proc all of them."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = used.ru_utime + used.ru_stime
    yield _family("cpu_seconds_total", Kind.COUNTER, "User and system processor time in seconds.", seconds)
    open_max, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield _family("max_fds", Kind.GAUGE, "Most file descriptors that may be open.", open_max)
    if not _SELF.exists():
        return
    page_bytes = resource.getpagesize()
    virtual, resident, *_ = (_SELF / "statm").read_text().split()
    yield _family("virtual_memory_bytes", Kind.GAUGE, "Virtual memory in bytes.", int(virtual) * page_bytes)
    yield _family(
        "resident_memory_bytes", Kind.GAUGE, "Resident memory in bytes.", int(resident) * page_bytes
    )
    open_count = len(os.listdir(_SELF / "fd"))
    yield _family("open_fds", Kind.GAUGE, "File descriptors that are open.", open_count)
    yield _family("start_time_seconds", Kind.GAUGE, "Start since the Unix epoch in seconds.", _started_s())


def _family(name: str, kind: Kind, text: str, value: float) -> Family:
    return Family(f"process_{name}", kind, text, (MetricSample(value),))


def _started_s() -> float:
    """Field 22 of proc_pid_stat(5), in ticks since the start of the system."""
    fields = (_SELF / "stat").read_text().rpartition(")")[2].split()
    lines = Path("/proc/stat").read_text().splitlines()
    booted_s = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
    return booted_s + int(fields[19]) / os.sysconf("SC_CLK_TCK")
