"""The row of a URL, of which any two versions join into one.

    state(1) host(8) depth(2) attempts(1) hops(1)                        never visited: state Q
    ... visit(4) due(8) visited(8) changed(8) digest(8) visitor(4) memory(23)
        detail \\n etag \\n modified \\n url                               visited
    either, the high bit of state set, ... course(5)                     where it says more than the depth

A *visit* ends with an outcome, which raises the number of visits: done (D), failed (F) or excluded (X), and
a detail: `D200`, `D304`, `D200_same` (what the archive has was sent again), `Ftimeout`, `Xrobots`. Nothing is
final: every row says when the URL is due, which is 0 for one that was never visited and infinity for one that
is not to be visited again. A URL with a page in the archive has its text in the row, for link texts that
come later, until a visit finds the page gone.

The hops are the redirects in a row that led to a URL, and above them (`LISTS_BIT`) how many sitemaps, each
named by the one before it: so an index of indexes comes to an end wherever its parts are read. The icon of a
site has more redirects than any page can (`ICON_HOPS`): it is asked for as an image, and leads nowhere.

The visitor is a hash of the id of the peer that made the last visit, or had the page made due since. While a
visit is news nobody tells it in the name of another (`frontier.store`).

The memory is of `visit_memory`, the course of `course`. The course is no part of what tells two rows apart
(`without_course`): a decree on the order of visits changes it at one peer sooner than at another.

A visit is dated as its answer is (`web_request.PageFetched.started_at`), and the version of the page with it,
however late it is stored: what changed meanwhile is news, and of two visits with the same number row and
version tell the same one as the later. A visit without an answer is dated by its end. Other times are by the
mesh clock of who made the visit. All stand in all copies as he wrote them: clocks of machines differ by
seconds, due times by hours.
"""

from __future__ import annotations

import struct
from math import ceil, inf, isfinite
from typing import Final, NamedTuple

from xxhash import xxh32_intdigest

from mesh.stamp import VISITS_MAX
from peers.crawler.model.course import (
    COURSE_BYTES,
    Course,
    as_kept,
    course_bytes,
    course_in,
    join_courses,
    plain_course,
)
from peers.crawler.model.visit_memory import MEMORY_BYTES, NOTHING, VisitMemory, memory_bytes, memory_in

ATTEMPTS_MAX: Final = 255  # what a row can hold, in one visit
DUE_S_MAX: Final = float((1 << 32) - 2)  # whole seconds that fit into the key of a queue, in the year 2106
ETAG_CHARS_MAX: Final = 128  # longer ones are not kept; one has some 40
VALIDATOR_CHARS_MAX: Final = 200  # in a row, whoever made it; a date has 29
ROW_BYTES_MAX: Final = 4_096
NO_DIGEST: Final = bytes(8)
SAME: Final = "D200_same"  # outcome of a visit that was sent again what the archive has
UNCHANGED: Final = ("D304", SAME)  # outcomes of visits that made no version
LISTS_BIT: Final = 6  # of the hops, from which on they count lists: 3 at most
REDIRECTS_MAX: Final = (1 << LISTS_BIT) - 1  # and the mask of these in the hops
ICON_HOPS: Final = REDIRECTS_MAX  # of the icon of a site; a page that is linked to as well is a page

_HEAD: Final = struct.Struct(">c8sHBB")
_VISIT: Final = struct.Struct(">Iddd8sI")
_MEMORY_AT: Final = _HEAD.size + _VISIT.size
_TAIL_AT: Final = _MEMORY_AT + MEMORY_BYTES
_COURSED: Final = 0x80  # bit of the state of a row that ends with a course
_NEW: Final = frozenset((b"Q", bytes((ord("Q") | _COURSED,))))  # states of what was never visited
_RANKS: Final = {"Q": 0, "X": 1, "F": 2, "D": 3}


class UrlRow(NamedTuple):
    """The fields of a row."""

    host: bytes  # its hash
    depth: int  # clicks from a seed
    attempts: int  # made for the visit that comes
    hops: int  # redirects followed in a row to get here, and lists
    outcome: str = "Q"  # of the last visit
    visit: int = 0  # visits so far
    due_s: float = 0.0  # whole seconds; inf for never
    visited_s: float = 0.0
    changed_s: float = 0.0  # the first visit that found what the last one found
    digest: bytes = NO_DIGEST  # of the decoded body, XXH3-64
    etag: str = ""
    last_modified: str = ""
    url: str = ""  # of a stored page
    memory: VisitMemory = NOTHING
    course: Course | None = None  # None where it says no more than the depth
    visitor: int = 0  # `visitor_tag` of the peer whose word the visit is; 0 for one that nobody made

    @property
    def rank(self) -> int:
        """Where it stands in the queue of its host among those that are due at the same time."""
        return self.depth if self.visit or self.course is None else self.course.rank

    @property
    def is_stored(self) -> bool:
        """Is the page of the last visit that got an answer in the archive, and not gone since?"""
        return bool(self.url)

    @property
    def is_queued(self) -> bool:
        return self.due_s < inf


