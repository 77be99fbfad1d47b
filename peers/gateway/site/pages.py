"""The gateway's HTML: values in, text out. Everything that is put into it is escaped."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b, sha256
from importlib.resources import files
from itertools import islice
from shlex import quote as quoted
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlencode

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from mesh.urls import has_host, is_of_files, origin_of
from peers.documents.content import Lack
from peers.engine.pages.kinds import KINDS, kind_of
from peers.engine.queries.query import Sort
from peers.engine.queries.query_language import Oddity, Remark, shortened
from peers.engine.queries.query_parser import QUERY_CHARS_MAX, parse_query
from peers.gateway.model.member_lines import (
    MemberLine,
    Presence,
    advice,
    member_lines,
    printable,
    searched_words,
)
from peers.gateway.model.messages import Coverage, FoundPage, PagesFound, Relaxed
from peers.gateway.model.quantity import columns, text_of
from peers.gateway.model.readiness_json import ReadinessJson
from peers.gateway.model.sentences import sentences_in
from peers.gateway.model.status import PeerState, Report, Total
from peers.gateway.model.time_words import utc
from peers.gateway.site.click_links import ClickLinks
from peers.gateway.site.date_range import date_range
from peers.gateway.site.memento import digits_of
from peers.gateway.site.sections import section_url
from peers.gateway.site.stored_page import DisplayKind, PageSnapshot, framed_html, linked_within
from peers.gateway.site.texts import LANGUAGE_NAMES, OPERATORS, TEXTS, text_in
from peers.index.wire_messages import HITS_MAX, FacetCounts

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel
    from peers.gateway.model.listed_file import ListedFile

HITS_PER_PAGE: Final = 10
ANSWERS_AMONG: Final = 3  # of the first hits, one whose synopsis is shown above all
PAGES_MAX: Final = HITS_MAX // HITS_PER_PAGE
PAGES_AROUND: Final = 2  # linked on both sides of the current one; ten numbers do not fit a phone
ADDRESS_CHARS_MAX: Final = 90
FACET_VALUES_SHOWN: Final = 10
FACET_NAME_CHARS_MAX: Final = 60
NOWHERE_SHOWN_MAX: Final = 10
EXPLANATION_LINES_MAX: Final = 500
PAGES_CACHED: Final = 256  # of results, rendered: 20 kB each
RESULTS_CACHED: Final = 2_048  # hits made ready to be shown: those of pages of results that are shown again

HUES: Final = 8  # of the letters that stand for sites; see style.css
WORDS_DAYS_MAX: Final = 6  # a day that is longer ago is named by its date

_static: Final = files("peers.gateway.site").joinpath("static")
STYLE: Final = _static.joinpath("style.css").read_bytes()
STYLE_URL: Final = f"/static/style.css?v={blake2b(STYLE, digest_size=6).hexdigest()}"
ICON: Final = _static.joinpath("icon.svg").read_bytes().strip()


class PageScript(NamedTuple):
    """A script that stands in its page."""

    text: Markup
    source: str  # what a content security policy calls it (CSP Level 3, 8.2)


def page_script(*names: str) -> PageScript:
    """Read the files of a script."""
    text = "\n".join(_static.joinpath(name).read_text("utf-8").strip() for name in names)
    return PageScript(Markup(text), f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'")


SCRIPT: Final = page_script("keys.js", "suggestions.js")  # of every page

_environment = Environment(
    loader=PackageLoader("peers.gateway.site"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_environment.filters["shortened"] = shortened


_ICON_URL: Final = "data:image/svg+xml," + quote(ICON, safe=" =:/'<>")
_TOOK: Final = Markup("<took>")  # which nothing that is escaped contains


class Reader(NamedTuple):
    """The reader of a page: the language, and whether it was chosen by hand."""

    language: str  # of `TEXTS`
    is_chosen: bool  # by hand: links keep it
    takes_sites: bool = False  # that people submit, where the policy of the mesh says so
    takes_reports: bool = False  # of results, likewise

    def say(self, key: str, **values: object) -> str:
        """The text of that key with its values put in, not yet escaped."""
        return text_in(self.language, key, **values)

    def link(self, path: str, **parameters: object) -> str:
        """An address of this gateway that keeps the language."""
        chosen = {"lang": self.language} if self.is_chosen else {}
        query = urlencode(parameters | chosen)
        return f"{path}?{query}" if query else path


class Here(NamedTuple):
    """Where the reader is, to come back to in another language."""

    path: str
    parameters: Mapping[str, object] = {}


class _LanguageLink(NamedTuple):
    code: str
    name: str
    href: str
    is_current: bool


class Wish(NamedTuple):
    """The parameters of a request for a page of results."""

    query: str
    page: int = 1  # number to be shown
    order: Sort = Sort.SCORE
    wants_facets: bool = True
    wants_explanations: bool = False
    is_verbatim: bool = False  # no word is taken for a mistyped one
    page_words: tuple[tuple[str, float], ...] = ()  # as in `SearchPages`; no parameter
    may_search_live: bool = False  # no parameter
    may_compare: bool = False  # likewise: the policy has a second ranking
    draw: int = 0  # likewise, as in `SearchPages`
    has_graph: bool = False  # likewise: the mesh keeps which pages link to which

    def link(self, reader: Reader, query: str | None = None, *, page: int = 1, cursor: str = "") -> str:
        """An address of a page of results that keeps the rest of the wish."""
        parameters: dict[str, object] = {"q": self.query if query is None else query}
        parameters |= {"page": page} if page > 1 else {}
        parameters |= {"sort": self.order.value} if self.order is not Sort.SCORE else {}
        parameters |= {"facets": 0} if not self.wants_facets else {}
        parameters |= {"explain": 1} if self.wants_explanations else {}
        parameters |= {"verbatim": 1} if self.is_verbatim else {}
        parameters |= {"cursor": cursor} if cursor else {}
        return reader.link("/search", **parameters)


class _Result(NamedTuple):
    """A hit as the template wants it."""

    url: str
    title: Markup
    plain_title: str
    snippet: Markup
    section: str  # the heading above its words; empty where nothing leads there
    section_url: str
    synopsis: str
    defines: bool  # its snippet is the sentence that says what was to be defined
    files: list[ListedFile]  # of a directory
    language: str  # for screen readers; empty where it is none or the reader's
    icon: str  # where that of its site is, on this gateway; "" for what is not of the web
    letter: str  # stands for its site that has no icon
    hue: int  # of the letter, below `HUES`
    address: str
    about: list[str]  # date, type, language
    fetched: str
    until: str  # of a page as it was, since when it is no more; "" for now
    cached: str
    report: str  # where it is reported; "" where nobody can
    score: str
    explanation: list[str]  # lines
    copies: str  # that it stands for, in words
    more: str  # address of further results of its site
    with_copies: str  # address of the results with all copies
    also_at: list[tuple[str, str]]  # URLs and addresses of copies in other domains


class _FacetValue(NamedTuple):
    name: str
    pages: str
    href: str  # of the query narrowed to it
    below: tuple[_FacetValue, ...] = ()  # of a class, those below it


class _Facet(NamedTuple):
    title: str
    options: list[_FacetValue]


class _PageLink(NamedTuple):
    number: int
    href: str
    is_current: bool


class _Choice(NamedTuple):
    """A link to the same results in another way."""

    text: str
    href: str
    is_chosen: bool


class _Filter(NamedTuple):
    """A condition that narrows the results, and the way back."""

    text: str
    href: str  # of the query without it


class _Operator(NamedTuple):
    """A line of the help for searchers."""

    example: str
    href: str
    text: str


class _StatusRow(NamedTuple):
    """A member, or all, as the template wants it."""

    name: str
    gateway: str
    about: list[str]  # machine and version
    state: str
    kind: str  # of the state, for its style
    numbers: list[str]


class _Column(NamedTuple):
    label: str
    help: str


class _HotHost(NamedTuple):
    name: str
    href: str  # to what is known of its home page
    urls: str


# Of a member, before the numbers, of which the table of quantities says which have a column.
_ABOUT_COLUMNS: Final = ("status_peer", "status_machine", "status_version", "status_state")
_NUMBERS: Final = tuple(columns(Total))
# Operators that narrow, as `query_language` reads them; in a phrase they are text.
_FILTER: Final = re.compile(
    r"\"[^\"]*\"?|“[^”]*”?|(?<!\S)((?:site|lang|type|class|after|before|larger|newer):[^\s\"()]+)",
    re.IGNORECASE,
)
_OF_FILES: Final = re.compile(r"(?<!\S)(?:larger|newer):\S", re.IGNORECASE)
_KIND_TEXTS: Final = {
    "html": "kind_html",
    "pdf": "kind_pdf",
    "word": "kind_word",
    "excel": "kind_excel",
    "powerpoint": "kind_powerpoint",
    "odt": "kind_odt",
    "ods": "kind_ods",
    "odp": "kind_odp",
    "rtf": "kind_rtf",
    "epub": "kind_epub",
    "listing": "kind_listing",
    "feed": "kind_feed",
    "xml": "kind_xml",
    "json": "kind_json",
    "csv": "kind_csv",
    "text": "kind_text",
    "code": "kind_code",
}
_LACK_TEXTS: Final = {
    Lack.ENCRYPTED: "lack_encrypted",
    Lack.SCANNED: "lack_scanned",
    Lack.DAMAGED: "lack_damaged",
    Lack.EXHAUSTING: "lack_exhausting",
    Lack.OLD: "lack_old",
}
_ORDER_TEXTS: Final = {Sort.SCORE: "sort_score", Sort.DATE: "sort_date"}
_REMARK_TEXTS: Final = {
    Oddity.QUOTE_OPEN: "remark_quote_open",
    Oddity.PARENTHESIS_OPEN: "remark_parenthesis_open",
    Oddity.PARENTHESIS_EXTRA: "remark_parenthesis_extra",
    Oddity.OR_ALONE: "remark_or_alone",
    Oddity.NOT_ALONE: "remark_not_alone",
    Oddity.TOO_DEEP: "remark_too_deep",
    Oddity.NO_HOST: "remark_no_host",
    Oddity.NO_LANGUAGE: "remark_no_language",
    Oddity.NO_TYPE: "remark_no_type",
    Oddity.NO_DATE: "remark_no_date",
    Oddity.ENDS_FIRST: "remark_ends_first",
    Oddity.NO_CLASS: "remark_no_class",
    Oddity.NO_SIZE: "remark_no_size",
    Oddity.NO_VALUE: "remark_no_value",
    Oddity.NO_OPERATOR: "remark_no_operator",
    Oddity.NO_COPY: "remark_no_copy",
    Oddity.STORED_COPY: "remark_stored_copy",
    Oddity.NO_LINKS: "remark_no_links",
    Oddity.BACKLINKS: "remark_backlinks",
    Oddity.WORDS_OF_PAGE: "remark_words_of_page",
    Oddity.SENTENCE: "remark_sentence",
    Oddity.ONLY_EXCLUSIONS: "remark_only_exclusions",
    Oddity.NO_WORDS: "remark_no_words",
    Oddity.TOO_LONG: "remark_too_long",
    Oddity.TOO_MANY_WORDS: "remark_too_many_words",
    Oddity.COMMONEST_LEFT_OUT: "remark_commonest_left_out",
    Oddity.NO_SUCH_PHRASE: "remark_no_such_phrase",
    Oddity.NO_DEFINITION: "remark_no_definition",
    Oddity.NOT_DEFINED: "remark_not_defined",
    Oddity.CUT_SHORT: "remark_cut_short",
    Oddity.TOO_COMPLEX: "remark_too_complex",
    Oddity.NO_CURSOR: "remark_no_cursor",
    Oddity.AS_OF: "remark_as_of",
    Oddity.YET_TO_COME: "remark_yet_to_come",
    Oddity.NO_PAST: "remark_no_past",
}
_STATE_TEXTS: Final = {
    PeerState.CUT_OFF: "state_cut_off",
    PeerState.UNLICENSED: "state_unlicensed",
    PeerState.DRAINED: "state_drained",
    PeerState.DRAINING: "state_draining",
    PeerState.CLAIMING: "state_claiming",
    PeerState.MOVING: "state_moving",
    PeerState.STEADY: "state_steady",
}


def start_page(reader: Reader, *, has_classes: bool = False) -> str:
    """The page with nothing but the question, and a link to the directory where there is one."""
    return render("start.html", reader, Here("/"), query="", has_classes=has_classes)


def help_page(reader: Reader) -> str:
    """The page on the operators that a query can have, with examples."""
    return render(
        "help.html",
        reader,
        Here("/help"),
        query="",
        operators=[
            _Operator(example, Wish(example).link(reader), text)
            for example, text in OPERATORS[reader.language]
        ],
    )


def result_page(
    reader: Reader,
    wish: Wish,
    found: PagesFound,
    took_s: float,
    today: date,
    related: tuple[str, ...] = (),
    links: ClickLinks | None = None,
    classes: ClassModel | None = None,
) -> str:
    """A page of results.

    Args:
      took_s: seconds from the request to the answer.
      today: UTC; days close to it are told by words.
      related: queries that go beyond this one.
      links: over which the gateway sees what is clicked on; None for those of the pages themselves.
      classes: of the mesh, None where it has none.
    """
    same = msgspec.structs.replace(found, ticket=0, seconds=0.0, is_cached=False)
    took = reader.say("took", ms=max(1, round(took_s * 1_000)))
    return _result_page(reader, wish, same, today, related, links, classes).replace(_TOOK, escape(took), 1)


@lru_cache(maxsize=PAGES_CACHED)
def _result_page(
    reader: Reader,
    wish: Wish,
    found: PagesFound,
    today: date,
    related: tuple[str, ...],
    links: ClickLinks | None,
    classes: ClassModel | None,
) -> str:
    """A page of results that is the same whenever it is shown, with `_TOOK` for how long it took."""
    page, last = wish.page, _last_page(found.total)
    searched = found.corrected or wish.query
    meant = found.corrected or found.suggestion
    results = [
        _result(reader, hit, today, *_links_to_more(reader, wish, hit), searched) for hit in found.hits
    ]
    if links is not None and page <= PAGES_MAX:
        first = (page - 1) * HITS_PER_PAGE + 1
        results = [_over_gateway(result, links, first, place) for place, result in enumerate(results)]
    return render(
        "results.html",
        reader,
        Here("/search", {"q": wish.query, "page": page}),
        query=wish.query,
        wish=wish,
        page=page,
        start=(page - 1) * HITS_PER_PAGE + 1,
        results=results,
        answer=next((each for each in results[:ANSWERS_AMONG] if each.synopsis), None),
        total=found.total,
        count=_count(reader, found),
        given_up=given_up(reader, found.relaxed),
        remarks=list(remarks_on(reader, found, searched)),
        meant=meant,
        is_corrected=bool(found.corrected),
        also_called=[_Filter(name, wish.link(reader, name)) for name in found.also_called],
        of_meant=wish.link(reader, meant),
        verbatim=wish._replace(is_verbatim=True).link(reader),
        filters=list(_filters(reader, wish)),
        instead=[] if found.total else list(_instead(reader, wish)),
        is_of_files=bool(_OF_FILES.search(wish.query)),
        facets=_facets(reader, wish, found.facets, classes) if found.facets else [],
        dates=date_range(wish.query, today) if found.facets and found.facets.years else None,
        sorts=[
            _Choice(reader.say(text), wish._replace(order=order).link(reader), order is wish.order)
            for order, text in _ORDER_TEXTS.items()
        ],
        related=[_Filter(text, Wish(text).link(reader)) for text in related],
        explain=wish._replace(wants_explanations=not wish.wants_explanations).link(reader),
        feed=reader.link("/search", q=wish.query, format="rss"),
        ways=list(_other_ways(reader, wish, results)),
        live=reader.link("/live", q=wish.query),
        compare=reader.link("/compare") if wish.may_compare else "",
        took=_TOOK,
        is_covered=found.coverage.missing == 0,
        covered_share=_covered_share(found.coverage),
        page_links=list(_page_links(reader, wish, found.total)),
        previous=wish.link(reader, page=page - 1) if 1 < page <= PAGES_MAX + 1 else "",
        next=wish.link(reader, page=page + 1, cursor=found.next) if page < last or found.next else "",
    )


def status_page(reader: Reader, report: Report, readiness: ReadinessJson, *, may_see: bool) -> str:
    """The page on the state of every member, those that are down too, with remedies.

    Args:
      may_see: the reader is an administrator.
    """
    total = report.total
    return render(
        "status.html",
        reader,
        Here("/status"),
        query="",
        facts=reader.say(
            "status_facts",
            peers=len(report.peers),
            pages=f"{total.pages_indexed:,}",
            queue=f"{total.frontier.queued:,}",
            speed=f"{total.pages_per_second_now:.1f}",
            searches=f"{total.searches:,}",
            cached=f"{100 * total.searches_cached / max(1, total.searches):.0f} %",
        ),
        columns=[
            *(_Column(reader.say(column), "") for column in _ABOUT_COLUMNS),
            *(
                _Column(*(text.in_language(reader.language) for text in (label, quantity.help)))
                for _, quantity in _NUMBERS
                if (label := quantity.label)
            ),
        ],
        advice=advice(report, readiness, reader.say, sentences_in(reader.language)),
        rows=[
            *(_status_row(reader, line) for line in member_lines(report, reader.say)),
            _StatusRow(reader.say("status_all"), "", ["", ""], "", "all", _status_numbers(total)),
        ],
        hosts=[
            _HotHost(
                address_of(f"http://{host}"),
                reader.link("/why", url=f"http://{host}/"),
                reader.say("status_urls", urls=f"{urls:,}"),
            )
            for host, urls in total.hot_hosts
        ],
        searched=", ".join(searched_words(report)),
        may_see=may_see,
    )


def remark_text(reader: Reader, remark: Remark) -> str:
    """A remark as a sentence, not yet escaped."""
    return reader.say(_REMARK_TEXTS[remark.oddity], text=remark.text)


def word_of(entry: str, query: str) -> str:
    """Return an entry of the dictionary as it was typed; where that was part of a word, without its sign."""
    for typed in query.split():
        read = parse_query(typed)
        wholes = tuple(either[0].entries[0] for either in read.alternatives)
        if read.required + wholes == (entry,):
            return typed
    return entry.lstrip("".join(map(chr, range(32))))


def message_page(reader: Reader, message: str, query: str = "", again: str = "") -> str:
    """A page that says one thing: the problem and the remedy.

    Args:
      again: the address to try again, where that may help.
    """
    return render("message.html", reader, Here("/"), message=message, query=query, again=again)


def stored_page_view(
    reader: Reader,
    url: str,
    fetched_at: float,
    gone_at: float,
    page: PageSnapshot,
    query: str = "",
    stored_links: Sequence[str] | None = None,
    *,
    is_sample: bool = False,
    has_graph: bool = False,
    as_of: str = "",
) -> str:
    """The stored copy in its frame, under a banner; to be sent with a sandboxing policy.

    Args:
      gone_at: when a later visit did not find the page any more, 0.0 when none did.
      query: that led here; its words are marked.
      stored_links: as they are written, those that are marked; None where nobody wants to know.
      is_sample: whether the reader may want the page as a sample of a class; the command for that is shown.
      has_graph: whether the mesh keeps which pages link to it.
      as_of: what is to be said of the day whose version it is.
    """
    asked = {"url": url, "q": query} if query else {"url": url}
    return render(
        "stored.html",
        reader,
        Here("/page", asked),
        links=reader.link("/page", **asked, links="") if page.kind is DisplayKind.HTML else "",
        n_links=None if stored_links is None else len(stored_links),
        query=query,
        url=url,
        is_shown=bool(page.text) or page.kind in (DisplayKind.HTML, DisplayKind.TEXT),
        media_type=page.media_type[:100],
        is_cut=page.is_cut,
        file=reader.link("/page", url=url, format="file") if _has_file(page) else "",
        kind=type_name(reader, page.media_type) if page.kind is DisplayKind.DOCUMENT else "",
        is_partial=page.is_partial,
        lack=reader.say(_LACK_TEXTS[page.lack]) if page.lack else "",
        address=address_of(url),
        has_live=not is_of_files(url),
        as_of=as_of,
        fetched=_day(reader, fetched_at) or "?",
        gone=_day(reader, gone_at) if gone_at else "",
        versions=reader.link("/page", url=url, versions=""),
        backlinks=reader.link("/backlinks", url=url) if has_graph else "",
        keywords=", ".join(page.keywords),
        related=reader.link("/search", q=f'related:"{url}"') if page.keywords else "",
        document=framed_html(url, page, query, stored_links or ()),
        # A URL is hostile, and this goes into a shell.
        collect=f"tianmesh classes collect CLASS {quoted(url)} --into samples.tsv" if is_sample else "",
    )


def _is_end_of_day(at: datetime) -> bool:
    return (at + timedelta(seconds=1)).date() > at.date()


def page_at_day(
    reader: Reader, url: str, fetched_at: float, at_s: float, page: PageSnapshot, ways: str
) -> str:
    """The version of a page of some day in its frame; its links lead to other pages as of then.

    Args:
      at_s: the end of that day, or an earlier time: now, if it is not over.
      ways: what stands before the URL of a page in the address of its version of that day.
    """
    if page.kind is DisplayKind.HTML:
        page = linked_within(url, page, ways)
    at, text = utc(at_s), "stored_as_of" if fetched_at <= at_s else "stored_as_of_later"
    day = "?" if at is None else f"{at:%Y-%m-%d}"
    if at is not None and fetched_at <= at_s and not _is_end_of_day(at):
        day, text = f"{at:%Y-%m-%d %H:%M:%S} UTC", "stored_as_of_time"
    as_of = reader.say(text, date=day)
    return stored_page_view(reader, url, fetched_at, 0.0, page, as_of=as_of)


def _has_file(page: PageSnapshot) -> bool:
    return page.kind is not DisplayKind.HTML and not page.is_partial


def marked(text: str, highlights: Sequence[tuple[int, int]]) -> Markup:
    """Escape a text and put <mark> around its highlights; spans that make no sense are left out."""
    parts: list[str] = []
    done = 0
    for start, end in sorted(highlights):
        if done <= start < end <= len(text):
            # html's takes a third of the time of markupsafe's, for texts as short as these.
            parts += [html.escape(text[done:start]), "<mark>", html.escape(text[start:end]), "</mark>"]
            done = end
    return Markup("".join([*parts, html.escape(text[done:])]))


def render(template: str, reader: Reader, here: Here, **values: Any) -> str:
    """Fill a template, with the values that every page has.

    Args:
      here: the page itself, for links to it in other languages.
    """
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
        icon_url=_ICON_URL,
        script=SCRIPT.text,
        query_chars_max=QUERY_CHARS_MAX,
        **values,
    )


@lru_cache(maxsize=RESULTS_CACHED)
def _result(reader: Reader, hit: FoundPage, today: date, more: str, with_copies: str, query: str) -> _Result:
    has_title = bool(hit.title.strip())
    site = hit.host.rpartition("://")[2].removeprefix("www.")
    url, cached = ways_to(reader, hit, query)
    return _Result(
        url=url,
        title=marked(hit.title, hit.title_highlights) if has_title else escape(address_of(hit.url)),
        plain_title=hit.title if has_title else hit.url,
        snippet=marked(hit.snippet, hit.highlights),
        section=hit.section,
        section_url=section_url(hit),
        synopsis=hit.synopsis,
        defines=bool(hit.definition),
        files=_files(hit) if hit.entries else [],
        language=hit.language if hit.language in LANGUAGE_NAMES and hit.language != reader.language else "",
        icon=_icon_of(hit.url),
        letter=site[:1].upper(),
        hue=blake2b(site.encode("utf-8", "replace"), digest_size=1).digest()[0] % HUES,
        address=address_of(hit.url),
        about=list(_about(reader, hit, today)),
        fetched=_fetched(reader, hit.fetched_at, today),
        until=reader.say("as_of_until", date=_day(reader, hit.until)) if hit.until else "",
        cached=cached,
        report=reader.link("/report", url=hit.url) if reader.takes_reports else "",
        score=f"{hit.score:.3f}",
        explanation=list(islice(hit.explanation.lines(), EXPLANATION_LINES_MAX)) if hit.explanation else [],
        copies=_copies(reader, hit),
        more=more,
        with_copies=with_copies,
        also_at=[(url, address_of(url)) for url in hit.also_at],
    )


def ways_to(reader: Reader, hit: FoundPage, query: str) -> tuple[str, str]:
    """Return where a result leads, and where its stored copy is."""
    stored = _way_to_version(hit) if hit.as_of else reader.link("/page", url=hit.url, q=query)
    return stored if is_of_files(hit.url) or hit.as_of else hit.url, stored


def _way_to_version(hit: FoundPage) -> str:
    """Return where a page is shown as it was, with links to others as of the day that was asked for."""
    return f"/at/{digits_of(_seen_at(hit))}/{hit.url}"


def _seen_at(hit: FoundPage) -> float:
    """Return when a page was as it is shown: as late as was asked for, or its visit if replaced by then."""
    return hit.as_of if not hit.until or hit.until > hit.as_of else hit.fetched_at


def _files(hit: FoundPage) -> list[ListedFile]:
    from peers.gateway.model.listed_file import listed_files

    return listed_files(hit.url, hit.entries)


def _over_gateway(result: _Result, links: ClickLinks, first: int, place: int) -> _Result:
    """A result whose link leads over the gateway, and says in its title where to.

    Args:
      first: rank of the first result of the page.
      place: of the result on it, from 0.
    """
    if not has_host(result.url):
        return result
    title = Markup('<span title="{}">{}</span>').format(result.url, result.title)
    return result._replace(url=links.href(first + place, result.url, place), title=title)


def _icon_of(url: str) -> str:
    """Return where the icon of a site is: one address for all its pages, so that it is asked for once."""
    return f"/icon?{urlencode({'url': origin_of(url) + '/'})}" if has_host(url) else ""


def _copies(reader: Reader, hit: FoundPage) -> str:
    """Count those that are not named below."""
    others = hit.copies - len(hit.also_at)
    told = [(others, "copies"), (hit.near_copies, "near_copies")]
    return " · ".join(reader.say(text, count=f"{count:,}") for count, text in told if count > 0)


def _links_to_more(reader: Reader, wish: Wish, hit: FoundPage) -> tuple[str, str]:
    """Return where more results of a site are, and where those that are folded; "" for none."""
    more = wish.link(reader, f"{wish.query} site:{hit.host}") if hit.has_more_of_site else ""
    has_copies = hit.copies or hit.near_copies
    return more, wish.link(reader, f"{wish.query} copies:all") if has_copies else ""


def _about(reader: Reader, hit: FoundPage, today: date) -> Iterator[str]:
    """Facts about a page beside its text, without those that a reader takes for granted."""
    as_of = utc(_seen_at(hit)) if hit.as_of else None
    if as_of is not None:  # of a span that is not over, today
        yield reader.say("as_of", date=_day_text(reader, min(as_of.date(), today)))
    changed, published = utc(hit.date) if hit.date > 0 else None, day_of(hit.published)
    if published is not None:
        yield _day_text(reader, published)
    if changed is not None and published is not None and changed.date() > published:
        yield reader.say("changed", date=_day_text(reader, changed.date()))
    elif changed is not None and published is None:
        yield _day_text(reader, changed.date())
    if hit.type and hit.type not in KINDS["html"]:
        yield type_name(reader, hit.type)
        if not hit.snippet:
            yield reader.say("no_text")
    if hit.language and hit.language != reader.language:
        yield _language_name(hit.language)


def _fetched(reader: Reader, seconds: float, today: date) -> str:
    """When a page was fetched, in words; empty where that is not known."""
    day = utc(seconds) if seconds > 0 else None
    if day is None:
        return ""
    match (today - day.date()).days:
        case 0:
            return reader.say("fetched_today")
        case 1:
            return reader.say("fetched_yesterday")
        case days if 1 < days <= WORDS_DAYS_MAX:
            return reader.say("fetched_days_ago", days=days)
        case _:
            return reader.say("fetched", date=_day(reader, seconds))


def type_name(reader: Reader, media_type: str) -> str:
    """The common name of a media type or a kind."""
    kind = kind_of(media_type) or media_type
    return reader.say(_KIND_TEXTS[kind]) if kind in _KIND_TEXTS else kind[:FACET_NAME_CHARS_MAX]


def _kinds(types: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Counts of media types as those of kinds, by the words of `type:`; a type of no kind stays as it is."""
    counts: Counter[str] = Counter()
    for media_type, count in types:
        counts[kind_of(media_type) or media_type] += count
    return counts.most_common()


