"""A limit to the lines of each kind a minute in the log, so that others cannot fill the disk through it."""

from __future__ import annotations

import logging
from typing import Final

from mesh.actors.allowance import Allowance
from mesh.transport.descriptors import SHORTAGES

LINES_A_MINUTE: Final = 60  # of one kind: from one place in the program, whatever it tells
KINDS_MAX: Final = 1_000  # remembered; texts that are put together before would be kinds without an end


class LogLimit(logging.Filter):
    """Leaves out warnings and lesser lines beyond the limit, and says so once; errors are ours and pass.

    That the machine is short of something, which a crowd of strangers can cause, is no error of ours: whoever
    logs it, it is a warning without a traceback.
    """

    def __init__(self, lines_a_minute: int = LINES_A_MINUTE) -> None:
        super().__init__()
        self._lines_a_minute = lines_a_minute
        self._lines = Allowance()
        self._kinds: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        if _is_shortage(record):
            record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
            record.exc_info = record.exc_text = None
        if record.levelno >= logging.ERROR:
            return True
        kind = f"{record.name} {record.msg}"
        if not self._lines.spend(self._noted(kind), 1.0, self._lines_a_minute, record.created):
            return False
        if not self._lines.may_spend(kind, 1.0, self._lines_a_minute, record.created):
            record.msg = f"{record.msg}; more lines of this kind are left out for a while"
        return True

    def _noted(self, kind: str) -> str:
        if len(self._kinds) >= KINDS_MAX:
            self._kinds.clear()
            self._lines = Allowance()
        self._kinds.add(kind)
        return kind


def _is_shortage(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return isinstance(error, OSError) and error.errno in SHORTAGES
