"""The icons of sites beside results: those that the mesh keeps, so that no site learns of its readers.

The entrance of a site, as it is stored, names the icon, which is stored and read as a page is. What is taken
down, hidden from this client or gone shows none.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from xxhash import xxh3_64_hexdigest

from mesh.errors import CorruptionError
from mesh.urls import origin_of
from peers.documents.icon_image import icon_type
from peers.gateway.handling import responses
from peers.gateway.handling.backend import Backend
from peers.gateway.handling.requests import Refusal, url_parameter
from peers.gateway.model.messages import FindPage, PageFound

ENTRANCES_MAX: Final = 4_096  # of which it is remembered what they name; some 400 bytes each

logger = logging.getLogger(__name__)


class SiteIcons:
    """The handler that shows the icon of a site, over one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._named: OrderedDict[tuple[str, float], str] = OrderedDict()  # by entrance and time of its visit

    async def icon(self, request: Request) -> Response:
        url = url_parameter(request)
        if url is None:
            raise Refusal(400, "give a URL with http:// or https:// in the parameter url")
        entrance = f"{origin_of(url)}/"
        try:
            named = await self._named_by(entrance)
            body = await self._image_at(named) if named else b""
        except CorruptionError as error:
            logger.warning("icon unreadable entrance=%s error=%s", entrance, error)
            body = b""
        media_type = icon_type(body)
        if media_type is None:
            return responses.no_icon()
        tag = f'"{xxh3_64_hexdigest(body)}"'
        if request.headers.get("if-none-match") == tag:
            return responses.icon(b"", media_type, tag, 304)
        return responses.icon(body, media_type, tag)

    async def _named_by(self, entrance: str) -> str:
        """Return the URL of the icon that an entrance names; "" for none. CorruptionError."""
        found = await self._find(entrance)
        if not found.records or found.gone_at:
            return ""
        key = entrance, found.fetched_at
        named = self._named.pop(key, None)
        if named is None:
            named = (await self._backend.read_stored(entrance, found.records)).icon
        self._named[key] = named
        if len(self._named) > ENTRANCES_MAX:
            self._named.popitem(last=False)
        return named

    async def _image_at(self, url: str) -> bytes:
        """Return the body of a stored icon; empty when there is none that may be shown. CorruptionError."""
        found = await self._find(url)
        if not found.records or found.gone_at:
            return b""
        stored = await self._backend.read_stored(url, found.records, wants_text=False)
        return b"" if stored.is_barred or stored.is_partial else stored.body

    async def _find(self, url: str) -> PageFound:
        return await self._backend.ask(lambda ticket: FindPage(ticket, url), PageFound)
