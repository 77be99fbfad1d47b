"""What a peer and the processes that work on its pages say to each other, as bytes. Pure.

Both directions are decoded with types: what comes back may have been written by a page.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from peers.crawler.messages import PageParsed, ParseFailed, ParsePage
from peers.crawler.web_request import FailureReason
from peers.storage.messages import ParseRecords, RecordsParsed


class DecodeBeginning(msgspec.Struct, frozen=True, array_like=True):
    """Undo the content codings of a body, of each only so many bytes: `BeginningDecoded | Undecodable`."""

    body: bytes
    codings: str
    n_bytes: int


class BeginningDecoded(msgspec.Struct, frozen=True, array_like=True):
    """As `decoding.Decoded`."""

    body: bytes
    is_whole: bool


class NotDecoded(msgspec.Struct, frozen=True, array_like=True):
    """The body is not in these codings."""

    detail: str


Order: TypeAlias = ParsePage | ParseRecords | DecodeBeginning
Answer: TypeAlias = PageParsed | ParseFailed | RecordsParsed | BeginningDecoded | NotDecoded


def given_up(order: ParsePage | ParseRecords, reason: FailureReason) -> ParseFailed | RecordsParsed:
    """What is answered to an order that cannot be carried out."""
    if isinstance(order, ParsePage):
        return ParseFailed(order.url, reason)
    return RecordsParsed(order.url, order.stamp, None)


def encode(said: Order | Answer) -> bytes:
    return msgspec.msgpack.encode(_TAGGED[type(said)](said))


def decode_order(encoded: bytes) -> Order:
    order: Order = _orders.decode(encoded).content
    return order


def decode_answer(encoded: bytes) -> Answer:
    """Return what a process has answered.

    Raises:
      msgspec.MsgspecError: no process of ours would say that.
    """
    answer: Answer = _answers.decode(encoded).content
    return answer


# Most of these are messages that never leave a peer, so they have no tag of their own.


class _ParsePage(msgspec.Struct, frozen=True, array_like=True, tag=0):
    content: ParsePage


class _ParseRecords(msgspec.Struct, frozen=True, array_like=True, tag=1):
    content: ParseRecords


class _DecodeBeginning(msgspec.Struct, frozen=True, array_like=True, tag=2):
    content: DecodeBeginning


class _PageParsed(msgspec.Struct, frozen=True, array_like=True, tag=0):
    content: PageParsed


class _ParseFailed(msgspec.Struct, frozen=True, array_like=True, tag=1):
    content: ParseFailed


class _RecordsParsed(msgspec.Struct, frozen=True, array_like=True, tag=2):
    content: RecordsParsed


class _BeginningDecoded(msgspec.Struct, frozen=True, array_like=True, tag=3):
    content: BeginningDecoded


class _NotDecoded(msgspec.Struct, frozen=True, array_like=True, tag=4):
    content: NotDecoded


_TAGGED: Final = {
    ParsePage: _ParsePage,
    ParseRecords: _ParseRecords,
    DecodeBeginning: _DecodeBeginning,
    PageParsed: _PageParsed,
    ParseFailed: _ParseFailed,
    RecordsParsed: _RecordsParsed,
    BeginningDecoded: _BeginningDecoded,
    NotDecoded: _NotDecoded,
}
_orders = msgspec.msgpack.Decoder(_ParsePage | _ParseRecords | _DecodeBeginning)
_answers = msgspec.msgpack.Decoder(
    _PageParsed | _ParseFailed | _RecordsParsed | _BeginningDecoded | _NotDecoded
)
