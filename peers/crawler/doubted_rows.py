"""The rows of a frontier that tell the word of one member, or of all, of some time; and walks to find them.

Pages tell it by their last visit, texts of links by their tellings. `EarlyRevisits` puts right what a policy
does not believe; `MemberListing` counts it before anybody decides so, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import Final, TypeAlias

from msgspec.structs import replace

from mesh.slot_limits import SLOTS_MAX
from peers.crawler.explanations import UndoneVisits
from peers.crawler.frontier.anchor_rows import Disbelief, tag_of
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.keys import TEXTS, URL, kind_in, name_in, slot_in, slot_key
from peers.crawler.model.url_rows import NO_DIGEST, UrlRow, row_in, visitor_tag

ROWS_AT_ONCE: Final = 64  # what follows the wanted kind of a slot is read in vain
READS_AT_ONCE: Final = 16
BYTES_AT_ONCE: Final = 64 << 10  # of rows that are looked at: some 5 ms, whatever members have told
PAUSE_S: Final = 0.02  # between two turns of a walk
EXAMPLES_MAX: Final = 5

Span: TypeAlias = tuple[float, float, int]  # from when on, until when, `visitor_tag` or 0 for all


class DoubtedTimes:
    """The times in which the word of one member, or of all, does not count."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = tuple(spans)
        # Of single members; all say the same of links anew.
        self.disbeliefs = tuple(
            Disbelief(since_s, until_s, tag_of(tag)) for since_s, until_s, tag in self.spans if tag
        )

    def __bool__(self) -> bool:
        return bool(self.spans)

    def is_about(self, row: UrlRow, now: float) -> bool:
        """Tell whether a page, unless all of it is asked for now anyway, was visited last in such a time."""
        is_known = row.digest != NO_DIGEST or row.etag or row.last_modified
        if not (row.visit and (row.due_s > now or is_known)):
            return False
        at_s, peers = row.visited_s, (0, row.visitor)
        return any(since_s <= at_s <= until_s and tag in peers for since_s, until_s, tag in self.spans)


def walk_on(
    frontier: Frontier, start: bytes, kinds: tuple[bytes, ...], look: Callable[[bytes, bytes], bool]
) -> bytes | None:
    """Look at the next rows from a key on, as many as take some milliseconds.

    Args:
      kinds: of the rows that are looked at, ascending.
      look: takes key and row; returns False if there is no room for it, and it is to be looked at again.

    Returns:
      Where to go on; None at the end.
    """
    key: bytes | None = start
    room = BYTES_AT_ONCE
    for _ in range(READS_AT_ONCE):
        if key is None:
            break
        rows = list(frontier.rows_from(key, ROWS_AT_ONCE))
        key = rows[-1][0] + b"\0" if len(rows) == ROWS_AT_ONCE else None
        for at, row in rows:
            if kind_in(at) not in kinds:
                key = _after(slot_in(at), kind_in(at), kinds)
                break
            if room <= 0 or not look(at, row):
                return at
            room -= len(row)
    return key


def _after(slot: int, kind: bytes, kinds: tuple[bytes, ...]) -> bytes | None:
    """Return the first key of the next wanted kind, in this slot or the next one."""
    for wanted in kinds:
        if wanted > kind:
            return slot_key(slot) + wanted
    return slot_key(slot + 1) if slot + 1 < SLOTS_MAX else None


def url_at(frontier: Frontier, slot: int, mark: bytes, row: UrlRow) -> str:
    """Return the URL of a row that was visited; "" where nothing is kept of it and it is not queued."""
    return row.url or (frontier.url_in_queue(slot, mark, row) if row.is_queued else "")


class MemberListing:
    """Counts pages and texts by the word of one member alone, in a walk over all rows.

    It answers one question at a time.
    """

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._question: tuple[str, float, float] | None = None
        self._doubt = DoubtedTimes(())
        self._next = b""
        self._found = UndoneVisits()
        self.at_s = inf  # when to call `do_some`

    def ask(self, peer: str, since_s: float, until_s: float) -> UndoneVisits:
        """Return the counts so far, with the end of the time that is asked about.

        A question is walked for once, until another is asked. One that comes while a walk goes on is not
        begun before that has ended: ask it again.
        """
        question = (peer, since_s, until_s)
        if question != self._question:
            if self.at_s < inf:
                return UndoneVisits(is_done=False)
            self._question = question
            self._doubt = DoubtedTimes([(since_s, until_s, visitor_tag(peer))])
            self._next, self._found = b"", UndoneVisits(until_s, is_done=False)
            self.at_s = -inf
        return self._found

    def do_some(self, now: float) -> None:
        """Look at the next rows."""
        key = walk_on(self._frontier, self._next, (TEXTS, URL), lambda key, row: self._look(key, row, now))
        if key is None:
            self._found, self.at_s = replace(self._found, is_done=True), inf
        else:
            self._next, self.at_s = key, now + PAUSE_S

    def _look(self, key: bytes, row: bytes, now: float) -> bool:
        found = self._found
        if kind_in(key) == TEXTS:
            if self._frontier.texts.has_only_word_of(row, self._doubt.disbeliefs):
                self._found = replace(found, texts=found.texts + 1)
            return True
        page = row_in(row)
        is_doubted = self._doubt.is_about(page, now)
        if is_doubted and (url := url_at(self._frontier, slot_in(key), name_in(key), page)):
            examples = (*found.examples, url)[:EXAMPLES_MAX]
            self._found = replace(found, visits=found.visits + 1, examples=examples)
        return True
