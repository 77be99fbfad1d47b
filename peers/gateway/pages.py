"""The gateway's HTML: values in, text out. Everything that is put into it is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.resources import files
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from mesh.messages import HITS_MAX
from peers.gateway.messages import Coverage, FoundPage, PagesFound
from peers.gateway.status import PeerState, PeerStatus, Report, Total
from peers.gateway.stored_page import Kind, StoredPage, framed_html
from peers.gateway.texts import TEXTS

HITS_PER_PAGE: Final = 10
PAGES_MAX: Final = HITS_MAX // HITS_PER_PAGE
PAGES_AROUND: Final = 2  # linked on both sides of the current one; ten numbers do not fit a phone
ADDRESS_CHARS_MAX: Final = 90
QUERY_CHARS_MAX: Final = 500

STYLE: Final = files("peers.gateway").joinpath("static", "style.css").read_bytes()
STYLE_URL: Final = f"/static/style.css?v={blake2b(STYLE, digest_size=6).hexdigest()}"

_environment = Environment(
    loader=PackageLoader("peers.gateway"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)


class Reader(NamedTuple):
    """Whom a page is for."""

    language: str  # of `TEXTS`
    is_chosen: bool  # by hand: links keep it

    def say(self, key: str, **values: object) -> str:
        """The text of that key with its values put in, not yet escaped."""
        return TEXTS[self.language][key].format(**values)

    def link(self, path: str, **parameters: object) -> str:
        """An address of this gateway that keeps the language."""
        chosen = {"lang": self.language} if self.is_chosen else {}
        query = urlencode(parameters | chosen)
        return f"{path}?{query}" if query else path


class _Here(NamedTuple):
    """Where the reader is, to come back to in another language."""

    path: str
    parameters: Mapping[str, object] = {}


class _LanguageLink(NamedTuple):
    code: str
    name: str
    href: str
    is_current: bool


class _Result(NamedTuple):
    """A hit as the template wants it."""

    url: str
    title: Markup
    plain_title: str
    snippet: Markup
    address: str
    fetched: str
    cached: str


class _PageLink(NamedTuple):
    number: int
    href: str
    is_current: bool


class _StatusRow(NamedTuple):
    """A peer, or all, as the template wants it."""

    name: str
    gateway: str
    state: str
    kind: str  # of the state, for its style
    numbers: list[str]


class _HotHost(NamedTuple):
    name: str
    urls: str


_STATUS_COLUMNS: Final = (
    "status_peer",
    "status_state",
    "status_crawled",
    "status_answered",
    "status_complete",
    "status_wanted",
    "status_moved",
    "status_pages",
    "status_queue",
    "status_memory",
)
_STATE_TEXTS: Final = {
    PeerState.CUT_OFF: "state_cut_off",
    PeerState.UNLICENSED: "state_unlicensed",
    PeerState.DRAINED: "state_drained",
    PeerState.DRAINING: "state_draining",
    PeerState.CLAIMING: "state_claiming",
    PeerState.MOVING: "state_moving",
    PeerState.STEADY: "state_steady",
}


def start_page(reader: Reader) -> str:
    """The page with nothing but the question."""
    return _render("start.html", reader, _Here("/"), query="")


def result_page(reader: Reader, query: str, page: int, found: PagesFound, took_s: float) -> str:
    """A page of results.

    Args:
      page: 1 to PAGES_MAX.
      took_s: seconds from the request to the answer.
    """
    return _render(
        "results.html",
        reader,
        _Here("/search", {"q": query, "page": page}),
        query=query,
        page=page,
        results=[_result(reader, hit) for hit in found.hits],
        total=found.total,
        count=_count(reader, found.total),
        took=reader.say("took", ms=max(1, round(took_s * 1_000))),
        is_covered=found.coverage.missing == 0,
        covered_share=_covered_share(found.coverage),
        is_fallback=found.is_fallback,
        page_links=list(_page_links(reader, query, page, found.total)),
        previous=_page_href(reader, query, page - 1) if page > 1 else "",
        next=_page_href(reader, query, page + 1) if page < _last_page(found.total) else "",
        first=_page_href(reader, query, 1),
    )


def status_page(reader: Reader, report: Report) -> str:
    """What every peer is doing, for people."""
    total = report.total
    return _render(
        "status.html",
        reader,
        _Here("/status"),
        query="",
        facts=reader.say(
            "status_facts",
            peers=len(report.peers),
            pages=f"{total.pages_stored:,}",
            queue=f"{total.frontier.queued:,}",
            speed=f"{total.pages_per_second:.1f}",
        ),
        columns=[reader.say(column) for column in _STATUS_COLUMNS],
        rows=[
            *(_status_row(reader, peer) for peer in report.peers),
            _StatusRow(reader.say("status_all"), "", "", "all", _status_numbers(total)),
        ],
        hosts=[
            _HotHost(_address(host), reader.say("status_urls", urls=f"{urls:,}"))
            for host, urls in total.hot_hosts
        ],
    )


def message_page(reader: Reader, message: str, query: str = "") -> str:
    """A page that says one thing: what went wrong and what to do."""
    return _render("message.html", reader, _Here("/"), message=message, query=query)


def stored_page_view(reader: Reader, url: str, fetched_at: float, page: StoredPage) -> str:
    """The stored copy in its frame, under a banner; to be sent with a sandboxing policy."""
    return _render(
        "stored.html",
        reader,
        _Here("/page", {"url": url}),
        query="",
        url=url,
        is_shown=page.kind is not Kind.OTHER,
        media_type=page.media_type[:100],
        is_cut=page.is_cut,
        address=_address(url),
        fetched=_date(fetched_at) or "?",
        document=framed_html(url, page),
    )


def marked(text: str, highlights: Sequence[tuple[int, int]]) -> Markup:
    """Escape a text and put <mark> around its highlights; spans that make no sense are left out."""
    parts: list[Markup] = []
    done = 0
    for start, end in sorted(highlights):
        if done <= start < end <= len(text):
            parts += [escape(text[done:start]), Markup("<mark>"), escape(text[start:end]), Markup("</mark>")]
            done = end
    return Markup("").join([*parts, escape(text[done:])])


def _render(template: str, reader: Reader, here: _Here, **values: Any) -> str:
    return _environment.get_template(template).render(
        reader=reader,
        say=reader.say,
        link=reader.link,
        languages=[
            _LanguageLink(
                code=code,
                name=texts["this_language"],
                href=Reader(code, True).link(here.path, **here.parameters),
                is_current=code == reader.language,
            )
            for code, texts in TEXTS.items()
        ],
        style_url=STYLE_URL,
        query_chars_max=QUERY_CHARS_MAX,
        **values,
    )


def _result(reader: Reader, hit: FoundPage) -> _Result:
    has_title = bool(hit.title.strip())
    return _Result(
        url=hit.url,
        title=marked(hit.title, hit.title_highlights) if has_title else escape(_address(hit.url)),
        plain_title=hit.title if has_title else hit.url,
        snippet=marked(hit.snippet, hit.highlights),
        address=_address(hit.url),
        fetched=reader.say("fetched", date=_date(hit.fetched_at)) if hit.fetched_at > 0 else "",
        cached=reader.link("/page", url=hit.url),
    )


def _status_row(reader: Reader, peer: PeerStatus) -> _StatusRow:
    kind = peer.state.name.lower()
    state = reader.say(_STATE_TEXTS[peer.state])
    if peer.disk_full:
        kind, state = "disk_full", f"{reader.say('status_disk_full')}; {state}"
    # What another peer says of itself becomes a link only if it looks like one.
    gateway = peer.gateway if peer.gateway.startswith("http://") else ""
    return _StatusRow(peer.id, gateway, state, kind, _status_numbers(peer))


def _status_numbers(row: PeerStatus | Total) -> list[str]:
    """In the order of `_STATUS_COLUMNS`, after peer and state."""
    slots = row.slots
    return [
        f"{slots.held:,} / {slots.owned:,}",
        f"{slots.answered:,}",
        f"{slots.complete:,} / {slots.kept:,}",
        f"{slots.wanted:,}",
        f"{row.bytes_moved_per_s / 1e6:.1f}",
        f"{row.pages_stored:,}",
        f"{row.frontier.queued:,}",
        f"{row.rss_bytes / 1e6:,.0f}",
    ]


def _address(url: str) -> str:
    """The URL as people read it: without scheme, escapes undone where that gives letters."""
    bare = url.partition("://")[2].removesuffix("/")
    try:
        shown = unquote(bare, errors="strict")
    except UnicodeDecodeError:
        shown = bare
    shown = "".join(character if character.isprintable() else "\ufffd" for character in shown)
    return shown if len(shown) <= ADDRESS_CHARS_MAX else shown[: ADDRESS_CHARS_MAX - 1] + "…"


def _date(seconds: float) -> str:
    """The day in UTC; empty for what is no time."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return ""


def _count(reader: Reader, total: int) -> str:
    return reader.say("one_result") if total == 1 else reader.say("many_results", total=f"{total:,}")


def _covered_share(coverage: Coverage) -> str:
    """Per cent, rounded down: 99.9 % is not all."""
    per_mille = 1_000 * coverage.answered // max(1, coverage.slots)
    return f"{per_mille // 10}.{per_mille % 10} %"


def _last_page(total: int) -> int:
    return min(PAGES_MAX, -(-total // HITS_PER_PAGE))


def _page_links(reader: Reader, query: str, page: int, total: int) -> Iterator[_PageLink]:
    last = _last_page(total)
    if last <= 1:
        return
    for number in range(max(1, page - PAGES_AROUND), min(last, page + PAGES_AROUND) + 1):
        yield _PageLink(number, _page_href(reader, query, number), number == page)


def _page_href(reader: Reader, query: str, page: int) -> str:
    return reader.link("/search", q=query, page=page) if page > 1 else reader.link("/search", q=query)
