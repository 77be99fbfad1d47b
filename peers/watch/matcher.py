"""Find the entries of a watch list in a text, in time that is linear in the text, for any list.

Theory of operation
===================
A text is folded as for the index (`text.folding`), so case, full width, accents and traditional characters
make no difference, and cut into *symbols*: a word of a script with spaces, a character of Chinese, Japanese
or Korean, a cluster of Thai and its like. Entries are cut likewise. So a word never matches inside of
another, and an entry of characters matches wherever they stand one after the other. Between two stretches of
characters with something between them there is a symbol `BREAK`: 我爱中。国家 does not have 中国. Of an
entry with such a break there are two ways: with it, and joined. What stands between words does not matter,
as in a search for a phrase.

The entries are one automaton (Aho, Corasick 1975, "Efficient string matching"): a tree of symbols where each
state knows the state of its longest proper suffix. For each symbol of the text there is one step down or, in
all, at most as many steps along suffixes as there were down. Occurrences are not listed, of which a text of
one character repeated has 64 at each place: it is counted how often each state was reached, and then each
state adds its count to that of its next suffix with an entry, the deepest first.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from peers.text.folding import AlignedText, fold
from peers.text.runs import KIND_OF_CHARACTER, RUN, RunKind, clusters_of
from peers.watch.entry_starts import EntryStarts
from peers.watch.watch_list import WatchEntry
from peers.watch.watched import EXCERPT_CHARS_MAX, HITS_MAX, TITLE_CHARS_MAX, PageWatch, WatchHit

BREAK: Final = " "  # no symbol of any text
_END: Final = "\n"  # of the title, likewise
BEFORE_CHARS: Final = 60  # of an excerpt, before the occurrence


class Symbols(NamedTuple):
    """A folded text in symbols, and where each begins."""

    symbols: list[str]
    starts: list[int]


class Found(NamedTuple):
    """The occurrences of one entry."""

    entry: int
    n: int  # occurrences
    start: int  # indices of the first and last symbol of the first occurrence
    last: int


def symbols_of(folded: str) -> Symbols:
    """Cut a folded text into symbols."""
    found = Symbols([], [])
    for run, _ in _runs_from(folded, 0):
        found.symbols.extend(run.symbols)
        found.starts.extend(run.starts)
    return found


def _runs_from(folded: str, place: int) -> Iterator[tuple[Symbols, int]]:
    """Yield the symbols of each run from a place on, with a break before them if there is one; its end."""
    end_of_characters = -1  # of the run before, if it was one of characters
    for match in RUN.finditer(folded, place):
        run, (start, end) = match[0], match.span()
        kind = _kind_of(run)
        if kind == RunKind.WORD:
            end_of_characters = -1
            yield Symbols([run], [start]), end
            continue
        is_broken = 0 <= end_of_characters < start
        symbols, starts = ([BREAK], [end_of_characters]) if is_broken else ([], [])
        end_of_characters = end
        if kind == RunKind.UNSPACED:
            clusters = clusters_of(run)
            symbols += clusters
            starts += accumulate(map(len, clusters[:-1]), initial=start)
        else:
            symbols += run
            starts += range(start, end)
        yield Symbols(symbols, starts), end


def _kind_of(run: str) -> int:
    return KIND_OF_CHARACTER[ord(run[0])]


class Matcher:
    """The automaton of one list."""

    def __init__(self, number: int, entries: Sequence[WatchEntry]) -> None:
        """Build it: 10,000 entries of four characters take 0.1 s and 12 MB.

        Args:
          number: of the decree that the list is from.
        """
        self._number, self._entries = number, entries
        self._next: list[dict[str, int]] = [{}]  # by state; 0 is the root
        self._depth = [0]
        self._entry = [-1]  # that ends here
        for place, entry in enumerate(entries):
            symbols = symbols_of(fold(entry.text)).symbols
            self._add(symbols, place)
            if BREAK in symbols:
                self._add([symbol for symbol in symbols if symbol != BREAK], place)
        first_runs = (RUN.search(fold(entry.text)) for entry in entries)
        self._starts = EntryStarts(match[0] for match in first_runs if match)
        self._suffix = [0] * len(self._next)
        self._ending = [0] * len(self._next)  # the state itself or its longest suffix where an entry ends
        self._link()

    def watch(self, title: str, text: str, *, is_quotable: bool = True) -> PageWatch | None:
        """Return the entries in a page, None when there are none.

        Args:
          is_quotable: the page lets something of its text be shown.
        """
        symbols, starts, n_of_title = self._cut(fold(title), fold(text))
        found = self.scan(symbols)
        if not found:
            return None
        found.sort(key=lambda each: each.start)
        shown = found[:HITS_MAX]
        title_of_page = _sound(" ".join(title.split())[:TITLE_CHARS_MAX])
        if not is_quotable:
            hits = [WatchHit(self._entries[each.entry].name, each.n) for each in shown]
            return PageWatch(self._number, title_of_page, tuple(hits), len(found) - len(shown))
        quotes = _Quotes(title, text, n_of_title)
        hits = [
            WatchHit(
                self._entries[each.entry].name,
                each.n,
                *quotes.around(each, starts[each.start], starts[each.last] + len(symbols[each.last])),
            )
            for each in shown
        ]
        return PageWatch(self._number, title_of_page, tuple(hits), len(found) - len(shown))

    def entries_in(self, title: str, text: str) -> list[int]:
        """Return the entries in a page by their places in the list, in no order."""
        symbols, _, _ = self._cut(fold(title), fold(text))
        return [found.entry for found in self.scan(symbols)]

    def scan(self, symbols: Sequence[str]) -> list[Found]:
        """Return the entries that are in a text, in no order."""
        steps, suffix, ending = self._next, self._suffix, self._ending
        counts: defaultdict[int, int] = defaultdict(int)
        firsts: dict[int, int] = {}  # where each of these states was reached first
        state = 0
        for place, symbol in enumerate(symbols):
            following = steps[state].get(symbol)
            while following is None and state:
                state = suffix[state]
                following = steps[state].get(symbol)
            state = following or 0
            if state and (end := ending[state]):
                counts[end] += 1
                firsts.setdefault(end, place)
        return self._summed(counts, firsts) if counts else []

    def _summed(self, counts: defaultdict[int, int], firsts: dict[int, int]) -> list[Found]:
        """Let each state pass its count on to the next shorter one, and add up the ways of an entry."""
        by_depth: defaultdict[int, set[int]] = defaultdict(set)
        for state in counts:
            by_depth[self._depth[state]].add(state)
        found: dict[int, Found] = {}
        for depth in range(max(by_depth), 0, -1):
            for state in by_depth.get(depth, ()):
                count, last = counts[state], firsts[state]
                each = Found(self._entry[state], count, last - depth + 1, last)
                if (other := found.get(each.entry)) is not None:
                    first = min(each, other, key=lambda way: way.last)
                    each = first._replace(n=count + other.n)
                found[each.entry] = each
                if shorter := self._ending[self._suffix[state]]:
                    counts[shorter] += count
                    firsts[shorter] = min(firsts.get(shorter, last), last)
                    by_depth[self._depth[shorter]].add(shorter)
        return list(found.values())

    def _cut(self, title: str, text: str) -> tuple[list[str], list[int], int]:
        """Return the symbols of both with an end between them, their starts, and how many are the title's."""
        of_title, of_text = self._parts_of(title), self._parts_of(text)
        symbols = [*of_title.symbols, _END, *of_text.symbols]
        return symbols, [*of_title.starts, len(title), *of_text.starts], len(of_title.symbols)

    def _parts_of(self, folded: str) -> Symbols:
        """Return the symbols of a text where entries may be, with ends between these parts.

        A part begins where an entry may begin, and goes on as long as one may go on.
        """
        places = self._starts.places_in(folded)
        if places is None:
            return symbols_of(folded)
        found, end = Symbols([], []), 0
        for place in places:
            if place < end:
                continue
            state = 0
            for run, run_end in _runs_from(folded, place):
                end = run_end
                for symbol in run.symbols:
                    state = self._after(state, symbol)
                found.symbols.extend(run.symbols)
                found.starts.extend(run.starts)
                if not state:
                    break
            found.symbols.append(_END)
            found.starts.append(end)
        return found

    def _after(self, state: int, symbol: str) -> int:
        """Return the state that a symbol leads to."""
        while (following := self._next[state].get(symbol)) is None and state:
            state = self._suffix[state]
        return following or 0

    def _add(self, symbols: Sequence[str], place: int) -> None:
        """Enter an entry; of two that are folded alike the first is told."""
        state = 0
        for symbol in symbols:
            following = self._next[state].get(symbol)
            if following is None:
                following = self._next[state][symbol] = len(self._next)
                self._next.append({})
                self._depth.append(self._depth[state] + 1)
                self._entry.append(-1)
            state = following
        if state and self._entry[state] < 0:
            self._entry[state] = place

    def _link(self) -> None:
        """Find the suffix of each state, the shallowest first."""
        waiting = deque(self._next[0].values())
        while waiting:
            state = waiting.popleft()
            self._ending[state] = state if self._entry[state] >= 0 else self._ending[self._suffix[state]]
            for symbol, following in self._next[state].items():
                waiting.append(following)
                shorter = self._suffix[state]
                while shorter and symbol not in self._next[shorter]:
                    shorter = self._suffix[shorter]
                self._suffix[following] = self._next[shorter].get(symbol, 0)


