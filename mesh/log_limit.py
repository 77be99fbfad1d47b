"""So many lines a minute of each kind in the log: what others make a node say fills no disk."""

from __future__ import annotations

import logging
from typing import Final

from mesh.membership.allowance import Allowance

LINES_A_MINUTE: Final = 60  # of one kind: from one place in the program, whatever it tells
KINDS_MAX: Final = 1_000  # remembered; texts that are put together before would be kinds without an end


class LogLimit(logging.Filter):
    """Leaves out warnings and lesser lines beyond the limit, and says so once; errors are ours and pass."""

    def __init__(self, lines_a_minute: int = LINES_A_MINUTE) -> None:
        super().__init__()
        self._lines_a_minute = lines_a_minute
        self._lines = Allowance()
        self._kinds: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
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
