"""Who may connect: the answers to ZeroMQ's authentication requests. [io]

libzmq asks on an inproc endpoint, one request per handshake of a server socket with a ZAP domain, and
lets no message of that connection through before the answer. Source: ZeroMQ RFC 27/ZAP.
"""

from __future__ import annotations

from collections.abc import Sequence

import zmq

from mesh.identity import bytes_of_z85, is_curve_key
from mesh.zmq_socket import TrioSocket

ZAP_ENDPOINT = "inproc://zeromq.zap.01"
ZAP_DOMAIN = b"tianmesh"  # without a domain libzmq asks nobody and lets everybody in
ADMITTED = b"200"
# 300 closes the connection in silence and the client tries again; after a 400 libzmq's client never
# does, and a peer whose admission has not yet reached us would be shut out for good.
NOT_NOW = b"300"


class AllowList:
    """The CURVE keys of the members, and the ZAP server that lets in nobody else."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        """Bind the ZAP endpoint, which must happen before any server socket is bound."""
        socket = context.socket(zmq.ROUTER)
        socket.bind(ZAP_ENDPOINT)
        self._requests = TrioSocket(socket, _read_request)
        self._peers: dict[bytes, str] = {}  # raw public key to peer id
        self._keys: dict[str, bytes] = {}  # and back
        self.refused_count = 0  # handshakes with a key not in the list

    def allow(self, curve_public: bytes, peer_id: str) -> None:
        """Let the holder of this key (Z85) in, under this name."""
        assert is_curve_key(curve_public), "certificates are checked before keys get here"
        key = bytes_of_z85(curve_public)
        self._peers[key] = peer_id
        self._keys[peer_id] = key

    def disallow(self, peer_id: str) -> None:
        """Let no new connection of this peer in; what comes over open ones is for `has` to stop."""
        key = self._keys.pop(peer_id, None)
        if key is not None:
            del self._peers[key]

    def has(self, peer_id: str) -> bool:
        return peer_id in self._keys

    async def serve(self) -> None:
        """Answer requests until cancelled. No handshake completes while this does not run."""
        while True:
            for request in await self._requests.receive_batch():
                self._requests.send_nowait(self._answer(request))

    def close(self) -> None:
        self._requests.close(0)

    def _answer(self, request: Sequence[bytes]) -> list[bytes]:
        route, _, version, request_id, domain, _address, _routing_id, mechanism, *credentials = request
        peer_id = None
        if domain == ZAP_DOMAIN and mechanism == b"CURVE" and len(credentials) == 1:
            peer_id = self._peers.get(credentials[0])
        if peer_id is None:
            self.refused_count += 1
            return [route, b"", version, request_id, NOT_NOW, b"unknown key", b"", b""]
        return [route, b"", version, request_id, ADMITTED, b"", peer_id.encode(), b""]


def _read_request(socket: zmq.Socket[bytes]) -> list[bytes]:
    return socket.recv_multipart(zmq.NOBLOCK)


def require_curve_server(socket: zmq.Socket[bytes], curve_secret: bytes) -> None:
    """Make a socket that will be bound accept CURVE clients of the allow-list, and nobody else."""
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.CURVE_SECRETKEY, curve_secret)
    socket.setsockopt(zmq.ZAP_DOMAIN, ZAP_DOMAIN)
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)  # refuses connections if the domain were ever empty