def _language_name(code: str) -> str:
    return LANGUAGE_NAMES.get(code, code[:FACET_NAME_CHARS_MAX])


def remarks_on(reader: Reader, found: PagesFound, query: str) -> Iterator[str]:
    """Say how a query was read. Args: query: that was searched."""
    for remark in found.remarks:
        text = remark_text(reader, remark)
        if remark.oddity is Oddity.STORED_COPY:
            href = reader.link("/page", url=remark.text)
            text = Markup('{} <a href="{}">{}</a>').format(text, href, reader.say("cached"))
        elif remark.oddity is Oddity.BACKLINKS:
            href = reader.link("/backlinks", url=remark.text)
            text = Markup('{} <a href="{}">{}</a>').format(text, href, reader.say("backlinks"))
        yield text
    if found.relaxed.nowhere and found.total:
        words = " ".join(
            shortened(word_of(entry, query)) for entry in found.relaxed.nowhere[:NOWHERE_SHOWN_MAX]
        )
        yield reader.say("nowhere", words=words)


def given_up(reader: Reader, relaxed: Relaxed) -> str:
    """Say that not all words are required; "" where they are."""
    if not relaxed.is_any:
        return ""
    if relaxed.with_all is None:
        return reader.say("some_words")
    return reader.say("some_words_of", total=f"{relaxed.with_all:,}")


