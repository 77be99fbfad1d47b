"""The facts of a page that a report counts, taken from its records in worker processes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from xxhash import xxh3_64_intdigest, xxh32_intdigest

from mesh.domains import may_speak_for
from mesh.errors import CorruptionError
from mesh.stamp import Stamp
from mesh.urls import host_of
from peers.crawler.parsing.extraction import parse_records
from peers.crawler.parsing.guarded_reader import read_guarded
from peers.crawler.parsing.parser import NotHtml, ParsedPage
from peers.documents.titles import title_of_page
from peers.engine.pages.document import content_digest
from peers.exporting.markup_tags import PageTags, tags_of
from peers.exporting.rows import as_utf8
from peers.importing.batch import ImportTask, decode, make
from peers.storage.archive.warc import parse_response, read_records
from peers.text.analysis import analyse
from peers.text.function_words import function_words_of

WORD_LIST_BYTES: Final = 2_048
NO_TAGS: Final = PageTags(frozenset(), "")


class StoredPages(NamedTuple):
    """An order: pages by URL, time of their first fetch, stamp and records of their newest version."""

    pages: list[tuple[str, float, Stamp, bytes]]


class PageFacts(NamedTuple):
    """The facts of one page."""

    url: str
    first_s: float  # when it was fetched first, seconds since the epoch
    type: str  # media type
    language: str
    n_bytes: int  # of its body, markup as UTF-8
    text_bytes: int  # of its main text, as UTF-8
    visible_bytes: int  # of all its text, main text and boilerplate
    n_words: int  # of the main text
    n_distinct: int  # of these, words that differ and are no function words
    title: str  # of HTML as it says, of other documents as they are shown; "" for none
    says_nothing: bool  # its title, as `home` and `untitled` (the book, 7.1)
    content: int  # `content_digest`
    is_html: bool
    is_noindex: bool
    names: frozenset[str]  # of its elements, and `link canonical`
    links: tuple[int, int, int]  # distinct, to other pages: inside its host, else inside its domain, across
    targets: Sequence[int]  # `page_number` of each page linked to, itself among them
    word_digest: int = 0  # `word_list_digest` of the main text
    words: Mapping[int, int] = {}  # where they are wanted: counts of those of title and main text, by 32 bits


class TakenFacts(NamedTuple):
    """The facts of some pages, and how many answers are no pages, by the reason."""

    pages: list[PageFacts]
    others: Counter[str]
    n_damaged: int


def page_number(url: str) -> int:
    """Return the 64 bits by which a report knows a URL."""
    return xxh3_64_intdigest(url.encode())


def take_words(order: StoredPages | ImportTask) -> TakenFacts:
    """Do as `take_facts`, and keep the words of pages but for function words."""
    return take_facts(order, wants_words=True)


def take_facts(order: StoredPages | ImportTask, *, wants_words: bool = False) -> TakenFacts:
    """Parse pages of a peer's archive, or of files, as the crawler did."""
    if isinstance(order, StoredPages):
        return _of_pages(order.pages, wants_words)
    made = make(order)
    pages = [page for body in made.bodies for page in decode(body)]
    taken = _of_pages(
        [(page.url, page.fetched_at, Stamp(0, page.fetched_at), page.records) for page in pages], wants_words
    )
    return TakenFacts(taken.pages, taken.others + Counter(made.refused), taken.n_damaged + len(made.damages))


def _of_pages(pages: Sequence[tuple[str, float, Stamp, bytes]], wants_words: bool) -> TakenFacts:
    found: list[PageFacts] = []
    others = Counter[str]()
    n_damaged = 0
    for url, first_s, stamp, records in pages:
        try:
            found.append(facts_of(url, first_s, stamp, records, wants_words=wants_words))
        except CorruptionError:
            n_damaged += 1
        except NotHtml as error:
            others[f"status {error}" if str(error).isdigit() else f"no page: {error}"] += 1
    return TakenFacts(found, others, n_damaged)


def facts_of(
    url: str, first_s: float, stamp: Stamp, records: bytes, *, wants_words: bool = False
) -> PageFacts:
    """Take the facts of a page.

    Raises:
      CorruptionError, NotHtml: as `extraction.parse_records`.
    """
    (page, _), document = parse_records(url, stamp, records, read_guarded)
    body = next(parse_response(each).body for each in read_records(records) if each.kind == "response")
    is_html = page.syntax_errors is not None
    markup = as_utf8(body, page.charset) if is_html else body
    tags = tags_of(markup) if is_html else NO_TAGS
    title = tags.title if is_html else page.title
    words = analyse(page.text)
    targets = list(dict.fromkeys(link.url for link in page.links))
    return PageFacts(
        url=url,
        first_s=first_s or stamp.fetched_at,
        type=page.type,
        language=page.language,
        n_bytes=len(markup),
        text_bytes=_utf8_bytes(page.text),
        visible_bytes=_utf8_bytes(page.text) + _utf8_bytes(page.boilerplate),
        n_words=len(words),
        n_distinct=len(frozenset(words) - function_words_of(words)),
        title=title,
        says_nothing=bool(title) and not _says_something(title),
        content=_content_of(page) if document is None else content_digest(document),
        is_html=is_html,
        is_noindex=page.is_noindex,
        names=tags.names | ({"link canonical"} if page.canonical else set()),
        links=_places(url, targets),
        targets=[page_number(target) for target in targets],
        word_digest=word_list_digest(words),
        words=_word_counts([*analyse(title), *words]) if wants_words else {},
    )


def _word_counts(words: Sequence[str]) -> dict[int, int]:
    idle = function_words_of(words)
    return Counter(xxh32_intdigest(word.encode(errors="replace")) for word in words if word not in idle)


def word_list_digest(words: Sequence[str]) -> int:
    """Return the digest by which the book tells pages that differ; 0 of a text without words.

    That is of the first 2,048 bytes of its distinct words, the most frequent first; words as frequent stand
    by their codes. The book takes MD5; what counts here is only that digests differ.

    Source: Li, Yan, Wang 2004, 13.2.
    """
    frequencies = Counter(words)
    ordered = sorted(frequencies, key=lambda word: (-frequencies[word], word))
    return xxh3_64_intdigest("".join(ordered).encode(errors="replace")[:WORD_LIST_BYTES]) if ordered else 0


def _content_of(page: ParsedPage) -> int:
    """Return a digest of a page that is not to be indexed, of the same words as `content_digest`."""
    words = f"{page.title}\n{page.text}\n{page.boilerplate}" if page.text else ""
    return xxh3_64_intdigest(words.encode(errors="replace")) >> 1 if words else 0


def _says_something(title: str) -> bool:
    """Ask the crawler, which takes a first line in place of a title that says nothing."""
    stand_in = f"not {title}"
    return title_of_page(title, "", stand_in) != stand_in


def _places(url: str, targets: Sequence[str]) -> tuple[int, int, int]:
    host = host_of(url)
    hosts = [host_of(target) for target in targets if target != url]
    inside = hosts.count(host)
    domain = sum(other != host and may_speak_for(host, other) for other in hosts)
    return inside, domain, len(hosts) - inside - domain


def _utf8_bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
