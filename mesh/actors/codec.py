"""Messages to bytes and back: MessagePack arrays, typed and validated by msgspec while decoding.

Which messages there are is not known here: who decodes says what types it expects. Each of them has a tag of
its own (`class Ping(Message, tag=1)`), and a frame with another tag is refused.

*Versions.* A peer reads frames of its own version of the protocol and of the one before, and writes both, so
that a mesh is upgraded peer by peer while it runs. A frame of the version before says in a part at its end,
which that version does not look at, that its sender speaks a newer one; see `versions` for who is written to
in which. What only adds needs no new version: fields at the end of a message, with a default, and messages.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import cache, reduce
from typing import Final, Generic, TypeVar, get_type_hints

import msgspec
from msgspec.structs import replace

from mesh.actors.actor import Message
from mesh.errors import RemoteProtocolError
from mesh.slot_set import without_third_form
from mesh.wire_fields import Name, SlotSet

# Since 4 a frame can say that its sender speaks a newer version than it is of; since 5 sets of slots have a
# third form.
PROTOCOL_VERSION: Final = 5
VERSION_BEFORE: Final = PROTOCOL_VERSION - 1  # that peers may still run

FRAME_BYTES_MAX: Final = 16 << 20  # the largest page with its records and text, and slack

_Messages = TypeVar("_Messages", bound=Message)


class Envelope(msgspec.Struct, Generic[_Messages], frozen=True, array_like=True):
    """One frame: a message and the actors at both ends of it, on any peers."""

    version: int
    source: Name
    target: Name
    message: _Messages
    newest: int = 0  # version that its sender speaks, if that is above the version of the frame

    @property
    def spoken(self) -> int:
        """The newest version that the sender speaks."""
        return max(self.version, self.newest)


class ForeignVersionError(RemoteProtocolError):
    """A frame of a version that this peer does not speak."""

    def __init__(self, version: int) -> None:
        super().__init__(
            f"protocol version {version} meets a peer that speaks {VERSION_BEFORE} and {PROTOCOL_VERSION}: "
            "peers of one mesh may be one version apart, install the newer tianmesh where the older one runs"
        )
        self.version = version


_encoder = msgspec.msgpack.Encoder()


def encode(source: str, target: str, message: Message, version: int = PROTOCOL_VERSION) -> bytes:
    """The frame that carries a wire message from one actor to another.

    Args:
      version: that its receiver speaks.
    """
    if version == PROTOCOL_VERSION:
        return _encoder.encode((version, source, target, message))
    return _encoder.encode((version, source, target, as_before(message), PROTOCOL_VERSION))


def as_before(message: Message) -> Message:
    """Return a message as the version before knows it."""
    sets = {name: getattr(message, name) for name in _slot_sets_of(type(message))}
    known = {name: without_third_form(encoded) for name, encoded in sets.items()}
    return message if known == sets else replace(message, **known)


@cache
def _slot_sets_of(kind: type[Message]) -> tuple[str, ...]:
    """Return the names of the fields that are sets of slots."""
    types = get_type_hints(kind, include_extras=True)
    return tuple(name for name in kind.__struct_fields__ if types[name] == SlotSet)


class Decoder:
    """Reads frames with messages of given types, and refuses all others."""

    def __init__(self, types: Iterable[type[Message]]) -> None:
        """Prepare for these types, at least one; making a decoder takes longer than a frame does.

        Raises:
          TypeError: two of them have the same tag, or one of several has none.
        """
        self._decoder: msgspec.msgpack.Decoder[Envelope[Message]]
        # The type checker knows no union that is made while the program runs.
        self._decoder = msgspec.msgpack.Decoder(Envelope[reduce(operator.or_, types)])  # type: ignore[misc]

    def decode(self, frame: bytes) -> Envelope[Message]:
        """Read a frame.

        Raises:
          ForeignVersionError: of a version that is neither ours nor the one before.
          RemoteProtocolError: too long, not MessagePack, unknown tag, or a value out of its limits.
        """
        if len(frame) > FRAME_BYTES_MAX:
            raise RemoteProtocolError(f"frame of {len(frame)} bytes is over the limit")
        try:
            envelope = self._decoder.decode(frame)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            _check_version(_version_in(frame))
            raise RemoteProtocolError(f"undecodable frame of {len(frame)} bytes: {error}") from error
        if envelope.version != PROTOCOL_VERSION:
            _check_version(envelope.version)
        return envelope


def _check_version(version: int) -> None:
    if not VERSION_BEFORE <= version <= PROTOCOL_VERSION:
        raise ForeignVersionError(version)


def _version_in(frame: bytes) -> int:
    """The version of a frame that cannot be read, for that may be why; ours if it has none."""
    try:
        return _decode_version(frame).version
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return PROTOCOL_VERSION


class _Version(msgspec.Struct, frozen=True, array_like=True):
    """The field with which frames of all versions begin."""

    version: int


_decode_version: Final = msgspec.msgpack.Decoder(_Version).decode
