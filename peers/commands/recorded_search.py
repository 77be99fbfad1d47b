"""Searches in the index of a peer that is not running, whose reads are recorded. [io]"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from mesh.config import load_config
from mesh.errors import ConfigError
from peers.config import PeerConfig
from peers.engine.files.directory import DirectoryInUseError
from peers.engine.index import Index
from peers.engine.read_recorder import ReadRecorder
from peers.evaluation.engines import ViewRanker
from peers.evaluation.trec import not_written
from peers.exporting.command import configs_in
from peers.query_log.log_files import read_log, requests_of
from peers.user_state import replace_whole


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
    texts = [entry.query for entry in requests_of(read_log(queries).entries)]
    encoder = msgspec.json.Encoder()
    lines, n_bytes = list[bytes](), 0
    with _index_in(data) as index:
        snapshot = index.snapshot()
        recorder, ranker = ReadRecorder(snapshot), ViewRanker(snapshot.everything())
        for text in texts:
            for read in recorder.reads_of(text, ranker.rank):
                lines.append(encoder.encode(read))
                n_bytes += read.length
        told = {
            "queries": len(texts),
            "reads": len(lines),
            "reads_each": len(lines) / len(texts),
            "read_kb": n_bytes / max(1, len(lines)) / 1e3,
            "documents": snapshot.document_count,
            "index_mb": recorder.lists_bytes / 1e6,
            "file": str(out),
        }
    try:
        replace_whole(out, b"".join(line + b"\n" for line in lines))
    except OSError as error:
        raise not_written(out, error) from error
    return told


def _index_in(data: Path) -> Index:
    configs = configs_in([data])
    if len(configs) > 1:
        raise ConfigError(f"{data} has {len(configs)} peers: name the folder of one with --data")
    folder = configs[0].parent / load_config(configs[0], PeerConfig).storage.folder / "index"
    if not folder.is_dir():
        raise ConfigError(f"there is no index in {folder}: let the peer crawl something first")
    try:
        return Index.open(folder)
    except DirectoryInUseError as error:
        raise ConfigError(f"{error}") from error
    except OSError as error:
        raise ConfigError(f"the index in {folder} cannot be opened: {error}") from error
