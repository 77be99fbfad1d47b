"""The messages of the wire: each has a tag for ever, comes back as it went, and keeps within its limits."""

from __future__ import annotations

import ast
import re
import typing
from enum import Enum
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta

from mesh.actors.actor import Message
from mesh.actors.codec import PROTOCOL_VERSION, encode
from mesh.errors import RemoteProtocolError
from mesh.keys.decree import DecreeName
from mesh.stamp import Stamp
from mesh.urls import URL_CHARS_MAX
from peers.crawler.model.wire_messages import LINKS_MAX, FoundLink, LinksFound
from peers.engine.pages.document import Document
from peers.gateway.model.wire_messages import StatusTold
from peers.index.wire_messages import (
    COMPLETIONS_MAX,
    HITS_MAX,
    SNIPPETS_MAX,
    TERMS_MAX,
    TYPED_CHARS_MAX,
    Completed,
    CompleteTyped,
    CountTerms,
    Hit,
    HitsFound,
    ReadExcerpts,
    TypedCompleted,
)
from peers.storage.wire_messages import ReplicatePage, StoredPage
from peers.wire_tags import WIRE_TAGS
from tests.frames import decode

ROOT = Path(__file__).parents[2]
PACKAGES = ("mesh", "peers", "bootstrap", "simulations")
WIRE_MESSAGES = tuple(WIRE_TAGS.values())

# A tag is for ever. Add new ones; never change or reuse one.
TAGS = {
    "Ping": 1,
    "PingAnswered": 2,
    "PingRequested": 3,
    "JoinMesh": 4,
    "Welcomed": 5,
    "JoinRefused": 6,
    "MembersWanted": 7,
    "MembersTold": 8,
    "RumoursSpread": 9,
    "DecreesNamed": 11,
    "DecreesWanted": 12,
    "DecreesTold": 13,
    "CallBack": 14,
    "CalledBack": 15,
    "BorrowPorts": 16,
    "PortsLent": 17,
    "LinksFound": 20,
    "LinksAccepted": 21,
    "ItemsChanged": 22,
    "ItemsKept": 23,
    "ExplainUrl": 24,
    "UrlExplained": 25,
    "ExplainCrawl": 26,
    "CrawlExplained": 27,
    "CheckPages": 28,
    "PagesChecked": 29,
    "ReplicatePage": 30,
    "PageReplicated": 31,
    "PageNotReplicated": 39,
    "ReadPage": 34,
    "PageRead": 35,
    "ImportPage": 36,
    "PageImported": 37,
    "ImportRefused": 38,
    "CountTerms": 40,
    "TermsCounted": 41,
    "SearchSlots": 42,
    "HitsFound": 43,
    "ReadExcerpts": 44,
    "ExcerptsRead": 45,
    "CompleteTyped": 46,
    "TypedCompleted": 47,
    "AskGroup": 48,
    "GroupAnswered": 49,
    "StatusWanted": 50,
    "StatusTold": 51,
    "HistoryWanted": 52,
    "HistoryTold": 53,
    "ClaimSlots": 60,
    "SlotsYielded": 61,
    "CompareSlots": 62,
    "SlotsCompared": 63,
    "SendItems": 64,
    "ItemsSent": 65,
    "ItemsTaken": 66,
    "SlotsTaken": 67,
    "ReplicasWanted": 68,
    "OfferSlots": 69,
    "ListVersions": 75,
    "VersionsListed": 76,
    "LeaseAddress": 85,
    "AddressLeased": 86,
    "AddressReturned": 87,
    "TellLeases": 88,
    "LeasesTold": 89,
    "ContentsTold": 100,
    "ContentsNoted": 101,
    "RolesTold": 102,
    "RolesNoted": 103,
    "MarksWanted": 104,
    "MarksTold": 105,
    "HomeTold": 106,
    "HomesTold": 107,
    "DemandTold": 120,
    "LendTurn": 121,
    "TurnLent": 122,
    "LookAtPage": 123,
    "PageObserved": 124,
    "HastenUrls": 125,
    "UrlsHastened": 126,
    "SearchesTold": 127,
    "SearchesNoted": 128,
    "LogWanted": 129,
    "LogTold": 130,
    "ClaimDomain": 131,
    "SubmitSite": 132,
    "JudgeSubmission": 133,
    "SubmissionAnswered": 134,
    "ReadSubmissions": 135,
    "SubmissionsTold": 136,
    "GraphTold": 137,
    "GraphNoted": 138,
    "ListBacklinks": 139,
    "BacklinksListed": 140,
    "NoticesWanted": 141,
    "NoticesTold": 142,
    "AskPast": 143,
    "ClicksWanted": 144,
    "ClicksTold": 145,
    "ReportPage": 146,
    "RanksTold": 150,
    "RanksHeld": 151,
    "RanksBegun": 152,
    "RanksHeard": 153,
    "ListRanks": 154,
    "RanksListed": 155,
    "ListNeighbours": 176,
    "NeighboursListed": 177,
    "KeepSealed": 156,
    "SealedKept": 157,
    "ReadSealed": 158,
    "SealedTold": 159,
    "VisitsTold": 160,
    "VisitsNoted": 161,
    "CountsWanted": 162,
    "CountsTold": 163,
}

