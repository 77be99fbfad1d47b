"""Stored pages, their versions and differences, for people and programs; as mementos, too (RFC 7089).

And the pages that link to one.
"""

from __future__ import annotations

import logging
from functools import partial
from math import inf
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from mesh.errors import CorruptionError
from mesh.urls import canonical_with_ftp
from peers.engine.queries.query_parser import QUERY_CHARS_MAX
from peers.gateway.backlinks.backlinks_json import backlinks_json, ranks_json
from peers.gateway.backlinks.backlinks_page import backlinks_page
from peers.gateway.handling import responses
from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Backend, Busy
from peers.gateway.handling.requests import (
    URL_PARAMETER_CHARS_MAX,
    Refusal,
    base_of,
    now_s,
    number_in,
    original_url,
    query_in,
    reader_of,
    url_parameter,
)
from peers.gateway.model.messages import (
    BacklinksFound,
    CheckLinks,
    FindBacklinks,
    FindPage,
    FindVersions,
    GatherRanks,
    LinksChecked,
    PageFound,
    RanksGathered,
    VersionsFound,
)
from peers.gateway.site import pages
from peers.gateway.site.cdx import both_schemes
from peers.gateway.site.copy_text import CopyFormat, copy_json, markdown_of
from peers.gateway.site.memento import (
    LINK_FORMAT,
    chosen,
    end_in,
    http_date,
    latest_in,
    links_of,
    moment_in,
    time_map,
    version_path,
)
from peers.gateway.site.pages import Reader
from peers.gateway.site.stored_page import DisplayKind, KeywordsJson, PageSnapshot, links_in
from peers.gateway.site.versions_json import time_map_json, versions_json
from peers.gateway.site.versions_page import difference_page, versions_page
from peers.link_graph.wire_messages import RANKED_MAX, START_MAX, BacklinksListed

logger = logging.getLogger(__name__)

LINKS_OFF: Final = (
    "this mesh does not keep which pages link to which: its owner can add [link_graph] to the policy"
)
_UNRANKED_HINT: Final = (
    "this mesh does not rank its pages: its owner can add ranks = true to [link_graph] of the policy"
)


