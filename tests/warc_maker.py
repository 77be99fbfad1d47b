"""WARC files made of folders of pages, as a crawl of their sites would have left them. [io]

    python -m tests.warc_maker SITES OUT.warc.gz [--pages N] [--root FOLDER]

`SITES` has lines of host, folder and options as the shared web's `serve_web.py` takes them; of those only
`prefix=` is looked at. Pages are taken from the sites in turn, so that a few make a mixture.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from peers.storage.archive.warc import response_record, warcinfo_record
from tests.helpers import seen

SUFFIXES = (".html", ".htm", ".xhtml")


class FoundPage(NamedTuple):
    """A page of a folder."""

    url: str
    file: Path


def pages_below(folder: Path, base: str) -> Iterator[FoundPage]:
    """The pages in a folder, by name, as a server at that URL would serve them."""
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() in SUFFIXES and file.is_file():
            yield FoundPage(base + file.relative_to(folder).as_posix().replace(" ", "%20"), file)


def record_of(url: str, body: bytes, fetched_at: float, media_type: str = "text/html") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    return response_record(url, head, body, seen(fetched_at), "203.0.113.1")


def write_warc(out: Path, pages: Iterable[FoundPage], fetched_at: float = 1_700_000_000.0) -> int:
    """Write a record for each page, a second after the other; return how many."""
    count = 0
    with out.open("wb") as file:
        file.write(warcinfo_record(out.name, fetched_at, {"software": "tests"}))
        for count, page in enumerate(pages, 1):
            file.write(record_of(page.url, page.file.read_bytes(), fetched_at + count))
    return count


def pages_of_sites(sites: Path, root: Path) -> Iterator[FoundPage]:
    """The pages of all sites of a list, one of each in turn."""
    found = []
    for line in sites.read_text(encoding="utf-8").splitlines():
        host, folder, *options = line.split()
        prefix = next((each.removeprefix("prefix=") for each in options if each.startswith("prefix=")), "/")
        found.append(pages_below(root / folder, f"http://{host}{prefix}"))
    for row in zip_longest(*found):
        yield from filter(None, row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pages", type=int)
    parser.add_argument("--root", type=Path)
    given = parser.parse_args()
    pages = pages_of_sites(given.sites, given.root or given.sites.parent)
    limited = (page for _, page in zip(range(given.pages or 1 << 60), pages, strict=False))
    print(f"{write_warc(given.out, limited)} pages, {given.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
