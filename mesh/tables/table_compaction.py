"""Compaction of a table before it is opened: gives back the disk space that its content does not need. [io]

A file of LMDB never shrinks, and while somebody reads an old state of it, nothing that was freed since is
used again. So a reader that stands still may leave a table many times larger than its rows. Who opens a table
makes a new file of the rows, in which there is nothing else, and puts it in the place of the old one.

Killed at any moment it leaves either file whole: the new one has its name only when it is on disk. The lock
file goes with the old one, since it counts the commits of that.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Final

import lmdb

from mesh.tables.table_check import DATA_FILE

logger = logging.getLogger(__name__)

LOCK_FILE: Final = "lock.mdb"
FOLDER: Final = "compacted"  # where the new file is made
SPARSE: Final = 2.0  # times what it holds
SPARE_BYTES: Final = 64 << 20  # less is not worth a copy


def compact_if_sparse(folder: Path) -> bool:
    """Make the table of a folder as small as its content, if it takes far more; tell whether it did.

    Who calls it makes sure that nobody writes. Where others read, or there is no room for the new file, it
    stays as it is, and the log says so.
    """
    data, made = folder / DATA_FILE, folder / FOLDER
    shutil.rmtree(made, ignore_errors=True)  # of one that was killed
    size = data.stat().st_size if data.exists() else 0
    if size < SPARE_BYTES:
        return False
    try:
        with lmdb.open(str(folder), map_size=size, create=False) as env:
            held = _held_bytes(env)
            if size < SPARSE * held or size - held < SPARE_BYTES:
                return False
            env.reader_check()
            if "no active readers" not in env.readers():
                logger.warning(
                    "the table in %s takes %s on disk and holds %s, but another process reads it: it is made"
                    " smaller at the next start",
                    *(folder, _megabytes(size), _megabytes(held)),
                )
                return False
            logger.warning(
                "the table in %s takes %s on disk and holds %s: it is made smaller, which may take a while",
                *(folder, _megabytes(size), _megabytes(held)),
            )
            made.mkdir(mode=0o700)
            env.copy(str(made), compact=True)
        _put_in_place(made / DATA_FILE, folder)
    except (lmdb.Error, OSError) as error:
        shutil.rmtree(made, ignore_errors=True)
        logger.warning("the table in %s takes %s on disk and stays so: %s", folder, _megabytes(size), error)
        return False
    logger.warning("the table in %s takes %s now", folder, _megabytes((folder / DATA_FILE).stat().st_size))
    return True


def _held_bytes(env: lmdb.Environment) -> int:
    """Return how many bytes the pages take that are in use, without the list of those that are not."""
    stat = env.stat()
    return int(stat["psize"] * (2 + stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]))


def _put_in_place(made: Path, folder: Path) -> None:
    made.chmod((folder / DATA_FILE).stat().st_mode & 0o777)
    _sync(made)
    (folder / LOCK_FILE).unlink(missing_ok=True)
    made.replace(folder / DATA_FILE)
    made.parent.rmdir()
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