class StoredRoutes:
    """The handlers that show stored pages and their versions, over one backend."""

    def __init__(self, backend: Backend, access: ClientAccess) -> None:
        self._backend = backend
        self._access = access

    async def page(self, request: Request) -> Response:
        reader = reader_of(request)
        url = url_parameter(request)
        if url is None:
            return responses.html(pages.message_page(reader, reader.say("stored_bad_url")), 400)
        parameters = request.query_params
        try:
            if "versions" in parameters:
                told = await self._versions(url)
                is_known = bool(told.versions or told.moved_from)
                view = partial(versions_page, reader, told)
                return responses.html(await self._backend.render(view), 200 if is_known else 404)
            if "from" in parameters:
                return await self._difference(reader, url, parameters["from"], parameters.get("to", ""))
            return await self._stored(request, reader, url)
        except Busy:
            return responses.html(pages.message_page(reader, reader.say("busy")), 503)
        except CorruptionError as error:
            logger.warning("stored page unreadable url=%s error=%s", url, error)
            return responses.html(pages.message_page(reader, reader.say("stored_damaged")), 502)

    async def _stored(self, request: Request, reader: Reader, url: str) -> Response:
        """Show the newest version of a page, or that of a time; or give the file that it is."""
        at = request.query_params.get("at", "")
        is_file = request.query_params.get("format") == "file"
        moment_s = moment_in(at) if at else 0.0
        if moment_s is None:
            return responses.html(pages.message_page(reader, reader.say("bad_time")), 400)
        found = await self._find(url, moment_s)
        if not found.records:
            return responses.html(pages.message_page(reader, reader.say("stored_none")), 404)
        stored = await self._backend.read_stored(url, found.records, wants_text=not is_file)
        if stored.is_barred or (moment_s and await self._is_barred(url)):
            return responses.html(pages.message_page(reader, reader.say("stored_barred")), 403)
        if is_file and not stored.is_partial:
            return responses.file(url, stored)
        query = query_in(request)[:QUERY_CHARS_MAX]
        wants_links = "links" in request.query_params and stored.kind is DisplayKind.HTML
        marked = await self._stored_links(url, stored) if wants_links else None
        copy = partial(pages.stored_page_view, reader, url, found.fetched_at, found.gone_at, stored)
        # What becomes a sample is the newest version.
        is_sample = not moment_s and self._backend.classes is not None and self._access.may_see(request)
        has_graph = self._backend.policy.link_graph is not None
        view = partial(copy, query, marked, is_sample=is_sample, has_graph=has_graph)
        response = responses.html(await self._backend.render(view), policy=responses.STORED_POLICY)
        response.headers["Memento-Datetime"] = http_date(found.fetched_at)
        response.headers["Link"] = links_of(base_of(request), url)
        return response

    async def at_day(self, request: Request) -> Response:
        """Show a page as it was at the end of a day; its links lead to others as they were then."""
        reader, day = reader_of(request), request.path_params["day"]
        at_s = end_in(day.replace("-", ""))
        if at_s is None:
            return responses.html(pages.message_page(reader, reader.say("bad_time")), 400)
        url = original_url(request, f"/at/{day}/")
        try:
            found = await self._backend.ask(lambda ticket: FindPage(ticket, url, at_s), PageFound)
            if not found.records:
                return responses.html(pages.message_page(reader, reader.say("stored_none")), 404)
            stored = await self._backend.read_stored(url, found.records)
            if stored.is_barred or await self._is_barred(url):
                return responses.html(pages.message_page(reader, reader.say("stored_barred")), 403)
        except Busy:
            return responses.html(pages.message_page(reader, reader.say("busy")), 503)
        except CorruptionError as error:
            logger.warning("stored page unreadable url=%s error=%s", url, error)
            return responses.html(pages.message_page(reader, reader.say("stored_damaged")), 502)
        ways = f"{base_of(request)}/at/{day}/"
        seen_s = min(at_s, now_s())
        view = partial(pages.page_at_day, reader, url, found.fetched_at, seen_s, stored, ways)
        response = responses.html(await self._backend.render(view), policy=responses.STORED_POLICY)
        response.headers["Memento-Datetime"] = http_date(found.fetched_at)
        response.headers["Link"] = links_of(base_of(request), url)
        return response

    async def original(self, request: Request) -> Response:
        """Give the body of a version as its server sent it, by the addresses of web archives."""
        at = request.path_params["at"]
        url = original_url(request, f"/web/{at}id_/")
        moment_s = moment_in(at.ljust(4, "0")) if at.isdigit() else None
        if moment_s is None:
            raise Refusal(400, "write a time such as 20261125120000 between /web/ and id_")
        found, stored = await self._copy_for_program(url, moment_s, wants_text=False)
        if stored.is_partial:
            raise Refusal(404, "the mesh has only a part of this file")
        response = responses.file(url, stored)
        response.headers["Memento-Datetime"] = http_date(found.fetched_at)
        response.headers["Link"] = links_of(base_of(request), url)
        return response

    async def text(self, request: Request) -> Response:
        """Give the text of a stored page to a program, under the same rights as a person sees its copy."""
        url = url_parameter(request)
        if url is None:
            raise Refusal(400, "give a URL with http:// or https:// in the parameter url")
        form = request.query_params.get("format", CopyFormat.JSON)
        if form not in list(CopyFormat):
            raise Refusal(400, f"format has to be one of {', '.join(CopyFormat)}")
        at = request.query_params.get("at", "")
        moment_s = moment_in(at) if at else 0.0
        if moment_s is None:
            raise Refusal(400, "at is no time, such as 2026-11-25 or 20261125120000")
        found, stored = await self._copy_for_program(url, moment_s)
        copy = await self._backend.render(partial(copy_json, found, stored))
        if form == CopyFormat.JSON:
            return responses.json(copy)
        is_markdown = form == CopyFormat.MARKDOWN
        text = await self._backend.render(partial(markdown_of, copy)) if is_markdown else copy.text
        return responses.plain(text, "text/markdown" if is_markdown else "text/plain")

    async def _copy_for_program(
        self, url: str, moment_s: float, *, wants_text: bool = True
    ) -> tuple[PageFound, PageSnapshot]:
        """Find and read the newest version of a page, or that of a time. Refusal."""
        found = await self._find(url, moment_s)
        if not found.records:
            hint = "search for its title, or look at /api/versions for other times"
            raise Refusal(404, f"the mesh has no copy of this page that is shown here; {hint}")
        try:
            stored = await self._backend.read_stored(url, found.records, wants_text=wants_text)
            is_barred = stored.is_barred or bool(moment_s and await self._is_barred(url))
        except CorruptionError as error:
            logger.warning("stored page unreadable url=%s error=%s", url, error)
            raise Refusal(502, "the copy of this page is damaged; open its URL instead") from error
        if is_barred:
            raise Refusal(403, "its site asks that no copy be shown; open its URL instead")
        return found, stored

    async def _stored_links(self, url: str, stored: PageSnapshot) -> tuple[str, ...]:
        """Return the links of a copy, as they are written there, that lead to pages that are stored, too."""
        links = await self._backend.render(partial(links_in, url, stored))
        wanted = tuple(dict.fromkeys(links.values()))
        if not wanted:
            return ()
        found = await self._backend.ask(lambda ticket: CheckLinks(ticket, url, wanted), LinksChecked)
        return tuple(href for href, target in links.items() if target in found.stored)

    async def _difference(self, reader: Reader, url: str, before: str, after: str) -> Response:
        """Show the changes of a page from one time to another, by default until now."""
        moments = moment_in(before), moment_in(after) if after else 0.0
        if moments[0] is None or moments[1] is None:
            return responses.html(pages.message_page(reader, reader.say("bad_time")), 400)
        old, new = await self._find(url, moments[0]), await self._find(url, moments[1])
        if not old.records or not new.records:
            return responses.html(pages.message_page(reader, reader.say("stored_none")), 404)
        found = await self._backend.read_difference(url, old.records, new.records)
        if found.is_barred or await self._is_barred(url):
            return responses.html(pages.message_page(reader, reader.say("stored_barred")), 403)
        view = partial(difference_page, reader, url, old.fetched_at, new.fetched_at, found)
        return responses.html(await self._backend.render(view))

    async def _find(self, url: str, moment_s: float) -> PageFound:
        at_s = latest_in(moment_s) if moment_s else 0.0
        return await self._backend.ask(lambda ticket: FindPage(ticket, url, at_s), PageFound)

    async def _is_barred(self, url: str) -> bool:
        """Does its site now ask that no copy be shown, even if earlier versions allowed it?"""
        newest = await self._find(url, 0.0)
        if not newest.records:
            return False
        return (await self._backend.read_stored(url, newest.records, wants_text=False)).is_barred

    async def _versions(self, url: str) -> VersionsFound:
        return await self._backend.ask(lambda ticket: FindVersions(ticket, url), VersionsFound)

    async def time_gate(self, request: Request) -> Response:
        """Lead to the version of a time (RFC 7089, 4.1)."""
        url = original_url(request, "/timegate/")
        told = await self._versions(url)
        wanted = request.headers.get("accept-datetime", "")
        moment_s = moment_in(wanted) if wanted else inf
        if moment_s is None:
            raise Refusal(400, "Accept-Datetime is no date, such as Wed, 25 Nov 2026 12:00:00 GMT")
        version = chosen(told.versions, latest_in(moment_s) if wanted else inf)
        if version is None:
            raise Refusal(404, "the mesh has no version of this page")
        headers = {
            "Location": version_path(url, version.fetched_at),
            "Vary": "accept-datetime",
            "Link": links_of(base_of(request), url),
        }
        return Response(status_code=302, headers=headers | responses.SAFE_HEADERS)

    async def time_map(self, request: Request) -> Response:
        """List the versions of a page (RFC 7089, 5), in link-format or as JSON."""
        is_json = request.url.path.startswith("/timemap/json/")
        url = original_url(request, "/timemap/json/" if is_json else "/timemap/link/")
        told = await self._versions(url)
        if not (told.moved_from or any(each.has_content for each in told.versions)):
            raise Refusal(404, "the mesh has no version of this page")
        if is_json:
            return responses.json(time_map_json(base_of(request), told))
        text = time_map(base_of(request), told)
        return Response(text, media_type=LINK_FORMAT, headers=responses.SAFE_HEADERS)

    async def keywords(self, request: Request) -> Response:
        url = url_parameter(request)
        if url is None:
            raise Refusal(400, "give a URL with http:// or https:// in the parameter url")
        found = await self._find(url, 0.0)
        if not found.records:
            return responses.json(KeywordsJson(url, is_stored=False))
        try:
            stored = await self._backend.read_stored(url, found.records)
        except CorruptionError as error:
            logger.warning("stored page unreadable url=%s error=%s", url, error)
            raise Refusal(502, "the copy of this page is damaged") from error
        return responses.json(KeywordsJson(url, is_stored=True, keywords=stored.keywords))

    async def versions(self, request: Request) -> Response:
        url = url_parameter(request)
        if url is None:
            raise Refusal(400, "give a URL with http:// or https:// in the parameter url")
        return responses.json(versions_json(await self._versions(url)))


