"""Directories: each is found by the files that it has now, by their names, sizes and dates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import ClassVar, Final, NamedTuple

from peers.engine.pages.directory_entries import Entry
from simulations.faults.stores.asked import AskedUse
from simulations.faults.stores.store_use import UsedMachine
from simulations.world.varied_pages import DAY_S, DAYS, FIRST_DATE_S, SIZES, entries_of, is_directory

SINCE_S: Final = FIRST_DATE_S + DAYS // 2 * DAY_S


class _Wish(NamedTuple):
    """A search for files."""

    text: str
    size: int = -1
    since_s: int = 0
    number: int | None = None  # in the name of the file

    def is_met(self, entry: Entry) -> bool:
        is_named = self.number is None or entry.name == f"file {self.number}"
        return is_named and entry.size >= self.size and entry.date >= self.since_s


_NEWER: Final = f"newer:{datetime.fromtimestamp(SINCE_S, UTC):%Y-%m-%d}"
_WISHES: Final = (
    _Wish("type:listing"),
    _Wish("larger:1MB", SIZES[1]),
    _Wish(f"larger:1MB {_NEWER}", SIZES[1], SINCE_S),
    _Wish(f"file 2 larger:1GB {_NEWER}", SIZES[2], SINCE_S, 2),
)


class DirectoryUse(AskedUse):
    """Directories, of which the web that changes has enough."""

    place: ClassVar = 6

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        if self._run.is_archive_damaged:
            return
        there: dict[str, tuple[Entry, ...]] = {}
        doubtful = set()
        for url, (_, body) in self.shown_pages(machines).items():
            if is_directory(url):
                there[url] = entries_of(url, body)
                if self.may_differ(url, body):
                    doubtful.add(url)
        wishes = {wish.text: wish for wish in _WISHES}
        for text, found in self.answers_to(wishes):
            if found is None:
                yield f"a search for {text} was not complete"
                continue
            meets = wishes[text].is_met
            urls = {url for url, entries in there.items() if any(map(meets, entries))}
            shown = {hit.url: hit.entries for hit in found.hits}
            if wrong := (urls ^ shown.keys()) - doubtful:
                yield f"a search for {text} is wrong about {sorted(wrong)}"
            for url in (urls & shown.keys()) - doubtful:
                entries = {(each.name, each.size, each.date) for each in there[url] if meets(each)}
                told = {(each.name, each.size, each.date) for each in shown[url]}
                if not told or not told <= entries:
                    yield f"a search for {text} shows {told} in {url}, which has {entries}"
