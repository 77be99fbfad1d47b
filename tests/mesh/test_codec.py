"""Frames: every message comes back as it went, and bytes of any kind do no harm."""

from __future__ import annotations

import sys
import typing
from enum import Enum
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta

from mesh import messages
from mesh.actor import Message
from mesh.codec import decode, encode
from mesh.document import Document
from mesh.errors import RemoteProtocolError
from mesh.messages import (
    FRAME_BYTES_MAX,
    GOSSIP_MAX,
    LINKS_MAX,
    MEMBERS_MAX,
    PROTOCOL_VERSION,
    FoundLink,
    LinksFound,
    Ping,
    PingAnswered,
    Rumour,
    WireMessage,
)
from tests.mesh.membership_world import record_of

WIRE_MESSAGES: tuple[type[Message], ...] = typing.get_args(WireMessage)

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
    "DrainPeer": 10,
    "LinksFound": 20,
    "LinksAccepted": 21,
    "ItemsChanged": 22,
    "ItemsKept": 23,
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
    "StatusWanted": 50,
    "StatusTold": 51,
    "ClaimSlots": 60,
    "SlotsYielded": 61,
    "CompareSlots": 62,
    "SlotsCompared": 63,
    "SendItems": 64,
    "ItemsSent": 65,
    "ItemsTaken": 66,
    "SlotsTaken": 67,
    "CopiesWanted": 68,
    "OfferSlots": 69,
}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type within its limits, lists kept short."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return limited(arguments[0], next(meta for meta in arguments[1:] if isinstance(meta, Meta)))
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, arguments))
    if arguments:  # a union
        return st.one_of(*map(values_of, arguments))
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return structs_of(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(annotation)
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
    if annotation in (str, bytes):
        values = st.text if annotation is str else st.binary
        return values(min_size=meta.min_length or 0, max_size=min(meta.max_length or 20, 20))
    return values_of(annotation)


def structs_of(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(kind, vars(sys.modules[kind.__module__]), include_extras=True)
    return st.builds(kind, **{name: values_of(hints[name]) for name in kind.__struct_fields__})


wire_messages = st.one_of([structs_of(kind) for kind in WIRE_MESSAGES])


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


def test_tags_are_unique_and_listed_for_ever() -> None:
    assert {kind.__name__: kind.__struct_config__.tag for kind in WIRE_MESSAGES} == TAGS
    assert len(set(TAGS.values())) == len(TAGS)


def test_every_tagged_message_can_be_decoded() -> None:
    tagged = {
        kind
        for kind in vars(messages).values()
        if isinstance(kind, type) and issubclass(kind, Message) and kind.__struct_config__.tag is not None
    }
    assert tagged == set(WIRE_MESSAGES)


def test_every_wire_message_says_who_sends_it() -> None:
    assert all(kind.__doc__ and not kind.__doc__.startswith(kind.__name__) for kind in WIRE_MESSAGES)


def test_another_reader_sees_plain_messagepack_arrays() -> None:
    frame = encode("a", "b", PingAnswered(7, "p"))
    assert msgpack.unpackb(frame) == [PROTOCOL_VERSION, "a", "b", [2, 7, "p", [], 0, 0]]


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


@pytest.mark.parametrize("nesting", [b"\x91", b"\x81\xa0", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff"])
def test_deep_nesting_and_boasted_lengths_are_refused(nesting: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode(nesting * 100_000)
    with pytest.raises(RemoteProtocolError):
        decode(b"\x94\x01\xa1a\xa1b" + b"\x93\x01\x01" + nesting * 100_000)


def test_a_frame_over_the_limit_is_refused_unread() -> None:
    with pytest.raises(RemoteProtocolError, match="over the limit"):
        decode(bytes(FRAME_BYTES_MAX + 1))


def test_another_protocol_version_is_refused() -> None:
    frame = msgpack.packb([PROTOCOL_VERSION + 1, "a", "b", [1, 7, []]])
    with pytest.raises(RemoteProtocolError, match=f"protocol version {PROTOCOL_VERSION + 1}"):
        decode(frame)


@pytest.mark.parametrize(
    "message",
    [
        Ping(1, (Rumour(record_of("p"), 0),) * (GOSSIP_MAX + 1)),
        Ping(-1),
        Ping(1, (Rumour(record_of("p"), 4),)),
        Ping(1, (Rumour(record_of("p" * 65), 0),)),
        Ping(1, (Rumour(record_of("p", weight=65_537), 0),)),
        Ping(1, (Rumour(record_of("p", incarnation=-1), 0),)),
        messages.Welcomed((Rumour(record_of("p"), 0),) * (MEMBERS_MAX + 1)),
        messages.JoinRefused("x" * 301),
        LinksFound(1, (FoundLink("http://a/"),) * (LINKS_MAX + 1)),
        LinksFound(1, (FoundLink("http://a/" + "x" * messages.URL_CHARS_MAX),)),
        LinksFound(1, (FoundLink(""),)),
        messages.CountTerms(1, ("x" * 257,)),
        messages.CountTerms(1, ("x",) * (messages.TERMS_MAX + 1)),
        messages.ReadExcerpts(1, b"", ("http://a/",) * (messages.SNIPPETS_MAX + 1)),
        messages.HitsFound(1, b"", 0, 0, (messages.Hit("http://a/", 1.0),) * (messages.HITS_MAX + 1)),
        messages.StatusTold(1, bytes(65_537)),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_is_over_a_limit_is_refused(message: Message) -> None:
    with pytest.raises(RemoteProtocolError, match="undecodable"):
        decode(encode("a", "b", message))


def test_the_longest_welcome_fits_a_frame() -> None:
    record = record_of(
        "p" * 64,
        endpoint="e" * 300,
        multicast="m" * 300,
        door="d" * 300,
        gateway="g" * 300,
        curve_key=bytes(128),
        signing_key=bytes(128),
        certificate=bytes(128),
    )
    frame = encode("a", "b", messages.Welcomed((Rumour(record, 0),) * MEMBERS_MAX))
    assert len(frame) <= FRAME_BYTES_MAX
    decode(frame)


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_names_of_actors_have_limits(name: str) -> None:
    with pytest.raises(RemoteProtocolError):
        decode(encode(name, "b", Ping(1)))


def test_a_field_of_a_later_version_is_tolerated() -> None:
    later = msgpack.packb([PROTOCOL_VERSION, "a", "b", [1, 7, [], 0, 0, "new field"], "new part"])
    assert decode(later).message == Ping(7)


def test_a_field_that_an_earlier_version_lacks_has_its_default() -> None:
    earlier = msgpack.packb([PROTOCOL_VERSION, "a", "b", [20, 7, [["http://a/"]]]])
    assert decode(earlier).message == LinksFound(7, (FoundLink("http://a/"),))


def test_text_that_is_no_utf8_is_refused() -> None:
    with pytest.raises(RemoteProtocolError):
        decode(b"\x94\x01\xa1a\xa1b" + b"\x94\x02\x07\xa2\xff\xfe\x90")


def test_documents_travel_whole() -> None:
    document = Document("http://a/", "标题", "", "文本", ("锚",), "zh", 1.5)
    message = messages.ReplicatePage(messages.StoredPage("http://a/", 1, 1.5, 200, b"\x00\xff", document))
    assert decode(encode("cell", "cell", message)).message == message


def read_or_refused(frame: bytes) -> None:
    """Decode; anything but a message or a `RemoteProtocolError` fails the test."""
    try:
        envelope = decode(frame)
    except RemoteProtocolError:
        return
    assert isinstance(envelope.message, WIRE_MESSAGES)
    decode(encode(envelope.source, envelope.target, envelope.message))
