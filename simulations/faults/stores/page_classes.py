"""The classes of pages: over the mesh each page has that of its text, and the counts are those of all pages.

A second list of classes is decreed while there are faults; in the end everybody goes by that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, Final

from msgspec.structs import replace

from mesh.actors.actor import Message
from peers.gateway.model.messages import PagesFound
from peers.index.wire_messages import HitsFound
from simulations.faults.stores.asked import ANSWERED_S, AskedUse
from simulations.faults.stores.store_use import LIE_PAUSE_S, UsedMachine, UsedRun
from simulations.world.varied_pages import CLASS_NAMES, classes_body, classes_of

EVERY_CLASS: Final = "class:*"
RAISED: Final = 1_000  # times


class ClassUse(AskedUse):
    """Classes, which are replaced at a moment of the run."""

    chance = "classes"
    place: ClassVar = 5

    def __init__(self, run: UsedRun) -> None:
        super().__init__(run)
        self._number = 0
        self._counts: set[int] = set()  # tickets of searches beside a member that lies

    def decree(self) -> None:
        self._publish(is_revised=False)

    def begin(self, until: float) -> None:
        at_s = self._random.uniform(self._world.now, until)
        self._world.plan(at_s, lambda: self._publish(is_revised=True))

    def end_faults(self) -> None:
        """Say it once more, for it may have been lost with the only member that had heard of it."""
        self._publish(is_revised=True)

    def _publish(self, *, is_revised: bool) -> None:
        machine = self._run.some_gateway()
        if machine is not None:
            self._number += 1
            machine.publish(self._run.members.classes(self._number, classes_body(is_revised=is_revised)))

    # --- The member that lies

    def twisted(self, message: Message) -> Message:
        """Tell a gateway that a thousand times as many pages are in each class."""
        if not isinstance(message, HitsFound) or message.facets is None:
            return message
        classes = tuple((name, RAISED * count) for name, count in message.facets.classes)
        return replace(message, facets=replace(message.facets, classes=classes))

    def lie(self, machine: UsedMachine, until: float) -> None:
        """Have others count classes while a member lies."""
        self.act_now_and_then(partial(self._count, machine), LIE_PAUSE_S, until)

    def _count(self, liar: UsedMachine) -> None:
        gateway = self._run.some_gateway()
        if gateway is not None and gateway is not liar:
            self._counts.add(self.ask(gateway, EVERY_CLASS, wants_facets=True))

    def told(self, machine: UsedMachine, message: Message) -> bool:
        if not super().told(machine, message):
            return False
        assert isinstance(message, PagesFound)
        if message.ticket in self._counts and message.is_exact and message.facets is not None:
            most = max((count for _, count in message.facets.classes), default=0)
            if most > message.total:
                self._run.watch.violate(
                    f"{machine.name} counts {most} pages of a class where {message.total} match"
                )
        return True

    # --- Judging

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        if self._run.is_archive_damaged:
            return
        members: dict[str, set[str]] = {name: set() for name in CLASS_NAMES}
        doubtful = set()
        for url, (_, body) in self.shown_pages(machines).items():
            if self.may_differ(url, body):
                doubtful.add(url)
            for name in classes_of(url, body, is_revised=True):
                members[name].add(url)
        tickets = {each.name: self.ask(each, EVERY_CLASS, wants_facets=True) for each in machines}
        self._world.run(until=self._world.now + ANSWERED_S)
        expected = {name: len(urls) for name, urls in members.items() if urls}
        for name, ticket in tickets.items():
            yield from _wrong_counts(name, expected, self.answer(ticket), len(doubtful))
        for text, found in self.answers_to(f"class:{name}" for name in expected):
            if found is None:
                yield f"a search for {text} was not complete"
                continue
            urls = members[text.partition(":")[2]]
            shown = {hit.url for hit in found.hits}
            if wrong := (urls ^ shown if found.total <= len(found.hits) else shown - urls) - doubtful:
                yield f"a search for {text} is wrong about {sorted(wrong)}"


def _wrong_counts(
    name: str, expected: dict[str, int], found: PagesFound | None, n_doubtful: int
) -> Iterator[str]:
    if found is None or found.facets is None:
        yield f"{name} does not count the pages of all classes"
        return
    counts = Counter(dict(found.facets.classes))
    if any(abs(counts[each] - expected.get(each, 0)) > n_doubtful for each in counts.keys() | expected):
        yield f"{name} counts pages of classes {dict(counts)}, and there are {expected}"
