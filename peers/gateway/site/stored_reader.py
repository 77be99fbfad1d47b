"""Reads stored pages for people: hostile content is taken apart in processes of the workshop. [io]

In the peer itself a copy is only decoded. Whether its site lets it be shown, and what a document says, who
takes it apart tells: a page that breaks the parser breaks a process, and no peer.
"""

from __future__ import annotations

import trio

from peers.crawler.parsing.parser_port import ReadStored
from peers.gateway.site.difference import Difference, difference
from peers.gateway.site.stored_page import DisplayKind, PageSnapshot, barred, stored_page, with_said


class StoredReader:
    """A reader of stored pages, over a function that reads the text of a page elsewhere."""

    def __init__(self, read: ReadStored) -> None:
        self._read = read

    async def page(self, url: str, records: bytes, *, wants_text: bool) -> PageSnapshot:
        """Return a copy as it may be shown.

        Args:
          wants_text: of documents, too, and not only the file.

        Raises:
          CorruptionError: the records have none, or it is not sound.
        """
        page = await trio.to_thread.run_sync(stored_page, url, records)
        is_told_by_head = page.kind in (DisplayKind.TEXT, DisplayKind.OTHER) or (
            page.is_document and not wants_text
        )
        if page.is_barred or is_told_by_head:
            return page
        said = await self._read(url, records)
        if said.is_barred:
            return barred(page)
        return await trio.to_thread.run_sync(with_said, page, said)

    async def difference(self, url: str, before: bytes, after: bytes) -> Difference:
        """Compare two versions, given as their records."""
        old, new = await self._read(url, before), await self._read(url, after)
        return await trio.to_thread.run_sync(difference, old, new)
