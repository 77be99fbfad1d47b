"""A log on a disk that fills up: lines are left out and counted, nothing else happens."""

from __future__ import annotations

import errno
import io
import logging

import pytest

from mesh.process.process import LogHandler


class FullStream(io.StringIO):
    """A stream on a disk with space for so many letters."""

    def __init__(self) -> None:
        super().__init__()
        self.space = 1_000_000

    def write(self, text: str) -> int:
        written = super().write(text[: self.space])
        self.space -= written
        if written < len(text):
            raise OSError(errno.ENOSPC, "No space left on device")
        return written


def test_lines_without_space_are_left_out_and_counted() -> None:
    stream = FullStream()
    logger = logging.Logger("of this test")
    logger.addHandler(LogHandler(stream))
    logger.warning("first")
    stream.space = 3
    for number in range(4):
        logger.warning("while the disk is full %d", number)
    stream.space = 1_000_000
    logger.warning("with space again")
    logger.warning("last")
    assert stream.getvalue().splitlines() == [
        "first",
        "whi",
        "here 4 lines could not be written",
        "with space again",
        "last",
    ]


def test_a_bug_in_a_line_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    stream = FullStream()
    logger = logging.Logger("of this test")
    logger.addHandler(LogHandler(stream))
    logger.warning("a number %d", "word")
    assert stream.getvalue() == ""
    assert "TypeError" in capsys.readouterr().err