RETIRED_TAGS = {10, 32, 33}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type within its limits, lists kept short."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return limited(arguments[0], next(meta for meta in arguments[1:] if isinstance(meta, Meta)))
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, arguments))
    if origin is dict:
        return st.dictionaries(*map(values_of, arguments), max_size=3)
    if arguments:  # a union
        return st.one_of(*map(values_of, arguments))
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return structs_of(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    if annotation in (Stamp, DecreeName):
        hints = typing.get_type_hints(annotation, include_extras=True)
        return st.builds(annotation, *(values_of(hints[name]) for name in annotation._fields))
    plain: dict[Any, st.SearchStrategy[Any]] = {
        int: st.integers(-(2**63), 2**63),
        str: st.text(max_size=20),
        bytes: st.binary(max_size=20),
        float: st.floats(allow_nan=False),
        bool: st.booleans(),
        type(None): st.none(),
    }
    return plain[annotation]


def limited(annotation: Any, meta: Meta) -> st.SearchStrategy[Any]:
    if annotation is int:
        above = None if meta.lt is None else int(meta.lt) - 1
        most = 2**63 if meta.le is None else int(meta.le)
        return st.integers(int(meta.ge or 0), most if above is None else above)
    if annotation is float:
        return st.floats(meta.gt if meta.ge is None else meta.ge, meta.le, exclude_min=meta.ge is None)
    if meta.pattern is not None:
        return st.from_regex(re.compile(meta.pattern.replace("$", r"\Z"), re.ASCII))
    if annotation in (str, bytes):
        values = st.text if annotation is str else st.binary
        least = meta.min_length or 0
        return values(min_size=least, max_size=max(least, min(meta.max_length or 20, 20)))
    return values_of(annotation)


def structs_of(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return st.builds(kind, **{name: values_of(hints[name]) for name in kind.__struct_fields__})


wire_messages = st.one_of([structs_of(kind) for kind in WIRE_MESSAGES])


def test_tags_are_unique_and_listed_for_ever() -> None:
    assert {kind.__name__: tag for tag, kind in WIRE_TAGS.items()} == TAGS
    assert len(set(TAGS.values())) == len(TAGS)
    assert not RETIRED_TAGS & WIRE_TAGS.keys()


@pytest.mark.parametrize("tag", WIRE_TAGS, ids=lambda tag: str(WIRE_TAGS[tag].__name__))
def test_a_message_has_the_tag_that_it_is_listed_by(tag: int) -> None:
    assert WIRE_TAGS[tag].__struct_config__.tag == tag


def test_every_message_with_a_tag_is_listed_and_stands_with_its_conversation() -> None:
    tagged = {
        (path.relative_to(ROOT), node.name)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and is_tagged_message(node)
    }
    assert tagged == {(file_of(kind), kind.__name__) for kind in WIRE_MESSAGES}
    assert {path.name for path, _ in tagged} == {"wire_messages.py"}


def is_tagged_message(definition: ast.ClassDef) -> bool:
    """Has it a tag, and is it no other value that is kept with one?"""
    has_tag = any(keyword.arg in ("tag", None) for keyword in definition.keywords)
    return has_tag and "msgspec.Struct" not in map(ast.unparse, definition.bases)


def file_of(kind: type[Message]) -> Path:
    return Path(*kind.__module__.split(".")).with_suffix(".py")


def test_every_wire_message_says_who_sends_it() -> None:
    assert all(kind.__doc__ and not kind.__doc__.startswith(kind.__name__) for kind in WIRE_MESSAGES)


@pytest.mark.parametrize("kind", WIRE_MESSAGES, ids=lambda kind: str(kind.__name__))
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_every_message_comes_back_as_it_went(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(structs_of(kind))
    frame = encode("here", "there", message)
    envelope = decode(frame)
    assert (envelope.version, envelope.source, envelope.target) == (PROTOCOL_VERSION, "here", "there")
    assert type(envelope.message) is kind
    assert envelope.message == message


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_refused_or_read(frame: bytes) -> None:
    read_or_refused(frame)


@given(wire_messages, st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_frames_are_refused_or_read(message: Message, data: st.DataObject) -> None:
    frame = bytearray(encode("here", "there", message))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(frame) - 1))
        frame[position] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(frame)))
    read_or_refused(bytes(frame))
    read_or_refused(bytes(frame[:cut]))


