"""Messages between the HTTP port and the searcher, and between the searcher and the meter."""

from __future__ import annotations

import msgspec

from mesh.actors.actor import Message
from mesh.membership.model.wire_messages import Rumour
from peers.crawler.explanations import CrawlFacts, UrlFacts
from peers.crawler.model.wire_messages import FoundLink
from peers.engine.queries.query import Sort
from peers.engine.queries.query_language import Remark
from peers.engine.rescoring.explanation import Explanation
from peers.entities.sealed_row import SealedRow
from peers.gateway.model.settings import GatewaySettings
from peers.history.wire_messages import HistoryTold
from peers.index.wire_messages import FacetCounts, ListedEntry
from peers.link_graph.wire_messages import BacklinksListed, MarkedPage, NeighboursListed, RanksListed
from peers.query_log.wire_messages import LogTold
from peers.storage.wire_messages import ToldVersion
from peers.submissions.submission import Submission
from peers.submissions.verdict import Verdict
from peers.submissions.wire_messages import SubmissionsTold
from peers.topics.wire_messages import ContentCounts, SliceCounts
from peers.watch.wire_messages import NOTICES_TOLD_MAX, NoticesTold


class SearchPages(Message, frozen=True):
    """HTTP to searcher: answer this. Answered by `PagesFound`."""

    ticket: int
    text: str
    k: int = 10
    offset: int = 0  # not used where there is a cursor
    order: Sort = Sort.SCORE
    cursor: str = ""  # of a page before: its `next`
    wants_facets: bool = False
    wants_explanations: bool = False
    hidden: tuple[str, ...] = ()  # domains of which nothing is shown to who asks
    is_verbatim: bool = False  # as it was typed: no word is taken for a mistyped one
    # Of a stored page, with their weights there, the weightiest first; `text` has the first (`page_words`).
    page_words: tuple[tuple[str, float], ...] = ()
    draw: int = 0  # of `judging.team_draft`, where the policy has a second ranking; 0 for that in force alone
    wants_words: bool = False  # of each page those that it is about


class FoundPage(msgspec.Struct, frozen=True):
    """One result as the JSON of /api/search shows it."""

    url: str
    title: str
    snippet: str
    highlights: tuple[tuple[int, int], ...]  # character spans of the snippet
    title_highlights: tuple[tuple[int, int], ...]
    score: float
    host: str
    fetched_at: float
    peer: str
    date: float = 0.0  # of the last change, seconds since the epoch; 0.0 when the page does not say
    type: str = ""
    language: str = ""
    explanation: Explanation | None = None
    copies: int = 0  # pages with the same title and text that are not shown
    has_more_of_site: bool = False  # further results of its host stand behind those of others
    near_copies: int = 0  # pages with nearly the same text, likewise
    also_at: tuple[str, ...] = ()  # URLs of copies in other domains
    is_confirmed: bool = False  # the gateway or a second member knows the page, too
    published: str = ""  # when the page says it was published, ISO 8601 by its clock; "" when it does not
    section: str = ""  # the heading above the words of the snippet; "" at the beginning of the page
    section_id: str = ""  # that leads there behind #; "" where the heading has none
    synopsis: str = ""  # how it is called what the query names, in lines; "" where the page does not say
    entries: tuple[ListedEntry, ...] = ()  # of a directory, those that show why it was found
    # Of a page as it was, until when that was asked for, and when it was replaced or gone; 0.0 for neither.
    as_of: float = 0.0
    until: float = 0.0
    definition: str = ""  # the sentence that says what was to be defined, which `snippet` is then, too
    words: tuple[str, ...] = ()  # that it is about, the weightiest first, where they were wanted


class Relaxed(msgspec.Struct, frozen=True):
    """The requirements of a query that were given up to find more pages."""

    nowhere: tuple[str, ...] = ()  # words that are on no page
    is_any: bool = False  # too few pages have all words: these have any of them
    with_all: int | None = None  # so many have all words, if that was counted


class Coverage(msgspec.Struct, frozen=True):
    """How much of the mesh an answer speaks for, in slots."""

    slots: int
    answered: int
    missing: int


class GatherNotices(Message, frozen=True):
    """HTTP to searcher: ask the watchers of all peers for notices. Answered by `NoticesGathered`."""

    ticket: int
    after: tuple[tuple[str, int], ...] = ()  # by peer, where to go on; the last ones of others
    most: int = NOTICES_TOLD_MAX  # of each peer
    wants_counts: bool = False
    is_from_oldest: bool = False  # of peers that `after` does not name, the first ones are wanted


class NoticesGathered(Message, frozen=True):
    """Searcher to HTTP: the answers of the watchers, by peer, in the order of their ids."""

    ticket: int
    told: tuple[tuple[str, NoticesTold], ...]
    silent: tuple[str, ...]  # peers that have not answered
    names: tuple[tuple[str, str], ...] = ()  # of members, by id


