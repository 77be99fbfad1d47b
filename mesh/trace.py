"""A trace: the fetches of a crawl, page by page, in a file that peers write and simulations play.

Theory of operation
===================
The file is a row of zstd frames, the *blocks*, each with its size and a checksum. What they unpack to, one
after the other, is a stream of MessagePack values that any implementation reads: a map that says what the
file is, one array per page (`TracedPage`), and a map that says how many pages there were. A value never
crosses the end of a block, so a damaged block costs its own pages and no others, and a file that lacks the
last map has lost its end: a crawl died, or somebody copied half of it. `docs/traces.md` describes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgpack

from mesh.counts import Count
from mesh.errors import ConfigError
from mesh.trace_blocks import MAGIC, Block, TraceDamage, pack_block, read_blocks

TRACE_FORMAT: Final = "tianmesh-trace"
TRACE_VERSION: Final = 2
VALUE_BYTES_MAX: Final = 64 << 20  # of one page: 30,000 links of the longest kind
BLOCK_PAGES: Final = 1_024  # at most: about a megabyte before it is packed
BLOCK_PAGES_MIN: Final = 32  # a trace of 3,000 pages is 9 % larger by it; with 16 by 15 %
BLOCK_SHARE: Final = 100  # a block has a hundredth of the pages before it: so much is lost with a torn end
BLOCK_BYTES: Final = 4 << 20  # from which on a block is closed; a page can have 6,000 links


class TracedPage(NamedTuple):
    """One visit of a page."""

    url: str  # canonical
    fetched_at: float  # seconds since the epoch, when it was asked for
    seconds: float  # until the last byte
    n_bytes: int  # received
    links: tuple[str, ...]  # canonical
    text_chars: tuple[int, ...] = ()  # length of the text of each link, or nothing if that is not known
    status: int = 200  # HTTP
    visit: int = 1  # 2 for the second time that it was fetched, and so on
    found_at: float = 0.0  # when the first page that links to it had come; 0 for a seed, or not known


class TraceEnd(NamedTuple):
    """How far a trace is whole."""

    offset: int  # behind its last block of pages
    pages: int
    blocks: int  # with pages


def pack_header(about: Mapping[str, str] | None = None) -> bytes:
    """Pack the first block of a trace: format, version and origin.

    Args:
      about: where it comes from, for people.
    """
    header = {"format": TRACE_FORMAT, "version": TRACE_VERSION, "about": dict(about or {})}
    return pack_block(msgpack.packb(header))


def pack_pages(pages: Iterable[TracedPage], written: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of a trace, each with the number of its pages.

    Blocks grow with the trace, so that a cut anywhere costs 1 % of the pages before it, or 32.

    Args:
      written: pages that are in the trace already.
    """
    values: list[bytes] = []
    n_bytes = 0
    for page in pages:
        values.append(msgpack.packb(tuple(page)))
        n_bytes += len(values[-1])
        wanted = min(BLOCK_PAGES, max(BLOCK_PAGES_MIN, written // BLOCK_SHARE))
        if len(values) >= wanted or n_bytes >= BLOCK_BYTES:
            yield len(values), pack_block(b"".join(values))
            written += len(values)
            values, n_bytes = [], 0
    if values:
        yield len(values), pack_block(b"".join(values))


def pack_end(pages: int, blocks: int) -> bytes:
    """Pack the last block of a trace, with its counts of pages and blocks."""
    return pack_block(msgpack.packb({"pages": pages, "blocks": blocks}))


def read_trace(path: Path, damages: list[TraceDamage] | None = None) -> Iterator[TracedPage]:
    """Yield the pages of a trace in the order in which they are written.

    Args:
      damages: takes what is damaged or missing, and the rest is read; None to refuse such a trace.

    Raises:
      ConfigError: the file cannot be read, is no trace, one of a later version, or damaged; after the pages
        that stand before the damage.
    """
    try:
        yield from _pages_in(path, damages)
    except OSError as error:
        raise ConfigError(
            f"cannot read the trace {path}: {error.strerror}; give the file of a --record"
        ) from error


def write_trace(path: Path, pages: Iterable[TracedPage], about: Mapping[str, str] | None = None) -> int:
    """Write a whole trace, over any file that is there, block by block; return how many pages it has.

    Raises:
      ConfigError: the file cannot be written.
    """
    n_pages = n_blocks = 0
    try:
        with path.open("wb") as file:
            file.write(pack_header(about))
            for count, block in pack_pages(pages):
                file.write(block)
                n_pages, n_blocks = n_pages + count, n_blocks + 1
            file.write(pack_end(n_pages, n_blocks))
    except OSError as error:
        raise ConfigError(
            f"cannot write the trace {path}: {error.strerror}; give another file name"
        ) from error
    return n_pages


def merge_traces(parts: Iterable[Path], path: Path, damages: list[TraceDamage] | None = None) -> int:
    """Write the traces of the peers of one crawl as one, and return how many pages it has.

    Pages stand in the order in which they were fetched, each visit once, numbered anew, and with the time at
    which the first page that links to them had come: a peer alone does not know what others have found.

    Args:
      damages: as in `read_trace`.

    Raises:
      ConfigError: a part is no whole trace, or the file cannot be written.
    """
    pages = {(page.url, page.fetched_at): page for part in parts for page in read_trace(part, damages)}
    return write_trace(path, in_order(pages.values()))


def in_order(pages: Iterable[TracedPage]) -> list[TracedPage]:
    """Sort pages by the time at which they were fetched, and note of each its visit and when it was found."""
    ordered = sorted(pages, key=lambda page: (page.fetched_at, page.url))
    found: dict[str, float] = {}
    for page in sorted(ordered, key=lambda page: page.fetched_at + page.seconds):
        for link in page.links:
            found.setdefault(link, page.fetched_at + page.seconds)
    visits: dict[str, int] = {}
    result = []
    for page in ordered:
        visits[page.url] = visit = visits.get(page.url, 0) + 1
        at = found.get(page.url, 0.0)
        result.append(page._replace(visit=visit, found_at=at if at <= page.fetched_at else 0.0))
    return result


def whole_part(path: Path) -> TraceEnd:
    """Return how far a trace is whole, for a recorder that goes on with it; a torn end is not.

    Raises:
      ConfigError: it is no trace, or one of another version.
      OSError: it cannot be read.
    """
    end = TraceEnd(0, 0, 0)
    with path.open("rb") as file:
        begin = file.read(len(MAGIC))
        if not begin or (begin != MAGIC and MAGIC.startswith(begin)):
            return end
        if begin != MAGIC:
            raise ConfigError(_foreign(path))
        file.seek(0)
        for number, block in enumerate(read_blocks(file)):
            if isinstance(block, TraceDamage):
                break
            values = _values_in(block)
            if values is None:
                break
            if number == 0:
                _check_header(values[0] if values else None, path)
            elif _is_end(values):
                break
            end = TraceEnd(block.end, end.pages + len(values) - (number == 0), number)
    return end


# --- Reading ---


def _pages_in(path: Path, damages: list[TraceDamage] | None) -> Iterator[TracedPage]:
    with path.open("rb") as file:
        begin = file.read(len(MAGIC))
        if not MAGIC.startswith(begin):
            raise ConfigError(_foreign(path))
        file.seek(0)
        yield from _pages_of_blocks(path, read_blocks(file), damages)


def _pages_of_blocks(
    path: Path, blocks: Iterable[Block | TraceDamage], damages: list[TraceDamage] | None
) -> Iterator[TracedPage]:
    is_first, end, last = True, None, 0
    n_pages = 0
    for block in blocks:
        if isinstance(block, TraceDamage):
            _tell(path, block, damages)
            continue
        last = block.end
        values = _values_in(block)
        if values is None:
            _tell(path, TraceDamage(block.number, block.offset, "holds no MessagePack"), damages)
        elif is_first:
            _check_header(values[0] if values else None, path)
        elif _is_end(values):
            end = values[0]
        else:
            for value in values:
                page = _page_of(value)
                if page is None:
                    _tell(path, TraceDamage(block.number, block.offset, "holds what is not a page"), damages)
                    continue
                n_pages += 1
                yield page
        is_first = False
    if is_first and last == 0:
        _tell(path, TraceDamage(-1, 0, "is empty, not a trace"), damages)
    elif end is None:
        _tell(path, TraceDamage(-1, last, "lacks its end: the crawl died, or the file was cut"), damages)
    elif end.get("pages") != n_pages:
        _tell(
            path,
            TraceDamage(-1, last, f"has {n_pages} of the {Count(end.get('pages')):page} of its end"),
            damages,
        )


def _tell(path: Path, damage: TraceDamage, damages: list[TraceDamage] | None) -> None:
    if damages is None:
        raise ConfigError(
            f"the trace {path} {damage}; give --partial to go on with the rest, or write it anew first with "
            "`tianmesh trace cut --partial`"
        )
    damages.append(damage)


def _values_in(block: Block) -> list[Any] | None:
    unpacker = msgpack.Unpacker(use_list=False, max_buffer_size=VALUE_BYTES_MAX)
    try:
        unpacker.feed(block.content)
        values = list(unpacker)
    except (msgpack.UnpackException, msgpack.BufferFull, ValueError):
        return None
    return values if unpacker.tell() == len(block.content) else None


def _is_end(values: list[Any]) -> bool:
    return len(values) == 1 and isinstance(values[0], dict) and "pages" in values[0]


def _check_header(header: Any, path: Path) -> None:
    if not isinstance(header, dict) or header.get("format") != TRACE_FORMAT:
        raise ConfigError(_foreign(path))
    version = header.get("version")
    if version != TRACE_VERSION:
        raise ConfigError(
            f"{path} is a trace of version {version}, and this tianmesh reads {TRACE_VERSION}; "
            "install the one that wrote it"
        )


def _foreign(path: Path) -> str:
    return f"{path} is not a trace; give the file that a crawl wrote with --record"


def _page_of(value: Any) -> TracedPage | None:
    """Return a page; fields of later writers stand behind those that are known."""
    match value:
        case (str(url), int() | float() as at, int() | float() as seconds, int(n_bytes), (*links,), *rest):
            page = TracedPage(url, float(at), float(seconds), n_bytes, tuple(links), *rest[:4])
            return page if _is_sound(page) else None
    return None


def _is_sound(page: TracedPage) -> bool:
    chars = page.text_chars
    return (
        all(isinstance(link, str) for link in page.links)
        and isinstance(chars, tuple)
        and len(chars) in (0, len(page.links))
        and all(isinstance(count, int) for count in chars)
        and isinstance(page.status, int)
        and isinstance(page.visit, int)
        and isinstance(page.found_at, int | float)
    )
