"""A searcher behind the gateway that knows three pages."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mesh.actors.actor import Address, Message
from mesh.urls import host_of
from peers.crawler.explanations import CrawlFacts, Hold, HostWait, Ruling, UrlFacts, UrlState
from peers.engine.queries.query_language import Oddity, Remark
from peers.engine.rescoring.explanation import Explanation
from peers.gateway.http_port import Http
from peers.gateway.model.messages import (
    AddSeeds,
    AskWhy,
    AskWhyIdle,
    CheckLinks,
    CheckReadiness,
    Coverage,
    DrainOrder,
    DrainOrdered,
    FindPage,
    FoundPage,
    GatherHistory,
    GatherStatus,
    HistoryGathered,
    LinksChecked,
    PageFound,
    PagesFound,
    ReadinessTold,
    Relaxed,
    Searched,
    SearchPages,
    SeedsAdded,
    StatusGathered,
    SuggestTexts,
    TextsSuggested,
    WhyAnswered,
    WhyIdleAnswered,
)
from peers.gateway.model.status import PeerState, PeerStatus, SlotCounts, encode
from peers.history.event import Event, EventKind
from peers.history.sample import Counts, Sample
from peers.history.wire_messages import HistoryTold
from peers.index.wire_messages import FacetCounts
from peers.storage.archive.warc import response_record
from tests.helpers import seen

DAY = 1_750_000_000.0  # 2025-06-15
FULL = Coverage(50_000, 50_000, 0)

CHINESE_URL = "http://zh.docs.test/%E7%88%AC%E8%99%AB/%E7%AE%80%E4%BB%8B.html"
ENGLISH_URL = "http://docs.test/guide/crawling.html"
GONE_URL = "http://docs.test/gone.html"
LINKS_URL = "http://docs.test/guide/"
LINKS_HTML = b"""<a href='crawling.html#fetch'>a</a> <a href="unknown">b</a> <a href='#here'>c</a>
<a href=/gone.html>d</a>"""
HOSTILE_URL = "http://evil.test/?a=1&b=%27%22"


def _found(
    url: str,
    title: str,
    snippet: str,
    *words: str,
    score: float,
    peer: str = "bob",
    section: str = "",
    section_id: str = "",
) -> FoundPage:
    return FoundPage(
        url=url,
        title=title,
        snippet=snippet,
        highlights=_spans(snippet, words),
        title_highlights=_spans(title, words),
        score=score,
        host=host_of(url),
        fetched_at=DAY,
        peer=peer,
        section=section,
        section_id=section_id,
    )


def _spans(text: str, words: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    lowered = text.lower()
    return tuple(
        (at, at + len(word))
        for word in words
        for at in range(len(text))
        if lowered.startswith(word.lower(), at)
    )


CHINESE = _found(
    CHINESE_URL,
    "网络爬虫简介：从种子到全网",
    "…网络爬虫从一组种子网址出发，下载网页，取出其中的链接，再去下载链接所指的网页。礼貌的爬虫在两次访问同一"
    "主机之间会等待一段时间，并遵守 robots.txt 的规定。分布式爬虫把主机按散列分给各个节点…",
    "爬虫",
    score=7.25,
)
ENGLISH = _found(
    ENGLISH_URL,
    "How a crawler walks the web",
    "A crawler starts from seeds, fetches pages, and follows their links. A polite one never asks a host "
    "faster than its delay allows, and a distributed crawler gives every host to exactly one peer…",
    "crawler",
    score=5.5,
    peer="ann",
    section="How to be polite",
    section_id="polite",
)
MANUAL_PAGE = msgspec.structs.replace(ENGLISH, synopsis="crawl [-v] <url>\ncrawl --help")
HOSTILE = FoundPage(
    url=HOSTILE_URL,
    title="</a><script>alert('title')</script>",
    snippet='<img src=x onerror=alert(1)> & "quotes" </mark>',
    highlights=((40, 5), (-3, 2), (0, 4), (2, 9), (30, 10_000)),
    title_highlights=(),
    score=1.0,
    host="evil.test",
    fetched_at=float("nan"),
    peer="eve",
)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=%s\r\n\r\n"
CHINESE_HTML = """<!doctype html><html><head><title>网络爬虫简介</title>
<style>body { font: 16px/1.7 serif; max-width: 40em; margin: 2em auto } h1 { color: #204a87 }</style>
<script>document.documentElement.className = 'script-ran'</script></head>
<body onload="document.body.className='script-ran'"><h1>网络爬虫简介</h1>
<p id="body-text">网络爬虫从一组种子网址出发，下载网页，取出其中的链接。</p>
<p><a href="../next.html">下一页</a> <img src="http://evil.test/pixel.png" alt="像素"></p>
<form action="http://evil.test/"><input name="a"></form></body></html>"""
PDF_URL = "http://a.test/dir/%E5%A4%A9%20%22.pdf"
PDF = b"%PDF-1.5 file"
ENTRANCE = b"<!doctype html><title>a</title><link rel=icon href=/icon><body>text"
STORED = {
    CHINESE_URL: response_record(CHINESE_URL, HEAD % b"gbk", CHINESE_HTML.encode("gbk"), seen(DAY)),
    ENGLISH_URL: response_record(
        ENGLISH_URL, b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n", b"\x89PNG", seen(DAY)
    ),
    GONE_URL: response_record(GONE_URL, HEAD % b"utf-8", b"what was there", seen(DAY)),
    HOSTILE_URL: b"not a record",
    LINKS_URL: response_record(LINKS_URL, HEAD % b"utf-8", LINKS_HTML, seen(DAY)),
    PDF_URL: response_record(
        PDF_URL, b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n", PDF, seen(DAY)
    ),
}
STATUSES = tuple(
    encode(
        PeerStatus(
            id=peer,
            gateway=gateway,
            pages_fetched=pages,
            seconds=10.0 * pages,
            fetch_status={"200": pages},
            cpu_seconds=0.5,
            state=state,
            slots=SlotCounts(1_000, 999, 2_000, 1_998, 1_001, 3, 0),
            bytes_moved_per_s=2.5e6,
            hot_hosts=((f"{peer}.hot.test", 1_234 * pages), ("<b>.test", 1)),
        )
    )
    for peer, gateway, pages, state in (
        ("ann", "http://127.0.0.1:8017", 1, PeerState.STEADY),
        ("bob", "javascript:alert(1)", 2, PeerState.DRAINING),
    )
)

HISTORIES = tuple(
    (
        peer,
        HistoryTold(
            1,
            tuple(
                Sample(DAY - 40.0 * n, 40.0, 40.0, Counts({"pages_fetched": 40}), {"slots.owned": 25_000})
                for n in range(9, -1, -1)
            ),
            (Event(DAY - 90.0, EventKind.DOWN, "<b>dan"), Event(DAY - 60.0, EventKind.QUARANTINED, "eve")),
        ),
    )
    for peer in ("ann", "bob")
)


BUSY_CRAWL = CrawlFacts(
    at_s=DAY,
    slots_owned=10,
    slots_held=10,
    waiting={Hold.DELAY: 2},
    longest=(HostWait("<b>.test", 9, Hold.DELAY, DAY + 2.0), HostWait("ready.test", 1, None)),
)


def unknown(url: str) -> UrlFacts:
    """What is told of a URL that nobody has found."""
    return UrlFacts(at_s=DAY, url=url, state=UrlState.UNKNOWN, is_held=True, rulings=(Ruling(1, "crawl"),))


EVERYTHING = PagesFound(
    7,
    ("xyzzy", "\x03run"),
    1_234,
    0.004,
    FULL,
    (
        msgspec.structs.replace(
            ENGLISH,
            date=1_714_521_600.0,  # 2024-05-01
            type="application/pdf",
            language="zh",
            explanation=Explanation("score", 2.5, "bm25f <b>", (Explanation("\x03run", 2.5, "idf"),)),
        ),
    ),
    is_exact=False,
    relaxed=Relaxed(("xyzzy",), True, 3),
    remarks=(Remark(Oddity.NO_DATE, "after:never"),),
    facets=FacetCounts(
        (("h1.test", 9), ("h2.test", 1)),
        (("zh", 5), ("en", 1)),
        (("application/pdf", 1), ("text/html", 1)),
        (("2024", 4), ("2023", 1)),
    ),
    next="the-next",
)


def stored_icon(
    home: str, image: bytes, entrance: bytes = ENTRANCE, type: bytes = b"png"
) -> dict[str, bytes]:
    """Records of an entrance and of the icon that it names, by URL."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: image/%s\r\n\r\n" % type
    return {
        home: response_record(home, HEAD % b"utf-8", entrance, seen(DAY)),
        f"{home}icon": response_record(f"{home}icon", head, image, seen(DAY)),
    }


def answer_to(order: Message) -> Message:
    """What the searcher would say."""
    match order:
        case SearchPages(ticket=ticket, text=text):
            return _search(ticket, text, order.offset)
        case SuggestTexts(ticket=ticket, typed=typed, is_whole=True):
            return TextsSuggested(
                ticket, ("crawler <b>traps", "crawler & robots") if typed == "crawler" else ()
            )
        case SuggestTexts(ticket=ticket, typed=typed):
            return TextsSuggested(ticket, (typed + "ing", "爬虫"))
        case FindPage(ticket=ticket, url=url):
            gone_at = 2 * 86_400.0 if url == GONE_URL else 0.0
            return PageFound(ticket, url, DAY, STORED.get(url, b""), gone_at)
        case CheckLinks(ticket=ticket, links=links):
            return LinksChecked(ticket, frozenset(links) & STORED.keys())
        case GatherStatus(ticket=ticket):
            return StatusGathered(ticket, STATUSES)
        case GatherHistory(ticket=ticket, span_s=span_s):
            return HistoryGathered(ticket, DAY, span_s, HISTORIES, ("cyd",))
        case CheckReadiness(ticket=ticket):
            return ReadinessTold(ticket, FULL)
        case AddSeeds(ticket=ticket, urls=urls):
            return SeedsAdded(ticket, len(urls))
        case AskWhy(ticket, url):
            return WhyAnswered(ticket, url, 5, "ann", ("ann", "bob"), (("ann", unknown(url)),))
        case AskWhyIdle(ticket):
            return WhyIdleAnswered(ticket, (("ann", BUSY_CRAWL),), ("bob",), ("cyd",))
        case DrainOrder(ticket=ticket, peer=peer):
            return DrainOrdered(ticket, f"{peer}-whole", order.is_draining)
        case _:
            raise AssertionError(order)


def _search(ticket: int, text: str, offset: int) -> PagesFound:
    match text:
        case "爬虫" | "crawler":
            order = (CHINESE, ENGLISH) if text == "爬虫" else (ENGLISH, CHINESE)
            return PagesFound(ticket, (text,), 2, 0.004, FULL, order if offset == 0 else ())
        case "hostile":
            return PagesFound(ticket, (text,), 1, 0.004, FULL, (HOSTILE,))
        case "many":
            hits = tuple(
                _found(f"http://h{i}.test/", f"Result {i} of many", "One of many pages.", "many", score=1.0)
                for i in range(offset, min(offset + 10, 1_234))
            )
            return PagesFound(ticket, (text,), 1_234, 0.004, FULL, hits)
        case "partly":
            return PagesFound(ticket, (text,), 1, 0.004, Coverage(50_000, 33_333, 16_667), (ENGLISH,))
        case "everything":
            return msgspec.structs.replace(EVERYTHING, ticket=ticket)
        case "crawl":
            return PagesFound(ticket, (text,), 2, 0.004, FULL, (CHINESE, MANUAL_PAGE))
        case "any words":
            return PagesFound(
                ticket, ("any", "words"), 1, 0.004, FULL, (ENGLISH,), relaxed=Relaxed(is_any=True)
            )
        case _:
            return PagesFound(ticket, (text,), 0, 0.004, FULL, ())


class FakeSearcher:
    """Answers an `Http` port at once, and keeps what it was asked."""

    def __init__(self, answer: Callable[[Message], Message | None] = answer_to) -> None:
        self.orders: list[Message] = []
        self.searched: list[Searched] = []
        self._answer = answer
        self.http: Http | None = None

    def deliver(self, source: Address, actor: str, message: Message) -> None:
        assert (source.actor, actor) == ("http", "searcher")
        if isinstance(message, Searched):
            self.searched.append(message)
            return
        self.orders.append(message)
        answer = self._answer(message)
        if answer is not None:
            assert self.http is not None
            self.http.receive(Address("ann", "searcher"), answer)