class BacklinkRoutes:
    """The handlers of back-links."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def page(self, request: Request) -> Response:
        """Show people the pages that link to one."""
        reader = reader_of(request)
        urls = _urls_in(request)
        if not urls:
            return responses.html(pages.message_page(reader, reader.say("stored_bad_url")), 400)
        if self._backend.policy.link_graph is None:
            return responses.html(pages.message_page(reader, reader.say("backlinks_off")), 404)
        try:
            start = number_in(request.query_params.get("start", "0"), "start", 0, START_MAX)
        except Refusal:
            start = 0
        try:
            told = await self._most_linked(urls, start)
        except Busy:
            return responses.html(pages.message_page(reader, reader.say("busy")), 503)
        return responses.html(await self._backend.render(partial(backlinks_page, reader, told, start)))

    async def told(self, request: Request) -> Response:
        """Return the pages that link to one."""
        urls = _urls_in(request)
        if not urls:
            raise Refusal(400, "that is no address of a page: give one as https://www.example.org/a as url")
        if self._backend.policy.link_graph is None:
            raise Refusal(404, LINKS_OFF)
        start = number_in(request.query_params.get("start", "0"), "start", 0, START_MAX)
        return responses.json(backlinks_json(await self._most_linked(urls, start), start))

    async def ranks(self, request: Request) -> Response:
        """Return the pages and hosts of the mesh with the highest ranks."""
        graph = self._backend.policy.link_graph
        if graph is None or not graph.ranks:
            raise Refusal(404, _UNRANKED_HINT)
        most = number_in(request.query_params.get("limit", "100"), "limit", 1, RANKED_MAX)
        found = await self._backend.ask(lambda ticket: GatherRanks(ticket, most), RanksGathered)
        return responses.json(await self._backend.render(lambda: ranks_json(found, most)))

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
    return tuple(url for each in typed if (url := canonical_with_ftp(each)) is not None)
