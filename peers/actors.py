"""The actors that make a member of the mesh a peer: the same ones live and simulated.

The way of a page:

    controller -FetchPage-> fetcher -PageFetched-> controller -ParsePage-> parser -PageParsed->
    controller -StorePage-> cell -AppendRecords-> archive, -ReplicatePage-> standbys' cells;
    cell -IndexPage-> indexer -CommitDocuments-> segments; cell -PageStored-> controller
    -LinksFound-> the controllers that own the links

The way of a copy: indexer -PagesCommitted-> copies -ContentsTold-> copies of who answers for the slot of its
content -RolesTold-> copies of who answers for it -MarkCopies-> indexer

The way of a query:

    http -SearchPages-> searcher -CountTerms, SearchSlots-> every indexer -> searcher
    -ReadExcerpts-> the indexers of the hits -> searcher -PagesFound-> http
    http -SuggestTexts-> searcher -CompleteTyped-> every indexer -> searcher -TextsSuggested-> http

The way of a search into the log: http -ResultsShown-> query_log -SearchesTold-> query_log of who answers for
the slot of the query

The way of a submitted site: http -SubmitUrl-> searcher -ClaimDomain, SubmitSite-> submissions of its crawler
-WatchSites-> controller -SitesSeen-> submissions

The way of a watched word: parser -PageParsed-> controller -PageWatched-> watch -NoticesTold-> the gateways
that ask

The way of a link to the page that it leads to: controller -PagesLinked-> link_graph -GraphTold-> link_graph
of the target's owner

The way of a visit that counts for a topic: controller -PagesVisited-> topics -VisitsTold-> topics of who
answers for the slot of its content -CountsTold-> the gateways that ask

The way of an entity: http -KeepRow-> searcher -KeepSealed-> entities of who owns the slot of its name

The way of a slot to a new owner:

    membership -OwnershipChanged-> all; handover -ClaimSlots-> every handover; there -HoldSlots-> controller
    -SlotsStopped-> handover -SlotsYielded-> the claimant -SynchroniseSlots-> its controller and cell
    -CompareSlots, SendItems-> theirs, -ItemsSent-> ours; -HoldSlots-> controller, which crawls on;
    -SlotsComplete-> indexer, which answers; -OfferSlots-> the standbys; -ServeSlots-> membership
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from mesh.actors.actor import Actor
from mesh.keys.decree import CLASSES, POLICY, REVOCATION, TOPICS, WATCH, Authority
from mesh.tables.table import Table, TableSection
from peers.copies.copies import Copies, contents_in
from peers.crawler.addresses.lessor import Lessor
from peers.crawler.aliases.aliases import Aliases
from peers.crawler.auditing.auditor import Auditor
from peers.crawler.controller import FRONTIER_SECTION, Controller
from peers.crawler.frontier.text_rows import KeptTexts
from peers.crawler.model.settings import CrawlSettings, Tuning
from peers.entities.entities import Entities
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.searcher import Searcher
from peers.handover.handover import Handover
from peers.handover.settings import HandoverSettings
from peers.handover.store import StoreActor
from peers.history.historian import Historian
from peers.importing.importer import Importer
from peers.index.answerer import IndexView
from peers.index.indexer import Indexer
from peers.link_graph.link_graph import MeshGraph
from peers.query_log.query_log import OwnQueryLog
from peers.storage.audit_sample import Sampling
from peers.storage.cell import Cell
from peers.storage.ledger.stored_versions import StoredVersions
from peers.storage.settings import CellSettings
from peers.submissions.submissions import Submissions
from peers.topics.topics import Topics
from peers.watch.watcher import Watcher

CONTROLLER_SECTION: Final = b"C"  # of the table of a peer
URL_ROWS_SECTION: Final = CONTROLLER_SECTION + FRONTIER_SECTION
CELL_SECTION: Final = b"S"
HISTORIAN_SECTION: Final = b"H"
COPIES_SECTION: Final = b"K"
QUERY_LOG_SECTION: Final = b"Q"
SUBMISSIONS_SECTION: Final = b"N"
WATCH_SECTION: Final = b"W"
LINK_GRAPH_SECTION: Final = b"L"
ENTITIES_SECTION: Final = b"E"
TOPICS_SECTION: Final = b"T"

# By kind of decree, which of the actors are told what is in force.
FOLLOWERS: Final = {
    POLICY: (
        *("controller", "cell", "auditor", "searcher", "historian", "importer"),
        *("query_log", "submissions", "link_graph", "entities", "http"),
    ),
    REVOCATION: ("http", "submissions"),
    CLASSES: ("questions", "searcher", "http"),
    WATCH: ("parser", "watch", "http"),
    TOPICS: ("parser", "controller", "topics", "http"),
}

# Makes actors that hold further stores, for the peer of this id, over this whole table, in this life.
MakeHolders: TypeAlias = Callable[[str, Table, int], list[StoreActor]]


def make_actors(
    me: str,
    table: Table,
    settings: CrawlSettings,
    index: IndexView,
    life: int = 1,
    handover: HandoverSettings | None = None,
    gateway: GatewaySettings | None = None,
    further: MakeHolders = lambda me, table, life: [],
    cell: CellSettings | None = None,
    secret: bytes = b"",
    tuning: Tuning | None = None,
    authority: Authority | None = None,
) -> list[Actor]:
    """Make the actors of a peer, which go on from the state that the table keeps.

    All of them want to be told of `OwnershipChanged`, in this order. Who stands among the holders has a store
    that the handover moves.

    Args:
      me: id of the peer.
      table: of the whole peer; each actor gets its own section.
      index: what the indexer searches.
      life: of the peer, as `mesh.tables.lives` counts them; the numbers of its questions follow from it.
      secret: that nobody else knows, in this life; by it the pages are drawn that are looked at once more.
      further: makes holders of stores that a peer does not have by itself.
      tuning: limits of the controller; None for the defaults.
      authority: of the mesh, that tells what administrators have signed; without it that counts for nothing.
    """
    crawl = TableSection(table, CONTROLLER_SECTION)
    section = TableSection(table, CELL_SECTION)
    frontier, copies = TableSection(crawl, FRONTIER_SECTION), TableSection(table, COPIES_SECTION)
    holders: list[StoreActor] = [
        Controller(me, crawl, settings, StoredVersions(section), life, tuning),
        Cell(me, section, KeptTexts(frontier), cell, life, Sampling(settings.audit_rate, secret)),
        Copies(me, copies, StoredVersions(section).url_of, life),
        OwnQueryLog(me, TableSection(table, QUERY_LOG_SECTION), life),
        Submissions(me, TableSection(table, SUBMISSIONS_SECTION), life, authority=authority),
        MeshGraph(me, TableSection(table, LINK_GRAPH_SECTION), life),
        Entities(me, TableSection(table, ENTITIES_SECTION), life),
        Topics(me, TableSection(table, TOPICS_SECTION), contents_in(copies), life),
        *further(me, table, life),
    ]
    handover = handover or HandoverSettings()
    return [
        *holders,
        Indexer(me, index),
        Searcher(me, life, gateway, settings.ordering),
        Lessor(me, life, handover.fence_s),
        Aliases(me, frontier, life),
        Auditor(me, settings, life),
        Handover(me, [holder.keeps for holder in holders], life, handover),
        Importer(me, life),
        Historian(me, TableSection(table, HISTORIAN_SECTION)),
        Watcher(me, TableSection(table, WATCH_SECTION)),
    ]
