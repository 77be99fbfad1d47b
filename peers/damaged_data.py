"""The handling of a data folder with a damaged table: it is set aside, and the peer begins anew. [io]

A peer with an empty disk is still the same peer to the others: they bring it what they have of its slots.
What only it had is in its archive, whose records have checksums of their own and can be imported.
"""

from __future__ import annotations

import logging
import os
from itertools import count
from pathlib import Path

import trio

from mesh.errors import ConfigError
from mesh.tables.lmdb_table import lock_table
from mesh.tables.table_check import check_table

logger = logging.getLogger(__name__)


async def set_aside_if_damaged(data: Path) -> Path | None:
    """Look through the table of a peer that is about to start; return where its data was set aside.

    A table that another process has open is neither looked through nor set aside.

    Raises:
      ConfigError: the folder cannot be renamed, or the peer runs already.
      StorageError: as `check_table`.
    """
    if not (data / "table").exists():
        return None
    lock = lock_table(data / "table")
    try:
        damage = await trio.to_thread.run_sync(check_table, data / "table")
        return None if damage is None else _set_aside(data, damage)
    finally:
        os.close(lock)


def _set_aside(data: Path, damage: str) -> Path:
    names = (data.with_name(f"{data.name}.damaged-{number}") for number in count(1))
    aside = next(name for name in names if not name.exists())
    try:
        data.rename(aside)
    except OSError as error:
        raise ConfigError(f"the table in {data} is damaged ({damage}): move {data} away") from error
    logger.warning(
        "the table in %s was damaged (%s): all of it is now in %s, what other peers have they bring back, and"
        " `tianmesh import %s/archive/*.warc.gz` brings what only this one had",
        data,
        damage,
        aside,
        aside,
    )
    return aside
