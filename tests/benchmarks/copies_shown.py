"""How many results of a running mesh are copies of others: the same document twice under two addresses.

    python -m tests.benchmarks.copies_shown http://127.0.0.1:8017 web/resolver.json web/seeds.txt

The mesh has crawled a web on loopback; the table says where its hosts are. Asked are 200 words of the
pages in the list, ten pages of results each. What a result says is read from the web, not from the mesh, and
parsed as the mesh parses.

Three peers, two copies of everything, 5,610 pages of the dev web and mirrors of two parts of it, 2026-11-25:
16,246 results, none of them a document that was shown before, 2,703 that stand for copies. While 2,000 of the
pages were still to come, 104 of 16,189 were such, as pages are shown until they are named, some seconds.

What it costs: a page is 45 bytes in a batch to another peer, and 2 of its answer; 44 us on all peers together
where two keep it, of some 4,300 that a page takes on its whole way; finding what it names as its address 7.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from peers.crawler.parsing.parser import parse_page
from peers.engine.pages.document import Document, content_digest

QUERIES = 200
PAGES = 10


class Web:
    """The web that was crawled."""

    def __init__(self, resolver: Path) -> None:
        self._hosts = json.loads(resolver.read_text(encoding="utf-8"))

    @cache  # noqa: B019 (one web, for as long as the process runs)
    def document(self, url: str) -> Document:
        """Return what a page says."""
        parts = urlsplit(url)
        place = self._hosts[parts.hostname]
        connection = HTTPConnection(place["ip"], place["http"], timeout=30)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"Host": parts.netloc})
        answer = connection.getresponse()
        page = parse_page(url, answer.read(), answer.headers.get("Content-Type"))
        connection.close()
        return Document(url, page.title, text=page.text)


def words_of(web: Web, urls: list[str]) -> list[str]:
    words = Counter(word for url in urls for word in web.document(url).text.lower().split() if word.isalpha())
    return Random(1).sample(sorted(word for word, n in words.items() if n > 2), QUERIES)


def results(gateway: str, query: str) -> Iterator[dict[str, object]]:
    """Yield the results of the first pages."""
    cursor = ""
    for _ in range(PAGES):
        with urlopen(f"{gateway}/api/search?q={quote(query)}&k=10&cursor={quote(cursor)}") as answer:
            found = json.load(answer)
        yield from found["hits"]
        cursor = found.get("next", "")
        if not cursor:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gateway")
    parser.add_argument("resolver", type=Path)
    parser.add_argument("seeds", type=Path)
    options = parser.parse_args()
    web = Web(options.resolver)
    n_results = n_twice = n_standing = 0
    for query in words_of(web, options.seeds.read_text(encoding="utf-8").split()):
        shown: set[int] = set()
        for hit in results(options.gateway, query):
            content = content_digest(web.document(str(hit["url"])))
            n_results += 1
            n_twice += content in shown and content != 0
            n_standing += bool(hit.get("copies"))
            shown.add(content)
    print(f"results {n_results}, the same document again {n_twice}, standing for copies {n_standing}")


if __name__ == "__main__":
    main()
