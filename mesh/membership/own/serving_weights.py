"""By which weights slots are answered for, while members get ready one after the other.

Theory of operation
===================
By the serving weights of the members, slots are ranked for searches; who has nothing to answer from has 0.
A single newcomer can *serve* as soon as it has all that its weight gives it. Of several that come at once
this is not so: a slot goes to the best of those that serve, and while better ones do not yet, that may be one
who has nothing of it. When all machines have been off, nobody serves and everybody answers for what it owns;
the first to serve would have to answer for everything.

So who has all that it is to keep, but would have to answer for more, says that it is *ready*. As soon as
nobody with weight is neither, all who are ready count, in one step: then the best of every slot has it.
Until then those answer who did. So where as many as there are copies never get ready, as with full disks,
newcomers after them crawl and keep but answer nothing, and those who did go on to answer for all.

To be ready is a serving weight of `READY`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from mesh.membership.model.wire_messages import MemberRecord

READY: Final = 1


def is_ready(record: MemberRecord) -> bool:
    """Does this member wait for others, to serve together with them?"""
    return record.serving == READY < record.weight


def serving_weights(records: Iterable[MemberRecord]) -> dict[str, int]:
    """The weights, by peer, by which slots are answered for.

    Args:
      records: of all live members.
    """
    records = tuple(records)
    weights = {record.peer: record.weight for record in records}
    serving = {record.peer: 0 if is_ready(record) else record.serving for record in records}
    if not any(serving.values()):
        return weights  # nobody serves, so nobody is readier than who is to
    if all(record.serving or not record.weight for record in records):
        return {record.peer: record.weight if is_ready(record) else record.serving for record in records}
    return serving


def serving_weights_with(peer: str, records: Iterable[MemberRecord]) -> dict[str, int]:
    """The same, if this peer served as much as its weight, and all others as they do."""
    return serving_weights(
        replace(record, serving=record.weight) if record.peer == peer else record for record in records
    )
