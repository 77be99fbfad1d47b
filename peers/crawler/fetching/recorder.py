"""Write the trace of a crawl: every page with its links, for simulations. [io]"""

from __future__ import annotations

from io import FileIO
from pathlib import Path
from typing import ClassVar, Final

import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import Deliver
from mesh.errors import ConfigError, LocalProtocolError
from mesh.trace import TracedPage, TraceEnd, pack_end, pack_header, pack_pages, whole_part
from peers.crawler.model.messages import RecordPage

PAGES_WAITING_MAX: Final = 10_000  # some seconds of the fastest crawl; what is over is counted and left out
WRITE_INTERVAL_S: Final = 1.0  # pages are gathered so long and written together


class TraceRecorder:
    """Port `recorder`: appends `RecordPage` to a file. It answers nothing.

    A trace is a measurement, not a promise: it is not synced, a crash loses the last second, and pages are
    left out (`pages_left_out`) rather than a crawl slowed down when the disk does not follow.
    """

    name: ClassVar[str] = "recorder"

    def __init__(self, path: Path) -> None:
        """Open a new trace or go on with one that is there, without its torn end if it has one.

        Raises:
          ConfigError: the file cannot be written, or is something else than a trace.
        """
        self.pages_written = 0
        self.pages_left_out = 0
        self._file, self._end = _open(path)
        self._pages: list[TracedPage] = []
        self._is_wanted = trio.Event()

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case RecordPage():
                if len(self._pages) >= PAGES_WAITING_MAX:
                    self.pages_left_out += 1
                    return
                self._pages.append(traced(message))
                self._is_wanted.set()
            case _:
                raise LocalProtocolError(f"recorder does not understand {type(message).__name__}")

    async def run(self, deliver: Deliver) -> None:
        try:
            while True:
                await self._is_wanted.wait()
                await trio.sleep(WRITE_INTERVAL_S)
                await trio.to_thread.run_sync(self._write, self._take())
        finally:
            self._write(self._take())
            self.close()

    def close(self) -> None:
        """Say in the file that nothing is missing, as far as the disk takes it."""
        if not self._file.closed:
            self._append(pack_end(self._end.pages, self._end.blocks))
            self._file.close()

    def _take(self) -> list[TracedPage]:
        pages, self._pages = self._pages, []
        self._is_wanted = trio.Event()
        return pages

    def _write(self, pages: list[TracedPage]) -> None:
        """Append whole blocks or nothing: behind half a block no reader would trust the rest."""
        for count, block in pack_pages(pages, self._end.pages):
            if self._append(block):
                self.pages_written += count
                offset, before, blocks = self._end
                self._end = TraceEnd(offset, before + count, blocks + 1)
            else:
                self.pages_left_out += count

    def _append(self, content: bytes) -> bool:
        end = self._file.tell()
        try:
            is_whole = self._file.write(content) == len(content)
        except OSError:
            is_whole = False
        if not is_whole:
            self._file.seek(end)
            self._file.truncate()
        return is_whole


def traced(record: RecordPage) -> TracedPage:
    """The line of a trace that a controller wants."""
    return TracedPage(
        record.url,
        record.fetched_at,
        record.seconds,
        record.n_bytes,
        record.links,
        record.text_chars,
        record.status,
        record.visit,
    )


def _open(path: Path) -> tuple[FileIO, TraceEnd]:
    try:
        end = whole_part(path) if path.exists() else TraceEnd(0, 0, 0)
        file = FileIO(path, "r+" if path.exists() else "x+")
        file.seek(end.offset)
        file.truncate()
        if end.offset == 0:
            file.write(pack_header())
    except OSError as error:
        raise ConfigError(
            f"cannot write the trace {path}: {error.strerror}; give another file name"
        ) from error
    return file, end