def _filters(reader: Reader, wish: Wish) -> Iterator[_Filter]:
    """The conditions to which operators narrow the query, each with the query without it."""
    for match in _FILTER.finditer(wish.query):
        if match[1] is None:
            continue
        others = f"{wish.query[: match.start()].rstrip()} {wish.query[match.end() :].lstrip()}".strip()
        yield _Filter(match[0][:FACET_NAME_CHARS_MAX], wish.link(reader, others))


def _instead(reader: Reader, wish: Wish) -> Iterator[_Filter]:
    """Searches that may have results where a query has none: without its filters, and of its sites alone."""
    filters = [match[1] for match in _FILTER.finditer(wish.query) if match[1]]
    rest = " ".join(_FILTER.sub(lambda match: "" if match[1] else match[0], wish.query).split())
    if filters and rest:
        yield _Filter(reader.say("instead_anywhere", query=shortened(rest)), wish.link(reader, rest))
        for each in filters:
            if each[:5].lower() == "site:":
                yield _Filter(reader.say("instead_site", site=each[5:]), wish.link(reader, each))


def _other_ways(reader: Reader, wish: Wish, results: Sequence[_Result]) -> Iterator[_Filter]:
    """The first results seen otherwise: in groups, and by the links around them."""
    if len(results) > 1:
        yield _Filter(reader.say("groups_show"), reader.link("/groups", q=wish.query))
    if wish.has_graph and results:
        yield _Filter(reader.say("hubs"), reader.link("/hubs", q=wish.query))


