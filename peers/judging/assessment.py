"""The judgements of one assessor on a pool, which are in a file as soon as they are made.

    POOL.NAME.qrels    TREC's judgements, beside the pool

Judging goes on where it ended: the file is read, and the next page without a grade is shown. Grades of pages
that the pool does not have stay in it, so a pool may be made anew with more runs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from mesh.errors import ConfigError
from peers.judging.pool import Pool, PooledPage
from peers.judging.trec import read_qrels, write_qrels

GRADES: Final = ("not relevant", "relevant", "highly relevant")  # 0, 1, 2
_NAME: Final = re.compile(r"[\w-]{1,40}")


class Assessment:
    """A pool with the grades that one person gives its pages, in the order of the pool."""

    def __init__(self, pool: Pool, path: Path) -> None:
        """Read the grades that there are.

        Args:
          path: of the judgements; there is no such file before the first.

        Raises:
          ConfigError: the file cannot be read or is something else.
        """
        self.pages: Final = pool.pages
        self._path = path
        self._grades = read_qrels(path) if path.exists() else {}

    @property
    def judged_count(self) -> int:
        return sum(self.grade_of(page) is not None for page in self.pages)

    def grade_of(self, page: PooledPage) -> int | None:
        """Return the grade of a page, None before it has one."""
        return self._grades.get(page.query, {}).get(page.document)

    def judge(self, page: PooledPage, grade: int) -> None:
        """Give a page a grade, or another one, and write the file.

        Raises:
          ConfigError: it cannot be written; the grade is not given.
        """
        assert 0 <= grade < len(GRADES)
        of_query = {**self._grades.get(page.query, {}), page.document: grade}
        grades = {**self._grades, page.query: of_query}
        write_qrels(self._path, grades)
        self._grades = grades

    def next_open(self, start: int) -> int:
        """Return the place of the first page from `start` on without a grade; behind the last if all have."""
        places = range(start, len(self.pages))
        return next((at for at in places if self.grade_of(self.pages[at]) is None), len(self.pages))


def judgements_path(pool: Path, assessor: str) -> Path:
    """Return the file of the judgements of an assessor.

    Raises:
      ConfigError: the name could not stand in that of a file.
    """
    if not _NAME.fullmatch(assessor):
        raise ConfigError(f"{assessor!r} is no name of an assessor: take at most 40 letters, digits, - and _")
    return pool.with_name(f"{pool.stem}.{assessor}.qrels")
