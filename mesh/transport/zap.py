"""Authentication: the answers to ZeroMQ's requests whether a peer may connect. [io]

libzmq asks on an inproc endpoint, one request per handshake of a server socket with a ZAP domain, and
lets no message of that connection through before the answer. Source: ZeroMQ RFC 27/ZAP.

Theory of operation. A key that is not in the list gets no answer, and its request waits here. If the
key is admitted meanwhile (the news of a new member often comes after its first connection) the answer
goes out and the handshake is done at once; if not, the handshake times out (HANDSHAKE_IVL) and the
client tries again. Saying no would be worse: after 400 or 500 libzmq 4.3.5 as a client never tries
again, which shuts an early member out for good, and after 300 as a server it leaves the connection
half open until the same time-out.
"""

from __future__ import annotations

from collections.abc import Sequence

import zmq

from mesh.keys.identity import bytes_of_z85, is_curve_key
from mesh.transport.zmq_socket import TrioSocket

ZAP_ENDPOINT = "inproc://zeromq.zap.01"
ZAP_DOMAIN = b"tianmesh"  # without a domain libzmq asks nobody and lets everybody in
ADMITTED = b"200"
MALFORMED = b"500"
KEYS_WAITING_MAX = 1_024  # the oldest is forgotten; it asks again when its handshake has timed out
REQUESTS_PER_KEY_MAX = 4  # a peer opens two connections


class AllowList:
    """The CURVE keys of the members, and the ZAP server that lets in nobody else."""

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], keys_waiting_max: int = KEYS_WAITING_MAX
    ) -> None:
        """Bind the ZAP endpoint, which must happen before any server socket is bound."""
        socket = context.socket(zmq.ROUTER)
        socket.bind(ZAP_ENDPOINT)
        self._requests = TrioSocket(socket, _read_request)
        self._peers: dict[bytes, str] = {}  # raw public key to peer id
        self._keys: dict[str, bytes] = {}  # and back
        self._waiting: dict[bytes, list[list[bytes]]] = {}  # raw key to what its answers begin with
        self._keys_waiting_max = keys_waiting_max
        self.refused_count = 0  # handshakes whose key was not in the list when they asked

    def allow(self, curve_public: bytes, peer_id: str) -> None:
        """Let the holder of this key (Z85) in, under this name."""
        assert is_curve_key(curve_public), "certificates are checked before keys get here"
        key = bytes_of_z85(curve_public)
        self._peers[key] = peer_id
        self._keys[peer_id] = key
        for head in self._waiting.pop(key, ()):
            self._answer(head, ADMITTED, peer_id)

    def disallow(self, peer_id: str) -> None:
        """Let no new connection of this peer in; messages over open ones are for `has` to stop."""
        key = self._keys.pop(peer_id, None)
        if key is not None:
            del self._peers[key]

    def has(self, peer_id: str) -> bool:
        return peer_id in self._keys

    async def serve(self) -> None:
        """Answer requests until cancelled. No handshake completes while this does not run."""
        while True:
            for request in await self._requests.receive_batch():
                self._judge(request)

    def close(self) -> None:
        self._requests.close(0)

    def _judge(self, request: Sequence[bytes]) -> None:
        route, _, version, request_id, domain, _address, _routing_id, mechanism, *credentials = request
        head = [route, b"", version, request_id]
        if domain != ZAP_DOMAIN or mechanism != b"CURVE" or len(credentials) != 1:
            self._answer(head, MALFORMED, "")
            return
        peer_id = self._peers.get(credentials[0])
        if peer_id is None:
            self.refused_count += 1
            self._let_wait(credentials[0], head)
        else:
            self._answer(head, ADMITTED, peer_id)

    def _let_wait(self, key: bytes, head: list[bytes]) -> None:
        heads = self._waiting.setdefault(key, [])
        heads.append(head)
        del heads[:-REQUESTS_PER_KEY_MAX]
        if len(self._waiting) > self._keys_waiting_max:
            del self._waiting[next(iter(self._waiting))]

    def _answer(self, head: list[bytes], status: bytes, peer_id: str) -> None:
        """Answer; libzmq drops it when the connection has gone meanwhile."""
        self._requests.send_nowait([*head, status, b"", peer_id.encode(), b""])


def require_curve_server(socket: zmq.Socket[bytes], curve_secret: bytes) -> None:
    """Make a socket that will be bound accept CURVE clients of the allow-list, and nobody else."""
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.CURVE_SECRETKEY, curve_secret)
    socket.setsockopt(zmq.ZAP_DOMAIN, ZAP_DOMAIN)
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)  # refuses connections if the domain were ever empty


def _read_request(socket: zmq.Socket[bytes]) -> list[bytes]:
    return socket.recv_multipart(zmq.NOBLOCK)
