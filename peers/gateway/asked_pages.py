"""Which stored pages a query asks for by their addresses: related:, cache:, and a URL alone."""

from __future__ import annotations

import logging
from typing import NamedTuple

import msgspec

from mesh.errors import CorruptionError
from mesh.urls import canonical_with_ftp
from peers.engine.queries.query_language import (
    Condition,
    Oddity,
    Operator,
    Remark,
    Remarks,
    address_alone,
    conditions_in,
    read,
)
from peers.engine.queries.query_parser import QUERY_CHARS_MAX
from peers.gateway.handling.backend import Backend
from peers.gateway.model.messages import FindPage, PageFound, PagesFound
from peers.gateway.search.page_words import with_words
from peers.gateway.site.cdx import both_schemes

logger = logging.getLogger(__name__)


class AskedPages(NamedTuple):
    """A query with the words of pages for their addresses, and the remarks on these."""

    query: str
    remarks: tuple[Remark, ...] = ()
    words: tuple[tuple[str, float], ...] = ()  # as `SearchPages.page_words`
    linked: str = ""  # the address behind link:, where the mesh keeps which pages link to it

    def remarked(self, found: PagesFound) -> PagesFound:
        """Return an answer with these remarks before its own."""
        remarks = found.remarks
        if self.linked:
            listed = Remark(Oddity.BACKLINKS, self.linked)
            remarks = tuple(listed if each.oddity is Oddity.NO_LINKS else each for each in remarks)
        if not self.remarks and remarks == found.remarks:
            return found
        return msgspec.structs.replace(found, remarks=(*self.remarks, *remarks))


async def asked_pages(backend: Backend, query: str) -> AskedPages:
    """Look up the first page behind related: and behind cache:, or that of a URL alone. Busy.

    A page with an address that is not stored is left to the reader of the query to remark.
    """
    if (":" not in query and "\uff1a" not in query) or len(query) > QUERY_CHARS_MAX:
        return AskedPages(query)
    if address := address_alone(query):
        return AskedPages(query, (await _remark_on(backend, address, address),))
    asked = list(conditions_in(read(query, Remarks())))
    remarks: tuple[Remark, ...] = ()
    words: tuple[tuple[str, float], ...] = ()
    if cached := _first(asked, Operator.CACHE):
        remarks = (await _remark_on(backend, cached.value.strip(), cached.typed),)
    if related := _first(asked, Operator.RELATED):
        page = await _find(backend, related.value.strip())
        words = await _words_of(backend, page) if page else ()
        if page and words:
            query = with_words(query, related.typed, words)
            remarks += (Remark(Oddity.WORDS_OF_PAGE, page.url),)
    linked = _first(asked, Operator.LINK) if backend.policy.link_graph is not None else None
    return AskedPages(query, remarks, words, linked.value.strip() if linked else "")


def linked_alone(query: str) -> str:
    """Return the address behind link: where that is all that was typed, else ""."""
    node = read(query[:QUERY_CHARS_MAX], Remarks()) if "link" in query.lower() else None
    is_link = isinstance(node, Condition) and node.operator is Operator.LINK
    return node.value.strip() if is_link and isinstance(node, Condition) else ""


def _first(conditions: list[Condition], operator: Operator) -> Condition | None:
    return next((each for each in conditions if each.operator is operator and each.value.strip()), None)


async def _remark_on(backend: Backend, address: str, typed: str) -> Remark:
    page = await _find(backend, address)
    return Remark(Oddity.STORED_COPY, page.url) if page else Remark(Oddity.NO_COPY, typed)


async def _find(backend: Backend, address: str) -> PageFound | None:
    """Find the stored page of an address, by either scheme where it has none."""
    for each in (address,) if "://" in address else both_schemes(f"http://{address}"):
        if url := canonical_with_ftp(each):
            page = await _looked_up(backend, url)
            if page.records:
                return page
    return None


async def _looked_up(backend: Backend, url: str) -> PageFound:
    return await backend.ask(lambda ticket: FindPage(ticket, url, 0.0), PageFound)


async def _words_of(backend: Backend, page: PageFound) -> tuple[tuple[str, float], ...]:
    """Return the words of a page and their weights; none where its site asks that no copy be shown."""
    try:
        return (await backend.read_stored(page.url, page.records)).words
    except CorruptionError as error:
        logger.warning("stored page unreadable url=%s error=%s", page.url, error)
        return ()
