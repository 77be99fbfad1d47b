"""A peer whose table was damaged on its disk while it was down: it begins anew, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from mesh.tables.table_check import DATA_FILE
from tests.live.chaos import Chaos
from tests.live.mesh_processes import mesh_of
from tests.live.sites import split_sites
from tests.live.truth import Truth
from tests.live.web import served_web

pytestmark = pytest.mark.live


@pytest.mark.parametrize("damage", ["cut short", "flipped"])
def test_others_bring_back_what_a_damaged_table_had(truth: Truth, tmp_path: Path, damage: str) -> None:
    with (
        served_web(split_sites()) as web,
        mesh_of(tmp_path / "mesh", web, 3) as mesh,
    ):
        chaos = Chaos(mesh, truth)
        chaos.found(3)
        mesh.wait_until_idle()
        chaos.wait_until_whole()
        n_asked = len(web.accesses())

        assert mesh.stop(1) == 0
        table = mesh.data(1) / "table" / DATA_FILE
        content = bytearray(table.read_bytes())
        for at in range(10_000, len(content), 100_000):
            content[at] ^= 1
        table.write_bytes(content[: len(content) // 2] if damage == "cut short" else content)
        mesh.start(1)
        chaos.say(f"peer-1 is back with a table that was {damage}")
        chaos.wait_until_whole()

        aside = mesh.data(1).with_name(f"{mesh.data(1).name}.damaged-1")
        assert (aside / "table" / DATA_FILE).exists()
        assert mesh.log(1).count("what other peers have they bring back") == 1
        chaos.assert_all_found()
        assert len(web.accesses()) == n_asked  # nothing was fetched again for that
        mesh.assert_logs_are_clean()
