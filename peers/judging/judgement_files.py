"""The pools that a peer lets people judge, and their judgements, in a folder of the peer. [io]

    NAME.json             the pool, as `tianmesh eval pool` writes it
    NAME.ASSESSOR.qrels   TREC's judgements, a line more for each grade; of several for a page the last counts

A grade is on the disk before it counts as given. A line that a crash has cut off was never acknowledged, and
is cut away before the next one. Of a file with many corrections only the grades that count are kept.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec

from mesh.tables.private_files import FILE_MODE, make_private_folder, write_private_text
from mesh.transport.descriptors import for_disk
from peers.judging.assessment import GRADES
from peers.judging.pool import Pool
from peers.judging.trec import Judgements, judgements_in, lines_of

NAME_BYTES_MAX: Final = 80  # two of them, and the endings, make a file's name of 255 bytes at most
POOLS_MAX: Final = 100
ASSESSORS_MAX: Final = 100  # of one pool
PAGES_MAX: Final = 50_000  # of one pool: 1,000 queries with 50 pages each
CORRECTIONS_MAX: Final = 1_000  # lines of a file that no longer count
_NAME: Final = re.compile(r"[\w-]{1,40}")


def is_name(text: str) -> bool:
    """May a pool or an assessor have this name? No such name leads out of the folder."""
    return _NAME.fullmatch(text) is not None and len(text.encode("utf-8", "replace")) <= NAME_BYTES_MAX


def fault_of(pool: Pool) -> str:
    """Return the reason why a pool cannot be judged; "" for none."""
    queries = {each.query for each in pool.queries}
    pages = {(each.query, each.document) for each in pool.pages}
    if not pages or len(pages) > PAGES_MAX:
        return f"a pool has 1 to {PAGES_MAX:,} pages"
    if len(queries) != len(pool.queries) or len(pages) != len(pool.pages):
        return "a query, or a page of one, is there twice"
    if {query for query, _ in pages} != queries:
        return "a page has no query, or a query no page"
    if any(each.split() != [each] for pair in pages for each in pair):
        return "the id of a query or the name of a document is empty or has blanks"
    return ""


class JudgementFiles:
    """Keeps pools, and grades as soon as they are given. Blocking; for any number of threads."""

    def __init__(self, folder: Path) -> None:
        """Args: folder: of pools and judgements; made with the first pool."""
        self._folder = folder
        self._lock = Lock()

    def pools(self) -> list[str]:
        """Return the names of all pools. OSError."""
        return sorted(each.stem for each in self._folder.glob("*.json") if is_name(each.stem))

    def keep_pool(self, name: str, pool: Pool) -> None:
        """Keep a pool, in place of one of the same name; grades that there are stay.

        Raises:
          ValueError: there are too many pools.
          OSError: it cannot be written.
        """
        assert is_name(name)
        with self._lock:
            if name not in (pools := self.pools()) and len(pools) >= POOLS_MAX:
                raise ValueError(
                    f"this peer has {POOLS_MAX} pools: remove one that is judged from its folder"
                )
            make_private_folder(self._folder)
            write_private_text(self._pool_path(name), msgspec.json.encode(pool).decode())
            self._sync_folder()

    def pool(self, name: str) -> Pool | None:
        """Return a pool, None where there is none. OSError; msgspec.MsgspecError for a file that is none."""
        if not is_name(name):
            return None
        try:
            with for_disk():
                content = self._pool_path(name).read_bytes()
            return msgspec.json.decode(content, type=Pool)
        except FileNotFoundError:
            return None

    def assessors(self, name: str) -> list[str]:
        """Return the names of those with a grade for a page of a pool. OSError."""
        assert is_name(name)
        found = (each.name.split(".") for each in self._folder.glob(f"{name}.*.qrels"))
        return sorted(parts[1] for parts in found if len(parts) == 3 and is_name(parts[1]))

    def judgements(self, name: str, assessor: str) -> Judgements:
        """Return the grades that an assessor has given. OSError; ConfigError for a file of something else."""
        path = self._path(name, assessor)
        return judgements_in(_text_of(_whole_lines(path)), path)

    def judge(self, name: str, assessor: str, query: str, document: str, grade: int) -> None:
        """Give a page a grade, or another one; it is on the disk when this returns.

        Raises:
          ValueError: as many people as may have judged this pool.
          OSError: it cannot be written; then it is not given.
          ConfigError: the file is something else.
        """
        assert 0 <= grade < len(GRADES)
        assert [query, document] == [*query.split(), *document.split()]
        with self._lock:
            path = self._path(name, assessor)
            whole = _whole_lines(path)
            given = judgements_in(_text_of(whole), path)
            if given.get(query, {}).get(document) == grade:
                return
            is_new = not whole
            if is_new and len(self.assessors(name)) >= ASSESSORS_MAX:
                raise ValueError(f"{ASSESSORS_MAX} people have judged this pool, and no more may")
            n_outdated = whole.count(b"\n") - sum(map(len, given.values()))
            if n_outdated >= CORRECTIONS_MAX:
                now = {**given, query: {**given.get(query, {}), document: grade}}
                write_private_text(path, lines_of(now))
            else:
                _append(path, len(whole), lines_of({query: {document: grade}}))
            if is_new or n_outdated >= CORRECTIONS_MAX:
                self._sync_folder()

    def _pool_path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _path(self, name: str, assessor: str) -> Path:
        assert is_name(name)
        assert is_name(assessor)
        return self._folder / f"{name}.{assessor}.qrels"

    def _sync_folder(self) -> None:
        """Make new names durable, too."""
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _whole_lines(path: Path) -> bytes:
    """Return the lines of a file of judgements, without one that was cut off; none before the first."""
    try:
        with for_disk():
            content = path.read_bytes()
    except FileNotFoundError:
        return b""
    return content[: content.rfind(b"\n") + 1]


def _text_of(lines: bytes) -> str:
    return lines.decode("utf-8", "replace")


def _append(path: Path, start: int, line: str) -> None:
    """Write a line from a place on, over the rest that a crash or a full disk has left there."""
    with for_disk():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    with open(descriptor, "wb") as file:
        file.truncate(start)
        file.seek(start)
        file.write(line.encode())
        file.flush()
        os.fsync(descriptor)
