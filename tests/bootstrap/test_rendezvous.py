"""The bootstrap node keeps what it knows between its starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from bootstrap.provision import create_mesh, write_bootstrap
from bootstrap.rendezvous import run_bootstrap
from mesh.membership.model.wire_messages import MemberRecord
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.table import TableSection

pytestmark = pytest.mark.live


async def start_and_stop(config: Path) -> dict[str, Any]:
    told: list[dict[str, Any]] = []
    stop = trio.Event()

    def tell(description: dict[str, Any]) -> None:
        told.append(description)
        stop.set()

    await run_bootstrap(config, stop, tell)
    return told[0]


def own_record(folder: Path) -> MemberRecord:
    table = LmdbTable(folder / "data" / "table")
    try:
        words = TableSection(table, b"M").get(b"me")
        assert words is not None
        return msgspec.msgpack.decode(words, type=MemberRecord)
    finally:
        table.close()


async def test_bootstrap_node_that_is_started_again_goes_on_as_the_member_it_was(tmp_path: Path) -> None:
    write_bootstrap(create_mesh(tmp_path / "mesh", "mesh", 2))
    folder = tmp_path / "mesh" / "bootstrap"
    first = await start_and_stop(folder / "config.toml")
    record = own_record(folder)
    assert (record.peer, record.weight) == (first["id"], 0)
    second = await start_and_stop(folder / "config.toml")
    again = own_record(folder)
    assert (second["id"], again.peer) == (first["id"], first["id"])
    assert again.incarnation > record.incarnation
