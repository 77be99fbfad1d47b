"""Documents brought into a running mesh as those of files are, without a crawl. [io]"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final
from urllib.parse import urlsplit
from zlib import crc32

import msgspec

from peers.engine.pages.document import Document
from peers.importing.messages import LATE, REFUSED, ImportedPage
from peers.storage.archive.warc import response_record
from tests.helpers import seen

PAGES_AT_ONCE: Final = 128
HOSTS_PER_SITE: Final = 8
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


def spread(document: Document) -> Document:
    """Give it one of eight hosts of its site: slots are by host, and few large sites fill peers unevenly."""
    scheme, _, rest = document.url.partition("://")
    url = f"{scheme}://s{crc32(rest.encode()) % HOSTS_PER_SITE}.{rest}"
    return msgspec.structs.replace(document, url=url, fetched_at=1.0)


def fill(gateways: Sequence[str], token: str, documents: Sequence[Document]) -> None:
    """Bring them to their owners, through all gateways at once; the stored copies are without text."""
    waiting = _batches(documents)
    lock = threading.Lock()
    failures: list[str] = []

    def bring(gateway: str) -> None:
        connection = http.client.HTTPConnection(urlsplit(gateway).netloc, timeout=120)
        while True:
            with lock:
                pages = next(waiting, [])
            if not pages or failures:
                connection.close()
                return
            while pages:
                outcomes = _post(connection, token, pages)
                failures.extend(outcome for outcome in outcomes if outcome.startswith(REFUSED))
                pages = [page for page, out in zip(pages, outcomes, strict=True) if out == LATE]

    threads = [threading.Thread(target=bring, args=(gateway,)) for gateway in gateways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]


def _post(connection: http.client.HTTPConnection, token: str, pages: list[ImportedPage]) -> list[str]:
    rights = {"Authorization": f"Bearer {token}"}
    connection.request("POST", "/api/import", msgspec.msgpack.encode(pages), rights)
    response = connection.getresponse()
    body = response.read()
    if response.status == 503:  # too many at once: as if none had been stored
        return [LATE] * len(pages)
    assert response.status == 200, body
    outcomes: list[str] = json.loads(body)["outcomes"]
    return outcomes


def _batches(documents: Sequence[Document]) -> Iterator[list[ImportedPage]]:
    pages = (_page(document) for document in documents)
    while batch := list(islice(pages, PAGES_AT_ONCE)):
        yield batch


def _page(document: Document) -> ImportedPage:
    records = response_record(document.url, _HEAD, b"<title></title>", seen(document.fetched_at))
    return ImportedPage(document.url, document.fetched_at, 200, records, document)
