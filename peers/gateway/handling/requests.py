"""The parts of a request that handlers read: numbers, URLs, the body, and the site that has sent it.

Nothing a client sends is trusted: all of these have limits, `Host` becomes part of an address only in feeds,
and only when it is ours, and only a page of this gateway itself may post (`is_foreign`): a web page somewhere
else must not make its reader's peer crawl.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from ipaddress import ip_address
from math import inf
from typing import Final
from urllib.parse import parse_qs, unquote, unquote_to_bytes

from starlette.requests import Request

from mesh.urls import canonical_with_ftp
from peers.crawler.model.wire_messages import MOMENT_S_MAX
from peers.gateway.site.pages import Reader
from peers.gateway.site.texts import language_of

BODY_BYTES_MAX: Final = 1 << 20  # of seeds: 10,000 URLs of 100 characters
URL_PARAMETER_CHARS_MAX: Final = 8_192
MEMBER_CHARS_MAX: Final = 64  # of an id, as messages have it
COMPARE_COOKIE: Final = "tianmesh-compare"
FIELDS_MAX: Final = 8  # no form here has more than two


class Refusal(Exception):
    """A request that cannot be answered as it is."""

    def __init__(self, status_code: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status_code = status_code
        self.detail = detail
        self.headers = headers or {}


def reader_of(request: Request) -> Reader:
    chosen = request.query_params.get("lang", "")
    language = language_of(request.headers.get("accept-language", ""), chosen)
    backend = getattr(request.app.state, "backend", None)  # none in a test of a page alone
    rules = None if backend is None else backend.policy.submissions
    if rules is None:
        return Reader(language, chosen == language)
    return Reader(language, chosen == language, True, rules.reports_per_client > 0)


def may_compare(request: Request) -> bool:
    """Has the reader agreed to see results of two rankings, by a cookie that says nothing else?"""
    return request.cookies.get(COMPARE_COOKIE) == "yes"


def query_in(request: Request) -> str:
    """Return the text to search for, as `typed_in` without blanks around it."""
    return typed_in(request).strip()


def typed_in(request: Request) -> str:
    """Return the typed text, parameter `q`, in UTF-8 or, as old Chinese pages send it, GB 18030."""
    query = request.query_params.get("q", "")
    if "\ufffd" in query:
        pairs: bytes = request.scope["query_string"]
        value = next((pair[2:] for pair in pairs.split(b"&") if pair.startswith(b"q=")), b"")
        raw = unquote_to_bytes(value.replace(b"+", b" "))
        for encoding in ("gb18030", "utf-8"):  # in the latter the sign itself may have been typed
            with suppress(UnicodeDecodeError):
                query = raw.decode(encoding)
    return query


def fields_in(body: bytes) -> dict[str, str]:
    """Return the first value of each field by name; none where the body is no form of ours."""
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=FIELDS_MAX)
    except ValueError:  # there are more
        return {}
    return {name: values[0] for name, values in fields.items()}


def base_of(request: Request) -> str:
    """The address under which the client asks here, with a host name that `_HostCheck` has let pass."""
    scheme = "https" if is_encrypted(request) else "http"
    return f"{scheme}://{request.headers.get('host', 'localhost')}"


def is_encrypted(request: Request) -> bool:
    """Has the client come by https, as far as a proxy says?"""
    return request.headers.get("x-forwarded-proto") == "https"


def now_s() -> float:
    """Seconds since the epoch."""
    return datetime.now(UTC).timestamp()


def is_on(request: Request, name: str) -> bool:
    return request.query_params.get(name, "") not in ("", "0", "false")


def number_in(text: str, name: str, least: int, most: int) -> int:
    if text.isascii() and text.isdigit() and len(text) < 9 and least <= int(text) <= most:
        return int(text)
    raise Refusal(400, f"{name} has to be a whole number from {least} to {most}")


def url_parameter(request: Request) -> str | None:
    text = request.query_params.get("url", "").strip()
    return canonical_with_ftp(text) if len(text) <= URL_PARAMETER_CHARS_MAX else None


def member_parameters(request: Request) -> tuple[str, float, float]:
    """The member, "" for none, that is asked about, and the time, seconds since the epoch."""
    peer = request.query_params.get("peer", "")
    times = [request.query_params.get(name, "0") for name in ("since_s", "until_s")]
    try:
        since_s, until_s = map(float, times)
    except ValueError:
        since_s, until_s = inf, -inf
    if len(peer) > MEMBER_CHARS_MAX or not 0.0 <= since_s <= until_s <= MOMENT_S_MAX:
        raise Refusal(400, "give the id of a member, and since_s and until_s in seconds since 1970")
    return peer, since_s, until_s


def original_url(request: Request, prefix: str) -> str:
    """The URL behind a path of ours, as it was written there."""
    raw = request.scope.get("raw_path") or request.url.path.encode()
    query = request.scope["query_string"]
    text = raw.decode("latin-1").removeprefix(prefix) + (f"?{query.decode('latin-1')}" if query else "")
    text = unquote(text) if text[:12].lower().startswith(("http%3a", "https%3a", "ftp%3a")) else text
    url = canonical_with_ftp(text) if len(text) <= URL_PARAMETER_CHARS_MAX else None
    if url is None:
        raise Refusal(400, f"write a URL with http:// or https:// behind {prefix}")
    return url


def is_foreign(request: Request, names: Collection[str]) -> bool:
    """Does a page of another site send this?

    Browsers name the site in `Origin`. That it equals `Host` is not enough: a site may let its name point
    to this machine (DNS rebinding). So the name must be one that nobody else can own: an IP address,
    localhost, or one of ours. Programs send no `Origin`.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = request.headers.get("origin")
    if origin is None:
        return False
    scheme, _, authority = origin.partition("://")
    is_same = scheme in ("http", "https") and authority == request.headers.get("host", "")
    return not (is_same and is_ours(authority, names))


def is_ours(authority: str, names: Collection[str]) -> bool:
    name = authority.rpartition(":")[0] if authority.rpartition(":")[2].isdigit() else authority
    if name == "localhost" or name in names:
        return True
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


async def body_of(
    request: Request, bytes_max: int = BODY_BYTES_MAX, hint: str = "post the seeds in parts"
) -> bytes:
    too_large = Refusal(413, f"the body is larger than {bytes_max} bytes; {hint}")
    length = request.headers.get("content-length", "0")
    if length.isascii() and length.isdigit() and int(length[:20]) > bytes_max:
        raise too_large
    body = bytearray()
    async with aclosing(request.stream()) as parts:
        async for part in parts:
            body += part
            if len(body) > bytes_max:
                raise too_large
    return bytes(body)
