"""Real documents for measurements: the pages of unpacked documentation packages, parsed once by our parser.

TIANMESH_BENCH_WEB names a folder with `sites.bench`, lines of "host folder [prefix=/path/] ...", and the
folders it names; files *.jsonl beside it, with url, title and text, are read as well. What was parsed is kept
as msgpack in the folder that TIANMESH_BENCH_CACHE names (default: one for temporary files).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest

from mesh.urls import canonical
from peers.crawler.parsing.parser import NotHtml, parse_page
from peers.engine.pages.document import Document

_TYPES = {".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml", ".txt": "text/plain"}
_FILE_BYTES_MAX = 32 * 1024 * 1024


def bench_web() -> Path:
    """Return the folder with the pages; skips the test when there is none."""
    folder = os.environ.get("TIANMESH_BENCH_WEB", "")
    if not folder:
        pytest.skip("TIANMESH_BENCH_WEB names no folder with sites.bench and its pages")
    return Path(folder)


def real_documents(count_max: int) -> list[Document]:
    """Return documents with distinct URLs and texts, in an order made from a seed: the sites are mixed."""
    return list(each_real_document(count_max))


def each_real_document(count_max: int) -> Iterator[Document]:
    """Yield the same, one after the other."""
    file = _cache_file("")
    if not file.exists():
        documents = list(_parsed(bench_web()))
        random.Random(1).shuffle(documents)
        _write(file, map(msgspec.msgpack.encode, documents))
    decoder = msgspec.msgpack.Decoder(Document)
    for item in _items(file, count_max):
        yield decoder.decode(item)


def cached(name: str, count: int, made: Iterator[str]) -> Iterator[str]:
    """Yield texts that are made once for so many documents, and read from the cache afterwards."""
    file = _cache_file(f"-{name}-{count}")
    if not file.exists():
        _write(file, (text.encode(errors="replace") for text in made))
    for item in _items(file, count):
        yield item.decode()


def _cache_file(name: str) -> Path:
    cache = Path(os.environ.get("TIANMESH_BENCH_CACHE", tempfile.gettempdir()))
    digest = hashlib.sha256(str(bench_web().resolve()).encode()).hexdigest()[:12]
    return cache / f"tianmesh-bench-web-{digest}{name}.msgpack"


def _write(file: Path, items: Iterable[bytes]) -> None:
    partial = file.with_suffix(".partial")
    with partial.open("wb") as out:
        for item in items:
            out.write(len(item).to_bytes(4, "little") + item)
    partial.rename(file)


def _items(file: Path, count_max: int) -> Iterator[bytes]:
    with file.open("rb") as content:
        for _ in range(count_max):
            head = content.read(4)
            if not head:
                return
            yield content.read(int.from_bytes(head, "little"))


def _parsed(web: Path) -> Iterator[Document]:
    seen_urls: set[str] = set()
    seen_texts: set[bytes] = set()
    for document in _all_of(web):
        text = hashlib.sha256((document.title + "\n" + document.text).encode(errors="replace")).digest()
        if document.text and document.url not in seen_urls and text not in seen_texts:
            seen_urls.add(document.url)
            seen_texts.add(text)
            yield document


def _all_of(web: Path) -> Iterator[Document]:
    for line in (web / "sites.bench").read_text("utf-8").splitlines():
        host, folder, *options = line.split()
        prefix = next((o.removeprefix("prefix=") for o in options if o.startswith("prefix=")), "/")
        for place, _, names in os.walk(web / folder):
            for name in sorted(names):
                path = Path(place) / name
                media_type = _TYPES.get(path.suffix)
                if media_type is None or not path.is_file() or path.stat().st_size > _FILE_BYTES_MAX:
                    continue
                url = canonical(f"http://{host}{prefix}{path.relative_to(web / folder)}")
                if url is not None:
                    yield from _page(url, path.read_bytes(), media_type)
    for file in sorted(web.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            record = json.loads(line)
            yield Document(record["url"], title=record["title"], text=record["text"], type="text/plain")


def _page(url: str, body: bytes, media_type: str) -> Iterator[Document]:
    try:
        page = parse_page(url, body, media_type)
    except (NotHtml, UnicodeError):
        return
    yield Document(
        url=url,
        title=page.title,
        headings=page.headings,
        text=page.text,
        language=page.language,
        fetched_at=1.0,
        type=media_type,
    )
