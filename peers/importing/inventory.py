"""The pages that a mesh was given of a folder, so that those of deleted files can leave it. [io]

It is kept beside the checkpoints, and outlives the import. A page is in it before it is given, and leaves it
when its removal is durable. Of what is gone it keeps the version: a file that comes back as it was would be
an older one otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from pathlib import Path

import msgspec

from mesh.errors import ConfigError
from peers.importing.checkpoint import OPTION
from peers.user_state import write_whole


class Given(msgspec.Struct):
    """The rows of the file: of each URL the version that was given last, seconds since the epoch."""

    there: dict[str, float]
    gone: dict[str, float]


class FolderInventory:
    """The pages of one folder."""

    def __init__(self, path: Path | None = None) -> None:
        """Read the inventory that an earlier import of the same folder has left.

        Args:
          path: of the file; None to keep it in memory.

        Raises:
          ConfigError: the file is something else.
        """
        self._path = path
        self._given = Given({}, {})
        self._going: dict[str, float] = {}
        if path is None or not path.exists():
            return
        try:
            self._given = msgspec.json.decode(path.read_bytes(), type=Given)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"{path} is no list of the pages of a folder ({error}): without it, deleted files stay found"
            ) from error

    def version_of(self, url: str, seen_at: float) -> float:
        """The version of the page of a file, newer than that of its absence."""
        return max(seen_at, self._given.gone.get(url, -inf) + 1.0)

    def note(self, there: Mapping[str, float]) -> None:
        """Remember which pages there are, with their versions, before they are given."""
        if not there.items() <= self._given.there.items():
            self._given.there |= there
            self._save()

    def missing(self, site: str, there: Mapping[str, float], now: float) -> dict[str, float]:
        """Return those of a site that are not there any more, each with the version of its absence."""
        self._going = {
            url: max(now, at + 1.0)
            for url, at in self._given.there.items()
            if url not in there and url.startswith(site)
        }
        return self._going

    def note_gone(self) -> None:
        """Forget the missing ones: their removal is durable."""
        if self._going:
            self._given.gone |= self._going
            self._given.there = {url: at for url, at in self._given.there.items() if url not in self._going}
            self._going = {}
            self._save()

    def _save(self) -> None:
        if self._path is not None:
            write_whole(self._path, msgspec.json.encode(self._given), OPTION)
