"""How much processor time is left for a document. [io]

What reads page by page, or XML piece by piece, looks here between two of them, and gives what it has: the
limit of the process, which leaves nothing, is for single pages that nobody thought of.
"""

from __future__ import annotations

import time
from typing import Final

SECONDS_MAX: Final = 4.0  # of the 10 that the process has for an order; 1,000 pages of a manual take 3


class Budget:
    """The time of one document."""

    def __init__(self, seconds: float = SECONDS_MAX) -> None:
        self._until_s = time.process_time() + seconds

    @property
    def is_spent(self) -> bool:
        return time.process_time() >= self._until_s
