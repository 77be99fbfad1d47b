"""The quota charge of each message of another member, and the messages of content: `mesh.actors.conduct`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mesh.actors.actor import Message
from mesh.actors.conduct import Charge, Conduct, ConductSettings, Quota
from mesh.membership.model.wire_messages import (
    DecreesTold,
    MembersTold,
    MembersWanted,
    Ping,
    PingRequested,
    RumoursSpread,
)
from peers.copies.wire_messages import ContentsTold, RolesTold
from peers.crawler.model.wire_messages import (
    DemandTold,
    ExplainCrawl,
    ExplainUrl,
    HomesTold,
    HomeTold,
    LendTurn,
    LinksFound,
    LookAtPage,
    MarksWanted,
)
from peers.importing.wire_messages import ImportPage
from peers.link_graph.wire_messages import (
    GraphTold,
    ListBacklinks,
    ListNeighbours,
    ListRanks,
    RanksBegun,
    RanksHeld,
    RanksTold,
)
from peers.query_log.wire_messages import LogWanted, SearchesTold
from peers.storage.wire_messages import ReplicatePage
from peers.submissions.wire_messages import (
    ClaimDomain,
    JudgeSubmission,
    ReadSubmissions,
    ReportPage,
    SubmitSite,
)
from peers.topics.wire_messages import CountsWanted, VisitsTold
from peers.watch.wire_messages import NoticesWanted


def _each(quota: Quota) -> Charge:
    return lambda message: (quota, 1.0)


def _links(message: LinksFound) -> tuple[Quota, float]:
    return Quota.LINKS, 1.0 + len(message.links)


def _pages(message: ContentsTold | RolesTold) -> tuple[Quota, float]:
    return Quota.LINKS, 1.0 + len(message.pages)


def _marks(message: MarksWanted) -> tuple[Quota, float]:
    return Quota.LINKS, 1.0 + len(message.urls)


def _searches(message: SearchesTold) -> tuple[Quota, float]:
    return Quota.LINKS, 1.0 + len(message.rows)


def _visits(message: VisitsTold) -> tuple[Quota, float]:
    return Quota.LINKS, 1.0 + len(message.visits)


def _counts(message: CountsWanted) -> tuple[Quota, float]:
    """Anybody can ask a gateway for them, and each takes many: that must not use up its questions."""
    return Quota.LINKS, 10.0


def _graph(message: GraphTold) -> tuple[Quota, float]:
    return Quota.LINKS, 1.0 + len(message.links) + len(message.gone)


def _backlinks(message: ListBacklinks) -> tuple[Quota, float]:
    """Anybody can ask a gateway for them: that must not use up its questions."""
    return Quota.LINKS, 100.0


def _neighbours(message: ListNeighbours) -> tuple[Quota, float]:
    """Likewise; a page has the rows of up to 32 domains."""
    return Quota.LINKS, 10.0 + 10.0 * len(message.urls) + len(message.marks)


def _statements(message: RanksTold) -> tuple[Quota, float]:
    """About 1 for 128 bytes, the size of a link in a message of links."""
    size = sum(len(part.names) + len(part.values) for part in message.parts)
    return Quota.LINKS, 1.0 + len(message.parts) + size / 128


def _held(message: RanksHeld) -> tuple[Quota, float]:
    return Quota.LINKS, 1.0 + len(message.held)


def _submissions(message: ReadSubmissions) -> tuple[Quota, float]:
    """Anybody can look at a status page: that must not use up the questions of its gateway."""
    return (Quota.LINKS, 10.0) if message.code else (Quota.QUESTIONS, 1.0)


def _gossip(message: Ping | RumoursSpread) -> tuple[Quota, float]:
    return Quota.RUMOURS, 1.0 + len(message.gossip)


def _members(message: MembersWanted | MembersTold) -> tuple[Quota, float]:
    return Quota.RUMOURS, 1.0 + len(message.members)


CHARGES: Final[Mapping[type[Message], Charge]] = {
    LinksFound: _links,
    ContentsTold: _pages,
    RolesTold: _pages,
    MarksWanted: _marks,
    SearchesTold: _searches,
    VisitsTold: _visits,
    CountsWanted: _counts,
    GraphTold: _graph,
    ListBacklinks: _backlinks,
    RanksTold: _statements,
    RanksHeld: _held,
    RanksBegun: _each(Quota.QUESTIONS),
    ListRanks: _each(Quota.QUESTIONS),
    ListNeighbours: _neighbours,
    HomeTold: _each(Quota.LINKS),
    HomesTold: _each(Quota.LINKS),
    ReplicatePage: _each(Quota.PAGES),
    ImportPage: _each(Quota.IMPORTS),
    ExplainUrl: _each(Quota.QUESTIONS),
    ExplainCrawl: _each(Quota.QUESTIONS),
    DemandTold: _each(Quota.QUESTIONS),
    LendTurn: _each(Quota.QUESTIONS),
    LookAtPage: _each(Quota.QUESTIONS),
    LogWanted: _each(Quota.QUESTIONS),
    ClaimDomain: _each(Quota.QUESTIONS),
    SubmitSite: _each(Quota.QUESTIONS),
    JudgeSubmission: _each(Quota.QUESTIONS),
    ReportPage: _each(Quota.QUESTIONS),
    ReadSubmissions: _submissions,
    NoticesWanted: _each(Quota.QUESTIONS),
    Ping: _gossip,
    RumoursSpread: _gossip,
    MembersWanted: _members,
    MembersTold: _members,
    PingRequested: _each(Quota.RUMOURS),
    DecreesTold: _each(Quota.RUMOURS),
}

# What a member brings unasked. Not what slots are handed over by, nor what it tells of its visits, or others
# would ask for the same pages again. Nor answers to searches: each hit is judged by its slot, and while
# copies lag, as its pages are not taken, nobody else could answer for its slots.
CONTENT: Final[frozenset[type[Message]]] = frozenset(
    {
        LinksFound,
        ReplicatePage,
        ImportPage,
        ContentsTold,
        RolesTold,
        DemandTold,
        SearchesTold,
        VisitsTold,
        GraphTold,
    }
)


def conduct_of(settings: ConductSettings | None = None) -> Conduct:
    """Begin to watch the members, as every peer does."""
    return Conduct(settings, CHARGES, CONTENT)