class CountTopic(Message, frozen=True):
    """HTTP to searcher: how many pages are on a topic, slice by slice? Answered by `CountsSummed`."""

    ticket: int
    key: bytes
    slice_s: int
    starts_s: int  # as in `TopicList`
    kept: int  # slices that are wanted, the last ones that are over


class CountsSummed(Message, frozen=True):
    """Searcher to HTTP: the counts of all peers, by slice, and of the contents of all slices together."""

    ticket: int
    end: int  # number of the slice of now, which is not counted yet
    slices: tuple[SliceCounts, ...]
    together: ContentCounts
    left_s: float = 0.0  # until that slice is over
    left_out: tuple[str, ...] = ()  # peers that told what they were not asked for: without their counts
    silent: tuple[str, ...] = ()  # peers that have not told all: without theirs as well
    missing_share: float = 0.0  # of the slots, and so of the contents: of both together


class GatherRanks(Message, frozen=True):
    """HTTP to searcher: ask all peers which pages have the highest ranks. Answered by `RanksGathered`."""

    ticket: int
    most: int  # of each peer
    hidden: tuple[str, ...] = ()  # domains that are not shown to this reader


class RanksGathered(Message, frozen=True):
    """Searcher to HTTP: the answers of all peers, in the order of their ids."""

    ticket: int
    told: tuple[tuple[str, RanksListed], ...]
    silent: tuple[str, ...]  # peers that have not answered


class GatherNeighbours(Message, frozen=True):
    """HTTP to searcher: which pages link to these, or these to them? Answered by `NeighboursGathered`."""

    ticket: int
    urls: tuple[str, ...] = ()
    marks: tuple[MarkedPage, ...] = ()  # their URLs are wanted
    hidden: tuple[str, ...] = ()  # domains that are not shown to this reader


class NeighboursGathered(Message, frozen=True):
    """Searcher to HTTP: the answers of the owners, in the order of their ids."""

    ticket: int
    told: tuple[NeighboursListed, ...]
    silent: tuple[str, ...]  # peers that have not answered


class PagesFound(Message, frozen=True):
    """Searcher to HTTP."""

    ticket: int
    terms: tuple[str, ...]
    total: int
    seconds: float
    coverage: Coverage
    hits: tuple[FoundPage, ...]
    is_exact: bool = True  # False: at least `total` pages match
    relaxed: Relaxed = Relaxed()
    remarks: tuple[Remark, ...] = ()
    facets: FacetCounts | None = None
    next: str = ""  # cursor of the page after this, "" when there is none
    order: Sort = Sort.SCORE
    is_cached: bool = False
    corrected: str = ""  # the query that was searched for instead: a word that was typed is on no page
    suggestion: str = ""  # a query that finds far more pages
    # Other names of what was typed: texts of the links of several domains to one of the first hits.
    also_called: tuple[str, ...] = ()
    teams: tuple[int, ...] = ()  # of each hit the `judging.team_draft.Team`, -1 for none; () without a draw


class Searched(Message, frozen=True):
    """HTTP to searcher: a client has searched for something, and this is its first page."""

    asker: int  # a digest of who it is
    text: str
    found: PagesFound


class SuggestTexts(Message, frozen=True):
    """HTTP to searcher: how may this go on? Answered by `TextsSuggested`."""

    ticket: int
    typed: str  # at most `index.wire_messages.TYPED_CHARS_MAX` characters
    hidden: tuple[str, ...] = ()  # as in `SearchPages`
    is_whole: bool = False  # a query: texts that contain it and go beyond it are wanted


class TextsSuggested(Message, frozen=True):
    """Searcher to HTTP: the likeliest first."""

    ticket: int
    texts: tuple[str, ...]


class RequestRefused(Message, frozen=True):
    """Searcher to HTTP: not now, ask again. The peer has just started, or too many ask at once."""

    ticket: int
    reason: str


class FindPage(Message, frozen=True):
    """HTTP to searcher: the stored copy of this URL, from whichever peer has it."""

    ticket: int
    url: str
    at_s: float = 0.0  # of that time, as in `ReadPage`
    hidden: tuple[str, ...] = ()  # as in `SearchPages`


class PageFound(Message, frozen=True):
    """Searcher to HTTP; `records` is empty when no peer has the page."""

    ticket: int
    url: str
    fetched_at: float
    records: bytes
    gone_at: float = 0.0  # as in `PageRead`


class CheckLinks(Message, frozen=True):
    """HTTP to searcher: which pages that this one links to are stored? Answered by `LinksChecked`."""

    ticket: int
    url: str
    links: tuple[str, ...]  # canonical URLs; what is more than a peer may be asked at once is not looked for
    hidden: tuple[str, ...] = ()  # as in `SearchPages`


