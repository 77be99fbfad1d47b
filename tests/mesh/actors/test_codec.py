"""Frames: a message comes back as it went, and bytes of any kind do no harm."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.actors.actor import Message
from mesh.actors.codec import (
    FRAME_BYTES_MAX,
    OLDEST_VERSION,
    PROTOCOL_VERSION,
    Decoder,
    ForeignVersionError,
    encode,
)
from mesh.errors import RemoteProtocolError
from mesh.membership.model.wire_messages import (
    GOSSIP_MAX,
    MEMBERS_MAX,
    DecreesNamed,
    JoinRefused,
    Ping,
    PingAnswered,
    Rumour,
    Welcomed,
)
from tests.mesh.membership_world import record_of

MESSAGES = (Ping, PingAnswered, Welcomed, JoinRefused)

decode = Decoder(MESSAGES).decode


class OtherPing(Message, frozen=True, array_like=True, tag=1):
    """Has a tag that is another message's."""


@pytest.mark.parametrize("message", [Ping(7), PingAnswered(7, "p"), Welcomed(()), JoinRefused("no")])
def test_a_message_comes_back_as_it_went(message: Message) -> None:
    envelope = decode(encode("here", "there", message))
    assert (envelope.version, envelope.source, envelope.target) == (PROTOCOL_VERSION, "here", "there")
    assert type(envelope.message) is type(message)
    assert envelope.message == message


def test_a_message_that_is_not_expected_is_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="undecodable"):
        decode(encode("here", "there", DecreesNamed(())))


def test_one_type_may_be_all_that_is_expected() -> None:
    only_pings = Decoder((Ping,)).decode
    assert only_pings(encode("here", "there", Ping(7))).message == Ping(7)
    with pytest.raises(RemoteProtocolError, match="undecodable"):
        only_pings(encode("here", "there", PingAnswered(7, "p")))


@pytest.mark.parametrize("other", [OtherPing, Message], ids=["the same tag", "no tag"])
def test_messages_that_cannot_be_told_apart_are_not_decoded(other: type[Message]) -> None:
    with pytest.raises(TypeError):
        Decoder((Ping, other))


def test_another_reader_sees_plain_messagepack_arrays() -> None:
    frame = encode("a", "b", PingAnswered(7, "p"))
    assert msgpack.unpackb(frame) == [PROTOCOL_VERSION, "a", "b", [2, 7, "p", [], 0, 0, b"", False]]


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_refused_or_read(frame: bytes) -> None:
    read_or_refused(frame)


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


@pytest.mark.parametrize("version", [OLDEST_VERSION - 1, PROTOCOL_VERSION + 1, 0, -1, 2**63])
@pytest.mark.parametrize("message", [[1, 7, []], ["of another shape"], "and even", {"of another": "kind"}])
def test_other_versions_are_refused_with_a_sentence_that_names_all_of_them(
    version: int, message: object
) -> None:
    with pytest.raises(ForeignVersionError) as refusal:
        decode(msgpack.packb([version, "a", "b", message]))
    assert refusal.value.version == version
    for each in (version, OLDEST_VERSION, PROTOCOL_VERSION):
        assert f" {each} " in str(refusal.value).replace(":", " ")


def test_an_invented_next_version_speaks_with_this_one() -> None:
    newest = PROTOCOL_VERSION + 1
    theirs = Decoder(MESSAGES, newest=newest).decode
    told = encode("a", "b", Ping(7), PROTOCOL_VERSION, newest=newest)
    assert (decode(told).message, decode(told).version, decode(told).spoken) == (
        Ping(7),
        PROTOCOL_VERSION,
        newest,
    )
    ours = theirs(encode("a", "b", Ping(7)))
    assert (ours.message, ours.version, ours.spoken) == (Ping(7), PROTOCOL_VERSION, PROTOCOL_VERSION)
    among_themselves = encode("a", "b", Ping(7), newest, newest=newest)
    assert theirs(among_themselves).spoken == newest
    with pytest.raises(ForeignVersionError):
        decode(among_themselves)
    with pytest.raises(ForeignVersionError, match=f"speaks {OLDEST_VERSION} to {newest}"):
        theirs(encode("a", "b", Ping(7), newest + 1, newest=newest + 1))


@pytest.mark.parametrize(
    "message",
    [
        Ping(1, (Rumour(record_of("p"), 0),) * (GOSSIP_MAX + 1)),
        Ping(-1),
        Ping(1, (Rumour(record_of("p"), 4),)),
        Ping(1, (Rumour(record_of("p" * 65), 0),)),
        Ping(1, (Rumour(record_of("p", weight=65_537), 0),)),
        Ping(1, (Rumour(record_of("p", incarnation=-1), 0),)),
        Welcomed((Rumour(record_of("p"), 0),) * (MEMBERS_MAX + 1)),
        JoinRefused("x" * 301),
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
    frame = encode("a", "b", Welcomed((Rumour(record, 0),) * MEMBERS_MAX))
    assert len(frame) <= FRAME_BYTES_MAX
    decode(frame)


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_names_of_actors_have_limits(name: str) -> None:
    with pytest.raises(RemoteProtocolError):
        decode(encode(name, "b", Ping(1)))


def test_a_field_of_a_later_version_is_tolerated() -> None:
    newest = PROTOCOL_VERSION + 1
    message = [1, 7, [], 0, 0, b"", "new field"]
    later = msgpack.packb([PROTOCOL_VERSION, "a", "b", message, newest, "new part"])
    assert (decode(later).message, decode(later).spoken) == (Ping(7), newest)


def test_text_that_is_no_utf8_is_refused() -> None:
    with pytest.raises(RemoteProtocolError):
        decode(b"\x94\x01\xa1a\xa1b" + b"\x94\x02\x07\xa2\xff\xfe\x90")


def read_or_refused(frame: bytes) -> None:
    """Decode; anything but a message or a `RemoteProtocolError` fails the test."""
    try:
        envelope = decode(frame)
    except RemoteProtocolError:
        return
    assert isinstance(envelope.message, MESSAGES)
    decode(encode(envelope.source, envelope.target, envelope.message))
