"""Stored versions as a CDX server lists them: its parameters, and lines for captures. Pure.

Every capture here is one that is shown. What the mesh does not keep beside a version is `-`, as in CDX files.
Expressions of `~` are refused: no reader of regular expressions here takes linear time.

Source: pywb's manual, "CDXJ Server API", as of pywb 2.8; SURT, Internet Archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec
from starlette.datastructures import QueryParams

from mesh.urls import canonical_with_ftp, host_of
from peers.gateway.model.messages import PagesFound, VersionsFound
from peers.gateway.site.memento import digits_of, moment_in
from peers.index.wire_messages import HITS_MAX, SNIPPETS_MAX

FIELDS: Final = ("urlkey", "timestamp", "url", "mime", "status", "digest", "length")
PAGES_MAX: Final = HITS_MAX // SNIPPETS_MAX  # of a list of many URLs
CAPTURES_MAX: Final = 1_000_000  # more may be asked for as a number, and are not given
FILTERS_MAX: Final = 16
PARAMETER_CHARS_MAX: Final = 8_192
_WORDS_MAX: Final = 8  # of a prefix, to look for its pages by
_UNKNOWN: Final = "-"
_DIGITS: Final = re.compile(r"\d{1,14}", re.ASCII)
_PLAIN_WORD: Final = re.compile(r"[a-z0-9]{1,40}", re.ASCII | re.IGNORECASE)
_encode: Final = msgspec.json.Encoder().encode


class NoCdxQuery(Exception):
    """The parameters ask for nothing that is listed here; the text says why."""


class MatchType(StrEnum):
    """The relation of a capture's URL to the URL of a query."""

    EXACT = "exact"  # but for the scheme
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"  # a host and its subdomains


class CdxForm(StrEnum):
    """The forms of an answer."""

    CDXJ = "cdxj"
    JSON = "json"  # an object a line
    TEXT = "text"


MEDIA_TYPES: Final = {
    CdxForm.CDXJ: "text/x-cdxj",
    CdxForm.JSON: "text/x-ndjson",
    CdxForm.TEXT: "text/plain",
}


class CdxFilter(NamedTuple):
    """A condition on a field: that it is, or contains, a text."""

    field: str
    text: str
    is_exact: bool
    is_negated: bool

    def lets_pass(self, capture: Mapping[str, str]) -> bool:
        value = capture[self.field]
        return (value == self.text if self.is_exact else self.text in value) is not self.is_negated


class CdxQuery(NamedTuple):
    """The parameters of a request."""

    url: str
    match: MatchType
    first: str  # timestamps of 14 digits, inclusive
    last: str
    filters: tuple[CdxFilter, ...]
    limit: int
    closest_s: float | None  # captures nearest to this time first
    is_reversed: bool
    form: CdxForm
    fields: tuple[str, ...]
    page: int  # of a list of many URLs, from 0
    counts_pages: bool  # instead of a list

    @property
    def pages(self) -> str:
        """Return the search that finds the pages of a prefix, a host or a domain, and others beside them."""
        narrowing = ""
        if self.match is MatchType.PREFIX:
            whole = self.url.partition("://")[2].partition("?")[0].split("/")[1:-1]
            words = [word for word in whole if _PLAIN_WORD.fullmatch(word)][:_WORDS_MAX]
            narrowing = "".join(f" inurl:{word}" for word in words)
        return f"site:{host_of(self.url)} copies:all{narrowing}"


def cdx_query(parameters: QueryParams) -> CdxQuery:
    """Read the parameters of a request.

    Raises:
      NoCdxQuery: they are none.
    """
    url, match = _scope(parameters.get("url", "").strip(), parameters.get("matchType", ""))
    filters = tuple(map(_filter, parameters.getlist("filter")[:FILTERS_MAX]))
    order, closest = parameters.get("sort", ""), parameters.get("closest", "")
    closest_s = moment_in(closest) if closest else None
    if order not in ("", "default", "reverse", "closest") or (order == "closest") > (closest_s is not None):
        raise NoCdxQuery("sort is reverse, or closest with a time in the parameter closest")
    if closest and closest_s is None:
        raise NoCdxQuery("closest is a time such as 20261125120000")
    fields = tuple(each.strip() for each in parameters.get("fl", "").split(",") if each.strip()) or FIELDS
    if unknown := [each for each in fields if each not in FIELDS]:
        raise NoCdxQuery(f"fl is of {', '.join(FIELDS)}, and {unknown[0][:100]!r} is none of them")
    try:
        form = CdxForm(parameters.get("output") or CdxForm.CDXJ)
    except ValueError as error:
        raise NoCdxQuery(f"output has to be one of {', '.join(CdxForm)}") from error
    return CdxQuery(
        url,
        match,
        _digits(parameters, "from").ljust(14, "0"),
        _digits(parameters, "to").ljust(14, "9"),
        filters,
        _number(parameters, "limit", CAPTURES_MAX, CAPTURES_MAX),
        closest_s,
        order == "reverse",
        form,
        fields,
        _number(parameters, "page", 0, CAPTURES_MAX),
        parameters.get("showNumPages", "") == "true",
    )


