"""Bytes from members and administrators that nest without end are refused as any others that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from msgspec.msgpack import decode, encode

from mesh.errors import RemoteProtocolError
from mesh.tables.memory_table import MemoryTable
from peers.crawler.frontier.items import Items, decode_items
from peers.engine.pages.class_model import model_in
from peers.handover.item_store import Item, ItemStore
from peers.link_graph.source_row import SourceRow, source_row_in
from peers.link_graph.target_row import TargetRow, target_row_in
from peers.query_log import log_row
from peers.query_log.log_row import LogRow
from peers.storage.part_content import Documents, decode_content
from peers.submissions import submission
from peers.submissions.submission import Submission

DEEP: Final = b"\x91" * 100_000 + b"\xc0"


def with_more(value: object) -> bytes:
    """Encode a value with fields, and behind them one that no version has."""
    fields = decode(encode(value))
    return b"\xdc" + (len(fields) + 1).to_bytes(2, "big") + b"".join(map(encode, fields)) + DEEP


def _stored(items: bytes) -> object:
    store = ItemStore(MemoryTable(), max)
    return store.merge_changes("bob", items, lambda slot: True, 0.0)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (decode_items, with_more(Items())),
        (_stored, b"\x91" + with_more(Item(1, b"n", b"v"))),
        (lambda items: decode_content(items, b""), with_more(Documents(1))),
        (model_in, with_more((1, [("a", -1)], 1, 1, b""))),
        (source_row_in, with_more(SourceRow("http://a.test/", 1, 1.0, is_told=True))),
        (target_row_in, with_more(TargetRow("http://a.test/", ()))),
        (log_row.row_in, with_more(LogRow("query", ()))),
        (submission.row_in, with_more(Submission("http://a.test/", 1, False, False, 1))),
    ],
)
def test_what_nests_without_end_is_refused(read: Callable[[bytes], object], value: bytes) -> None:
    with pytest.raises((RemoteProtocolError, ValueError)):
        read(value)
