"""Nodes as processes: what is said of one that did not start."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bootstrap.nodes import Nodes
from mesh.process.process import first_error


async def test_a_node_that_has_no_space_for_its_last_words_is_said_to_lack_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=0))
    folder = tmp_path / "peer-1"
    nodes = Nodes({"peer-1": folder}, is_supervised=False)
    await nodes.load_all()
    try:
        (folder / "log").unlink()  # as if no line of it had got there
        (folder / "log").touch()
        with pytest.raises(BaseExceptionGroup) as raised:
            await nodes.start("peer-1")
    finally:
        await nodes.stop()
    assert str(first_error(raised.value)).startswith(f"peer-1 did not start: the disk of {folder} is full")