def _facets(reader: Reader, wish: Wish, counts: FacetCounts, classes: ClassModel | None) -> list[_Facet]:
    """The column of counts; a value is a link to the query narrowed to it, one alone narrows nothing."""

    def value(name: str, count: int, narrowed_by: str) -> _FacetValue:
        href = wish.link(reader, f"{wish.query} {narrowed_by}")
        return _FacetValue(name[:FACET_NAME_CHARS_MAX], f"{count:,}", href)

    def year(name: str, count: int) -> _FacetValue:
        after = int(name) + 1 if name.isascii() and name.isdigit() and len(name) == 4 else 0
        return value(name, count, f"after:{name} before:{after:04}")

    # The reader's own language is looked for first.
    languages = sorted(counts.languages, key=lambda each: each[0] != reader.language)
    latest = sorted(counts.years, reverse=True)
    kinds = _kinds(counts.types)
    facets = [
        _Facet("facet_hosts", [value(host, count, f"site:{host}") for host, count in counts.hosts]),
        _Facet("facet_languages", [value(_language_name(code), n, f"lang:{code}") for code, n in languages]),
        _Facet("facet_types", [value(type_name(reader, each), n, f"type:{each}") for each, n in kinds]),
        _Facet("facet_years", [year(*each) for each in latest]),
    ]
    shown = [
        _Facet(reader.say(title), options[:FACET_VALUES_SHOWN])
        for title, options in facets
        if len(options) > 1
    ]
    if len(counts.classes) > 1:
        from peers.gateway.model.class_counts import CountedClass, tree_of  # loaded where a mesh has classes

        def branch(counted: CountedClass) -> _FacetValue:
            of_class = value(counted.name, counted.pages, f"class:{counted.name}")
            return of_class._replace(below=tuple(map(branch, counted.below)))

        tree = tree_of(counts.classes, classes, shown_max=FACET_VALUES_SHOWN)
        shown.append(_Facet(reader.say("facet_classes"), [*map(branch, tree)]))
    return shown