class LinksChecked(Message, frozen=True):
    """Searcher to HTTP: those that are, as far as their owners have answered in time."""

    ticket: int
    stored: frozenset[str]


class FindVersions(Message, frozen=True):
    """HTTP to searcher: which versions of this page are kept? Answered by `VersionsFound`."""

    ticket: int
    url: str
    hidden: tuple[str, ...] = ()  # as in `SearchPages`


class VersionsFound(Message, frozen=True):
    """Searcher to HTTP: those that any peer of the team keeps, the newest first."""

    ticket: int
    url: str
    versions: tuple[ToldVersion, ...]
    is_cut: bool = False  # there are more
    moved_from: tuple[str, ...] = ()  # URLs where the page was before


class FindBacklinks(Message, frozen=True):
    """HTTP to searcher: which pages link to this one? Answered by `BacklinksFound`."""

    ticket: int
    url: str
    start: int = 0  # as in `ListBacklinks`
    hidden: tuple[str, ...] = ()  # as in `SearchPages`


class BacklinksFound(Message, frozen=True):
    """Searcher to HTTP; None when nobody of the team has answered in time."""

    ticket: int
    url: str
    told: BacklinksListed | None


class HastenPages(Message, frozen=True):
    """HTTP to searcher: have the best of these pages visited first. Answered by `PagesHastened`."""

    ticket: int
    words: tuple[str, ...]
    links: tuple[FoundLink, ...]  # at most `HASTENED_MAX`
    count: int  # pages at most
    seconds: float  # of a host no more than have a turn within these
    is_fish: bool = False


class PagesHastened(Message, frozen=True):
    """Searcher to HTTP: these pages come first at their hosts; none that is not among the links."""

    ticket: int
    pages: tuple[tuple[str, float], ...]  # each with what its links promise, 0 to 1, the most promising first


class GatherStatus(Message, frozen=True):
    """HTTP to searcher: the status of all live peers."""

    ticket: int


class StatusGathered(Message, frozen=True):
    """Searcher to HTTP: the encoded status of every peer that answered in time."""

    ticket: int
    statuses: tuple[bytes, ...]
    members: tuple[Rumour, ...] = ()  # all that have not left
    down_s: tuple[tuple[str, float], ...] = ()  # of those that are down, for how long it is known here


class GatherHistory(Message, frozen=True):
    """HTTP to searcher: how all live peers were in the last so many seconds. By `HistoryGathered`."""

    ticket: int
    span_s: float


class HistoryGathered(Message, frozen=True):
    """Searcher to HTTP: the histories kept by all peers that answered in time."""

    ticket: int
    now: float  # mesh clock
    span_s: float
    told: tuple[tuple[str, HistoryTold], ...]  # by peer
    silent: tuple[str, ...] = ()  # peers that have not answered in time, or are of an earlier version
    names: tuple[tuple[str, str], ...] = ()  # what people call members, by id


class ReadLog(Message, frozen=True):
    """HTTP to searcher: the log of searches, as far as one peer has it. By `LogFound`."""

    ticket: int
    peer: str = ""  # "" for the first of all
    after: bytes = b""  # a place in it, see `LogWanted`


class LogFound(Message, frozen=True):
    """Searcher to HTTP: a part of the log."""

    ticket: int
    peers: tuple[str, ...]  # all that have a part of it
    peer: str  # whose this is
    told: LogTold


class ChangeGateway(Message, frozen=True):
    """To HTTP and searcher: answer by these settings from now on; where this peer listens stays."""

    settings: GatewaySettings


class CheckReadiness(Message, frozen=True):
    """HTTP to searcher: would a search speak for every slot now? Answered by `ReadinessTold`."""

    ticket: int


class Lacking(msgspec.Struct, frozen=True):
    """A peer that does not answer for all of its slots."""

    peer: str
    slots: int  # that it does not answer for
    has_answered: bool  # it has said so: it brings or compares what belongs to them


class ReadinessTold(Message, frozen=True):
    """Searcher to HTTP: the share of slots that a search would speak for, and the reasons for any gap."""

    ticket: int
    coverage: Coverage
    lacking: tuple[Lacking, ...] = ()
    unserved: int = 0  # slots that nobody answers for


class AddSeeds(Message, frozen=True):
    """HTTP to searcher: start from these canonical URLs. Answered by `SeedsAdded`."""

    ticket: int
    urls: tuple[str, ...]
    are_changed: bool = False  # known ones are to be visited again at once
    levels: int | None = None  # clicks that are made from them; None for no limit of their own


class SeedsAdded(Message, frozen=True):
    """Searcher to HTTP: the owners have them, durably."""

    ticket: int
    accepted: int
    left_out: tuple[str, ...] = ()  # those that the policy of the mesh does not want


class AskWhy(Message, frozen=True):
    """HTTP to searcher: asks for the facts known of this canonical URL. Answered by `WhyAnswered`."""

    ticket: int
    url: str