class Conclusion(NamedTuple):
    """The result of a visit, to be written into the row of its URL."""

    outcome: str  # `D200`, `F404`, `Xrobots`
    at_s: float = 0.0  # the date of the answer; mesh clock where there was none
    due_s: float = inf  # when the next one is due, rounded up to whole seconds
    digest: bytes = b""  # of the body of a page that was stored; empty when none was
    etag: str = ""
    last_modified: str = ""
    is_gone: bool = False  # the page that was stored is no more
    visit: int = 0  # its number, if it is known to be more than one above that of the visit before
    memory: VisitMemory | None = None  # None: as it was


def concluded(
    outcome: str, now: float, again_after_s: float, memory: VisitMemory | None = None
) -> Conclusion:
    """Conclude a visit now, and have the next one after an interval; inf for none."""
    return Conclusion(outcome, now, due_at(now + again_after_s), memory=memory)


def due_at(at_s: float) -> float:
    """Return a time as rows have it: whole seconds, inf for times too far away for them."""
    return float(ceil(at_s)) if at_s <= DUE_S_MAX else inf


def visitor_tag(peer: str) -> int:
    """Return the 32 bits by which rows name a peer, XXH32 of its id; members do not choose their ids."""
    return xxh32_intdigest(peer.encode())


def says_no_more(row: UrlRow, before: UrlRow) -> bool:
    """Tell whether a row of another peer says no more of the last visit than the row before."""
    joined = join_rows(before, row)
    return joined[_OUTCOME:_COURSE] == before[_OUTCOME:_COURSE] and joined.visitor == before.visitor


def is_new_row(data: bytes) -> bool:
    """Is a row as it is kept that of a URL that was never visited?"""
    return data[:1] in _NEW


def is_of_host(data: bytes, host: bytes) -> bool:
    """Is a row as it is kept one of the host with this hash, and was it visited?"""
    return data[1:9] == host and not is_new_row(data)


def lists_in(hops: int) -> int:
    return hops >> LISTS_BIT


def hops_from_list(hops: int) -> int:
    """Return the hops of the URLs that a list with these hops names."""
    return min(lists_in(hops) + 1, 3) << LISTS_BIT


def new_row_bytes(host: bytes, depth: int, hops: int, course: Course | None) -> bytes:
    """Return the same as `row_bytes`, for a URL that was never tried."""
    if course is None:
        return _HEAD.pack(b"Q", host, depth, 0, hops)
    return row_bytes(UrlRow(host, depth, 0, hops, course=course))


def row_bytes(row: UrlRow) -> bytes:
    data = _bare_bytes(row)
    if row.course is None:
        return data
    return bytes((data[0] | _COURSED,)) + data[1:] + course_bytes(row.course)


def _bare_bytes(row: UrlRow) -> bytes:
    head = _HEAD.pack(row.outcome[:1].encode(), *row[:4])
    if row.visit == 0:
        return head
    visit = _VISIT.pack(row.visit, row.due_s, row.visited_s, row.changed_s, row.digest, row.visitor)
    texts = "\n".join((row.outcome[1:], row.etag, row.last_modified, row.url)).encode()
    return head + visit + memory_bytes(row.memory) + texts


def course_part(data: bytes) -> bytes:
    """Return the course at the end of a row as it is kept; empty when there is none."""
    return data[-COURSE_BYTES:] if data[:1] >= b"\x80" else b""


def without_course(data: bytes) -> bytes:
    """Return a row as it is kept, without its course."""
    return bytes((data[0] ^ _COURSED,)) + data[1:-COURSE_BYTES] if data[:1] >= b"\x80" else data


