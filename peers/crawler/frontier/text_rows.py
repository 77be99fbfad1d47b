"""The rows of a frontier's table with the facts that links tell of pages, one for each page that has any.

The frontier keeps link texts since it takes links in: their sender was promised that its team has them. The
cell of the same peer, which hears what has changed (`changed_texts`), reads them by `KeptTexts`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mesh.tables.table import Table
from mesh.urls import fingerprint
from peers.crawler.frontier.anchor_rows import (
    AnchorRow,
    Disbelief,
    entries_in,
    have_same_entries,
    join_anchor_rows,
    knows,
    row_told,
    without,
)
from peers.crawler.frontier.changed_texts import ChangedTexts
from peers.crawler.frontier.filled_slots import FilledSlots
from peers.crawler.frontier.keys import slot_in, texts_key, url_key
from peers.crawler.frontier.url_queues import LinkTo
from peers.crawler.model.url_rows import is_new_row, row_in


class KeptTexts:
    """Reads the link texts that the frontier keeps, for others of the same peer; it never changes the table.

    It is the `peers.storage.link_texts.LinkTexts` of a cell.
    """

    def __init__(self, table: Table) -> None:
        """Read in the section of the frontier."""
        self._table = table

    def of(self, identity: bytes) -> tuple[str, ...]:
        """Return the entries known of the links to a page; see `LinkTexts`."""
        row = self._table.get(texts_key(slot_in(identity), identity[2:]))
        return entries_in(_decode(row)) if row else ()


class TextRows:
    """The texts of links to pages, their linkers, and earlier URLs; see `peers.engine.pages.linkers`."""

    def __init__(self, table: Table, slots: FilledSlots, changed: ChangedTexts) -> None:
        """Read nothing; `changed` gets stored pages of which others are known than before."""
        self._table = table
        self._slots = slots
        self._changed = changed
        self.disbelieved: tuple[Disbelief, ...] = ()  # what members have told that does not count any more

    def of(self, url: str, slot: int) -> tuple[str, ...]:
        """The distinct texts of the links that are known to point to a page, sorted."""
        row = self._table.get(texts_key(slot, fingerprint(url)))
        return entries_in(_decode(row)) if row else ()

    def told_by(self, link: LinkTo, mark: bytes, page: bytes | None, stored: bytes | None) -> bytes | None:
        """Return the row of a page with the facts from a link, to be written; None if they are known.

        Args:
          mark: the fingerprint of its URL.
          page: the row of the URL.
          stored: the row of its texts as it is.
        """
        before = _decode(stored) if stored else ()
        if before and knows(before, link.entries, link.telling):
            return None
        joined = row_told(link.entries, link.telling)
        if before and (joined := join_anchor_rows(before, joined)) == before:
            return None
        is_stored = page is not None and not is_new_row(page) and row_in(page).is_stored
        if is_stored and not have_same_entries(before, joined):
            self._changed.mark(link.slot, mark, link.url)
        return _encode(joined)

    def merge(self, slot: int, mark: bytes, texts: Sequence[str]) -> None:
        """Join the texts that another peer knows with those known here."""
        self._slots.fill(slot)
        key = texts_key(slot, mark)
        row = self._table.get(key)
        before = _decode(row) if row else ()
        joined = join_anchor_rows(before, without(tuple(texts), self.disbelieved))
        if joined != before:
            self._table.put(key, _encode(joined))
            self._note_change(slot, mark, before, joined)

    def forget_disbelieved(self, slot: int, mark: bytes, row: bytes) -> bool:
        """Leave the word of members that does not count any more out of a row.

        The whole team does, each by the policy, so nobody hears of it.

        Returns:
          Whether any entry has gone with it.
        """
        before = _decode(row)
        after = without(before, self.disbelieved)
        if after == before:
            return False
        if after:
            self._table.put(texts_key(slot, mark), _encode(after))
        else:
            self._table.delete(texts_key(slot, mark))
        return self._note_change(slot, mark, before, after)

    def has_only_word_of(self, row: bytes, disbeliefs: Sequence[Disbelief]) -> bool:
        """Tell whether any entry of a row would go with the word of these members."""
        before = _decode(row)
        return not have_same_entries(before, without(before, disbeliefs))

    def _note_change(self, slot: int, mark: bytes, before: AnchorRow, after: AnchorRow) -> bool:
        """Have the cell hear of a page if other entries are known of it; return whether there are."""
        if have_same_entries(before, after):
            return False
        page = self._table.get(url_key(slot, mark))
        if page is not None and (url := row_in(page).url):
            self._changed.mark(slot, mark, url)
        return True


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[str, ...]).decode
