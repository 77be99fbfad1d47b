"""The messages between a peer and the processes that work on its pages, as bytes. Pure.

Both directions are decoded with types: what comes back may have been written by a page.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

import msgspec

from peers.crawler.model.messages import PageParsed, ParseFailed, ParsePage, ParseRobots, RobotsParsed
from peers.crawler.model.robots import DISALLOW_FOR_NOW
from peers.crawler.model.web_request import FailureReason
from peers.storage.messages import ParseRecords, RecordsParsed


class DecodeBeginning(msgspec.Struct, frozen=True, array_like=True):
    """Undo the content codings of a body, of each only so many bytes: `BeginningDecoded | NotDecoded`."""

    body: bytes
    codings: str
    n_bytes: int


class SoughtList(msgspec.Struct, frozen=True, array_like=True):
    """A list of strings that are sought in pages, as a decree has it."""

    number: int  # of the decree
    digest: bytes  # b"" for no list
    body: bytes = b""  # b"" when the process may know it


NO_LIST: Final = SoughtList(0, b"")


class ParseWatched(msgspec.Struct, frozen=True, array_like=True):
    """Take a page apart, and find the entries of a watch list and the strings of topics in it.

    Answered as `ParsePage`, or by `ListWanted`, when the process does not know a list and it is not here.
    """

    page: ParsePage
    watch: SoughtList = NO_LIST
    topics: SoughtList = NO_LIST

    @property
    def url(self) -> str:
        return self.page.url


class ListWanted(msgspec.Struct, frozen=True, array_like=True):
    """The page is to be ordered again, with the lists."""


class BeginningDecoded(msgspec.Struct, frozen=True, array_like=True):
    """As `decoding.Decoded`."""

    body: bytes
    is_whole: bool


class NotDecoded(msgspec.Struct, frozen=True, array_like=True):
    """The body is not in these codings."""

    detail: str


ParserOrder: TypeAlias = ParsePage | ParseRecords | ParseRobots
ParserAnswer: TypeAlias = PageParsed | ParseFailed | RecordsParsed | RobotsParsed
Order: TypeAlias = ParserOrder | DecodeBeginning | ParseWatched
Answer: TypeAlias = ParserAnswer | BeginningDecoded | NotDecoded | ListWanted


def given_up(
    order: ParserOrder | ParseWatched, reason: FailureReason
) -> ParseFailed | RecordsParsed | RobotsParsed:
    """Return the answer to an order that cannot be carried out."""
    match order:
        case ParsePage() | ParseWatched():
            return ParseFailed(order.url, reason)
        case ParseRobots():
            return RobotsParsed(order.origin, DISALLOW_FOR_NOW, judged=order.judged)
        case ParseRecords():
            return RecordsParsed(order.url, order.stamp, None)


def encode(said: Order | Answer) -> bytes:
    return msgspec.msgpack.encode(_TAGGED[type(said)](said))


def decode_task(encoded: bytes) -> Order:
    order: Order = _orders.decode(encoded).content
    return order


def decode_answer(encoded: bytes) -> Answer:
    """Decode the answer of a process.

    Raises:
      msgspec.MsgspecError: no process of ours would say that.
    """
    answer: Answer = _answers.decode(encoded).content
    return answer


def _tagged(kinds: Sequence[type]) -> dict[type, Any]:
    """Make for each kind a struct that has one as its `content`, with its place among them as the tag.

    Most of them are messages that never leave a peer, so they have no tag of their own.
    """
    return {
        kind: msgspec.defstruct(kind.__name__, [("content", kind)], frozen=True, array_like=True, tag=tag)
        for tag, kind in enumerate(kinds)
    }


def _decoder_of(kinds: Sequence[type]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(reduce(operator.or_, (_TAGGED[kind] for kind in kinds)))


_ORDERS: Final = (ParsePage, ParseRecords, ParseRobots, DecodeBeginning, ParseWatched)
_ANSWERS: Final = (
    PageParsed,
    ParseFailed,
    RecordsParsed,
    RobotsParsed,
    BeginningDecoded,
    NotDecoded,
    ListWanted,
)
_TAGGED: Final = _tagged(_ORDERS) | _tagged(_ANSWERS)
_orders = _decoder_of(_ORDERS)
_answers = _decoder_of(_ANSWERS)
