"""Watch lists as people write them: an entry a line, `text` or `name<TAB>text`; # begins a remark."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from mesh.counts import counted
from mesh.errors import ConfigError, unreadable
from mesh.keys.decree import DECREE_BYTES_MAX
from peers.text.folding import fold
from peers.text.runs import RUN
from peers.watch.matcher import symbols_of
from peers.watch.watch_list import ENTRIES_MAX, ENTRY_CHARS_MAX, EntryKind, WatchEntry, list_body


def entry_in(line: str) -> WatchEntry:
    """Read one entry; its kind follows from its text.

    Raises:
      ConfigError: it is too long, has no word, or is a letter that is on every page.
    """
    name, tab, text = line.strip().partition("\t")
    text = " ".join((text if tab else name).split())
    name = " ".join(name.split()) or text
    if not 0 < len(text) <= ENTRY_CHARS_MAX or len(name) > ENTRY_CHARS_MAX:
        raise ConfigError(f"{line.strip()[:80]!r}: a name and a text have 1 to {ENTRY_CHARS_MAX} characters")
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise ConfigError(f"{name!r} has characters that nobody sees: write it without them")
    symbols = symbols_of(fold(text)).symbols
    if not symbols:
        raise ConfigError(f"{text!r} has no word: signs alone are not looked for")
    if len(symbols) == 1 and len(symbols[0]) == 1 and fold(text) != symbols[0]:
        raise ConfigError(f"{text!r} would be found wherever {symbols[0]!r} is: signs do not count")
    if len(symbols) == 1 and len(symbols[0]) == 1 and symbols[0].isascii():
        raise ConfigError(f"{text!r} is on every page: take a whole word")
    is_word = len(RUN.findall(fold(text))) == 1
    return WatchEntry(name, EntryKind.WORD if is_word else EntryKind.PHRASE, text)


def entries_of(lines: Iterable[str]) -> tuple[WatchEntry, ...]:
    """Read the lines of a list.

    Raises:
      ConfigError: one is none, two are the same, or there are too many.
    """
    stripped = (line.strip() for line in lines)
    return checked([entry_in(line) for line in stripped if line and not line.startswith("#")])


def checked(entries: Sequence[WatchEntry]) -> tuple[WatchEntry, ...]:
    """Return a list that a decree can carry.

    Raises:
      ConfigError: two entries have one name or are found in the same texts, or there are too many.
    """
    names: set[str] = set()
    texts: dict[tuple[str, ...], str] = {}
    for entry in entries:
        symbols = _symbols(entry)
        if entry.name in names or symbols in texts:
            other = texts.get(symbols, entry.name)
            raise ConfigError(f"{entry.name!r} and {other!r} are the same: keep one of them")
        names.add(entry.name)
        texts[symbols] = entry.name
    size = len(list_body(entries, 0.0))
    if len(entries) > ENTRIES_MAX or size > DECREE_BYTES_MAX - 16:
        raise ConfigError(
            f"the list has {counted(len(entries), 'entry')} and {counted(size, 'byte')}, a decree "
            f"{ENTRIES_MAX:,} and {DECREE_BYTES_MAX:,}: leave some out"
        )
    return tuple(entries)


def added(entries: Sequence[WatchEntry], new: Sequence[WatchEntry]) -> tuple[WatchEntry, ...]:
    """Return a list with further entries behind those that it has.

    Raises:
      ConfigError: one of them is in the list already, or the list would be none.
    """
    known = {_symbols(entry): entry.name for entry in entries}
    for entry in new:
        if (name := known.get(_symbols(entry))) is not None:
            raise ConfigError(f"{entry.name!r} is watched for already, as {name!r}: leave it out")
    return checked([*entries, *new])


def _symbols(entry: WatchEntry) -> tuple[str, ...]:
    return tuple(symbols_of(fold(entry.text)).symbols)


def read_list(file: Path) -> tuple[WatchEntry, ...]:
    """Read a file of entries. ConfigError."""
    try:
        return entries_of(file.read_text(encoding="utf-8-sig").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, error) from error


def line_of(entry: WatchEntry) -> str:
    """Write an entry as it is read."""
    return entry.text if entry.name == entry.text else f"{entry.name}\t{entry.text}"