json_like = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


@given(st.integers(0, 60), json_like)
@settings(max_examples=300, deadline=None)
def test_well_formed_nonsense_is_refused_or_read(tag: int, nonsense: Any) -> None:
    read_or_refused(msgpack.packb([PROTOCOL_VERSION, "a", "b", [tag, nonsense]]))
    read_or_refused(msgpack.packb([PROTOCOL_VERSION, "a", "b", nonsense]))
    read_or_refused(msgpack.packb(nonsense))


@pytest.mark.parametrize(
    "message",
    [
        LinksFound(1, (FoundLink("http://a/"),) * (LINKS_MAX + 1)),
        LinksFound(1, (FoundLink("http://a/" + "x" * URL_CHARS_MAX),)),
        LinksFound(1, (FoundLink(""),)),
        CountTerms(1, ("x" * 257,)),
        CountTerms(1, ("x",) * (TERMS_MAX + 1)),
        CompleteTyped(1, "x" * (TYPED_CHARS_MAX + 1)),
        TypedCompleted(1, (Completed("x", 0, 1),) * (COMPLETIONS_MAX + 1)),
        ReadExcerpts(1, b"", ("http://a/",) * (SNIPPETS_MAX + 1)),
        HitsFound(1, b"", 0, 0, (Hit("http://a/", 1.0),) * (HITS_MAX + 1)),
        StatusTold(1, bytes(65_537)),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_is_over_a_limit_is_refused(message: Message) -> None:
    with pytest.raises(RemoteProtocolError, match="undecodable"):
        decode(encode("a", "b", message))


def test_a_field_that_an_earlier_version_lacks_has_its_default() -> None:
    earlier = msgpack.packb([PROTOCOL_VERSION, "a", "b", [20, 7, [["http://a/"]]]])
    assert decode(earlier).message == LinksFound(7, (FoundLink("http://a/"),))


def test_documents_travel_whole() -> None:
    document = Document("http://a/", "标题", "", "文本", ("锚",), "zh", 1.5)
    message = ReplicatePage(StoredPage("http://a/", 1, 1.5, 200, b"\x00\xff", document))
    assert decode(encode("cell", "cell", message)).message == message


def read_or_refused(frame: bytes) -> None:
    """Decode; anything but a message or a `RemoteProtocolError` fails the test."""
    try:
        envelope = decode(frame)
    except RemoteProtocolError:
        return
    assert isinstance(envelope.message, WIRE_MESSAGES)
    decode(encode(envelope.source, envelope.target, envelope.message))
