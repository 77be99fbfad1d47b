"""Messages to bytes and back: MessagePack arrays, typed and validated by msgspec while decoding.

Which messages there are is not known here: who decodes says what types it expects. Each of them has a tag of
its own (`class Ping(Message, tag=1)`), and a frame with another tag is refused.

*Versions.* A peer reads frames of its own version of the protocol and of those down to `OLDEST_VERSION`, and
writes them, so that a mesh is upgraded peer by peer while it runs. A frame of an older version says in a part
at its end, which that version passes over, that its sender speaks a newer one; `versions` chooses in which
version each peer is written to. New fields at the end of a message, with a default, and new messages need no
new version. Compatibility begins with the first release: until then the oldest version is the newest.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce
from typing import Final, Generic, TypeVar

import msgspec

from mesh.actors.actor import Message
from mesh.errors import RemoteProtocolError
from mesh.wire_fields import Name

PROTOCOL_VERSION: Final = 7
OLDEST_VERSION: Final = 7  # that members may still run; one below the newest while a mesh is upgraded

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

    def __init__(self, version: int, newest: int) -> None:
        super().__init__(
            f"protocol version {version} meets a peer that speaks {OLDEST_VERSION} to {newest}: "
            "install the newer tianmesh where the older one runs"
        )
        self.version = version


_encoder = msgspec.msgpack.Encoder()


def encode(
    source: str,
    target: str,
    message: Message,
    version: int = PROTOCOL_VERSION,
    *,
    newest: int = PROTOCOL_VERSION,
) -> bytes:
    """The frame that carries a wire message from one actor to another.

    Args:
      version: that its receiver speaks.
      newest: that this peer speaks.
    """
    if version == newest:
        return _encoder.encode((version, source, target, message))
    return _encoder.encode((version, source, target, message, newest))


class Decoder:
    """Reads frames with messages of given types, and refuses all others."""

    def __init__(self, types: Iterable[type[Message]], *, newest: int = PROTOCOL_VERSION) -> None:
        """Prepare for these types, at least one; making a decoder takes longer than a frame does.

        Args:
          newest: version that this peer speaks.

        Raises:
          TypeError: two of them have the same tag, or one of several has none.
        """
        self._newest = newest
        self._decoder: msgspec.msgpack.Decoder[Envelope[Message]]
        # The type checker knows no union that is made while the program runs.
        self._decoder = msgspec.msgpack.Decoder(Envelope[reduce(operator.or_, types)])  # type: ignore[misc]

    def decode(self, frame: bytes) -> Envelope[Message]:
        """Read a frame.

        Raises:
          ForeignVersionError: of a version that this peer does not speak.
          RemoteProtocolError: too long, not MessagePack, unknown tag, or a value out of its limits.
        """
        if len(frame) > FRAME_BYTES_MAX:
            raise RemoteProtocolError(f"frame of {len(frame)} bytes is over the limit")
        try:
            envelope = self._decoder.decode(frame)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            self._check_version(_version_in(frame))
            raise RemoteProtocolError(f"undecodable frame of {len(frame)} bytes: {error}") from error
        if envelope.version != self._newest:
            self._check_version(envelope.version)
        return envelope

    def _check_version(self, version: int) -> None:
        if not OLDEST_VERSION <= version <= self._newest:
            raise ForeignVersionError(version, self._newest)


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
