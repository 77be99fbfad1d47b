"""A web server that sends exactly the bytes that a test gives it. [io]"""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.live.access_log import Access


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An answer of HTTP/1.1 after which the connection ends."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class RawWeb(socketserver.ThreadingTCPServer):
    """Some hosts, all at one address; what they were asked stands in `accesses`."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, answer_to: Callable[[str, str], bytes], address: str = "127.0.0.1") -> None:
        """Bind a free port.

        Args:
          answer_to: what is sent when a host is asked for a path.
        """
        super().__init__((address, 0), _Answering)
        self.answer_to = answer_to
        self.accesses: list[Access] = []
        self.requests: list[tuple[str, str]] = []  # host and path
        self.not_modified: list[tuple[str, str]] = []  # those that had the ETag of the answer, and got 304

    def resolving(self, hosts: Iterable[str]) -> dict[str, dict[str, object]]:
        """Return the lines of such a table."""
        ip, port = self.server_address[:2]
        return {host: {"ip": ip, "http": port} for host in hosts}

    def write_resolver(self, folder: Path, hosts: Iterable[str]) -> Path:
        """Write the table for --resolver that leads these hosts here."""
        table = self.resolving(hosts)
        path = folder / "resolver.json"
        path.write_text(json.dumps(table))
        return path


class _Answering(socketserver.StreamRequestHandler):
    server: RawWeb

    def handle(self) -> None:
        path, host, etag, agent = "", "", "", ""
        while line := self.rfile.readline().strip().decode():
            path = line.split()[1] if line.startswith("GET ") else path
            host = line[6:] if line.startswith("Host: ") else host
            agent = line[12:] if line.startswith("User-Agent: ") else agent
            etag = line[15:] if line.startswith("If-None-Match: ") else etag
        if not path:
            return
        self.server.requests.append((host, path))
        began_s = time.time()
        said = self.server.answer_to(host, path)
        if etag and f"\r\nETag: {etag}\r\n".encode() in said.partition(b"\r\n\r\n")[0] + b"\r\n":
            self.server.not_modified.append((host, path))
            said = answer(b"", f"ETag: {etag}", status="304 Not Modified")
        ended_s = time.time()  # not after the write: who has the answer may go on before this thread does
        try:
            self.wfile.write(said)
        except OSError:
            pass  # who has read the beginning hangs up
        ends = self.client_address[1], host, path, int(said[9:12]), agent
        self.server.accesses.append(Access(began_s, ended_s, *ends))


@contextmanager
def served(answer_to: Callable[[str, str], bytes], address: str = "127.0.0.1") -> Iterator[RawWeb]:
    with RawWeb(answer_to, address) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        try:
            yield web
        finally:
            web.shutdown()
