"""The command `tianmesh` as of the version of the protocol before this one. [io]

Frames are written and read as that version did: it knew no other version, refused every frame that was not of
its own, and said nothing of what else it speaks. It knew two forms of sets of slots; the third was nonsense
to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import msgspec

from mesh import slot_set
from mesh.actors import codec
from mesh.actors.actor import Message
from mesh.actors.codec import VERSION_BEFORE, Decoder, Envelope
from mesh.errors import RemoteProtocolError

_pack = msgspec.msgpack.Encoder().encode
_read: Callable[[Decoder, bytes], Envelope[Message]] = Decoder.decode


def encode(source: str, target: str, message: Message, version: int = VERSION_BEFORE) -> bytes:
    return _pack((VERSION_BEFORE, source, target, message))


def no_third_form(slots: object, mask_bytes: int) -> bytes:
    return b""


def refused(encoded: bytes, slot_count: int) -> NoReturn:
    raise RemoteProtocolError(f"{len(encoded)} bytes that are no slot set")


def decode(decoder: Decoder, frame: bytes) -> Envelope[Message]:
    envelope = _read(decoder, frame)
    if envelope.version != VERSION_BEFORE:
        raise RemoteProtocolError(f"frame of protocol version {envelope.version}, not {VERSION_BEFORE}")
    return Envelope(envelope.version, envelope.source, envelope.target, envelope.message)


if __name__ == "__main__":
    codec.encode = encode
    Decoder.decode = decode  # type: ignore[method-assign, assignment]
    slot_set._split = no_third_form
    slot_set._joined = refused
    from peers.cli import main  # only now: others take `encode` by its name

    main()
