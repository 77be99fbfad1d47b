"""A trace: what a crawl fetched, page by page, in a file that peers write and simulations play.

The file is a stream of MessagePack values, readable with any implementation of it: a map that says
what the file is, then one array per page: [url, fetched_at, seconds, n_bytes, [link, ...]]. A crawl that
died may have left half a value at the end; it is not read, and an appending recorder cuts it off first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgpack

from mesh.errors import ConfigError

TRACE_FORMAT: Final = "tianmesh-trace"
TRACE_VERSION: Final = 1
VALUE_BYTES_MAX: Final = 64 << 20  # of one page: 30,000 links of the longest kind


class TracedPage(NamedTuple):
    """One page as it was fetched."""

    url: str  # canonical
    fetched_at: float  # seconds since the epoch, when it was asked for
    seconds: float  # until the last byte
    n_bytes: int  # received
    links: tuple[str, ...]  # canonical


def pack_header() -> bytes:
    """What a trace begins with."""
    return bytes(msgpack.packb({"format": TRACE_FORMAT, "version": TRACE_VERSION}))


def pack_page(page: TracedPage) -> bytes:
    """One page of a trace."""
    return bytes(msgpack.packb(tuple(page)))


def read_trace(path: Path) -> Iterator[TracedPage]:
    """Yield the whole pages of a trace in the order they were recorded.

    Raises:
      ConfigError: the file cannot be read, is no trace, or one of another version.
    """
    try:
        with path.open("rb") as file:
            yield from (page for _, page in _walk(file, path) if page is not None)
    except OSError as error:
        raise ConfigError(
            f"cannot read the trace {path}: {error.strerror}; give the file of a --record"
        ) from error


def write_trace(path: Path, pages: Iterable[TracedPage]) -> None:
    """Write a whole trace at once, over what is there.

    Raises:
      ConfigError: the file cannot be written.
    """
    try:
        with path.open("wb") as file:
            file.write(pack_header())
            file.writelines(map(pack_page, pages))
    except OSError as error:
        raise ConfigError(
            f"cannot write the trace {path}: {error.strerror}; give another file name"
        ) from error


def merge_traces(parts: Iterable[Path], path: Path) -> None:
    """Write the traces of several peers as one, in the order in which the pages were fetched.

    Raises:
      ConfigError: a part is no trace, or the file cannot be written.
    """
    pages = (page for part in parts for page in read_trace(part))
    write_trace(path, sorted(pages, key=lambda page: page.fetched_at))


def whole_bytes(file: BinaryIO | FileIO, path: Path) -> int:
    """Where the last whole value of a trace ends: its length unless its end is torn, 0 if all of it is.

    Raises:
      ConfigError: it is no trace, or one of another version.
    """
    return max((end for end, _ in _walk(file, path)), default=0)


def _walk(file: BinaryIO | FileIO, path: Path) -> Iterator[tuple[int, TracedPage | None]]:
    """Yield the header as None, then each page, with the offset behind it."""
    unpacker = msgpack.Unpacker(file, use_list=False, max_buffer_size=VALUE_BYTES_MAX)
    try:
        for value in unpacker:
            _check_header(value, path)
            yield unpacker.tell(), None
            break
        for value in unpacker:
            yield unpacker.tell(), _page_of(value, path)
    except (msgpack.UnpackException, ValueError) as error:
        raise ConfigError(
            f"{path} is damaged near byte {unpacker.tell()}: {error}; record it anew"
        ) from error


def _check_header(header: Any, path: Path) -> None:
    if not isinstance(header, dict) or header.get("format") != TRACE_FORMAT:
        raise ConfigError(f"{path} is not a trace; give the file that a crawl wrote with --record")
    version = header.get("version")
    if version != TRACE_VERSION:
        raise ConfigError(f"{path} is a trace of version {version}, not {TRACE_VERSION}; record it anew")


def _page_of(value: Any, path: Path) -> TracedPage:
    match value:
        case (str(url), int() | float() as at, int() | float() as seconds, int(n_bytes), (*links,)) if all(
            isinstance(link, str) for link in links
        ):
            return TracedPage(url, float(at), float(seconds), n_bytes, tuple(links))
    raise ConfigError(f"{path} holds something that is not a page of a trace; record it anew")
