"""A trace as a web that real peers crawl: pages answer after as many seconds as they have in it. [io]

Each host has an address of its own, as politeness is due to addresses too.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from html import escape
from pathlib import Path
from typing import Final, TypeAlias

import trio

from mesh.trace import TracedPage
from mesh.urls import host_of
from simulations.webs.trace import TraceWeb
from tests.live.web import ServedWeb

PORT: Final = 8_097  # every host has an address of its own, so that one port does for all
NET: Final = "127.39.0."
HEAD_BYTES: Final = 4_096  # our fetcher's heads have some 300

Says: TypeAlias = Callable[[str], str]


class PlayedWeb:
    """The web that the simulation plays, and when it was asked for what."""

    def __init__(self, trace: Sequence[TracedPage], served: ServedWeb, says: Says) -> None:
        self.trace = TraceWeb(trace)
        self._says = says
        self.served = served
        self.asked_s: list[float] = []  # of each page that there is: when it was asked for
        self.answered_s: list[float] = []  # and when it was answered

    async def answer(self, stream: trio.SocketStream) -> None:
        """Answer what comes over one connection, until the other side hangs up."""
        with suppress(trio.BrokenResourceError):
            while head := await stream.receive_some(HEAD_BYTES):
                assert head.endswith(b"\r\n\r\n"), "a head in parts"
                lines = head.decode().split("\r\n")
                host = next(line[6:] for line in lines if line.lower().startswith("host: "))
                await self._serve(stream, f"http://{host}{lines[0].split()[1]}")

    async def _serve(self, stream: trio.SocketStream, url: str) -> None:
        asked_s = time.monotonic()
        served = self.trace.serve(url)
        await trio.sleep(served.seconds)
        body = b""
        if served.status == 200:
            says, targets = self._says, self.trace.targets(url)
            links = "".join(f'<p><a href="{escape(link)}">{says(link)}</a>' for link in targets)
            body = f"<!doctype html><title>{says(url)}</title><p>The page {says(url)}.{links}".encode()
            self.asked_s.append(asked_s)
            self.answered_s.append(time.monotonic())
        head = f"HTTP/1.1 {served.status} -\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        await stream.send_all(head.encode() + body)

    @property
    def seconds(self) -> float:
        """From the first page that was asked for to the last that was answered."""
        return max(self.answered_s) - min(self.asked_s)


@contextmanager
def played_web(trace: Sequence[TracedPage], folder: Path, says: Says = str) -> Iterator[PlayedWeb]:
    """Serve the pages of a trace in a thread of its own.

    Args:
      says: returns the name of a page in its own text and in links to it; its URL, if nothing else is wanted.
    """
    hosts = sorted({host_of(page.url) for page in trace})
    assert len(hosts) < 255
    addresses = {host: f"{NET}{number}" for number, host in enumerate(hosts, 1)}
    table = {host: {"ip": address, "http": PORT} for host, address in addresses.items()}
    (folder / "resolver.json").write_text(json.dumps(table))
    web = PlayedWeb(trace, ServedWeb(folder, list(TraceWeb(trace).seeds), addresses), says)
    is_open, over = threading.Event(), trio.Event()
    token: list[trio.lowlevel.TrioToken] = []

    async def serve() -> None:
        token.append(trio.lowlevel.current_trio_token())
        async with trio.open_nursery() as nursery:
            for address in addresses.values():
                await nursery.start(partial(trio.serve_tcp, web.answer, PORT, host=address))
            is_open.set()
            await over.wait()
            nursery.cancel_scope.cancel()

    thread = threading.Thread(target=trio.run, args=(serve,))
    thread.start()
    try:
        assert is_open.wait(100), "the web does not open"
        yield web
    finally:
        token[0].run_sync_soon(over.set)
        thread.join()
