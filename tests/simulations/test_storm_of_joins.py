"""Thirty newcomers come at once to a mesh of five that crawls: all are taken, and nothing is lost."""

from __future__ import annotations

from typing import Final

from mesh.membership.membership import MembershipStatistics
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.crawl import SimulatedCrawl
from simulations.world.members import Members

FIRST: Final = 5
NEWCOMERS: Final = 30
SEED: Final = 1
MET_S: Final = 10.0  # by when the first have found together
STORM_S: Final = 20.0  # when the others come, while there is something to crawl
TAKEN_S: Final = 15.0
# Of the membership, to other members: probes, what waits for the newcomers to be settled, one list for each.
MESSAGES_PER_MEMBER_AND_SECOND: Final = 20.0
MEMBERSHIP: Final = frozenset(
    {"Ping", "PingAnswered", "PingRequested", "MembersWanted", "MembersTold", "RumoursSpread"}
)


class Storm(SimulatedCrawl):
    """A crawl to which most peers come while it is under way."""

    has_come = False

    def _start(self, peer: str) -> None:
        if self.has_come or peer in self.peers[:FIRST]:
            super()._start(peer)

    def _wait_for_members(self) -> None:
        self.world.run(until=MET_S)
        assert {self.membership(peer).alive for peer in self.peers[:FIRST]} == {FIRST}
        self.world.plan(STORM_S, self._come)

    def _come(self) -> None:
        self.has_come = True
        for peer in self.peers[FIRST:]:
            self._start(peer)

    def membership(self, peer: str) -> MembershipStatistics:
        seen = self.observe(peer)["membership"]
        assert isinstance(seen, MembershipStatistics)
        return seen

    def told(self) -> int:
        """Messages of the membership so far."""
        return sum(tally.messages for kind, tally in self.world.traffic.sent.items() if kind in MEMBERSHIP)


def test_thirty_newcomers_at_once_are_all_taken_and_nothing_is_lost() -> None:
    web = SyntheticWeb(SEED, 300, WebShape(pages_per_host=10.0, slow_hosts_share=0.0))
    members = Members(SEED, FIRST + NEWCOMERS, replicas=2, slot_count=512)
    crawl = Storm(web, peers=FIRST + NEWCOMERS, seed=SEED, members=members)
    crawl.run_for(STORM_S - MET_S)
    assert 0 < len(crawl.log) < web.pages, "it is under way"
    before = crawl.told()
    crawl.world.run(until=STORM_S + TAKEN_S)
    seen = [crawl.membership(peer) for peer in crawl.peers]
    assert {each.alive for each in seen} == {FIRST + NEWCOMERS}
    assert len({each.epoch for each in seen}) == 1
    assert sum(each.joins_refused for each in seen) == 0
    per_second = (crawl.told() - before) / len(crawl.peers) / TAKEN_S
    assert per_second < MESSAGES_PER_MEMBER_AND_SECOND, per_second
    while not crawl.is_at_rest():
        crawl.world.run(until=crawl.world.now + 10.0)
    findings = crawl.judge()
    assert findings.total == 0, findings.examples
