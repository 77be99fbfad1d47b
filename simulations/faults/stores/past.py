"""Versions of pages that were replaced: a search for the time of the run finds each as long as it was there.

The truth is computed from the versions in the ledgers, whose place in the archive has what they said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from math import inf
from typing import ClassVar, Final

from mesh.slot_set import NO_SLOTS
from mesh.urls import host_of
from peers.policy.rules import DAY_S, SearchHistoryRules
from peers.storage.cell import Cell
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.ledger.place import Place, place_in
from simulations.faults.stores.store_use import StoreUse, UsedMachine, ownership_of
from simulations.faults.stores.versions import body_at, ledger_of
from simulations.world.words import version_word_of

WORDS_OF_SEARCH: Final = 7  # with more the gateway looks for words that go with them
ASKED_AT_A_TIME: Final = 6  # searches
ANSWERED_S: Final = 6.0


class PastUse(StoreUse):
    """The past, of which the web that changes brings enough."""

    switches: ClassVar = {"search_history": SearchHistoryRules(days=30)}

    def is_over(self, machines: Sequence[UsedMachine]) -> bool:
        """Has each cell had its index told of all versions?"""
        for machine in machines:
            cell = self.actor(machine, Cell.name)
            assert isinstance(cell, Cell)
            if cell._past is None or cell._past._told != NO_SLOTS:
                return False
        return True

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        if self._run.is_archive_damaged:
            return
        is_found = self._truth(machines)
        searches = list(_searches({word: url for word, (url, _) in is_found.items()}))
        for start in range(0, len(searches), ASKED_AT_A_TIME):
            for urls in searches[start : start + ASKED_AT_A_TIME]:
                self._ask(urls)
            self._world.run(until=self._world.now + ANSWERED_S)
        for word, (url, must_find) in is_found.items():
            found = self._run.users.found.get(word)
            if found is None:
                yield f"a search for {word} of {url} in the past was not complete"
            elif must_find and not found:
                yield f"a search for {word} in the past did not find the version of {url} that said so"
            elif found and not must_find:
                yield f"a search for {word} in the past found {url}, of which no such version is to be found"

    def _ask(self, urls: dict[str, str]) -> None:
        machine = self._run.some_gateway()
        assert machine is not None
        days = [self._world.now // DAY_S + more for more in (-1, 1)]  # clocks are hours apart
        first, last = (f"{datetime.fromtimestamp(day * DAY_S, UTC):%Y-%m-%d}" for day in days)
        self._run.users.search_in_past(machine, urls, f"{first}..{last}")

    def _truth(self, machines: Sequence[UsedMachine]) -> dict[str, tuple[str, bool]]:
        """Return URLs by the words of their versions, and whether those are to be found."""
        ownership, truth = ownership_of(machines), dict[str, tuple[str, bool]]()
        by_peer = {machine.peer: machine for machine in machines}
        ledgers = {peer: ledger_of(machine) for peer, machine in by_peer.items()}
        for url in self._run.watch.stored:
            slot = ownership.slot_of(host_of(url))
            owner = ownership.owner_of(slot) or ""
            identity = identity_of(slot, url)
            kept = (item for item in ledgers[owner].versions(slot) if item.identity == identity)
            versions = [place_in(item.value) for item in kept]
            versions.sort(key=lambda place: place.stamp, reverse=True)
            is_hidden = url in self._run.hidden or _refuses(versions)
            for place, is_there in _were_there(versions):
                if place.has_content and (body := body_at(by_peer[owner], place.extent)):
                    word = version_word_of(url, body)
                    before = truth.get(word, (url, False))[1]
                    truth[word] = url, before or (is_there and place.has_document and not is_hidden)
        return truth


def _searches(urls: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Put words into searches together, never two of one page. Args: urls: by word."""
    words: dict[str, list[str]] = defaultdict(list)
    for word, url in urls.items():
        words[url].append(word)
    for of_place in zip_longest(*words.values()):
        some = [word for word in of_place if word is not None]
        for start in range(0, len(some), WORDS_OF_SEARCH):
            yield {word: urls[word] for word in some[start : start + WORDS_OF_SEARCH]}


def _refuses(versions: Sequence[Place]) -> bool:
    """Does a page ask not to be indexed, or did so when it was there for the last time?"""
    last = next((place for place in versions if place.has_content), None)
    return last is not None and not last.has_document


def _were_there(versions: Sequence[Place]) -> Iterator[tuple[Place, bool]]:
    """Yield versions, the newest first, and whether each was there for any time at all.

    Where clocks went backwards, one that a newer one says to be younger than itself never was.
    """
    until = inf
    for place in versions:
        yield place, place.fetched_at < until
        until = min(until, place.fetched_at)
