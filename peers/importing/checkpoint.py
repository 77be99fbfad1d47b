"""How far an import has come, in a file that is replaced whole, so that any kill leaves one. [io]"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import msgspec

from mesh.errors import ConfigError
from peers.importing.positions import Position
from peers.user_state import not_kept, state_path, write_whole

OPTION: Final = "--checkpoint"
SAVE_PAUSE_S: Final = 0.5  # what is done again after a kill; the peers have it and store nothing twice


class Done(msgspec.Struct, frozen=True):
    """The state of one file: its size and time of change, and how far it is done."""

    path: str
    size: int  # bytes
    changed_ns: int
    offset: int
    skip: int
    is_whole: bool = False


class Progress(msgspec.Struct, frozen=True):
    """The content of a checkpoint's file: how far each file of an import is done."""

    peer: str  # that the pages were given to: another mesh has none of them
    files: tuple[Done, ...]


class Checkpoint:
    """The progress of one import; of files that have changed since, nothing is done."""

    def __init__(self, path: Path, peer: str) -> None:
        """Load the progress that the same import has left in a file.

        Raises:
          ConfigError: the file is something else.
        """
        self.path = path
        self._peer = peer
        self._saved_at = 0.0
        self._done: dict[str, Done] = {}
        try:
            progress = msgspec.json.decode(path.read_bytes(), type=Progress)
        except FileNotFoundError:
            return
        except OSError as error:
            raise not_kept(path, error, OPTION) from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"{path} is no checkpoint of an import: {error}; name another file with --checkpoint"
            ) from error
        if progress.peer == peer:
            self._done = {done.path: done for done in progress.files}

    def position_in(self, file: Path) -> Position | None:
        """Where to go on reading a file; None when all of it is done."""
        done = self._done.get(str(file))
        status = file.stat()
        if done is None or (done.size, done.changed_ns) != (status.st_size, status.st_mtime_ns):
            return Position(0)
        return None if done.is_whole else Position(done.offset, done.skip)

    def note(self, file: Path, position: Position, *, is_whole: bool = False) -> None:
        """Remember that a file is done up to a position; saved from time to time."""
        status = file.stat()
        self._done[str(file)] = Done(
            str(file), status.st_size, status.st_mtime_ns, position.offset, position.skip, is_whole
        )
        if time.monotonic() - self._saved_at >= SAVE_PAUSE_S:
            self.save()

    def save(self) -> None:
        """Write it down.

        Raises:
          ConfigError: there is no writing there.
        """
        self._saved_at = time.monotonic()
        progress = Progress(self._peer, tuple(self._done.values()))
        write_whole(self.path, msgspec.json.encode(progress), OPTION)

    def remove(self) -> None:
        """The import is over: the next one of the same files begins anew."""
        self.path.unlink(missing_ok=True)


def checkpoint_path(files: list[Path], gateway: str, kind: str = "import") -> Path:
    """Where the checkpoint of these files is kept by default: in the state folder of the user.

    Args:
      kind: of what is kept: "folder" for an inventory.
    """
    return state_path(kind, [gateway, *map(str, files)], OPTION)
