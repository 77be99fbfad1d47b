"""An FTP server for tests, in a thread: a tree of names without contents, a log, and faults on demand.

It keeps to RFC 959, 2389, 2428 and 3659 as far as a crawler asks for them. Names are octets.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import trio

from tests.patience import PATIENCE_S


@dataclass
class FtpSite:
    """The files of a server, and how it behaves."""

    # By path, without a slash at its end but for the root: names, directories with a slash, with sizes.
    folders: dict[bytes, list[tuple[bytes, int]]]
    robots: bytes | None = None
    has_mlsd: bool = True
    has_utf8: bool = True
    has_epsv: bool = True
    style: str = "unix"  # of LIST: unix or dos
    passive_host: str = "127,0,0,1"  # that PASV names
    data_port: int = 0  # at which data come; 0 for any
    extended_reply: bytes = b""  # to EPSV, instead of that with the port
    is_closed_after_each: bool = False  # ends each session behind one listing
    listing: bytes | None = None  # sent for each instead of its entries
    last_reply: bytes = b"226 that was it"  # behind each; b"" for none
    endless: bool = False  # then sends that without an end
    greeting: bytes = b"220 ready"


class FtpEvent(NamedTuple):
    """A line of the log."""

    at_s: float
    session: int
    what: str  # "opened", "closed", "data", or the command


@dataclass
class FtpServer:
    """A running server."""

    port: int
    address: str
    log: list[FtpEvent] = field(default_factory=list)

    def commands(self, name: str) -> list[FtpEvent]:
        """The commands of this name, in order."""
        return [event for event in self.log if event.what.partition(" ")[0] == name]

    def sessions_at_once(self) -> int:
        """The most sessions that were open at a time."""
        n_open = n_most = 0
        for event in self.log:
            n_open += (event.what == "opened") - (event.what == "closed")
            n_most = max(n_most, n_open)
        return n_most


@contextmanager
def served_by_ftp(site: FtpSite, address: str = "127.0.0.1") -> Iterator[FtpServer]:
    """Serve a site at an address of this machine, on a port of its choice."""
    server = FtpServer(0, address)
    is_up, scope = threading.Event(), trio.CancelScope()
    tokens: list[trio.lowlevel.TrioToken] = []

    async def run() -> None:
        numbers = count()

        async def serve(stream: trio.SocketStream) -> None:
            await _Session(site, server, next(numbers), address, stream).run()

        with scope:
            (listener,) = await trio.open_tcp_listeners(0, host=address)
            async with listener:
                server.port = listener.socket.getsockname()[1]
                tokens.append(trio.lowlevel.current_trio_token())
                is_up.set()
                await trio.serve_listeners(serve, [listener])

    thread = threading.Thread(target=trio.run, args=(run,))
    thread.start()
    is_up.wait()
    try:
        yield server
    finally:
        tokens[0].run_sync_soon(scope.cancel)
        thread.join()


class _Session:
    def __init__(
        self, site: FtpSite, server: FtpServer, number: int, address: str, stream: trio.SocketStream
    ) -> None:
        self._site, self._server, self._number, self._address = site, server, number, address
        self._stream = stream
        self._folder = b"/"
        self._listener: trio.SocketListener | None = None

    def note(self, what: str) -> None:
        self._server.log.append(FtpEvent(time.monotonic(), self._number, what))

    async def say(self, line: bytes) -> None:
        await self._stream.send_all(line + b"\r\n")

    async def run(self) -> None:
        self.note("opened")
        try:
            await self.say(self._site.greeting)
            come = b""
            while piece := await self._stream.receive_some():
                come += bytes(piece)
                while b"\r\n" in come:
                    line, _, come = come.partition(b"\r\n")
                    command, _, rest = line.partition(b" ")
                    self.note(line.decode("latin-1"))
                    if not await self._carry_out(command.upper(), rest):
                        return
        except trio.BrokenResourceError:
            pass
        finally:
            self.note("closed")
            if self._listener is not None:
                self._listener.socket.close()

    async def _carry_out(self, command: bytes, rest: bytes) -> bool:
        site = self._site
        match command:
            case b"USER":
                await self.say(b"331 which password?" if rest == b"anonymous" else b"530 no")
            case b"PASS":
                await self.say(b"230-Welcome.\r\n230-220 is no end\r\n230 logged in")
            case b"FEAT":
                features = (b" MLST type*;size*;modify*;" * site.has_mlsd, b" UTF8" * site.has_utf8)
                await self.say(b"\r\n".join([b"211-Features:", *filter(None, features), b"211 End"]))
            case b"OPTS" | b"TYPE":
                await self.say(b"200 done")
            case b"CWD":
                await self.say(b"250 done" if rest in site.folders else b"550 no such directory")
                self._folder = rest
            case b"EPSV" if site.has_epsv:
                await self.say(site.extended_reply or b"229 here (|||%d|)" % await self._listen())
            case b"PASV":
                port = await self._listen()
                place = f"{site.passive_host},{port >> 8},{port & 255}"
                await self.say(f"227 Entering Passive Mode ({place}).".encode())
            case b"MLSD" if site.has_mlsd:
                return await self._send(b"".join(self._facts()))
            case b"LIST":
                return await self._send(b"".join(self._lines()))
            case b"RETR" if rest == b"/robots.txt" and site.robots is not None:
                return await self._send(site.robots)
            case b"RETR":
                await self.say(b"550 no such file")
            case _:
                await self.say(b"502 not here")
        return True

    async def _listen(self) -> int:
        if self._listener is not None:
            self._listener.socket.close()
        (self._listener,) = await trio.open_tcp_listeners(self._site.data_port, host=self._address)
        port: int = self._listener.socket.getsockname()[1]
        return port

    async def _send(self, content: bytes) -> bool:
        assert self._listener is not None
        await self.say(b"150 here it comes")
        with trio.fail_after(PATIENCE_S):
            data = await self._listener.accept()
        self.note("data")
        content = content if self._site.listing is None else self._site.listing
        async with data:
            with suppress(trio.BrokenResourceError):
                await data.send_all(content)
                while self._site.endless:
                    await data.send_all(content or b"x")
        if self._site.last_reply:
            await self.say(self._site.last_reply)
        return not self._site.is_closed_after_each

    def _entries(self) -> list[tuple[bytes, int]]:
        return self._site.folders[self._folder]

    def _facts(self) -> Iterator[bytes]:
        yield b"type=cdir;modify=20240531120000; /\r\n"
        for name, size in self._entries():
            kind = b"type=dir;" if name.endswith(b"/") else b"type=file;size=%d;" % size
            yield kind + b"modify=20240531120000; " + name.rstrip(b"/") + b"\r\n"

    def _lines(self) -> Iterator[bytes]:
        if self._site.style == "dos":
            for name, size in self._entries():
                what = b"      <DIR>         " if name.endswith(b"/") else b"%20d" % size
                yield b"05-31-24  12:00PM " + what + b" " + name.rstrip(b"/") + b"\r\n"
            return
        yield b"total 8\r\n"
        for name, size in self._entries():
            kind = b"d" if name.endswith(b"/") else b"-"
            yield (
                kind + b"rw-r--r--   1 ftp      ftp  %12d May 31  2024 " % size + name.rstrip(b"/") + b"\r\n"
            )
