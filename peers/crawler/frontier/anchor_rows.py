"""The row of the facts that links tell of a page: entries, with the members that told each, and the time.

In a row the entries (`peers.engine.pages.linkers`) stand in groups, each behind its *telling*: the ten
minutes in which the owner of the page's slot heard them, and the members through which they came, the finder
of the link first, the sender last. Entries before the first telling are of nobody known. Rows join (`items`):
of each entry the first telling of each sender stays, and of these the first `TELLINGS_MAX`. So the word of
one member can be left out later, and what another one has told as well stays; an entry that several such
members were the first to tell is lost until it is told again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
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
TAG_CHARS: Final = 4
TELLERS_CHARS_MAX: Final = 3 * TAG_CHARS  # of those before the sender
# Entries told within it stand together: a telling is 10 bytes, which go to the whole team with each change.
SPAN_S: Final = 600
_TIME_CHARS: Final = 4  # until the year 2289
# Of base64, as "base64url" has them (RFC 4648, 5), in their order as characters: an earlier time is less.
_DIGITS: Final = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_TELLING: Final = re.compile(TELLING_PREFIX + "(?:[-0-9A-Z_a-z]{4}){2,5}")


class Disbelief(NamedTuple):
    """The word of one member, in some time, that a policy does not believe."""

    since_s: float
    until_s: float
    tag: str  # of the member, as tellings have it

    def is_about(self, telling: str) -> bool:
        """Tell whether a telling is of that member, and perhaps of that time."""
        tags = (telling[i : i + TAG_CHARS] for i in range(1 + _TIME_CHARS, len(telling), TAG_CHARS))
        return _time(self.since_s) <= telling[1 : 1 + _TIME_CHARS] <= _time(self.until_s) and self.tag in tags


def tag_of(visitor: int) -> str:
    """Return the tag of a member from 24 bits of its number, see `url_rows.visitor_tag`.

    Of a thousand members one in 17,000 has the tag of another one, and loses its word with that one's.
    """
    return _in_digits(visitor)


def telling_of(now: float, tellers: str) -> str:
    """Return the telling of entries that have just come.

    Args:
      now: mesh clock.
      tellers: tags of the members that they came through, the sender last.
    """
    return f"{TELLING_PREFIX}{_time(now)}{tellers}"


def _time(at_s: float) -> str:
    return _in_digits(int(min(max(at_s, 0.0) // SPAN_S, (1 << 24) - 1)))


def _in_digits(number: int) -> str:
    """Write the last 24 bits of a number, so that texts compare as these do."""
    high, low = number >> 12, number & 4095
    return _DIGITS[high >> 6 & 63] + _DIGITS[high & 63] + _DIGITS[low >> 6] + _DIGITS[low & 63]


def row_told(entries: tuple[str, ...], telling: str) -> AnchorRow:
    """Return the row of entries, in any order, that are told together."""
    sorted_entries = join_anchors(entries, ()) if len(entries) > 1 else entries
    return (telling, *sorted_entries) if telling else sorted_entries


def entries_in(row: AnchorRow) -> tuple[str, ...]:
    """Return the distinct entries of a row, sorted."""
    return tuple(sorted({entry for entry in row if entry[:1] != TELLING_PREFIX}))


def have_same_entries(one: AnchorRow, other: AnchorRow) -> bool:
    """Tell whether rows differ in their tellings only, if at all."""
    return all(entry[:1] == TELLING_PREFIX for entry in {*one} ^ {*other})


def knows(row: AnchorRow, entries: Sequence[str], telling: str) -> bool:
    """Tell whether a row has these entries from the same sender, as early."""
    sender = telling[-TAG_CHARS:]
    is_theirs, held = sender == "", []
    for entry in row:
        if entry[:1] == TELLING_PREFIX:
            is_theirs = entry[-TAG_CHARS:] == sender and entry <= telling
        elif is_theirs:
            held.append(entry)
    return set(entries).issubset(held)


def join_anchor_rows(one: AnchorRow, other: AnchorRow) -> AnchorRow:
    """Bring the entries and tellings of two rows of a page together."""
    if one == other or not other:
        return one
    return _ordered(_tellings_in(one, other)) if one else other


def without(row: AnchorRow, disbeliefs: Sequence[Disbelief]) -> AnchorRow:
    """Return a row without the word of some members; () for nothing."""
    if not disbeliefs:
        return row
    tellings = [entry for entry in row if entry[:1] == TELLING_PREFIX]
    refused = {telling for telling in tellings if any(each.is_about(telling) for each in disbeliefs)}
    if not refused:
        return row
    told = _tellings_in(row)
    left = {entry: [each for each in tellings if each not in refused] for entry, tellings in told.items()}
    left = {entry: tellings for entry, tellings in left.items() if tellings}
    texts = set(map(text_hash, filter(is_text, left)))
    for use in [entry for entry in left if entry[:1] == USE_PREFIX and is_use(entry)]:
        if used_text(use) not in texts:
            del left[use]
    return _ordered(left)


def is_anchor_row(row: AnchorRow) -> bool:
    """Tell whether a row is one that the functions here make."""
    for entry in row:
        if entry[:1] == TELLING_PREFIX and not _TELLING.fullmatch(entry):
            return False
    told = _tellings_in(row)
    return _ordered(told) == row and are_uses_of_texts(told)


def join_anchors(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Bring the link texts, linkers and uses of a page together; sorted. A use comes with its text."""
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
    row = groups.pop("", [])
    for telling in sorted(groups):
        row += (telling, *groups[telling])
    return tuple(row)


def _first(tellings: Iterable[str]) -> list[str]:
    """Return the first telling of each sender, and of these the first."""
    of_senders: dict[str, str] = {}
    for telling in sorted(tellings):
        of_senders.setdefault(telling[-TAG_CHARS:], telling)
    return sorted(of_senders.values())[:TELLINGS_MAX]
