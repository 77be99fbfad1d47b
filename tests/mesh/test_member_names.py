"""Names of members: a label behind the signature, so that members of the code before go on as they are."""

from __future__ import annotations

import msgspec
from msgspec.structs import astuple, replace

from mesh.membership.memory import Memory
from mesh.membership.wire_messages import MemberRecord, Rumour
from mesh.tables.memory_table import MemoryTable
from tests.mesh.membership_world import record_of

FIELDS_BEFORE = 14  # that a record had before members had names; the last is its signature


def test_a_record_from_before_is_read_and_a_new_one_is_read_as_one_from_before() -> None:
    named = replace(record_of("ann"), name="mill")
    fields = astuple(named)
    before = msgspec.msgpack.encode(fields[:FIELDS_BEFORE])
    assert fields[FIELDS_BEFORE - 1] == named.signature
    assert msgspec.msgpack.decode(before, type=MemberRecord) == replace(named, name="")

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(named))[:FIELDS_BEFORE] == list(
        msgspec.msgpack.decode(before)
    )


def test_the_memory_of_a_member_from_before_is_read() -> None:
    table = MemoryTable()
    memory = Memory(table)
    memory.keep_own(record_of("ann"))
    memory.keep(Rumour(record_of("bob"), 0))
    for key, value in list(table.scan(b"")):
        decoded = msgspec.msgpack.decode(value)
        if key == b"me":
            table.put(key, msgspec.msgpack.encode(decoded[:FIELDS_BEFORE]))
        else:
            table.put(key, msgspec.msgpack.encode([decoded[0][:FIELDS_BEFORE], *decoded[1:]]))
    own = memory.own_record("ann")
    assert own is not None
    assert (own.peer, own.name) == ("ann", "")
    (rumour,) = memory.members()
    assert (rumour.record.peer, rumour.record.name) == ("bob", "")
