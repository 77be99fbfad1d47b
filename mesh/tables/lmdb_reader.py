"""The table of a peer, read by another process while the peer writes it. [io]

LMDB lets any number of processes read what was committed; a reader sees the commit that was the last when it
began, and what it holds up is only the reuse of pages that later commits have freed. So whoever reads for
long renews it from time to time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import lmdb

from mesh.errors import ConfigError
from mesh.tables.sealed_rows import opened
from mesh.tables.table import prefix_end

# Address space above what the file has: how far it may grow until the reader has to be opened anew.
SPARE_BYTES: Final = 64 << 30


class LmdbReader:
    """A `mesh.tables.table.Table` that cannot be written. For one thread."""

    def __init__(self, folder: Path) -> None:
        """Open the table in a folder.

        Raises:
          ConfigError: there is none.
        """
        try:
            size = (folder / "data.mdb").stat().st_size
            self._env = lmdb.open(str(folder), map_size=size + SPARE_BYTES, readonly=True, create=False)
            self._snapshot = self._env.begin()
        except (OSError, lmdb.Error) as error:
            raise ConfigError(f"there is no table of a peer in {folder}: {error}") from error

    def __enter__(self) -> LmdbReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._snapshot.abort()
        self._env.close()

    def renew(self) -> None:
        """See the last commit from now on; walks that have begun are over."""
        self._snapshot.abort()
        self._snapshot = self._env.begin()

    def get(self, key: bytes) -> bytes | None:
        row = self._snapshot.get(key)
        return None if row is None else opened(key, row)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return list(map(self.get, keys))

    def put(self, key: bytes, value: bytes) -> None:
        raise AssertionError("this table is another process's")

    def put_many(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        raise AssertionError("this table is another process's")

    def delete(self, key: bytes) -> None:
        raise AssertionError("this table is another process's")

    def scan(
        self, start: bytes, stop: bytes | None = None, *, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        return islice(self._walk(start, stop), limit)

    def scan_prefix(self, prefix: bytes, *, limit: int | None = None) -> Iterator[tuple[bytes, bytes]]:
        return self.scan(prefix, prefix_end(prefix), limit=limit)

    def _walk(self, start: bytes, stop: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        cursor = self._snapshot.cursor()
        if not (cursor.set_range(start) if start else cursor.first()):
            return
        for key, row in cursor.iternext():
            if stop is not None and key >= stop:
                return
            yield key, opened(key, row)
