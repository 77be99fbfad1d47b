"""The pages that link to one, for people and programs."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from mesh.urls import canonical
from peers.gateway import responses
from peers.gateway.backend import Backend, Busy
from peers.gateway.backlinks.backlinks_json import backlinks_json
from peers.gateway.backlinks.backlinks_page import backlinks_page
from peers.gateway.model.messages import BacklinksFound, FindBacklinks
from peers.gateway.requests import URL_PARAMETER_CHARS_MAX, Refusal, number_in, reader_of
from peers.gateway.site.cdx import both_schemes
from peers.gateway.site.pages import message_page
from peers.link_graph.wire_messages import START_MAX, BacklinksListed

_OFF_HINT = "this mesh does not keep which pages link to which: its owner can add [link_graph] to the policy"


class BacklinkRoutes:
    """The handlers of back-links."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def page(self, request: Request) -> Response:
        """Show people the pages that link to one."""
        reader = reader_of(request)
        urls = _urls_in(request)
        if not urls:
            return responses.html(message_page(reader, reader.say("stored_bad_url")), 400)
        if self._backend.policy.link_graph is None:
            return responses.html(message_page(reader, reader.say("backlinks_off")), 404)
        try:
            start = number_in(request.query_params.get("start", "0"), "start", 0, START_MAX)
        except Refusal:
            start = 0
        try:
            told = await self._most_linked(urls, start)
        except Busy:
            return responses.html(message_page(reader, reader.say("busy")), 503)
        return responses.html(await self._backend.render(partial(backlinks_page, reader, told, start)))

    async def told(self, request: Request) -> Response:
        """Return the pages that link to one."""
        urls = _urls_in(request)
        if not urls:
            raise Refusal(400, "give a URL in the parameter url")
        if self._backend.policy.link_graph is None:
            raise Refusal(404, _OFF_HINT)
        start = number_in(request.query_params.get("start", "0"), "start", 0, START_MAX)
        return responses.json(backlinks_json(await self._most_linked(urls, start), start))

    async def _most_linked(self, urls: tuple[str, ...], start: int) -> BacklinksListed:
        """Return the links to that of some URLs to which most pages link; of equals the first. Busy."""
        lists = [await self._listed(url, start) for url in urls]
        return max(lists, key=lambda each: each.n_links)

    async def _listed(self, url: str, start: int) -> BacklinksListed:
        found = await self._backend.ask(lambda ticket: FindBacklinks(ticket, url, start), BacklinksFound)
        if found.told is None or not found.told.is_on:
            raise Busy("the peers that keep this page's links do not answer")
        return found.told


def _urls_in(request: Request) -> tuple[str, ...]:
    """Return the canonical URL asked for; without a scheme that with https and that with http."""
    text = request.query_params.get("url", "").strip()
    if not text or len(text) > URL_PARAMETER_CHARS_MAX:
        return ()
    typed = (text,) if "://" in text else both_schemes(f"https://{text}")[::-1]
    return tuple(url for each in typed if (url := canonical(each)) is not None)
