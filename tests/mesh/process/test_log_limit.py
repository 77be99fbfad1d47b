"""What others make a node say does not fill its disk, and what is wrong with itself is always said."""

from __future__ import annotations

import errno
import logging

from mesh.process.process import KINDS_MAX, LogLimit


def line(text: str, at_s: float, level: int = logging.WARNING) -> logging.LogRecord:
    record = logging.LogRecord("mesh.process.runtime", level, __file__, 1, text, (), None)
    record.created = at_s
    return record


def shown(limit: LogLimit, *lines: logging.LogRecord) -> list[str]:
    return [each.getMessage() for each in lines if limit.filter(each)]


def test_so_many_lines_of_a_kind_are_shown_in_a_minute_and_the_last_one_says_so() -> None:
    limit = LogLimit(lines_a_minute=3)
    assert shown(limit, *(line("refused", 1_000.0) for _ in range(1_000))) == [
        "refused",
        "refused",
        "refused; more lines of this kind are left out for a while",
    ]
    assert shown(limit, line("another", 1_000.0)) == ["another"]
    assert len(shown(limit, *(line("refused", 1_060.0) for _ in range(1_000)))) == 3


def test_errors_are_always_shown() -> None:
    limit = LogLimit(lines_a_minute=3)
    assert len(shown(limit, *(line("a bug", 1_000.0, logging.ERROR) for _ in range(100)))) == 100


def test_a_machine_that_is_short_of_descriptors_is_a_warning_without_a_traceback() -> None:
    limit = LogLimit(lines_a_minute=3)
    lines = [line("accept returned EMFILE", 1_000.0, logging.ERROR) for _ in range(100)]
    for each in lines:
        error = OSError(errno.EMFILE, "Too many open files")
        each.exc_info = type(error), error, None
    assert len(shown(limit, *lines)) == 3
    assert "Traceback" not in logging.Formatter().format(lines[0])
    assert lines[0].levelname == "WARNING"


def test_another_error_keeps_its_traceback() -> None:
    record = line("a bug", 1_000.0, logging.ERROR)
    error = OSError(errno.EIO, "Input/output error")
    record.exc_info = type(error), error, None
    assert LogLimit().filter(record)
    assert record.exc_info[1] is error


def test_kinds_without_an_end_are_forgotten() -> None:
    limit = LogLimit()
    for number in range(2 * KINDS_MAX + 1):
        shown(limit, line(str(number), 1_000.0))
    assert len(limit._kinds) <= KINDS_MAX
