"""Room for what merges write, in memory and on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from peers.engine.files.directory import DirectoryStorage
from peers.engine.files.scratch import Scratch, Spool, in_memory, room


@pytest.fixture(params=["memory", "disk"])
def scratch(request: pytest.FixtureRequest, tmp_path: Path) -> Scratch:
    return in_memory if request.param == "memory" else DirectoryStorage(tmp_path).scratch


def test_a_spool_has_what_was_put_into_it_however_little_room_it_began_with(scratch: Scratch) -> None:
    for n_bytes in (0, 1, 10_000):
        spool = Spool(scratch, n_bytes)
        contents = [bytes([n % 251]) * n for n in range(130)]
        for content in contents:
            spool.put(content)
        assert spool.content().tobytes() == b"".join(contents)
        assert spool.n_bytes == len(b"".join(contents))


def test_room_for_nothing_is_empty(scratch: Scratch) -> None:
    assert len(room(scratch, 0)) == 0


def test_scratch_on_disk_has_no_name_and_a_full_disk_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = DirectoryStorage(tmp_path)
    array = room(storage.scratch, 1 << 20)
    array[:] = 7
    assert int(array.sum()) == 7 << 20
    assert storage.names() == []

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        storage.scratch(1 << 20)