class _Quotes:
    """Excerpts of a page; folded texts are aligned with it only when one is wanted."""

    def __init__(self, title: str, text: str, n_of_title: int) -> None:
        self._title, self._text, self._n_of_title = title, text, n_of_title
        self._aligned: dict[bool, AlignedText] = {}

    def around(self, found: Found, start: int, end: int) -> tuple[str, int, int]:
        """Return the text around a stretch of the folded one, and where in it the stretch is."""
        is_title = found.last < self._n_of_title
        text = self._title if is_title else self._text
        if is_title not in self._aligned:
            self._aligned[is_title] = AlignedText(text)
        start, end = self._aligned[is_title].span(start, end)
        first = max(0, start - BEFORE_CHARS)
        before, inside = _one_line(text[first:start]), _one_line(text[start:end])[:EXCERPT_CHARS_MAX]
        room = EXCERPT_CHARS_MAX - len(before) - len(inside)
        if room < 0:
            before, room = before[-room:], 0
        after = _one_line(text[end : end + room])
        return _sound(f"{before}{inside}{after}"), len(before), len(before) + len(inside)


def _sound(text: str) -> str:
    """Replace halves of characters, which have no UTF-8 form; the length stays as it is."""
    return text.encode("utf-8", "replace").decode()


def _one_line(text: str) -> str:
    """Replace white space by spaces; the length stays as it is."""
    return "".join(" " if character.isspace() else character for character in text)
