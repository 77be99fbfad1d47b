"""What is told of a process's memory: what is its own, and what belongs to the cache of its files."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest

from mesh.process.memory import memory_used

N_BYTES = 64 << 20
SLACK_BYTES = 8 << 20  # the system counts some pages late, and the tests around us have memory too

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory now is not told")


def test_what_a_process_writes_to_is_private() -> None:
    before = memory_used()
    held = mmap.mmap(-1, N_BYTES, flags=mmap.MAP_PRIVATE)
    for place in range(0, N_BYTES, mmap.PAGESIZE):
        held[place] = 1
    after = memory_used()
    held.close()
    assert after.private_bytes - before.private_bytes == pytest.approx(N_BYTES, abs=SLACK_BYTES)
    assert after.rss_bytes - before.rss_bytes == pytest.approx(N_BYTES, abs=SLACK_BYTES)


def test_what_is_mapped_of_a_file_is_resident_but_not_private(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * N_BYTES)
    with path.open("rb") as file:
        before = memory_used()
        held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        assert sum(held[place] == ord("x") for place in range(0, N_BYTES, mmap.PAGESIZE)) > 0
        after = memory_used()
        held.close()
    assert after.rss_bytes - before.rss_bytes == pytest.approx(N_BYTES, abs=SLACK_BYTES)
    assert after.private_bytes - before.private_bytes < SLACK_BYTES