class WhyAnswered(Message, frozen=True):
    """Searcher to HTTP: the facts that the peers keeping the URL's slot know of it."""

    ticket: int
    url: str
    slot: int
    owner: str  # "" when nobody owns slots
    team: tuple[str, ...]  # the owner, and the standbys
    told: tuple[tuple[str, UrlFacts], ...]  # by peer of the team that has answered in time


class AskWhyIdle(Message, frozen=True):
    """HTTP to searcher: why is so much fetched, and no more? Answered by `WhyIdleAnswered`."""

    ticket: int
    peer: str = ""  # id of a member: also what it alone has told in some time, as `ExplainCrawl` asks
    since_s: float = 0.0
    until_s: float = 0.0


class WhyIdleAnswered(Message, frozen=True):
    """Searcher to HTTP: the fetches of every peer, and the reasons why the rest waits."""

    ticket: int
    told: tuple[tuple[str, CrawlFacts], ...]  # by peer
    silent: tuple[str, ...]  # live peers that have not answered in time
    down: tuple[str, ...]  # members
    names: tuple[tuple[str, str], ...] = ()  # what people call members, by id


class DrainOrder(Message, frozen=True):
    """HTTP to searcher: have a peer give its slots away, or take its share again.

    Answered by `DrainOrdered` or `DrainRefused`.
    """

    ticket: int
    peer: str  # its id, or the beginning of it if no other begins so
    is_draining: bool = True


class DrainOrdered(Message, frozen=True):
    """Searcher to HTTP: the mesh knows, or waits for a decree. It drains until its status says `drained`."""

    ticket: int
    peer: str  # the whole id
    is_draining: bool
    is_written_off: bool = False  # it was down, and does not belong to the mesh any more
    # What has to be decreed about it, by somebody who may, before anything happens; "" for nothing.
    kind: str = ""
    body: bytes = b""


class DrainRefused(Message, frozen=True):
    """Searcher to HTTP: that cannot be done, for this reason."""

    ticket: int
    reason: str
    is_known: bool  # False: there is no such peer


class ReadMeter(Message, frozen=True):
    """Searcher to meter: this peer's own status. Answered by `MeterRead`."""

    request: int


class MeterRead(Message, frozen=True):
    """Meter to searcher: the encoded `status.PeerStatus`."""

    request: int
    status: bytes


class SubmitUrl(Message, frozen=True):
    """HTTP to searcher: somebody submits a site. Answered by `SiteAnswered`."""

    ticket: int
    url: str  # canonical
    chance: bytes  # that nobody can guess, for the code


class JudgeSite(Message, frozen=True):
    """HTTP to searcher: an administrator has judged a submission. Answered by `SiteAnswered`."""

    ticket: int
    verdict: Verdict


class ReportUrl(Message, frozen=True):
    """HTTP to searcher: a reader reports a page. Answered by `SiteAnswered`, without a code."""

    ticket: int
    url: str  # canonical
    reporter: bytes  # `report.reporter_of`


class SiteAnswered(Message, frozen=True):
    """Searcher to HTTP: the team of the site has it, or why it has not, one of `REFUSALS`."""

    ticket: int
    code: bytes
    refusal: str = ""


class FindSubmission(Message, frozen=True):
    """HTTP to searcher: how does this submission stand? Answered by `SubmissionFound`."""

    ticket: int
    code: bytes


class SubmissionFound(Message, frozen=True):
    """Searcher to HTTP."""

    ticket: int
    is_complete: bool  # all living peers that keep the slot have told; else a row may be with the others
    row: Submission | None = None


class ListSites(Message, frozen=True):
    """HTTP to searcher: which submissions are there? Answered by `SitesListed`, part by part."""

    ticket: int
    peer: str = ""  # whose part is wanted; "" for the first
    after: bytes = b""  # `next` of the part before


class SitesListed(Message, frozen=True):
    """Searcher to HTTP."""

    ticket: int
    peers: tuple[str, ...]  # that have parts, in order
    peer: str  # whose this is
    told: SubmissionsTold


class KeepRow(Message, frozen=True):
    """HTTP to searcher: have the mesh keep this row of an entity. Answered by `RowAnswered`."""

    ticket: int
    public: bytes
    row: SealedRow


class RowAnswered(Message, frozen=True):
    """Searcher to HTTP: the row is where it belongs, or why it is not."""

    ticket: int
    refusal: str = ""


class FindRow(Message, frozen=True):
    """HTTP to searcher: which row of an entity has this name? Answered by `RowFound`."""

    ticket: int
    public: bytes


class RowFound(Message, frozen=True):
    """Searcher to HTTP."""

    ticket: int
    is_complete: bool  # all living peers that keep the slot have told; else a row may be with the others
    row: SealedRow | None = None
