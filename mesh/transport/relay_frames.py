"""The frames between a relay and the peer behind it, beside the streams that are carried.

At the relay's door, in place of a question, once for the control connection and once for every stream:

    magic(8) | lease(16) | number(8) | proof(16)

with the proof by the lease's secret, which the door has told under its seal. Number 0 is the control
connection; each number is good once, so what an eavesdropper has recorded opens nothing. Over the control
connection the relay asks for one stream after the other, for which of the three sockets it is, and both sides
say now and then that they are there:

    relay: number(8) | socket(1)      number 0: nothing, but I am there
    peer:  0(1)

Whoever can change what goes over the wire can cut all this off, and do no more: what the streams carry is
encrypted from end to end.
"""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest
from typing import Final

MAGIC: Final = b"TMRELAY\n"
LEASE_BYTES: Final = 16
SECRET_BYTES: Final = 32
NUMBER_BYTES: Final = 8
PROOF_BYTES: Final = 16
HEAD_BYTES: Final = len(MAGIC) + LEASE_BYTES + NUMBER_BYTES + PROOF_BYTES
ORDER_BYTES: Final = NUMBER_BYTES + 1
CONTROL: Final = 0  # number of the control connection; streams count from 1
BEAT: Final = b"\0"  # of the peer
BEAT_S: Final = 5.0  # from one sign of life to the next, of both
SILENT_S: Final = 15.0  # three of them lost: the other one is gone


def head_of(lease: bytes, number: int, secret: bytes) -> bytes:
    """Return the bytes with which a connection to the relay begins."""
    return MAGIC + lease + number.to_bytes(NUMBER_BYTES, "big") + _proof(secret, lease, number)


def head_in(head: bytes) -> tuple[bytes, int, bytes]:
    """Take a head apart that begins with the magic: lease, number, proof."""
    assert len(head) == HEAD_BYTES, f"head of {len(head)} bytes"
    lease, rest = head[len(MAGIC) :][:LEASE_BYTES], head[len(MAGIC) + LEASE_BYTES :]
    return lease, int.from_bytes(rest[:NUMBER_BYTES], "big"), rest[NUMBER_BYTES:]


def is_proven(secret: bytes, lease: bytes, number: int, proof: bytes) -> bool:
    """Tell whether the holder of the secret has written this."""
    return compare_digest(proof, _proof(secret, lease, number))


def order_of(number: int, socket: int) -> bytes:
    """Ask for stream `number`, from socket 0 (inbox), 1 (multicast) or 2 (door)."""
    return number.to_bytes(NUMBER_BYTES, "big") + bytes((socket,))


def order_in(order: bytes) -> tuple[int, int]:
    """Return number and socket; the caller has to check whether there is such a socket."""
    return int.from_bytes(order[:NUMBER_BYTES], "big"), order[NUMBER_BYTES]


def _proof(secret: bytes, lease: bytes, number: int) -> bytes:
    told = lease + number.to_bytes(NUMBER_BYTES, "big")
    return blake2b(told, key=secret, digest_size=PROOF_BYTES, person=b"tmrelay head").digest()
