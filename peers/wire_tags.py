"""Every message that peers send each other, by the tag that tells it from the others in a frame.

A message stands with its conversation, in the file `wire_messages.py` of its room, and declares its tag.
Here all are seen together, and what is not in this table is decoded by nobody. Tags are append-only and never
used again; new fields of a message go last, with a default, so that peers of neighbouring versions understand
each other. Messages that a peer does not know it refuses and counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mesh.actors.actor import Message
from mesh.membership.model.wire_messages import (
    BorrowPorts,
    CallBack,
    CalledBack,
    DecreesNamed,
    DecreesTold,
    DecreesWanted,
    JoinMesh,
    JoinRefused,
    MembersTold,
    MembersWanted,
    Ping,
    PingAnswered,
    PingRequested,
    PortsLent,
    RumoursSpread,
    Welcomed,
)
from peers.copies.wire_messages import ContentsNoted, ContentsTold, RolesNoted, RolesTold
from peers.crawler.model.wire_messages import (
    AddressLeased,
    AddressReturned,
    CrawlExplained,
    DemandTold,
    ExplainCrawl,
    ExplainUrl,
    HastenUrls,
    HomesTold,
    HomeTold,
    LeaseAddress,
    LeasesTold,
    LendTurn,
    LinksAccepted,
    LinksFound,
    LookAtPage,
    MarksTold,
    MarksWanted,
    PageObserved,
    TellLeases,
    TurnLent,
    UrlExplained,
    UrlsHastened,
)
from peers.entities.wire_messages import KeepSealed, ReadSealed, SealedKept, SealedTold
from peers.gateway.aggregation.wire_messages import AskGroup, GroupAnswered
from peers.gateway.model.wire_messages import StatusTold, StatusWanted
from peers.handover.wire_messages import (
    ClaimSlots,
    CompareSlots,
    ItemsChanged,
    ItemsKept,
    ItemsSent,
    ItemsTaken,
    OfferSlots,
    ReplicasWanted,
    SendItems,
    SlotsCompared,
    SlotsTaken,
    SlotsYielded,
)
from peers.history.wire_messages import HistoryTold, HistoryWanted
from peers.importing.wire_messages import ImportPage, ImportRefused, PageImported
from peers.index.wire_messages import (
    AskPast,
    CompleteTyped,
    CountTerms,
    ExcerptsRead,
    HitsFound,
    ReadExcerpts,
    SearchSlots,
    TermsCounted,
    TypedCompleted,
)
from peers.link_graph.wire_messages import (
    BacklinksListed,
    GraphNoted,
    GraphTold,
    ListBacklinks,
    ListNeighbours,
    ListRanks,
    NeighboursListed,
    RanksBegun,
    RanksHeard,
    RanksHeld,
    RanksListed,
    RanksTold,
)
from peers.query_log.wire_messages import (
    ClicksTold,
    ClicksWanted,
    LogTold,
    LogWanted,
    SearchesNoted,
    SearchesTold,
)
from peers.storage.wire_messages import (
    CheckPages,
    ListVersions,
    PageNotReplicated,
    PageRead,
    PageReplicated,
    PagesChecked,
    ReadPage,
    ReplicatePage,
    VersionsListed,
)
from peers.submissions.wire_messages import (
    ClaimDomain,
    JudgeSubmission,
    ReadSubmissions,
    ReportPage,
    SubmissionAnswered,
    SubmissionsTold,
    SubmitSite,
)
from peers.topics.wire_messages import CountsTold, CountsWanted, VisitsNoted, VisitsTold
from peers.watch.wire_messages import NoticesTold, NoticesWanted

WIRE_TAGS: Final[Mapping[int, type[Message]]] = MappingProxyType(
    {
        # Membership: members among themselves, strangers at a door; 10 was an order that anybody could give
        1: Ping,
        2: PingAnswered,
        3: PingRequested,
        4: JoinMesh,
        5: Welcomed,
        6: JoinRefused,
        7: MembersWanted,
        8: MembersTold,
        9: RumoursSpread,
        11: DecreesNamed,
        12: DecreesWanted,
        13: DecreesTold,
        14: CallBack,
        15: CalledBack,
        16: BorrowPorts,
        17: PortsLent,
        # Links, and what changes in a store
        20: LinksFound,
        21: LinksAccepted,
        22: ItemsChanged,
        23: ItemsKept,
        # Why things are as they are
        24: ExplainUrl,
        25: UrlExplained,
        26: ExplainCrawl,
        27: CrawlExplained,
        # Pages; 32 and 33 carried the texts of links apart from the frontier
        28: CheckPages,
        29: PagesChecked,
        30: ReplicatePage,
        31: PageReplicated,
        34: ReadPage,
        35: PageRead,
        36: ImportPage,
        37: PageImported,
        38: ImportRefused,
        39: PageNotReplicated,
        # Search
        40: CountTerms,
        41: TermsCounted,
        42: SearchSlots,
        43: HitsFound,
        44: ReadExcerpts,
        45: ExcerptsRead,
        46: CompleteTyped,
        47: TypedCompleted,
        48: AskGroup,
        49: GroupAnswered,
        # Status
        50: StatusWanted,
        51: StatusTold,
        52: HistoryWanted,
        53: HistoryTold,
        # Slots that change hands
        60: ClaimSlots,
        61: SlotsYielded,
        62: CompareSlots,
        63: SlotsCompared,
        64: SendItems,
        65: ItemsSent,
        66: ItemsTaken,
        67: SlotsTaken,
        68: ReplicasWanted,
        69: OfferSlots,
        # Versions of a page; 70 to 74 and from 77 on are others'
        75: ListVersions,
        76: VersionsListed,
        # Whose turn it is at an address of the web
        85: LeaseAddress,
        86: AddressLeased,
        87: AddressReturned,
        88: TellLeases,
        89: LeasesTold,
        # Copies
        100: ContentsTold,
        101: ContentsNoted,
        102: RolesTold,
        103: RolesNoted,
        # Aliases of hosts
        104: MarksWanted,
        105: MarksTold,
        106: HomeTold,
        107: HomesTold,
        # What people search for in vain
        120: DemandTold,
        # Second looks at pages
        121: LendTurn,
        122: TurnLent,
        123: LookAtPage,
        124: PageObserved,
        # Pages that a live search waits for
        125: HastenUrls,
        126: UrlsHastened,
        # The log of searches
        127: SearchesTold,
        128: SearchesNoted,
        129: LogWanted,
        130: LogTold,
        # Sites that people submit
        131: ClaimDomain,
        132: SubmitSite,
        133: JudgeSubmission,
        134: SubmissionAnswered,
        135: ReadSubmissions,
        136: SubmissionsTold,
        # Which pages link to which
        137: GraphTold,
        138: GraphNoted,
        139: ListBacklinks,
        140: BacklinksListed,
        # Notices of watched words
        141: NoticesWanted,
        142: NoticesTold,
        # The web as it was on a day
        143: AskPast,
        # Which pages readers open
        144: ClicksWanted,
        145: ClicksTold,
        # Pages that readers report
        146: ReportPage,
        # Ranks of pages
        150: RanksTold,
        151: RanksHeld,
        152: RanksBegun,
        153: RanksHeard,
        154: ListRanks,
        155: RanksListed,
        # Sealed rows of entities
        156: KeepSealed,
        157: SealedKept,
        158: ReadSealed,
        159: SealedTold,
        # How strongly topics are written about
        160: VisitsTold,
        161: VisitsNoted,
        162: CountsWanted,
        163: CountsTold,
        # What links to pages, and what they link to
        176: ListNeighbours,
        177: NeighboursListed,
    }
)
