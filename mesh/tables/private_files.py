"""Files and folders that only their user can look into, and files that are replaced whole. [io]"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700


def make_private_folder(folder: Path) -> None:
    """Make a folder, if need be with those above it; one that is there stays as it is: it may be anything.

    Raises:
      OSError: it cannot be made.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(FOLDER_MODE, exist_ok=True)


def write_private_text(path: Path, text: str) -> None:
    """Write a file, or leave it as it was: a full disk or a crash costs nothing of its old content.

    A link to a file stays one.

    Raises:
      OSError: it cannot be written.
    """
    whole = path.resolve()
    part = whole.with_name(f"{whole.name}.part")
    try:
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
        with open(file, "w", encoding="utf-8") as writing:
            os.fchmod(file, FILE_MODE)  # of one that a crash has left
            writing.write(text)
        put_in_place(part, whole)
    except (OSError, UnicodeEncodeError):
        part.unlink(missing_ok=True)
        raise


def put_in_place(part: Path, path: Path) -> None:
    """Give a file that is written its name, in place of the one before: both are on the disk by then.

    Without that a machine that loses its power may have the name, and nothing in the file. OSError.
    """
    _sync(part, os.O_RDONLY)
    part.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk. OSError."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
