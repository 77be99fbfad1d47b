"""Searches in the index of a peer that is not running, whose reads are recorded. [io]"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from mesh.config import load_config
from mesh.counts import counted
from mesh.errors import ConfigError
from mesh.tables.private_files import put_in_place
from peers.config import PeerConfig
from peers.engine.files.directory import DirectoryInUseError
from peers.engine.files.errors import CorruptIndexError
from peers.engine.index import Index
from peers.engine.read_recorder import ReadRecorder
from peers.evaluation.engines import ViewRanker
from peers.exporting.command import configs_in
from peers.judging.trec import not_written
from peers.query_log.log_files import read_log, requests_of


def record_reads(queries: Path, data: Path, out: Path) -> dict[str, Any]:
    """Ask a peer's index all queries of a file, and write their reads, one a line of JSON.

    Args:
      queries: in any layout of a query log.
      data: folder of one peer.

    Returns:
      Counts and means, for people and programs.

    Raises:
      ConfigError: the file has no queries, the folder no index that can be opened now, or `out` cannot be
        written.
    """
    log = read_log(queries)
    encoder = msgspec.json.Encoder()
    n_queries = n_reads = n_bytes = 0
    with _sound(data), _index_in(data) as index, _written_whole(out) as file:
        snapshot = index.snapshot()
        recorder, ranker = ReadRecorder(snapshot), ViewRanker(snapshot.everything())
        for entry in requests_of(log.entries):
            n_queries += 1
            for read in recorder.reads_of(entry.query, ranker.rank):
                file.write(encoder.encode(read) + b"\n")
                n_reads += 1
                n_bytes += read.length
    return {
        "queries": n_queries,
        "reads": n_reads,
        "reads_each": n_reads / max(1, n_queries),
        "read_kb": n_bytes / max(1, n_reads) / 1e3,
        "documents": snapshot.document_count,
        "lists_mb": recorder.lists_bytes / 1e6,
        "file": str(out),
    }


@contextmanager
def _written_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` when all is written, and is gone when it fails."""
    beside = path.with_name(f"{path.name}.new")
    try:
        with beside.open("wb") as file:
            yield file
        put_in_place(beside, path)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _sound(data: Path) -> Iterator[None]:
    """Name the remedy for an index that turns out to be damaged."""
    try:
        yield
    except CorruptIndexError as error:
        raise ConfigError(f"the index in {data}: {error}; its peer mends it when it is started") from error


def _index_in(data: Path) -> Index:
    configs = configs_in([data])
    if len(configs) > 1:
        raise ConfigError(f"{data} has {counted(len(configs), 'peer')}: name the folder of one with --data")
    folder = configs[0].parent / load_config(configs[0], PeerConfig).storage.folder / "index"
    if not folder.is_dir():
        raise ConfigError(f"there is no index in {folder}: let the peer crawl something first")
    try:
        return Index.open(folder)
    except DirectoryInUseError as error:
        raise ConfigError(f"{error}") from error
    except OSError as error:
        raise ConfigError(f"the index in {folder} cannot be opened: {error}") from error
