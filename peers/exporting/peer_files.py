"""A peer's data on disk, read beside it: which versions of which pages, and their records. [io]"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from mesh.config import load_config
from mesh.keys.certificate import peer_in
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.decrees import Decrees
from mesh.process.member import MEMBERSHIP_SECTION
from mesh.tables.layout import check_layout
from mesh.tables.lmdb_reader import LmdbReader
from mesh.tables.table import TableSection
from peers.actors import CELL_SECTION, LINK_GRAPH_SECTION, URL_ROWS_SECTION
from peers.config import PeerConfig
from peers.crawler.frontier.keys import URL, kind_in, url_key
from peers.crawler.model.url_rows import UNCHANGED, UrlRow, row_in
from peers.link_graph.link_graph import MeshGraph
from peers.link_graph.source_row import SourceRow, is_name_of_source, source_row_in
from peers.storage.archive.archive import read_all, segment_path
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import slot_in
from peers.storage.ledger.place import Place, newest_in

PLACES_AT_ONCE: Final = 1_000  # and rows, read from one state of the table
NAME_AT: Final = 2  # in the key of an item of a store, behind its slot
FILES_OPEN_MAX: Final = 64


class ExportedVersion(NamedTuple):
    """A version of a page, and the peer that has it."""

    identity: bytes  # slot and fingerprint of its URL
    place: Place
    peer: PeerFiles


class PeerFiles:
    """The table and the archive of one peer, running or not."""

    def __init__(self, config_file: Path) -> None:
        """Open the files of the peer with this configuration.

        Raises:
          ConfigError: there are none, or they are not ours to read.
          StorageError: another version of this program wrote them.
        """
        config = load_config(config_file, PeerConfig)
        folder = config_file.parent
        data = folder / config.storage.folder
        self.peer = peer_in(config.member.certificate)
        self._archive = data / "archive"
        self._files: dict[int, int] = {}  # by segment; descriptors
        with ExitStack() as opening:
            self._table = opening.enter_context(LmdbReader(data / "table"))
            check_layout(self._table)
            self._versions = TableSection(self._table, CELL_SECTION)
            self._ledger = Ledger(self._versions)
            self._frontier = TableSection(self._table, URL_ROWS_SECTION)
            graph = TableSection(self._table, LINK_GRAPH_SECTION)
            self._links = TableSection(graph, MeshGraph.rows_section)
            self._decrees = Decrees(TableSection(self._table, MEMBERSHIP_SECTION))
            self._closing = opening.pop_all()

    def close(self) -> None:
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()
        self._closing.close()

    @property
    def page_count(self) -> int:
        """Pages it has, as owner and standby."""
        return self._ledger.totals.pages

    def policy(self, now: float) -> Decree | None:
        """The policy that this peer knows to be in force; None for none.

        Args:
          now: mesh clock.
        """
        return self._decrees.in_force(POLICY, now).get("")

    def versions(self) -> Iterator[ExportedVersion]:
        """Yield all versions of all pages, page by page, of each the newest first; pages in a fixed order."""
        after = b""
        while True:
            self._table.renew()
            places = self._ledger.places(after, PLACES_AT_ONCE)
            if not places:
                return
            for key, identity, place in places:
                yield ExportedVersion(identity, place, self)
                after = key

    def found_again(self, version: ExportedVersion) -> UrlRow | None:
        """Return the last visit of a page if its server said, or showed, that this version is still current.

        Of such visits before that one nothing is kept.
        """
        identity, place = version.identity, version.place
        stored = self._frontier.get(url_key(slot_in(identity), identity[2:])) if place.has_content else None
        row = None if stored is None else row_in(stored)
        if row is None or row.outcome not in UNCHANGED or row.visit <= place.visit:
            return None
        return row if newest_in(self._versions, identity) == place else None

    def url_rows(self) -> Iterator[tuple[bytes, UrlRow]]:
        """Yield the rows of all URLs that the crawler knows here, by their keys, in the order of these."""
        after = b""
        while rows := self._rows_from(self._frontier, after):
            yield from ((key, row_in(row)) for key, row in rows if kind_in(key) == URL)
            after = rows[-1][0] + b"\0"

    def link_rows(self) -> Iterator[tuple[bytes, SourceRow]]:
        """Yield the rows of all pages that the link graph knows here, without titles and texts, by marks."""
        start = b""
        while rows := self._rows_from(self._links, start):
            for key, value in rows:
                if is_name_of_source(name := key[NAME_AT:]):
                    row = source_row_in(value)
                    yield name[1:], replace(row, title="", untold=(), gone=())
            start = rows[-1][0] + b"\0"

    def _rows_from(self, section: TableSection, start: bytes) -> list[tuple[bytes, bytes]]:
        self._table.renew()
        return list(section.scan(start, limit=PLACES_AT_ONCE))

    def read(self, place: Place) -> bytes:
        """Return the records of a version; b"" if they are gone, or differ from those written."""
        try:
            records = read_all(self._descriptor(place.segment), place.extent)
        except (OSError, EOFError):
            return b""
        return records if xxh3_64_intdigest(records) == place.checksum else b""

    def _descriptor(self, segment: int) -> int:
        descriptor = self._files.get(segment)
        if descriptor is None:
            if len(self._files) >= FILES_OPEN_MAX:
                os.close(self._files.pop(next(iter(self._files))))
            path = segment_path(self._archive, self.peer, segment)
            descriptor = self._files[segment] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return descriptor
