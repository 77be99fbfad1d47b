"""Where strangers ask for admission: one short question, one answer, and the door is shut. [io]

Theory of operation. Who is no member yet cannot use the mesh's ZeroMQ sockets, and must not: libzmq
puts no bound on a message of endlessly many parts (its high-water mark counts whole messages, its
MAXMSGSIZE single parts), so anybody who gets through a handshake can fill our memory at the speed of
the network until it is cut off (`inflow`). Members answer for that with their certificate; strangers
come here, to a plain TCP listener with a limit on everything.

A question is sealed to the door's CURVE key and by the stranger's, both static:

    magic(8) | stranger's public key(32) | salt(32) | length(4) | sealed question
    length(4) | sealed answer

with ChaCha20-Poly1305 under blake2b(X25519(stranger, door), salt, keys, direction), a key used once.
So the door knows which key asks, and the stranger that the door's owner answers this very question.
What is not promised: a recorded question can be asked again (it is answered to the stranger's key
only, and admission is idempotent), and there is no forward secrecy (member records are no secret).

Peers that are relayed by the owner of the door connect here, too (`relay`). Until they have proved that they
are, they are visitors like all others.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

import trio
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from mesh.errors import RemoteProtocolError
from mesh.keys.identity import Identity, bytes_of_z85, z85_of
from mesh.transport.lease import Attend
from mesh.transport.relay import Relay
from mesh.transport.relay_frames import HEAD_BYTES as RELAY_HEAD_BYTES
from mesh.transport.relay_frames import MAGIC as RELAY_MAGIC
from mesh.transport.tcp_endpoint import endpoint_of, host_and_port, listen_on

MAGIC = b"TMDOOR1\n"
KEY_BYTES = 32
SALT_BYTES = 32
TAG_BYTES = 16
NONCE = bytes(12)  # constant, as every key seals one message only
QUESTION_BYTES_MAX = 16 << 10  # a member record has under 1 KiB
ANSWER_BYTES_MAX = 16 << 20  # a welcome with the records of 4,096 members has about 2 MiB
VISITORS_MAX = 64  # connections at a time; one more turns out the oldest, so that idlers lose
EXCHANGE_S = 5.0  # for the whole exchange, as the handshake of the other sockets
QUESTIONS_WAITING_MAX = 16  # read and not yet taken by `receive`; further strangers wait at their end


class DoorVisit:
    """A stranger that waits for an answer."""

    def __init__(self, seen_from: str) -> None:
        """Args: seen_from: the address of its machine, as we see it."""
        self.seen_from = seen_from
        self._answer: bytes | None = None
        self._is_answered = trio.Event()
        self.is_over = False

    def answer(self, frame: bytes) -> bool:
        """Give the answer; False when the stranger has gone or has got one."""
        assert len(frame) <= ANSWER_BYTES_MAX, f"answer of {len(frame)} bytes"
        if self.is_over or self._is_answered.is_set():
            return False
        self._answer = frame
        self._is_answered.set()
        return True

    async def answered(self) -> bytes:
        await self._is_answered.wait()
        assert self._answer is not None
        return self._answer


class Door:
    """The listener of one peer."""

    def __init__(
        self, identity: Identity, endpoint: str, *, relay: Relay | None = None, exchange_s: float = EXCHANGE_S
    ) -> None:
        """Listen on `endpoint` ("tcp://host:port", port 0 for any).

        Args:
          relay: to which relayed peers connect here.
          exchange_s: for the whole visit of a stranger.

        Raises:
          ConfigError: the endpoint is not ours to listen on.
        """
        self._identity = identity
        self._relay = relay
        self._exchange_s = exchange_s
        self._listener = trio.SocketListener(trio.socket.from_stdlib_socket(listen_on(endpoint)))
        self.endpoint = endpoint_of(self._listener.socket.getsockname())
        self._visitors: dict[trio.CancelScope, None] = {}  # in order of arrival
        self._send_question, self._questions = trio.open_memory_channel[tuple[DoorVisit, bytes, bytes]](
            QUESTIONS_WAITING_MAX
        )
        self.refused_count = 0  # visitors without a proper question
        self.turned_out_count = 0  # visitors that had to make room

    async def serve(self) -> None:
        """Let strangers in until cancelled."""
        await trio.serve_listeners(self._receive_visitor, [self._listener])

    async def receive(self) -> tuple[DoorVisit, bytes, bytes]:
        """Wait for a question: the visit to answer, its proven CURVE key (Z85), and the frame."""
        return await self._questions.receive()

    def close(self) -> None:
        self._listener.socket.close()

    async def _receive_visitor(self, stream: trio.SocketStream) -> None:
        """Serve one connection; `trio.serve_listeners` closes it afterwards."""
        attend: Attend | None = None
        with self._visitor_scope():
            try:
                attend = await self._visit(stream)
            except (trio.BrokenResourceError, RemoteProtocolError):
                self.refused_count += 1
        if attend is not None:
            await attend(stream)

    @contextmanager
    def _visitor_scope(self) -> Iterator[None]:
        if len(self._visitors) >= VISITORS_MAX:
            oldest = next(iter(self._visitors))
            del self._visitors[oldest]
            oldest.cancel()
            self.turned_out_count += 1
        with trio.move_on_after(self._exchange_s) as scope:
            self._visitors[scope] = None
            try:
                yield
            finally:
                self._visitors.pop(scope, None)

    async def _visit(self, stream: trio.SocketStream) -> Attend | None:
        """Answer a question, or return the function that attends to a relayed peer."""
        magic = await _read(stream, len(MAGIC))
        if magic == MAGIC:
            await self._exchange(stream)
            return None
        if magic != RELAY_MAGIC or self._relay is None:
            raise RemoteProtocolError("not a question")
        return self._relay.attends(magic + await _read(stream, RELAY_HEAD_BYTES - len(magic)))

    async def _exchange(self, stream: trio.SocketStream) -> None:
        head = await _read(stream, KEY_BYTES + SALT_BYTES)
        stranger, salt = head[:KEY_BYTES], head[KEY_BYTES:]
        sealed = await _read_sealed(stream, QUESTION_BYTES_MAX)
        shared = self._identity.secret_shared_with(z85_of(stranger))
        door = bytes_of_z85(self._identity.curve_public)
        if shared is None:
            raise RemoteProtocolError("not a key")
        question = _opened(sealed, _key(shared, salt, stranger, door, b"ask"))
        visit = DoorVisit(str(stream.socket.getpeername()[0]))
        try:
            await self._send_question.send((visit, z85_of(stranger), question))
            answer = await visit.answered()
        finally:
            visit.is_over = True
        await stream.send_all(_sealed(answer, _key(shared, salt, stranger, door, b"tell")))


async def knock(identity: Identity, endpoint: str, door_public: bytes, frame: bytes) -> bytes:
    """Ask at the door of the peer with that CURVE key (Z85) and return its answer.

    The caller sets the time limit. A door that does not like the question closes without a word.

    Raises:
      OSError: nobody listens there.
      RemoteProtocolError: the answer is not from the holder of the key, or none was given.
    """
    assert len(frame) <= QUESTION_BYTES_MAX, f"question of {len(frame)} bytes"
    shared = identity.secret_shared_with(door_public)
    if shared is None:
        raise RemoteProtocolError("the door's key is no CURVE key")
    salt = secrets.token_bytes(SALT_BYTES)
    own, door = bytes_of_z85(identity.curve_public), bytes_of_z85(door_public)
    host, port = host_and_port(endpoint)
    async with await trio.open_tcp_stream(host, port) as stream:
        try:
            await stream.send_all(MAGIC + own + salt + _sealed(frame, _key(shared, salt, own, door, b"ask")))
            sealed = await _read_sealed(stream, ANSWER_BYTES_MAX)
        except trio.BrokenResourceError as error:
            raise RemoteProtocolError("the door was shut without an answer") from error
    return _opened(sealed, _key(shared, salt, own, door, b"tell"))


def _key(shared: bytes, salt: bytes, stranger: bytes, door: bytes, direction: bytes) -> bytes:
    return blake2b(salt + stranger + door, key=shared, digest_size=32, person=b"tmdoor " + direction).digest()


def _sealed(frame: bytes, key: bytes) -> bytes:
    sealed = ChaCha20Poly1305(key).encrypt(NONCE, frame, None)
    return len(sealed).to_bytes(4, "big") + sealed


def _opened(sealed: bytes, key: bytes) -> bytes:
    try:
        return ChaCha20Poly1305(key).decrypt(NONCE, sealed, None)
    except InvalidTag as error:
        raise RemoteProtocolError("not sealed by the holder of the key") from error


async def _read_sealed(stream: trio.SocketStream, bytes_max: int) -> bytes:
    length = int.from_bytes(await _read(stream, 4), "big")
    if not TAG_BYTES <= length <= bytes_max + TAG_BYTES:
        raise RemoteProtocolError(f"sealed message of {length} bytes")
    return await _read(stream, length)


async def _read(stream: trio.SocketStream, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        chunk = await stream.receive_some(min(length - len(data), 65_536))
        if not chunk:
            raise RemoteProtocolError(f"closed after {len(data)} of {length} bytes")
        data += chunk
    return bytes(data)
