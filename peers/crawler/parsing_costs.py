"""The costs of taking pages apart, charged to their registrable domains.

A domain that has a page which ends its process waits, each time twice as long, and so it does in the next
life of this peer. One whose pages are dear, but end nothing, gets a share of a processor while other domains
have pages, too. What others get must depend neither on how dear a page can be made nor on how many names a
domain has. Within that share turns go by what was used, see `parser_queue`.
"""

from __future__ import annotations

from typing import Final

from peers.crawler.domain_budgets import DomainBudgets, Exhausted
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.host_state import DomainState, HostState
from peers.crawler.model.messages import PageParsed, ParseFailed
from peers.crawler.model.politeness import DOUBLINGS_MAX
from peers.crawler.model.settings import CrawlSettings

FREE_CPU_S: Final = 0.1  # of a page: ordinary ones take 0.002, few honest ones so much
CPU_SHARE: Final = 0.125  # of a processor that the rest may have
COMPANY_S: Final = 60.0  # a page of another domain so long ago counts as one to be taken apart now


class ParsingCosts:
    """Has domains wait for the processor time that their pages have cost."""

    def __init__(self, budgets: DomainBudgets, frontier: Frontier, settings: CrawlSettings) -> None:
        self.settings = settings  # may be replaced
        self._budgets = budgets
        self._frontier = frontier
        self._unparsed: dict[str, HostState] = {}  # by URL of a page that the parser has
        # The last domains of which a page was taken apart, two different ones, and when; the last one first.
        self._latest: list[tuple[str, float]] = []

    def may_be_asked(self, domain: DomainState, now: float) -> bool:
        """Has a domain paid for its costs so far, in all runs? Long after a wait all is forgiven."""
        if not domain.is_cost_known:
            domain.is_cost_known = True
            row = self._budgets.exhausted(domain.name)
            # With another clock than then, too, it waits no longer than it ever would.
            until_s = min(row.until_s, now + self.settings.backoff_max_s)
            domain.not_before_s = max(domain.not_before_s, until_s)
            domain.exhausted_count = max(domain.exhausted_count, row.waits)
        if now >= domain.not_before_s + self.settings.backoff_max_s:
            domain.exhausted_count = 0
        return domain.not_before_s <= now

    def hand_out(self, url: str, state: HostState) -> None:
        """Take in that the parser gets a page of a host."""
        if url not in self._unparsed:
            self._unparsed[url] = state
            state.domain.unparsed_count += 1

    def take_back(self, said: PageParsed | ParseFailed, now: float) -> None:
        """Charge the domain of a page that the parser is done with."""
        state = self._unparsed.pop(said.url, None)
        if state is None:
            return
        if said.is_fatal:
            self._note_fatal(state.domain, now)
        else:
            self._charge(state.domain, said.cpu_s, now)
        self._frontier.note_parsed(state)

    def _charge(self, domain: DomainState, cpu_s: float, now: float) -> None:
        others = [each for each in self._latest if each[0] != domain.name]
        self._latest = [(domain.name, now), *others[:1]]
        domain.is_ordinary = cpu_s <= FREE_CPU_S
        if cpu_s > FREE_CPU_S and others and now < others[0][1] + COMPANY_S:
            pause_s = min((cpu_s - FREE_CPU_S) / CPU_SHARE, self.settings.backoff_max_s)
            domain.not_before_s = max(domain.not_before_s, now) + pause_s

    def _note_fatal(self, domain: DomainState, now: float) -> None:
        """Take in that a page has ended its process.

        Pages that were on their way when a wait began count with the one that began it.
        """
        if not self.may_be_asked(domain, now) and domain.exhausted_count:
            return
        domain.exhausted_count = min(domain.exhausted_count, DOUBLINGS_MAX) + 1
        pause_s = self.settings.backoff_s * 2.0 ** (domain.exhausted_count - 1)
        domain.not_before_s = now + min(pause_s, self.settings.backoff_max_s)
        self._budgets.note_exhausted(domain.name, Exhausted(domain.not_before_s, domain.exhausted_count))