def _status_row(reader: Reader, line: MemberLine) -> _StatusRow:
    status = line.status
    kind, state = _state(reader, line)
    if status is None:
        return _StatusRow(line.peer, "", [line.name, ""], state, kind, [""] * len(_NUMBERS))
    # What another peer says of itself becomes a link only if it looks like one.
    gateway = status.gateway if status.gateway.startswith("http://") else ""
    about = [line.name, printable(status.version)]
    return _StatusRow(line.peer, gateway, about, state, kind, _status_numbers(status))


def _state(reader: Reader, line: MemberLine) -> tuple[str, str]:
    """The kind of a member's state, and that state in words."""
    match line.presence:
        case Presence.DOWN:
            return "down", reader.say("member_down", since=line.since).strip()
        case Presence.DOOR:
            return "door", reader.say("member_door")
        case Presence.SILENT:
            return "silent", reader.say("member_silent")
    assert line.status is not None, "who answers has a status"
    state = reader.say(_STATE_TEXTS[line.status.state])
    if line.status.relay:
        state = f"{state}, {reader.say('over_relay', relay=printable(line.status.relay))}"
    if line.status.disk_full:
        return "disk_full", f"{reader.say('status_disk_full')}; {state}"
    return line.status.state.name.lower(), state


def _status_numbers(row: Total) -> list[str]:
    return [
        " / ".join(text_of(row, each) for each in (path, quantity.share_of) if each)
        for path, quantity in _NUMBERS
    ]


