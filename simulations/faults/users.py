"""People that give seeds to gateways and search, while the mesh has its faults; the answers are judged.

A search that claims to speak for all slots must find a page that has been stored for `FRESH_S` when it
begins. A seed counts as promised when the gateway says that its owner has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Final, NamedTuple

from mesh.actors.actor import Message
from peers.gateway.model.messages import AddSeeds, FindPage, PageFound, PagesFound, SearchPages, SeedsAdded
from simulations.faults.machine import Machine
from simulations.faults.stores.store_use import UsedMachine
from simulations.world.words import COMMON_WORD, rare_word_of

# From a page being stored to its being in the index of all who keep it: a batch that is being gathered,
# one that is being committed before it, and the same again at a standby that heard of it last.
FRESH_S: Final = 4.0
OR: Final = "OR"  # of the language of queries
STRANGERS_SHOWN: Final = 3  # that are nobody's word, if there are any


class _Question(NamedTuple):
    """A question to a gateway."""

    machine: UsedMachine
    urls: Mapping[str, str]  # by word: the page that has it, or had it
    at: float
    must_find: bool


class Users:
    """Ask, and judge the answers."""

    def __init__(
        self,
        now: Callable[[], float],
        violate: Callable[[str], None],
        tell: Callable[[str], None],
        is_withheld: Callable[[UsedMachine, str, float], bool] = lambda machine, url, since_s: False,
        is_real: Callable[[str], bool] = lambda url: True,
    ) -> None:
        """Begin.

        Args:
          violate: as that of the `Watch`; `tell` likewise.
          is_withheld: whether a malicious member has kept a page from the gateway of a machine since a time.
          is_real: whether a page was ever asked for by anybody.
        """
        self.promised: dict[str, None] = {}  # seeds that a gateway said were taken
        self.found: dict[str, bool] = {}  # word to whether its page was in the last answer for all slots
        self.copies: dict[str, bytes] = {}  # URL to what the gateway had of it when it was last asked
        self.n_searches = 0
        self.n_complete = 0
        self._now = now
        self._violate = violate
        self._tell = tell
        self._is_withheld = is_withheld
        self._is_real = is_real
        self._ticket = 0
        self._questions: dict[int, _Question] = {}

    def seed(self, machine: Machine, url: str) -> None:
        """Give a seed."""
        order = AddSeeds(self._ask(machine, {"": url}), (url,))
        self._tell(f"a user gives {url} to {machine.name}")
        machine.order(order)

    def search(self, machine: Machine, url: str, stored_s: float, *, fresh_s: float = FRESH_S) -> None:
        """Search for a page that was stored at a time, and must be found `fresh_s` later."""
        word, must_find = rare_word_of(url), self._now() >= stored_s + fresh_s
        self.n_searches += 1
        machine.order(SearchPages(self._ask(machine, {word: url}, must_find=must_find), word))

    def search_words(self, machine: Machine, urls: Mapping[str, str]) -> None:
        """Search for all pages with any of some words; `found` has the answer.

        Args:
          urls: by word: the page that is asked about.
        """
        self._search_words(machine, urls, "")

    def search_in_past(self, machine: UsedMachine, urls: Mapping[str, str], span: str) -> None:
        """Search likewise for all versions of a span of time, as in `2026-11-01..2026-11-30`."""
        self._search_words(machine, urls, f" between:{span} copies:all")

    def _search_words(self, machine: UsedMachine, urls: Mapping[str, str], conditions: str) -> None:
        self.n_searches += 1
        text = f" {OR} ".join(urls) + conditions
        machine.order(SearchPages(self._ask(machine, urls), text, k=len(urls) + STRANGERS_SHOWN))

    def search_all(self, machine: Machine) -> None:
        """Search for the word that stands on all pages; the best ten may be any."""
        self.n_searches += 1
        machine.order(SearchPages(self._ask(machine, {COMMON_WORD: ""}), COMMON_WORD))

    def look_up(self, machine: Machine, url: str) -> None:
        """Ask for the stored copy of a page."""
        machine.order(FindPage(self._ask(machine, {"": url}), url))

    def told(self, machine: Machine, message: Message) -> None:
        """Take an answer of a gateway."""
        match message:
            case PagesFound(ticket) if ticket in self._questions:
                self._judge(self._questions.pop(ticket), message)
            case SeedsAdded(ticket, accepted) if ticket in self._questions:
                (url,) = self._questions.pop(ticket).urls.values()
                self._tell(f"{machine.name} says that {url} is{' ' if accepted else ' not '}taken")
                if accepted:
                    self.promised[url] = None
            case PageFound(ticket, url, _, records) if ticket in self._questions:
                del self._questions[ticket]
                self.copies[url] = records

    def _ask(self, machine: UsedMachine, urls: Mapping[str, str], *, must_find: bool = False) -> int:
        self._ticket += 1
        self._questions[self._ticket] = _Question(machine, urls, self._now(), must_find)
        return self._ticket

    def _judge(self, question: _Question, answer: PagesFound) -> None:
        for word in question.urls:
            self.found.pop(word, None)
        if answer.coverage.missing:
            return
        self.n_complete += 1
        shown = {hit.url for hit in answer.hits}
        self.found.update((word, url in shown) for word, url in question.urls.items())
        asked, machine = set(question.urls.values()), question.machine
        for hit in answer.hits:
            is_strange = hit.url not in asked if any(asked) else not self._is_real(hit.url)
            # What is known to one member alone may be invented, and is not called confirmed.
            if hit.is_confirmed and is_strange:
                self._violate(f"{machine.name} found {hit.url} by the word of {', '.join(asked) or 'all'}")
        if not question.must_find:
            return
        # What is shown again is as false as it was when it was found.
        since_s = -inf if answer.is_cached else question.at
        for url in sorted(asked - shown):
            if not self._is_withheld(machine, url, since_s):
                self._violate(
                    f"{machine.name} did not find {url} at {question.at:.3f} in a search that"
                    f" claims all {answer.coverage.slots} slots"
                )
