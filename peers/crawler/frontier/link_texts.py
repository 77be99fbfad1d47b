"""Reads the link texts that the frontier keeps, for others of the same peer."""

from __future__ import annotations

import msgspec

from mesh.tables.table import Table
from peers.crawler.frontier.keys import slot_in, texts_key

_decode = msgspec.msgpack.Decoder(tuple[str, ...]).decode


class KeptTexts:
    """A `peers.storage.link_texts.LinkTexts` over the table of a frontier, which it never changes."""

    def __init__(self, table: Table) -> None:
        """Read in the section of the frontier."""
        self._table = table

    def of(self, identity: bytes) -> tuple[str, ...]:
        """Return the entries known of the links to a page; see `LinkTexts`."""
        row = self._table.get(texts_key(slot_in(identity), identity[2:]))
        return _decode(row) if row else ()
