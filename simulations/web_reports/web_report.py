"""The figures of a crawl, from the columns of its pages, beside those of the book. Pure.

Figures of the book (Li, Yan, Wang 2004), each of which may differ here: markup is some 4 times its text, and
a page has some 200 words that say something (2.3); 94.12 % of the pages have a title, and 19 % elements that
stress words (7.1); a page 13 kB (3.7); 479.6 pages a host that differ, and 2.13 pages for each content (6.7),
some 4 in 2003 (2.3); links lead to at most two thirds (2.2); depth 7.46, 3.31 links to a page (9.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from simulations.link_graphs.report import (
    GraphShape,
    is_linked,
    mirror_degrees,
    shape_of,
)
from simulations.traces.columns import Floats, Ints
from simulations.traces.link_structure import Flags
from simulations.traces.statistics import QuantitySpread, spread_of
from simulations.web_reports.growth import Growth, first_seen, growth_of
from simulations.web_reports.page_columns import (
    IMPORTANT,
    IS_HTML,
    IS_NOINDEX,
    IS_ROOT,
    SAYS_NOTHING,
    TAG_WEIGHTS,
    Columns,
    PageColumns,
    has_tag,
)

LEVELS_MAX: Final = 20
BOOK: Final[Mapping[str, float]] = {
    "markup_per_text": 4.0,
    "distinct_words": 200.0,
    "titled_share": 0.9412,
    "stressed_share": 0.19,
    "page_bytes": 13_000.0,
    "host_contents": 479.6,
    "replication_2001": 2.13,
    "replication_2003": 4.0,
    "reached_share_max": 2 / 3,
    "depth": 7.46,
    "inlinks": 3.31,
}


class TitleReport(msgspec.Struct, frozen=True):
    """Titles of pages of HTML."""

    titled_share: float  # of the pages: those that have one
    says_nothing_share: float  # of the titles: `home`, `untitled` and their like
    chars: QuantitySpread  # of a title
    repeated_share: float  # of the titles: those that another page of the host has
    repeating_hosts: int  # hosts of two titles and more where most are repeated


class RepeatReport(msgspec.Struct, frozen=True):
    """Pages that repeat another one: of each content all but one, by two digests."""

    ours: int  # title, main text and boilerplate are equal word for word
    book: int  # the most frequent words of the main text are, in that order, up to 2,048 bytes
    both: int  # repeat an earlier page by each of the two
    only_ours: int
    only_book: int


class LinkReport(msgspec.Struct, frozen=True):
    """Links of a page to others, each once, and the graph of those between pages of the crawl."""

    inside: QuantitySpread  # its host
    domain: QuantitySpread  # else its domain
    across: QuantitySpread
    links: int  # from page to page of the crawl, none from a page to itself
    inlinks: float  # of a page, in the mean
    shape: GraphShape  # with the roots of hosts, and pages that none links to, as entrances


class WebReport(msgspec.Struct, frozen=True):
    """A crawl in some numbers."""

    part: str  # why it is of a part only; "" for all of it
    pages: int
    hosts: int
    domains: int
    host_pages: QuantitySpread
    largest_host: str
    largest_share: float  # of the pages
    answers: dict[str, int]  # of servers, and what was not asked, by the last visits, the most frequent first
    damaged: int  # records that could not be read
    types: dict[str, int]  # of pages
    languages: dict[str, int]  # likewise; "" where neither page nor text tells
    noindex_share: float
    html_pages: int
    page_bytes: QuantitySpread  # of a page of HTML
    markup_per_text: (
        float | None
    )  # bytes of pages of HTML for one of their main text; None where there is none
    markup_per_visible: float | None  # for one of all their text
    words: QuantitySpread  # of the main text of a page
    distinct_words: QuantitySpread  # of these, that differ and are no function words
    titles: TitleReport
    tags: dict[str, float]  # share of the pages of HTML that have an element
    stressed_share: float  # of the pages of HTML: those with one of `IMPORTANT`
    contents: int  # that differ
    replication: float  # pages for each
    mirrored_share: float  # of the pages: those that others are like
    mirror_degree_max: int
    repeats: RepeatReport
    host_contents: float  # that differ over all, for each host
    depth: QuantitySpread  # labels of the host and levels of the path: D(P) of the book, 9.4
    pages_by_level: list[int]  # of their paths, from 0; the last has those of more levels, too
    links: LinkReport | None  # None where they were too many to be kept
    new_hosts: Growth | None  # None where all pages have the same date
    new_contents: Growth | None
    book: dict[str, float]  # what the book has for quantities of these names


def report_of_web(
    gathered: PageColumns, answers: Mapping[str, int], damaged: int = 0, part: str = ""
) -> WebReport:
    """Count.

    Args:
      gathered: at least one page.

    Raises:
      ConfigError: scipy is not installed, which finds the structure of links.
    """
    columns = gathered.columns()
    is_html = (columns.flags & IS_HTML) > 0
    sizes = np.bincount(columns.host, minlength=len(gathered.hosts))
    is_host = sizes > 0  # of others Ctrl-C came before their first page
    html_bytes = int(columns.n_bytes[is_html].sum())
    same_as = _groups(columns)
    degrees = mirror_degrees(same_as)
    n_contents = int(same_as.max()) + 1
    order = np.argsort(columns.first_s, kind="stable")
    is_dated = len(np.unique(columns.first_s)) > 1
    return WebReport(
        part=part,
        pages=len(columns.host),
        hosts=int(is_host.sum()),
        domains=len(np.unique(gathered.domains()[is_host])),
        host_pages=spread_of(sizes[is_host]),
        largest_host=list(gathered.hosts)[int(sizes.argmax())],
        largest_share=float(sizes.max() / sizes.sum()),
        answers=dict(sorted(answers.items(), key=lambda each: (-each[1], each[0]))),
        damaged=damaged,
        types=_counts(gathered.types, columns.type),
        languages=_counts(gathered.languages, columns.language),
        noindex_share=float(((columns.flags & IS_NOINDEX) > 0).mean()),
        html_pages=int(is_html.sum()),
        page_bytes=spread_of(columns.n_bytes[is_html]),
        markup_per_text=_ratio(html_bytes, int(columns.text_bytes[is_html].sum())),
        markup_per_visible=_ratio(html_bytes, int(columns.visible_bytes[is_html].sum())),
        words=spread_of(columns.n_words),
        distinct_words=spread_of(columns.n_distinct),
        titles=_titles(columns, is_html),
        tags={name: _share(has_tag(columns.tags[is_html], name)) for name in TAG_WEIGHTS},
        stressed_share=_share(has_tag(columns.tags[is_html], *IMPORTANT)),
        contents=n_contents,
        replication=len(same_as) / n_contents,
        mirrored_share=float((degrees > 1).mean()),
        mirror_degree_max=int(degrees.max()),
        repeats=_repeats(columns, same_as[order], order),
        host_contents=n_contents / int(is_host.sum()),
        depth=spread_of(gathered.labels()[columns.host] + columns.levels),
        pages_by_level=np.bincount(np.minimum(columns.levels, LEVELS_MAX)).tolist(),
        links=_links(gathered, columns) if gathered.has_links else None,
        new_hosts=growth_of(first_seen(columns.host[order])) if is_dated else None,
        new_contents=growth_of(first_seen(same_as[order])) if is_dated else None,
        book=dict(BOOK),
    )


def _groups(columns: Columns) -> Ints:
    """Number the contents from 0; a page without a main text is like no other."""
    own = columns.number | np.uint64(1 << 63)  # digests of contents have 63 bits
    digests = np.where(columns.content == 0, own, columns.content)
    groups: Ints = np.unique(digests, return_inverse=True)[1]
    return groups


def _repeats(columns: Columns, same_as: Ints, order: Ints) -> RepeatReport:
    """Tell of each page whether one before it had its content, by either digest.

    Args:
      same_as: their contents, in that order.
    """
    digests = columns.word_digest[order]
    is_ours, is_book = _is_repeated(same_as), _is_repeated(digests) & (digests != 0)
    return RepeatReport(
        ours=int(is_ours.sum()),
        book=int(is_book.sum()),
        both=int((is_ours & is_book).sum()),
        only_ours=int((is_ours & ~is_book).sum()),
        only_book=int((is_book & ~is_ours).sum()),
    )


def _is_repeated(digests: Ints | npt.NDArray[np.uint64]) -> Flags:
    is_repeated = np.ones(len(digests), np.bool_)
    is_repeated[np.unique(digests, return_index=True)[1]] = False
    return is_repeated


def _titles(columns: Columns, is_html: Flags) -> TitleReport:
    is_titled = is_html & (columns.title_chars > 0)
    host = columns.host[is_titled]
    same = np.unique(columns.title[is_titled], return_inverse=True)[1]
    is_repeated = np.bincount(same, minlength=1)[same] > 1
    titles, repeated = np.bincount(host), np.bincount(host, is_repeated)
    return TitleReport(
        titled_share=_share(is_titled[is_html]),
        says_nothing_share=_share((columns.flags[is_titled] & SAYS_NOTHING) > 0),
        chars=spread_of(columns.title_chars[is_titled]),
        repeated_share=_share(is_repeated),
        repeating_hosts=int(((titles > 1) & (2 * repeated > titles)).sum()),
    )


def _links(gathered: PageColumns, columns: Columns) -> LinkReport:
    graph = gathered.graph()
    is_other = graph.source != graph.target
    is_entrance = ((columns.flags & IS_ROOT) > 0) | ~is_linked(graph)
    return LinkReport(
        inside=spread_of(columns.inside),
        domain=spread_of(columns.domain),
        across=spread_of(columns.across),
        links=int(is_other.sum()),
        inlinks=float(is_other.sum() / graph.page_count),
        shape=shape_of(graph, is_entrance),
    )


def _counts(names: Mapping[str, int], numbers: Ints) -> dict[str, int]:
    counts = np.bincount(numbers, minlength=len(names)).tolist()
    found = {name: counts[number] for name, number in names.items() if counts[number]}
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _share(flags: Flags | Floats) -> float:
    return float(flags.mean()) if len(flags) else 0.0
