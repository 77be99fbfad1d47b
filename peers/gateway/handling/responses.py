"""Responses of each kind, with the headers that keep their content harmless in a browser."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from peers.gateway.http.asgi import PARTS
from peers.gateway.site import pages
from peers.gateway.site.command_json import Failure
from peers.gateway.site.stored_page import PageSnapshot, file_headers

SAFE_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # a query is nobody else's business
    "Cross-Origin-Resource-Policy": "same-origin",
}
_PAGE_POLICY: Final = (
    f"default-src 'none'; style-src 'self'; script-src {pages.SCRIPT.source}; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# The frame inherits this: no script, no form, nothing loaded, an origin of its own. Its links may open
# the live web in a new tab, which is not sandboxed then.
STORED_POLICY: Final = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'self' 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'none'"
)
_FILE_POLICY: Final = "sandbox; default-src 'none'; form-action 'none'; frame-ancestors 'none'"
SUGGESTIONS_TYPE: Final = "application/x-suggestions+json"
SUGGESTED_S: Final = 60  # as old as suggestions may be
ICON_S: Final = 60  # for which a browser shows an icon unasked; so long one may be seen that is taken down
_encoder: Final = msgspec.json.Encoder()


def form(text: str, status_code: int = 200) -> Response:
    """A page with a form to be posted: without a referrer, browsers do not say which site's it is."""
    response = html(text, status_code)
    response.headers["Referrer-Policy"] = "same-origin"
    return response


def html(text: str, status_code: int = 200, policy: str = _PAGE_POLICY) -> Response:
    headers = {
        "Content-Security-Policy": policy,
        "Vary": "Accept-Language",
        "Cache-Control": "private, no-cache",
        **SAFE_HEADERS,
    }
    if status_code == 503:
        headers["Retry-After"] = "1"
    # A lone surrogate from a hostile title has no UTF-8 form.
    body = text.encode("utf-8", "replace")
    return Response(body, status_code, headers, media_type="text/html; charset=utf-8")


def see_other(place: str, cookie: str = "") -> Response:
    """Send a browser on after it has posted something. RFC 9110, 15.4.4."""
    headers = {"Location": place, "Cache-Control": "no-store", **SAFE_HEADERS}
    if cookie:
        headers["Set-Cookie"] = cookie
    return Response(status_code=303, headers=headers)


def found(place: str) -> Response:
    """Send a browser on to a page. RFC 9110, 15.4.3: the next time it is to ask here again."""
    return Response(status_code=302, headers={"Location": place, "Cache-Control": "no-store", **SAFE_HEADERS})


def file(url: str, page: PageSnapshot) -> Response:
    """The body of a stored page as its server sent it, for the client to save: it is not shown here."""
    headers = {
        "Content-Security-Policy": _FILE_POLICY,
        "Cache-Control": "private, no-cache",
        **SAFE_HEADERS,
        **file_headers(url, page),
    }
    return Response(page.body, 200, headers)


def icon(body: bytes, media_type: str, tag: str, status_code: int = 200) -> Response:
    """The icon of a site, an image by its bytes; a browser that opens it alone runs and loads nothing."""
    headers = {
        "Content-Security-Policy": _FILE_POLICY,
        "Cache-Control": f"private, max-age={ICON_S}",
        "ETag": tag,
        **SAFE_HEADERS,
    }
    return Response(body, status_code, headers, media_type=media_type)


def no_icon() -> Response:
    """Tell that there is none, for as long as an icon would be shown."""
    response = json(Failure("the mesh has no icon of this site"), 404)
    response.headers["Cache-Control"] = f"private, max-age={ICON_S}"
    return response


def plain(text: str, media_type: str) -> Response:
    """The text of a page by strangers, for a program; a browser shows it as text or saves it."""
    headers = {"Content-Security-Policy": _FILE_POLICY, "Cache-Control": "private, no-cache", **SAFE_HEADERS}
    body = text.encode("utf-8", "replace")
    return Response(body, 200, headers, media_type=f"{media_type}; charset=utf-8")


def policy_with(source: str) -> str:
    """Return the policy of pages with one more script, that of one page."""
    return _PAGE_POLICY.replace(pages.SCRIPT.source, f"{pages.SCRIPT.source} {source}")


def xml(text: str, media_type: str) -> Response:
    headers = {"Cache-Control": "private, no-cache", "Vary": "Accept-Language", **SAFE_HEADERS}
    return Response(
        text.encode("utf-8", "replace"), media_type=f"{media_type}; charset=utf-8", headers=headers
    )


def suggestions(typed: str, texts: Sequence[str]) -> Response:
    """Suggestions in the form of OpenSearch 1.1; a browser may keep them while the same is typed again."""
    headers = {"Cache-Control": f"private, max-age={SUGGESTED_S}", **SAFE_HEADERS}
    content = _encoder.encode((typed, texts))
    return Response(content, headers=headers, media_type=SUGGESTIONS_TYPE)


class _Events(Response):
    """A response whose body is sent while it is made, see `http.asgi`."""

    def __init__(self, parts: AsyncGenerator[bytes]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no", **SAFE_HEADERS})
        del self.headers["content-length"]
        self.headers["content-type"] = "text/event-stream"
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": b"", PARTS: self._parts})


def events(parts: AsyncGenerator[bytes]) -> Response:
    """Server-sent events, each as soon as it is there."""
    return _Events(parts)


def json(value: Any, status_code: int = 200) -> Response:
    headers = {"Cache-Control": "no-store", **SAFE_HEADERS}
    if status_code == 503:
        headers["Retry-After"] = "1"
    return Response(_encoder.encode(value), status_code, headers, media_type="application/json")
