"""Sentences about files that people name: which, why, and the remedy, without numbers of the system."""

from __future__ import annotations

from pathlib import Path

import pytest

from mesh.errors import unreadable, unwritable


def test_a_file_that_cannot_be_read_is_named_with_the_remedy(tmp_path: Path) -> None:
    text = tmp_path / "latin.txt"
    text.write_bytes(b"ab\xff")
    remedies = {tmp_path / "none": "no such file", tmp_path: "folder", text: "not UTF-8 from byte 2"}
    for path, remedy in remedies.items():
        with pytest.raises((OSError, UnicodeDecodeError)) as raised:
            path.read_text("utf-8")
        said = str(unreadable(path, raised.value))
        assert said.startswith(f"cannot read {path}: ")
        assert remedy in said
        assert ": give" in said
        assert "Errno" not in said


def test_a_file_that_cannot_be_written_wants_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "none" / "file"
    with pytest.raises(OSError, match="No such file") as raised:
        path.write_text("")
    assert str(unwritable(path, raised.value)).endswith("its folder is not there: make that first")
    full = OSError(28, "No space left on device")
    assert (
        str(unwritable("the table", full))
        == "cannot write the table: No space left on device: give another file"
    )