def address_of(url: str) -> str:
    """The URL as people read it: without scheme, escapes undone where that gives letters."""
    bare = url.partition("://")[2].removesuffix("/")
    try:
        shown = unquote(bare, errors="strict")
    except UnicodeDecodeError:
        shown = bare
    shown = "".join(character if character.isprintable() else "\ufffd" for character in shown)
    return shown if len(shown) <= ADDRESS_CHARS_MAX else shown[: ADDRESS_CHARS_MAX - 1] + "…"


def _day(reader: Reader, seconds: float) -> str:
    """The day in UTC as the reader's language has it; empty for a number that is no time."""
    day = utc(seconds)
    return "" if day is None else _day_text(reader, day.date())


def day_of(iso: str) -> date | None:
    """The day that a date in ISO 8601 begins with; None for a text that is no date."""
    try:
        return date.fromisoformat(iso[:10])
    except ValueError:
        return None


def _day_text(reader: Reader, day: date) -> str:
    month = reader.say("months").split()[day.month - 1]
    return reader.say("day", year=day.year, month=month, day=day.day)


def _count(reader: Reader, found: PagesFound) -> str:
    total = found.total
    if not found.is_exact:
        return reader.say("at_least", total=f"{total:,}")
    return reader.say("many_results", total=f"{total:,}")


def _covered_share(coverage: Coverage) -> str:
    """Per cent, rounded down: 99.9 % is not all."""
    per_mille = 1_000 * coverage.answered // max(1, coverage.slots)
    return f"{per_mille // 10}.{per_mille % 10} %"


def _last_page(total: int) -> int:
    return min(PAGES_MAX, -(-total // HITS_PER_PAGE))


def _page_links(reader: Reader, wish: Wish, total: int) -> Iterator[_PageLink]:
    last, page = _last_page(total), wish.page
    if last <= 1:
        return
    for number in range(max(1, page - PAGES_AROUND), min(last, page + PAGES_AROUND) + 1):
        yield _PageLink(number, wish.link(reader, page=number), number == page)
