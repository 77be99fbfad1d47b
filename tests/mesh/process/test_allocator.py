"""The allocator is told to give memory back, and does; where it takes no orders nothing happens."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from typing import Final

import pytest

from mesh.process.allocator import giver_back, settle_allocator

# Frees arrays below the largest threshold that glibc takes by itself; prints what is left, MB.
_LEFT: Final = """
import sys
from mesh.process.allocator import settle_allocator
if sys.argv[1] == "settled":
    settle_allocator()
bytearray(30 << 20)  # freed: now glibc has such from the heap, where it is left to itself
arrays = [bytearray(b"x") * (8 << 20) for _ in range(12)]
kept = bytearray(100_000)  # at the top of the heap
del arrays
with open("/proc/self/statm") as statm:
    print(int(statm.read().split()[1]) * 4096 >> 20)
"""


class _NoLibrary:
    """A C library without such calls, as musl."""


def test_where_there_are_no_such_calls_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: _NoLibrary())
    settle_allocator()
    assert giver_back() is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and needs glibc's mallopt")
def test_large_arrays_that_are_freed_are_not_kept() -> None:
    if giver_back() is None:
        pytest.skip("this C library has no malloc_trim")
    assert _left_mb("settled") + 50 < _left_mb("as it is")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and needs glibc's mallopt")
def test_the_environment_goes_first() -> None:
    if giver_back() is None:
        pytest.skip("this C library has no malloc_trim")
    of_environment = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "1073741824"}
    assert _left_mb("settled") + 50 < _left_mb("settled", of_environment)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and needs glibc's malloc_trim")
def test_freed_pieces_leave_the_process() -> None:
    give_back = giver_back()
    if give_back is None:
        pytest.skip("this C library has no malloc_trim")
    pieces = [bytearray(20_000) for _ in range(5_000)]
    kept = pieces[::100]  # between what is freed, so that the top of the heap stays where it is
    before = _resident_bytes()
    del pieces
    gc.collect()
    give_back()
    assert len(kept) == 50
    assert before - _resident_bytes() > 50_000_000


def _resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def _left_mb(how: str, environment: dict[str, str] | None = None) -> int:
    command = [sys.executable, "-c", _LEFT, how]
    done = subprocess.run(
        command, env=os.environ | (environment or {}), capture_output=True, text=True, check=True
    )
    return int(done.stdout)
