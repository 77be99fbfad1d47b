"""The composition root: what it refuses before it opens anything."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from bootstrap.provision import create_mesh, write_peer
from mesh.config import MemberConfig, MeshConfig
from mesh.errors import ConfigError, StorageFull
from peers.crawler.controller import CrawlStatistics
from peers.engine.files.directory import DirectoryStorage
from peers.peer import FINISH_S, _check_analysis, _finish_pages, _host_of, _index_in, _make_private, run_peer
from peers.storage.cell import CellStatistics
from peers.text.version import ANALYSIS_VERSION


def unheard(description: dict[str, Any]) -> None:
    raise AssertionError(description)


async def test_a_mesh_of_a_newer_analysis_is_refused(tmp_path: Path) -> None:
    write_peer(create_mesh(tmp_path / "lab", "lab", 1), 1)
    config = tmp_path / "lab" / "peer-1" / "config.toml"
    founded = f"analysis_version = {ANALYSIS_VERSION}"
    assert founded in config.read_text(), "a new mesh is of the analysis of today"
    config.write_text(config.read_text().replace(founded, f"analysis_version = {ANALYSIS_VERSION + 1}"))
    with pytest.raises(ConfigError, match=f"this program only by version {ANALYSIS_VERSION}"):
        await run_peer(config, trio.Event(), unheard)
    assert not (tmp_path / "lab" / "peer-1" / "data").exists()


def test_a_mesh_that_was_founded_with_an_older_analysis_goes_on(tmp_path: Path) -> None:
    mesh = MeshConfig(name="lab", root_key="0" * 64, analysis_version=ANALYSIS_VERSION - 1)
    _check_analysis(tmp_path / "config.toml", mesh)


async def test_libraries_that_analyse_otherwise_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_peer(create_mesh(tmp_path / "lab", "lab", 1), 1)
    monkeypatch.setattr("peers.peer.fingerprint", lambda: "another")
    with pytest.raises(ConfigError, match="the libraries installed analyse text otherwise"):
        await run_peer(tmp_path / "lab" / "peer-1" / "config.toml", trio.Event(), unheard)
    assert not (tmp_path / "lab" / "peer-1" / "data").exists()


@pytest.mark.parametrize(
    ("listen", "announce", "host"),
    [
        ("127.0.0.1", "192.0.2.7", "127.0.0.1"),
        ("0.0.0.0", "192.0.2.7", "192.0.2.7"),
        ("[::]", "2001:db8::1", "2001:db8::1"),
        ("0.0.0.0", "", "127.0.0.1"),  # as `member.listen`
        ("0.0.0.0", "lab.example.org", "0.0.0.0"),
    ],
)
def test_a_gateway_on_all_addresses_is_announced_by_one(listen: str, announce: str, host: str) -> None:
    assert _host_of(listen, MemberConfig(announce=announce)) == host


def test_a_disk_that_is_full_at_the_first_start_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(DirectoryStorage, "write", fail)
    monkeypatch.setattr(DirectoryStorage, "replace", fail)
    monkeypatch.setattr("peers.peer.mark_disk", fail)
    with pytest.raises(StorageFull, match="index is full: free some space"):
        _index_in(tmp_path, None)
    with pytest.raises(StorageFull, match="data is full: free some space"):
        _make_private(tmp_path, tmp_path / "data")


@pytest.mark.parametrize(("is_full", "seconds"), [(False, FINISH_S), (True, 0.0)])
async def test_pages_in_progress_are_waited_for_unless_there_is_no_space_for_them(
    is_full: bool, seconds: float, autojump_clock: trio.testing.MockClock
) -> None:
    class Unfinished:
        """A runtime with a page in progress."""

        is_disk_full = False

        def deliver(self, *message: object) -> None:
            pass

        def observe(self) -> dict[str, Any]:
            crawl: dict[str, Any] = dict.fromkeys(CrawlStatistics.__struct_fields__, 0) | {"in_progress": 1}
            cell: dict[str, Any] = dict.fromkeys(CellStatistics.__struct_fields__, 0) | {"is_full": is_full}
            return {"controller": CrawlStatistics(**crawl), "cell": CellStatistics(**cell)}

    begun = trio.current_time()
    runtime: Any = Unfinished()
    await _finish_pages("me", runtime)
    assert trio.current_time() - begun == pytest.approx(seconds)
