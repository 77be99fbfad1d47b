"""Watches how members behave: honest ones must be left in peace, and the liar must be found out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import Final, Protocol

from mesh.actors.conduct import ConductSettings, Offence
from peers.crawler.model.settings import Tuning
from simulations.faults.false_answers import DeniedTwice
from simulations.faults.false_texts import FalseTexts, domain_of
from simulations.faults.machine import Machine
from simulations.faults.watch import Looked

CONDUCT_LOOK_S: Final = 2.0  # between two looks
# As much less as the meshes are smaller: no honest member comes near it, and a flood beyond.
CONDUCT: Final = ConductSettings(links_per_minute=10_000, pages_per_minute=3_000)
TUNING: Final = Tuning(passed_on_per_minute=CONDUCT.links_per_minute // 8)  # as by default
HONEST_LINKS: Final = 10_000  # that one member is told by all others, at most
HEARD_S: Final = 60.0  # who hears the liar for so long on end has found it out; of 40 all had after 40

INVENTED_MIN: Final = 5  # domains; three are enough
DENIED_MIN: Final = 6  # pages of others; three contradictions with two members are enough
SEARCHES_MIN: Final = 4  # in which they were denied again
HEARD_MIN: Final = 2  # of them, with each of the members


class _Links(Protocol):
    def passes(self, source: str, target: str) -> bool:
        """Do frames get through from one peer to the other?"""


class ConductWatch:
    """Looks now and then how the members judge each other, and how many links and messages they accept."""

    def __init__(
        self,
        links: _Links,
        present: Callable[[], Collection[Machine]],
        violate: Callable[[str], None],
        tell: Callable[[str], None],
        forget: Callable[[Machine], None] = lambda machine: None,
    ) -> None:
        """Begin; `forget` is told of a machine that has lost its memory."""
        self.liar: Machine | None = None
        self._links = links
        self._present = present
        self._violate = violate
        self._tell = tell
        self._forget = forget
        self._heard_s: dict[Machine, float] = {}  # by machine, of the liar, since it last came up
        self._heard_s_max = 0.0
        self._is_found = False
        self._links_received = 0
        self._blamed: set[tuple[Machine, str]] = set()  # of whom it was said already that it is wronged

    def look(self) -> None:
        """Record the changes since the last look."""
        liar = self.liar
        if liar is None:
            return
        self.note_losses()
        for machine in self._present():
            if machine.is_running:
                self._judge_of_others(machine)
            if machine is liar or not machine.is_running:
                continue
            hears = liar.is_running and self._links.passes(liar.peer, machine.peer)
            heard_s = self._heard_s.get(machine, 0.0) + CONDUCT_LOOK_S * hears
            self._heard_s[machine] = heard_s
            self._heard_s_max = max(self._heard_s_max, heard_s)
            self._links_received = max(self._links_received, machine.crawl().links_received)
            if machine.conduct().quarantined and not self._is_found:
                self._is_found = True
                self._tell(f"{machine.name} puts {liar.name} into quarantine, heard for {heard_s:g} s")

    def note_losses(self) -> None:
        """Machines that are down have forgotten all that they knew of others; nothing of before counts."""
        for machine in self._present():
            if machine is not self.liar and not machine.is_running:
                self._heard_s[machine] = 0.0
                self._forget(machine)

    def judge(self, seconds: float) -> None:
        """Judge, when the lies are over, that so long a time."""
        for machine in self._present():
            if machine.is_running:
                self._judge_of_others(machine)
        if self.liar is None:
            return
        if self._links_received > HONEST_LINKS + (1 + seconds / 60) * CONDUCT.links_per_minute:
            self._violate(f"{self._links_received} links were taken in, more than quotas allow")
        if not self._is_found and self._heard_s_max >= HEARD_S:
            self._violate(
                f"{self.liar.name} was heard for {self._heard_s_max:g} s, and nobody put it into quarantine"
            )

    def judge_denials(self, kept_twice: Callable[[str], Mapping[str, DeniedTwice]]) -> None:
        """Judge after some time in peace: a member that denies pages of several members must be found out.

        Args:
          kept_twice: pages that were denied to a gateway, and again when it asked again.
        """
        for machine in self._present():
            if machine is self.liar or not machine.is_running:
                continue
            urls = kept_twice(machine.peer)
            answerers = Counter(page.answerer for page in urls.values())
            # Pages of one search are denied by one answer, and that may not have come in time.
            times = Counter(answerer for answerer, _ in set(urls.values()))
            others = {peer for peer, count in times.items() if count >= HEARD_MIN}
            others -= {machine.peer, self.liar and self.liar.peer, None}
            searches = {page.again_s for page in urls.values() if page.answerer in others}
            n_searches = len(searches)  # of each one contradiction counts, and none with the denier itself
            is_found = bool(machine.conduct().offences.get(Offence.CONTRADICTED))
            is_much = sum(answerers[peer] for peer in others) >= DENIED_MIN and n_searches >= SEARCHES_MIN
            if len(others) > 1 and is_much and not is_found:
                self._violate(f"{machine.name} was denied {len(urls)} pages by one member, and blames nobody")

    def judge_inventions(self, texts: FalseTexts, looks: Sequence[Looked]) -> None:
        """Judge after some time in peace: a member must be found out that invents the texts of many domains.

        Args:
          looks: second looks of all at pages of others, in order.
        """
        for machine in self._present():
            if machine is self.liar or not machine.is_running:
                continue
            told_s = texts.told_s(machine.peer)
            contradicted = set()
            for look in looks:
                is_own = look.machine is machine and look.at > told_s.get(look.url, inf)
                if is_own and look.at > machine.changed_s and self._is_seen_alike(look, looks):
                    contradicted.add(domain_of(look.url))
            is_found = bool(machine.conduct().offences.get(Offence.INVENTED))
            if len(contradicted) >= INVENTED_MIN and not is_found:
                self._violate(
                    f"{machine.name} saw invented texts of {len(contradicted)} domains, and blames nobody"
                )

    def _is_seen_alike(self, look: Looked, looks: Sequence[Looked]) -> bool:
        """Has another honest member seen the same page later, in the same life?"""
        return any(
            other.url == look.url
            and other.machine not in (look.machine, self.liar)
            and other.at > max(look.at, other.machine.changed_s)
            and look.served.status == other.served.status == 200
            and look.served.body == other.served.body
            for other in looks
        )

    def _judge_of_others(self, machine: Machine) -> None:
        for each in machine.conduct().members:
            is_honest = self.liar is None or each.peer != self.liar.peer
            if each.is_quarantined and is_honest and (machine, each.peer) not in self._blamed:
                self._blamed.add((machine, each.peer))
                self._violate(
                    f"{machine.name} has {each.peer}, which is honest, in quarantine for {each.offences}"
                )
