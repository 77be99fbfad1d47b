"""Carries out the steps of a live search over the services of a gateway. [io]"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial

import trio

from mesh.errors import CorruptionError
from peers.gateway.handling.backend import Backend, Busy
from peers.gateway.live.live_json import LiveJson, live_json
from peers.gateway.live.live_search import TURNS_S, LiveRequest, LiveSearch
from peers.gateway.model.messages import (
    CheckLinks,
    FindPage,
    HastenPages,
    LinksChecked,
    PageFound,
    PagesFound,
    PagesHastened,
    SearchPages,
)
from peers.gateway.site.stored_page import DisplayKind, links_in

logger = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]


async def live_rounds(
    backend: Backend, wish: LiveRequest, sleep: Sleep = trio.sleep
) -> AsyncGenerator[LiveJson]:
    """Search until it is over, and yield the state after each round, the first at once.

    Raises:
      Busy: the query was not answered the first time.
    """
    began = backend.now()
    search = LiveSearch(wish, began)
    await _ask(backend, search)
    while not (end := search.end(backend.now())):
        yield live_json(search, began, backend.now(), end)
        try:
            await _look_for_more(backend, search)
            await sleep(search.pause_s(backend.now()))
            await _ask(backend, search)
        except Busy as error:  # others are served first; the next round may be better
            logger.info("round of a live search left out: %s", error)
            await sleep(max(0.1, search.pause_s(backend.now())))
    yield live_json(search, began, backend.now(), end)


async def _ask(backend: Backend, search: LiveSearch) -> None:
    """Ask the query."""
    k = search.hits_wanted
    search.take_found(await backend.ask(lambda ticket: SearchPages(ticket, search.wish.q, k), PagesFound))


async def _look_for_more(backend: Backend, search: LiveSearch) -> None:
    """Read the links of the best pages, and have the best of these visited first."""
    for source in search.sources():
        search.take_links(source, await _links_of(backend, source))
    if urls := search.to_check():
        checked = await backend.ask(lambda ticket: CheckLinks(ticket, urls[0], urls), LinksChecked)
        search.take_stored(checked.stored, backend.now())
    if links := search.links_to_offer():
        wish, count = search.wish, search.count_to_hasten()

        def order(ticket: int) -> HastenPages:
            return HastenPages(ticket, search.words, links, count, TURNS_S, wish.fish)

        search.take_hastened((await backend.ask(order, PagesHastened)).pages)


async def _links_of(backend: Backend, url: str) -> list[str]:
    """Return the links of a stored page; none of one that is not there, or asks not to be shown."""
    page = await backend.ask(lambda ticket: FindPage(ticket, url, 0.0), PageFound)
    if not page.records:
        return []
    try:
        stored = await backend.read_stored(url, page.records)
    except CorruptionError as error:
        logger.warning("stored page unreadable url=%s error=%s", url, error)
        return []
    if stored.kind is not DisplayKind.HTML or stored.is_barred:
        return []
    return list(dict.fromkeys((await backend.render(partial(links_in, url, stored))).values()))
