"""Parsing real pages: decode, title, headings, text, links made canonical.

pytest tests/benchmarks/bench_parser.py --benchmark-enable

Why a reader of our own (`peers/crawler/parsing/_markup.c`): the whole of `parse_page` on the 4,625 pages of
the live tests' web took 1,190 us a page with the events of lxml's parser, and takes 324 with it (both on a
busy machine), with the same title, headings, text, links and language of every page. To tell the main text
costs half a page more: 600 pages of 18 kB took 328 us before, 657 us since, in turn on a busy machine.

How others do: microseconds of CPU per page of 16.5 kB (600 pages of Debian's documentation, Chinese and
English; 2 vCPU AMD EPYC, CPython 3.11, lxml 6.1.3, selectolax 1.0.2), for text in blocks and links, without
making them canonical:

    tree parsed only                        217
    tree, links, text of blocks             532
    events (the prototype of this parser)   439
    lexbor parsed only                       81
    lexbor, same result by inserted marks   435
    lexbor, text without ends of blocks     235

Lexbor gives up bounds besides: 20,000 attributes in one tag cost it 0.7 s (the tree 0.33 s, events 0.004 s),
the text of 100,000 nested elements 13 s (the tree cuts at 2,048, events and our reader lose nothing).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from bootstrap.demo_web import DemoWeb
from mesh import urls
from peers.crawler.parsing.parser import parse_page

PAGE_S_MAX = 0.001  # per 17 kB
Page = tuple[str, bytes]


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    return [
        (f"http://{host}{target}", response.body)
        for (host, target), response in DemoWeb.load()._responses.items()
        if response.status == 200 and b"<" in response.body[:500]
    ]


def parse_all(pages: list[Page]) -> int:
    return sum(len(parse_page(url, body, "text/html").links) for url, body in pages)


def parse_trees(pages: list[Page]) -> None:
    for _, body in pages:
        etree.fromstring(body, etree.HTMLParser(encoding="utf-8", huge_tree=True))


def parse_with_lexbor(pages: list[Page]) -> None:
    for _, body in pages:
        LexborHTMLParser(body)


@pytest.mark.parametrize("is_warm", [True, False], ids=["links seen before", "links new"])
@pytest.mark.benchmark(timer=time.process_time)
def test_parse_page(benchmark: Any, pages: list[Page], is_warm: bool) -> None:
    def forget() -> None:
        if not is_warm:
            urls._canonical_in.cache_clear()

    assert benchmark.pedantic(parse_all, args=(pages,), setup=forget, rounds=5) > len(pages)
    if benchmark.enabled:
        kilobytes = sum(len(body) for _, body in pages) / 1000
        page_s = benchmark.stats["min"] / kilobytes * 17
        print(f"\n{len(pages)} pages, {kilobytes / len(pages):.1f} kB each: {page_s * 1e6:.0f} us per 17 kB")
        assert page_s <= PAGE_S_MAX


@pytest.mark.parametrize("parse", [parse_trees, parse_with_lexbor])
@pytest.mark.benchmark(timer=time.process_time)
def test_parsing_alone_for_comparison(
    benchmark: Any, pages: list[Page], parse: Callable[[list[Page]], None]
) -> None:
    benchmark.pedantic(parse, args=(pages,), rounds=5)
