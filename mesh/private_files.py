"""Files and folders that only their user can look into. [io]"""

from __future__ import annotations

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
    """Write a file anew, in place: a crash in between leaves a part of it.

    Raises:
      OSError: it cannot be written.
    """
    path.touch(FILE_MODE)
    path.chmod(FILE_MODE)  # of one that was there before
    path.write_text(text, encoding="utf-8")
