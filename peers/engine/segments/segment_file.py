"""Write files of an index, and see that a segment is there as it was written."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable

from peers.engine.files.errors import CorruptIndexError
from peers.engine.files.storage import Buffer, Storage
from peers.engine.segments.segment import Segment


def write_segment(storage: Storage, name: str, content: Iterable[Buffer]) -> Segment:
    """Write a segment and read it back, so that it is checked before anything relies on it. OSError."""
    write_file(storage, name, content)
    try:
        segment = Segment(name, storage.read(name))
        segment.verify()
    except CorruptIndexError as error:
        raise OSError(errno.EIO, f"not read back as it was written: {error}") from error
    return segment


def write_file(storage: Storage, name: str, parts: Iterable[Buffer]) -> None:
    """Write a file; nothing stays of one that cannot be written. OSError."""
    try:
        storage.write(name, parts)
    except OSError:
        with contextlib.suppress(OSError):
            storage.remove(name)
        raise