def _scope(text: str, wanted: str) -> tuple[str, MatchType]:
    """Read the URL, with or without scheme and `*`, and which others it stands for."""
    if len(text) > PARAMETER_CHARS_MAX:
        raise NoCdxQuery(f"url has more than {PARAMETER_CHARS_MAX} characters")
    try:
        match = MatchType(wanted or MatchType.EXACT)
    except ValueError as error:
        raise NoCdxQuery(f"matchType has to be one of {', '.join(MatchType)}") from error
    if not wanted and text.startswith("*."):
        text, match = text[2:].removesuffix("/*"), MatchType.DOMAIN
    elif not wanted and text.endswith("*"):
        text, match = text[:-1], MatchType.PREFIX
    url = canonical_with_ftp(text if "://" in text[:10] else f"http://{text}")
    if url is None:
        raise NoCdxQuery("give a URL in the parameter url, such as example.org/page or *.example.org")
    return url, match


def _filter(text: str) -> CdxFilter:
    """Read `[!][=]field:text`."""
    is_negated = text.startswith("!")
    rest = text[is_negated:]
    is_exact = rest.startswith("=")
    field, colon, value = rest[is_exact:].partition(":")
    if not colon or field not in FIELDS or len(value) > PARAMETER_CHARS_MAX:
        why = "regular expressions (~) are not taken" if field.startswith("~") else "write [!][=]field:text"
        raise NoCdxQuery(f"the filter {text[:100]!r} is not understood: {why}; fields: {', '.join(FIELDS)}")
    return CdxFilter(field, value, is_exact, is_negated)


def _digits(parameters: QueryParams, name: str) -> str:
    text = parameters.get(name, "")
    if text and not _DIGITS.fullmatch(text):
        raise NoCdxQuery(f"{name} has at most 14 digits, such as 20261125120000")
    return text


def _number(parameters: QueryParams, name: str, default: int, most: int) -> int:
    text = parameters.get(name, "")
    if text and not (text.isascii() and text.isdigit() and len(text) < 9):
        raise NoCdxQuery(f"{name} is a whole number")
    return min(int(text), most) if text else default


def both_schemes(url: str) -> tuple[str, str]:
    """Return a URL with each scheme: the keys of a CDX server have none."""
    rest = url.partition("://")[2]
    return f"http://{rest}", f"https://{rest}"


def captures_of(found: VersionsFound) -> list[dict[str, str]]:
    """Return the versions of one page that are shown."""
    return [
        _capture(found.url, each.fetched_at, _UNKNOWN, str(each.status or _UNKNOWN), str(each.n_bytes))
        for each in found.versions
        if each.has_content
    ]


def captures_in(query: CdxQuery, found: PagesFound) -> list[dict[str, str]]:
    """Return the newest version of each page found that a query is about."""
    return [
        _capture(each.url, each.fetched_at, each.type or _UNKNOWN, "200", _UNKNOWN)
        for each in found.hits
        if each.fetched_at and _is_meant(query, each.url)
    ]


def _is_meant(query: CdxQuery, url: str) -> bool:
    match query.match:
        case MatchType.PREFIX:
            return url.partition("://")[2].startswith(query.url.partition("://")[2])
        case MatchType.HOST:
            return host_of(url) == host_of(query.url)
        case _:
            return True


def _capture(url: str, at_s: float, media_type: str, status: str, length: str) -> dict[str, str]:
    return dict(
        zip(FIELDS, (url_key(url), digits_of(at_s), url, media_type, status, _UNKNOWN, length), strict=True)
    )


def url_key(url: str) -> str:
    """Return the key by which captures are ordered: the name of the host from its end, port and path."""
    authority, slash, path = url.partition("://")[2].partition("/")
    name, colon, port = authority.partition(":") if not authority.startswith("[") else (authority, "", "")
    is_name = not name.replace(".", "").isdigit() and not name.startswith("[")
    key = ",".join(reversed(name.split("."))) if is_name else name
    return f"{key}{colon}{port}){slash}{path}".lower()


def listed(query: CdxQuery, captures: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Return the captures that a query asks for, in the order that it wants."""
    chosen = [
        each
        for each in captures
        if query.first <= each["timestamp"] <= query.last
        and all(wanted.lets_pass(each) for wanted in query.filters)
    ]
    chosen.sort(key=lambda each: (each["urlkey"], each["timestamp"], each["url"]))
    if query.closest_s is not None:
        at_s = query.closest_s
        chosen.sort(key=lambda each: abs((moment_in(each["timestamp"]) or 0.0) - at_s))
    elif query.is_reversed:
        chosen.reverse()
    return chosen[: query.limit]


def lines_of(query: CdxQuery, captures: Sequence[Mapping[str, str]]) -> str:
    """Write captures, one a line."""
    return "".join(f"{_line(query, each)}\n" for each in captures)


def _line(query: CdxQuery, capture: Mapping[str, str]) -> str:
    told: dict[str, Any] = {name: capture[name] for name in query.fields}
    match query.form:
        case CdxForm.TEXT:
            return " ".join(told.values())
        case CdxForm.JSON:
            return _encode(told).decode()
        case CdxForm.CDXJ:
            rest = {name: value for name, value in told.items() if name not in FIELDS[:2]}
            return f"{capture['urlkey']} {capture['timestamp']} {_encode(rest).decode()}"


class PagesCounted(msgspec.Struct, frozen=True):
    """The answer to `showNumPages`: a page of this list is one block."""

    pages: int
    pageSize: int = 1  # noqa: N815  (pywb's name)
    blocks: int = 1


def pages_counted(found: PagesFound) -> PagesCounted:
    """Return how many pages the list of the pages found has."""
    pages = min(-(-found.total // SNIPPETS_MAX), PAGES_MAX)
    return PagesCounted(pages, blocks=pages)
