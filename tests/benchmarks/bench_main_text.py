"""Main text found of pages whose main text is known: precision, recall and F1 of tokens, beside others.

MAIN_TEXT_PAGES=FOLDER pytest tests/benchmarks/bench_main_text.py --benchmark-enable -s

FOLDER has the sets of `peers.evaluation.main_text`, as far as there are any; trafilatura is beside it when it
is installed. The weights are fitted to the `dev` pages, to every second of the articles and to pages of ten
Chinese sites; what is said of the other articles, of the Chinese news and pages, of Readability's and of the
`test` pages is of pages that they have not seen.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from resiliparse.extract.html2text import extract_plain_text

from peers.crawler.parsing.charset import decode_text
from peers.crawler.parsing.parser import parse_page
from peers.evaluation.main_text import (
    PAGES,
    KnownPage,
    chinese_news,
    chinese_pages,
    english_articles,
    mean_found,
    pages_of_kinds,
    reader_pages,
)

# Of pages that the weights were not fitted to. A single page is up to .01 of the articles, .02 of the news.
F1_MIN: Final = {"articles, not fitted to": 0.95, "Chinese news": 0.94, "Readability's pages": 0.93}
Reader = Callable[[bytes], str]


def test_main_text_is_found(benchmark: Any) -> None:
    sets = dict(_sets())
    readers = dict(_readers())
    found = {}
    for name, pages in sets.items():
        for reader, read in readers.items():
            began = time.process_time()
            figures = found[name, reader] = mean_found(pages, read)
            ms = 1e3 * (time.process_time() - began) / len(pages)
            print(
                f"\n{name:32} {reader:24} {' '.join(f'{each:.3f}' for each in figures)} {ms:6.1f} ms", end=""
            )
    print()
    for name, least in F1_MIN.items():
        if name in sets:
            assert found[name, "this crawler"].f1 >= least
    pages = [page for of_set in sets.values() for page in of_set][:200]
    benchmark.pedantic(lambda: [_main_text(page.body) for page in pages], rounds=3)


def _sets() -> Iterator[tuple[str, list[KnownPage]]]:
    place = os.environ.get(PAGES)
    if place is None:
        pytest.skip(f"{PAGES} names no folder with pages whose main text is known")
    folder = Path(place)
    reads: list[Callable[[], Iterator[tuple[str, list[KnownPage]]]]] = [
        lambda: _articles(english_articles(folder)),
        lambda: iter([("Chinese news", chinese_news(folder))]),
        lambda: iter([("Chinese pages", chinese_pages(folder))]),
        lambda: iter([("Readability's pages", reader_pages(folder))]),
        lambda: _kinds(pages_of_kinds(folder, "test")),
    ]
    for read in reads:
        try:
            yield from read()
        except FileNotFoundError as error:
            print(f"\nnot there: {error.filename}")


def _articles(articles: list[KnownPage]) -> Iterator[tuple[str, list[KnownPage]]]:
    yield "articles, all", articles
    yield "articles, fitted to", articles[::2]
    yield "articles, not fitted to", articles[1::2]


def _kinds(pages: list[KnownPage]) -> Iterator[tuple[str, list[KnownPage]]]:
    yield "test pages, all", pages
    for kind in sorted({page.name.partition(":")[2] for page in pages}):
        yield f"test pages, {kind}", [page for page in pages if page.name.endswith(f":{kind}")]


def _readers() -> Iterator[tuple[str, Reader]]:
    yield "this crawler", _main_text
    yield "this crawler, everything", _everything
    yield "resiliparse", _by_resiliparse
    try:
        extract = import_module("trafilatura").extract
    except ImportError:
        print("\ntrafilatura is not installed")
        return
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    yield "trafilatura", lambda body: extract(decode_text(body).text, include_comments=False) or ""


def _main_text(body: bytes) -> str:
    return parse_page("http://a.test/", body, "text/html").text


def _everything(body: bytes) -> str:
    page = parse_page("http://a.test/", body, "text/html")
    return f"{page.text}\n{page.boilerplate}"


def _by_resiliparse(body: bytes) -> str:
    return str(extract_plain_text(decode_text(body).text, main_content=True, comments=False))
