"""The pools that a peer lets people judge, and their judgements, in a folder of the peer. [io]

    NAME.json             the pool, as `tianmesh eval pool` writes it
    NAME.ASSESSOR.qrels   TREC's judgements, a line more for each grade; of several for a page the last counts
    NAME.invited          JSON: those that were invited, and until when, in seconds since the epoch

A grade is on the disk before it counts as given. A line that a crash has cut off was never acknowledged, and
is cut away before the next one. Of a file with many corrections only the grades that count are kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final, TypeAlias

import msgspec

from mesh.tables.private_files import FILE_MODE, make_private_folder, sync_folder, write_private_text
from mesh.transport.descriptors import for_disk
from peers.judging.assessment import GRADES
from peers.judging.desk import Desk
from peers.judging.pool import Pool
from peers.judging.trec import Judgements, judgements_in, lines_of

NAME_BYTES_MAX: Final = 80  # two of them, and the endings, make a file's name of 255 bytes at most
POOLS_MAX: Final = 100
ASSESSORS_MAX: Final = 100  # of one pool
PAGES_MAX: Final = 50_000  # of one pool: 1,000 queries with 50 pages each
CORRECTIONS_MAX: Final = 1_000  # lines of a file that no longer count
POOLS_KEPT: Final = 2  # in memory, of 50 MB at most
DESKS_KEPT: Final = 8  # of these, of 20 MB at most
_NAME: Final = re.compile(r"[\w-]{1,40}")


Mark: TypeAlias = tuple[int, int, int]  # of a file: its inode, its size, and when it was changed
NOTHING: Final = (0, 0, 0)  # mark of a file that is not there


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
        # Read before, the last used one last; with the marks of their files.
        self._pools: dict[str, tuple[Mark, Pool]] = {}
        self._desks: dict[tuple[str, str], _KeptDesk] = {}

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

    def pool(self, name: str) -> Pool | None:
        """Return a pool, None where there is none. OSError; msgspec.MsgspecError for a file that is none."""
        if not is_name(name):
            return None
        with self._lock:
            return self._pool(name)

    def assessors(self, name: str) -> list[str]:
        """Return the names of those with a grade for a page of a pool. OSError."""
        assert is_name(name)
        found = (each.name.split(".") for each in self._folder.glob(f"{name}.*.qrels"))
        return sorted(parts[1] for parts in found if len(parts) == 3 and is_name(parts[1]))

    def invite(self, name: str, assessors: Sequence[str], until_s: int, now_s: float) -> None:
        """Note the people that were invited to judge a pool, of many the last ones. OSError."""
        assert all(map(is_name, (name, *assessors)))
        with self._lock:
            known = {each: until for each, until in self._invited(name).items() if until > now_s}
            for each in assessors:
                known.pop(each, None)
                known[each] = until_s
            last = dict(list(known.items())[-ASSESSORS_MAX:])
            write_private_text(self._folder / f"{name}.invited", msgspec.json.encode(last).decode())

    def invited(self, name: str, now_s: float) -> list[str]:
        """Return those with a link that is still good. OSError."""
        assert is_name(name)
        return sorted(each for each, until in self._invited(name).items() if until > now_s)

    def _invited(self, name: str) -> dict[str, int]:
        try:
            with for_disk():
                content = (self._folder / f"{name}.invited").read_bytes()
            return msgspec.json.decode(content, type=dict[str, int])
        except (FileNotFoundError, msgspec.MsgspecError):
            return {}

    def judgements(self, name: str, assessor: str) -> Judgements:
        """Return the grades that an assessor has given. OSError; ConfigError for a file of something else."""
        path = self._path(name, assessor)
        return judgements_in(_text_of(_whole_lines(path)), path)

    def desk(self, name: str, assessor: str) -> Desk | None:
        """Return the pool with the grades of an assessor, None where there is none; it goes with each grade.

        Raises: as `pool` and `judgements`.
        """
        with self._lock:
            pool = self._pool(name)
            return None if pool is None else self._desk(name, assessor, pool).desk

    def judge(self, name: str, assessor: str, query: str, document: str, grade: int) -> None:
        """Give a page of a pool a grade, or another one; it is on the disk when this returns.

        Raises:
          ValueError: as many people as may have judged this pool, or there is no such page in it.
          OSError: it cannot be written; then it is not given.
          ConfigError: the file is something else.
        """
        assert 0 <= grade < len(GRADES)
        with self._lock:
            pool = self._pool(name)
            kept = None if pool is None else self._desk(name, assessor, pool)
            if kept is None or not kept.desk.has(query, document):
                raise ValueError(f"the pool {name} has no such page")
            if kept.given.get(query, {}).get(document) == grade:
                return
            is_new = not kept.n_bytes
            if is_new and len(self.assessors(name)) >= ASSESSORS_MAX:
                raise ValueError(f"{ASSESSORS_MAX} people have judged this pool, and no more may")
            path = self._path(name, assessor)
            kept.mark = None  # of a file that a full disk has cut off nothing is known
            kept.given.setdefault(query, {})
            n_outdated = kept.n_lines - kept.n_given
            if n_outdated >= CORRECTIONS_MAX:
                now = {**kept.given, query: {**kept.given[query], document: grade}}
                write_private_text(path, lines_of(now))
                kept.n_lines = kept.n_given - (document in kept.given[query])  # and one is counted below
            else:
                _append(path, kept.n_bytes, lines_of({query: {document: grade}}))
            if is_new:
                sync_folder(self._folder)
            kept.take(query, document, grade, path)

    def _pool(self, name: str) -> Pool | None:
        """Return a pool, read again if its file is another one."""
        path = self._pool_path(name)
        mark = _mark_of(path)
        if mark is None:
            return None
        kept = self._pools.pop(name, None)
        if kept is None or kept[0] != mark:
            with for_disk():
                content = path.read_bytes()
            kept = mark, msgspec.json.decode(content, type=Pool)
            for place in [each for each in self._desks if each[0] == name]:
                del self._desks[place]
        self._pools[name] = kept
        if len(self._pools) > POOLS_KEPT:
            gone = next(iter(self._pools))
            del self._pools[gone]
            for place in [each for each in self._desks if each[0] == gone]:
                del self._desks[place]
        return kept[1]

    def _desk(self, name: str, assessor: str, pool: Pool) -> _KeptDesk:
        """Return the desk of an assessor, made anew if the file of the grades is another one."""
        path = self._path(name, assessor)
        kept = self._desks.pop((name, assessor), None)
        if kept is None or kept.mark is None or kept.mark != (_mark_of(path) or NOTHING):
            mark, whole = _mark_of(path), _whole_lines(path)
            given = {query: dict(of) for query, of in judgements_in(_text_of(whole), path).items()}
            desk = Desk(pool, assessor, given)
            kept = _KeptDesk(desk, given, mark or NOTHING, len(whole), whole.count(b"\n"))
        self._desks[name, assessor] = kept
        if len(self._desks) > DESKS_KEPT:
            del self._desks[next(iter(self._desks))]
        return kept

    def _pool_path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _path(self, name: str, assessor: str) -> Path:
        assert is_name(name)
        assert is_name(assessor)
        return self._folder / f"{name}.{assessor}.qrels"


class _KeptDesk:
    """A desk, the grades in its file, and that file as it was when they were read or written last."""

    def __init__(
        self, desk: Desk, given: dict[str, dict[str, int]], mark: Mark, n_bytes: int, n_lines: int
    ) -> None:
        self.desk, self.given = desk, given
        self.mark: Mark | None = mark
        self.n_bytes, self.n_lines = n_bytes, n_lines
        self.n_given = sum(map(len, given.values()))

    def take(self, query: str, document: str, grade: int, path: Path) -> None:
        """Note a grade that is in the file by now."""
        self.n_given += document not in self.given[query]
        self.n_lines += 1
        self.given[query][document] = grade
        self.desk.take(query, document, grade)
        self.mark = _mark_of(path)
        self.n_bytes = 0 if self.mark is None else self.mark[1]


def _mark_of(path: Path) -> Mark | None:
    """Return the mark of a file, None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


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
