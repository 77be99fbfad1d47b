"""The row of the facts that links tell of a page: entries, with the members that told each, and the time.

In a row the entries (`peers.engine.pages.linkers`) stand in groups, each behind its *telling*: the minute in
which the owner of the page's slot heard them, and the members through which they came, the finder of the link
first, the sender last. Entries before the first telling are of nobody known. Rows join (`items`): of each
entry the first telling of each sender stays, and of these the first `TELLINGS_MAX`. So the word of one member
can be left out later, and what another one has told as well stays; an entry that several such members were
the first to tell is lost until it is told again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from peers.engine.pages.linkers import (
    LINKERS_MAX,
    MOVES_MAX,
    TELLING_PREFIX,
    USE_PREFIX,
    USES_MAX,
    are_uses_of_texts,
    is_text,
    is_use,
    sorted_out,
    text_hash,
    used_text,
)

AnchorRow: TypeAlias = tuple[str, ...]

ANCHORS_MAX: Final = 32  # distinct texts kept of a page, besides those of the uses that are kept
# The texts, and who links by which: `peers.engine.pages.linkers`.
ANCHOR_ENTRIES_MAX: Final = ANCHORS_MAX + USES_MAX + USES_MAX + LINKERS_MAX + MOVES_MAX
TELLINGS_MAX: Final = 2  # of an entry, by different senders: one of them may lie
ROW_ENTRIES_MAX: Final = 2 * TELLINGS_MAX * ANCHOR_ENTRIES_MAX  # no group is empty
TAG_CHARS: Final = 8
TELLERS_CHARS_MAX: Final = 3 * TAG_CHARS  # of those before the sender
_MINUTE_S: Final = 60
_MINUTE_END: Final = 8  # behind the prefix
_TELLING: Final = re.compile(TELLING_PREFIX + "[0-9a-f]{7}(?:[0-9a-f]{8}){1,4}")


class Disbelief(NamedTuple):
    """The word of one member, in some time, that a policy does not believe."""

    since_s: float
    until_s: float
    tag: str  # of the member, as tellings have it

    def is_about(self, telling: str) -> bool:
        """Tell whether a telling is of that member, and perhaps of that time."""
        if telling == "":
            return False
        told_s = int(telling[1:_MINUTE_END], 16) * _MINUTE_S
        tags = (telling[i : i + TAG_CHARS] for i in range(_MINUTE_END, len(telling), TAG_CHARS))
        return self.since_s < told_s + _MINUTE_S and told_s <= self.until_s and self.tag in tags


def tag_of(visitor: int) -> str:
    """Return the tag of a member from its number, see `url_rows.visitor_tag`."""
    return f"{visitor:08x}"


def telling_of(now: float, tellers: str) -> str:
    """Return the telling of entries that have just come.

    Args:
      now: mesh clock.
      tellers: tags of the members that they came through, the sender last.
    """
    return f"{TELLING_PREFIX}{int(now) // _MINUTE_S:07x}{tellers}"


def entries_in(row: AnchorRow) -> tuple[str, ...]:
    """Return the distinct entries of a row, sorted."""
    return tuple(sorted({entry for entry in row if entry[:1] != TELLING_PREFIX}))


def knows(row: AnchorRow, entries: Sequence[str], telling: str) -> bool:
    """Tell whether a row has these entries from the same sender, as early."""
    sender = telling[-TAG_CHARS:]
    is_theirs, held = sender == "", []
    for entry in row:
        if entry[:1] == TELLING_PREFIX:
            is_theirs = entry[-TAG_CHARS:] == sender and entry <= telling
        elif is_theirs:
            held.append(entry)
    return all(entry in held for entry in entries)


def join_anchor_rows(one: AnchorRow, other: AnchorRow) -> AnchorRow:
    """Bring the entries and tellings of two rows of a page together."""
    if one == other or not other:
        return one
    return _ordered(_tellings_in(one, other)) if one else other


def without(row: AnchorRow, disbeliefs: Iterable[Disbelief]) -> AnchorRow:
    """Return a row without the word of some members; () for nothing."""
    told = _tellings_in(row)
    refused = {telling for each in told.values() for telling in each}
    refused = {telling for telling in refused if any(each.is_about(telling) for each in disbeliefs)}
    if not refused:
        return row
    left = {entry: [each for each in tellings if each not in refused] for entry, tellings in told.items()}
    left = {entry: tellings for entry, tellings in left.items() if tellings}
    texts = set(map(text_hash, filter(is_text, left)))
    for use in [entry for entry in left if entry[:1] == USE_PREFIX and is_use(entry)]:
        if used_text(use) not in texts:
            del left[use]
    return _ordered(left)


def is_anchor_row(row: AnchorRow) -> bool:
    """Tell whether a row is one that the functions here make."""
    told = _tellings_in(row)
    tellings = {telling for each in told.values() for telling in each}
    are_tellings = all(_TELLING.fullmatch(each) for each in tellings if each)
    return are_tellings and _ordered(told) == row and are_uses_of_texts(told)


def join_anchors(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Bring the link texts, linkers and uses of a page together; sorted. A use comes with its text."""
    if len(one) == 1 and not other:  # most pages that have any
        return one
    entries = {*one, *other}
    if len(entries) <= min(ANCHORS_MAX, LINKERS_MAX, USES_MAX, MOVES_MAX):
        return tuple(sorted(entries))
    linkers, uses, texts, moves = sorted_out(sorted(entries, reverse=True))
    uses = [use for use in uses[-USES_MAX:] if used_text(use) in texts]
    kept = [texts[each] for each in {*sorted(texts)[:ANCHORS_MAX], *map(used_text, uses)}]
    return tuple(sorted((*linkers[-LINKERS_MAX:], *uses, *moves[-MOVES_MAX:], *kept)))


def _tellings_in(*rows: AnchorRow) -> dict[str, list[str]]:
    """Return the tellings of each entry, "" for those of nobody known."""
    found: dict[str, list[str]] = {}
    for row in rows:
        telling = ""
        for entry in row:
            if entry[:1] == TELLING_PREFIX:
                telling = entry
            else:
                found.setdefault(entry, []).append(telling)
    return found


def _ordered(told: dict[str, list[str]]) -> AnchorRow:
    """Return the row of entries with these tellings."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for entry in join_anchors(tuple(told), ()):
        tellings = told[entry]
        for telling in tellings if len(tellings) == 1 else _first(tellings):
            groups[telling].append(entry)
    parts = ((telling, *groups[telling]) if telling else tuple(groups[""]) for telling in sorted(groups))
    return tuple(chain.from_iterable(parts))


def _first(tellings: Iterable[str]) -> list[str]:
    """Return the first telling of each sender, and of these the first."""
    of_senders: dict[str, str] = {}
    for telling in sorted(tellings):
        of_senders.setdefault(telling[-TAG_CHARS:], telling)
    return sorted(of_senders.values())[:TELLINGS_MAX]
