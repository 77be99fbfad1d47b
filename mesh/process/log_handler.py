"""Write the lines of a log, and go on when there is no space for some of them. [io]

Python's own handler would write a traceback for each line that it cannot write, into the same log.
"""

from __future__ import annotations

import logging
from typing import TextIO


class LogHandler(logging.StreamHandler[TextIO]):
    """Leaves out lines that cannot be written, and says how many as soon as one can."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._n_missing = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, below any part of another one that a full disk may have left."""
        try:
            text = self.format(record)
        except Exception:
            self.handleError(record)  # ours
            return
        if self._n_missing:
            text = f"\n{self._n_missing} lines are missing here: they could not be written\n{text}"
        try:
            self.stream.write(text + self.terminator)
            self.stream.flush()
        except (OSError, ValueError):  # ValueError: the stream is closed
            self._n_missing += 1
        else:
            self._n_missing = 0
