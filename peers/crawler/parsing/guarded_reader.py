"""Read documents in a process of its own, for commands that have no workshop: it ends, and they do not. [io]

`python -m peers.crawler.parsing.guarded_reader` is that process. It is begun with the first document, and
again after one has ended it; it goes when nobody is there any more to ask it.
"""

from __future__ import annotations

import atexit
import logging
import socket
import subprocess
import sys
from typing import Final

import msgspec

from mesh.process.workshop_process import COUNT, LENGTH, LOG_FORMAT, READY, USED, WorkLimits, serve
from peers.crawler.parsing.page_reader import read_markup
from peers.documents.content import Content, Lack, ReadMarkup
from peers.documents.formats import Format
from peers.documents.reader import read_document

COMMAND: Final = (sys.executable, "-P", "-m", "peers.crawler.parsing.guarded_reader")
LIMITS: Final = WorkLimits(cpu_s=10.0, memory_bytes=1 << 30)  # as `page_process`
SILENCE_S_MAX: Final = 120.0  # as `mesh.process.workshop`
CONTENT_BYTES_MAX: Final = 64 << 20

logger = logging.getLogger(__name__)


class ReadTask(msgspec.Struct, frozen=True, array_like=True):
    """Read this."""

    format: Format
    body: bytes


class GuardedReader:
    """One process and the way to it. For one thread."""

    def __init__(self, command: tuple[str, ...] = COMMAND) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def read(self, document_format: Format, body: bytes, read_markup: ReadMarkup) -> Content:
        """Read a document as `documents.reader.read_document` does; chapters are read over there, too."""
        order = msgspec.msgpack.encode(ReadTask(document_format, body))
        try:
            return msgspec.msgpack.decode(self._asked(order), type=Content)
        except (OSError, EOFError, msgspec.MsgspecError) as error:
            logger.warning("document not read, it ended its process error=%r", error)
            self.close()
            return Content(lack=Lack.EXHAUSTING)

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None and self._socket is not None:
            self._process.kill()
            self._socket.close()
            self._process.wait()
        self._process = self._socket = None

    def _asked(self, order: bytes) -> bytes:
        peer = self._socket or self._started()
        peer.sendall(COUNT.pack(1) + LENGTH.pack(len(order)) + order)
        (length,) = LENGTH.unpack(_received(peer, LENGTH.size))
        if length > CONTENT_BYTES_MAX:
            raise EOFError(f"an answer of {length} bytes")
        answer = _received(peer, length)
        _received(peer, USED.size)
        return answer

    def _started(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(self._command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL)
        self._socket = ours
        ours.settimeout(SILENCE_S_MAX)
        _received(ours, len(READY))
        return ours


def _received(peer: socket.socket, n_bytes: int) -> bytes:
    received = bytearray()
    while len(received) < n_bytes:
        part = peer.recv(n_bytes - len(received))
        if not part:
            raise EOFError("the process has ended")
        received += part
    return bytes(received)


def carry_out(encoded: bytes) -> bytes:
    """Answer one order."""
    order = msgspec.msgpack.decode(encoded, type=ReadTask)
    return msgspec.msgpack.encode(read_document(order.format, order.body, read_markup))


# Of each process that takes pages apart for a command; it ends with that.
_reader: Final = GuardedReader()
atexit.register(_reader.close)
read_guarded: Final = _reader.read

if __name__ == "__main__":
    logging.basicConfig(format=LOG_FORMAT)
    serve(carry_out, LIMITS)