def row_in(data: bytes) -> UrlRow:
    """Read a row.

    Raises:
      ValueError: it is none.
    """
    course = None
    if data[:1] >= b"\x80":  # few rows have one
        course, data = course_in(course_part(data)), without_course(data)
    try:
        state, host, depth, attempts, hops = _HEAD.unpack_from(data)
        if state == b"Q":
            return UrlRow(host, depth, attempts, hops, course=course)
        visit, due_s, visited_s, changed_s, digest, visitor = _VISIT.unpack_from(data, _HEAD.size)
        memory = memory_in(data[_MEMORY_AT:_TAIL_AT])
    except struct.error as error:
        raise ValueError(str(error)) from error
    detail, etag, last_modified, url = data[_TAIL_AT:].decode().split("\n")
    outcome = state.decode() + detail
    times = due_s, visited_s, changed_s
    texts = etag, last_modified, url
    head = host, depth, attempts, hops, outcome, visit
    return UrlRow(*head, *times, digest, *texts, memory, course, visitor)


def is_sound(row: UrlRow) -> bool:
    """Tell whether a row that was visited may be believed of another peer."""
    is_due = row.due_s == inf or (0.0 < row.due_s <= DUE_S_MAX and row.due_s.is_integer())
    is_outcome = row.outcome[:1] in ("D", "F", "X") and row.outcome[1:].replace("_", "").isalnum()
    is_short = len(row.outcome) <= 41
    is_clean = all(_validator(each) == each for each in (row.etag, row.last_modified))
    has_times = isfinite(row.visited_s) and isfinite(row.changed_s)
    is_visit = is_outcome and row.outcome.isascii() and row.visit > 0
    return is_due and is_visit and is_short and is_clean and has_times and row.memory.is_sound


def join_rows(one: UrlRow, other: UrlRow) -> UrlRow:
    """Bring two rows of the same URL together: the one with more visits, of as many the better outcome.

    Of equal ones the later visit counts, with the least depth and hops and the most attempts of both, and
    the courses of both joined. When two peers have made the same visit and found different things, it is left
    open which of these is shown, so the next one asks for all of the page.
    """
    mine, theirs = (one.visit, _RANKS[one.outcome[0]]), (other.visit, _RANKS[other.outcome[0]])
    if mine != theirs:
        return one if mine > theirs else other
    later, depth = max(one, other, key=_order), min(one.depth, other.depth)
    if one[_FOUND] != other[_FOUND]:
        later = later._replace(etag="", last_modified="")
    return later._replace(
        depth=depth,
        attempts=max(one.attempts, other.attempts),
        hops=min(one.hops, other.hops),
        course=_joined_course(one, other, depth),
    )


def _joined_course(one: UrlRow, other: UrlRow, depth: int) -> Course | None:
    if one.course is None and other.course is None:
        return None
    courses = [plain_course(row.depth) if row.course is None else row.course for row in (one, other)]
    return as_kept(join_courses(*courses), depth)


def join_urls(one: bytes, other: bytes) -> bytes:
    """Do the same with rows as they are kept."""
    return one if one == other else row_bytes(join_rows(row_in(one), row_in(other)))


def after_visit(before: UrlRow, url: str, conclusion: Conclusion, visitor: int = 0) -> UrlRow:
    """Return the row of a URL after a visit that has come to an end.

    Args:
      visitor: `visitor_tag` of the peer that has made it.
    """
    row = before._replace(
        attempts=0,
        outcome=conclusion.outcome,
        visit=min(max(before.visit + 1, conclusion.visit), VISITS_MAX),
        due_s=conclusion.due_s,
        visited_s=conclusion.at_s,
        memory=before.memory if conclusion.memory is None else conclusion.memory,
        visitor=visitor,
    )
    if conclusion.is_gone:
        return row._replace(changed_s=conclusion.at_s, digest=NO_DIGEST, etag="", last_modified="", url="")
    if not conclusion.digest:  # it says nothing of the page
        return row
    is_same = conclusion.digest == before.digest
    return row._replace(
        changed_s=before.changed_s if is_same else conclusion.at_s,
        digest=conclusion.digest,
        etag=_validator(conclusion.etag, ETAG_CHARS_MAX),
        last_modified=_validator(conclusion.last_modified),
        url=url,
    )


_FOUND: Final = slice(UrlRow._fields.index("digest"), UrlRow._fields.index("url"))
_OUTCOME, _COURSE = UrlRow._fields.index("outcome"), UrlRow._fields.index("course")


def _order(row: UrlRow) -> tuple[float | str | bytes | tuple[int, ...], ...]:
    times = row.visited_s, row.due_s, row.changed_s
    return *times, row.digest, row.url, row.outcome, row.host, row.memory, row.visitor


def _validator(text: str, chars_max: int = VALIDATOR_CHARS_MAX) -> str:
    is_kept = len(text) <= chars_max and text.isprintable() and text.isascii()
    return text if is_kept else ""
