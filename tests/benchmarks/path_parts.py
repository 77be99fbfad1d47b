"""The parts of the whole path without a mesh: fetch, take apart, index. Their sum is what the path can cost.

usage: python -m tests.benchmarks.path_parts ARCHIVE RESOLVER_JSON  prints {"pages": n, "fetch": seconds ..}

The pages are those of a crawl's archive, in the order in which they were stored. They are fetched once more,
one of a host at a time as a crawl does, taken apart and packed for the archive in this process, and indexed
in commits of as many as a crawl has.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import trio

from mesh.slots import slot_of
from mesh.urls import host_of
from peers.crawler.addresses.addresses import ALLOW_ALL
from peers.crawler.fetching.fetcher import Fetcher
from peers.crawler.fetching.resolver import FixedResolver
from peers.crawler.model.messages import PageParsed
from peers.crawler.model.web_request import FetchPage, PageFetched
from peers.crawler.parsing.extraction import extract
from peers.engine.index import Index
from peers.storage.archive.warc import read_records

SLOT_COUNT: Final = 50_000
COMMIT_PAGES: Final = 100


def archived_urls(folder: Path) -> list[str]:
    files = sorted(folder.glob("*.warc.gz"))
    records = [record for file in files for record in read_records(file.read_bytes())]
    return [record.url for record in records if record.kind == "response"]


async def fetch_all(urls: list[str], fetcher: Fetcher) -> list[PageFetched]:
    by_host: dict[str, list[str]] = defaultdict(list)
    for url in urls:
        by_host[host_of(url)].append(url)
    fetched: list[PageFetched] = []

    async def fetch_host(of_host: list[str]) -> None:
        for url in of_host:
            result = await fetcher.fetch(FetchPage(url))
            assert isinstance(result, PageFetched), result
            fetched.append(result)

    async with trio.open_nursery() as nursery:
        for of_host in by_host.values():
            nursery.start_soon(fetch_host, of_host)
    return fetched


def index_all(parsed: list[PageParsed], folder: Path) -> None:
    documents = [
        (slot_of(host_of(page.url), SLOT_COUNT), page.document)
        for page in parsed
        if page.document is not None
    ]
    index = Index.open(folder)
    for start in range(0, len(documents), COMMIT_PAGES):
        index.add(documents[start : start + COMMIT_PAGES])
        index.commit()
        index.merge_if_needed()
    index.close()


def main(archive: Path, resolver: Path) -> None:
    """Print the processor time of each part."""
    urls = archived_urls(archive)
    fetcher = Fetcher(FixedResolver.load(resolver), addresses=ALLOW_ALL)
    marks = [time.process_time()]
    fetched = trio.run(fetch_all, urls, fetcher)
    marks.append(time.process_time())
    parsed = [page for answer in fetched if isinstance(page := extract(answer, 1), PageParsed)]
    marks.append(time.process_time())
    with TemporaryDirectory() as folder:
        index_all(parsed, Path(folder))
    marks.append(time.process_time())
    fetching, parsing, indexing = (after - before for before, after in pairwise(marks))
    print(json.dumps({"pages": len(fetched), "fetch": fetching, "parse": parsing, "index": indexing}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
