"""Every message that crosses the wire, grouped by conversation.

Tags are append-only and never used again; new fields go last, with a default, so that peers of
neighbouring versions understand each other. Lengths have limits here, checked while decoding:
what is longer makes the whole frame a `RemoteProtocolError`, counted against its sender.

Messages between an actor and a port of the same peer are not here but beside the actor
(`peers/crawler/messages.py` and so on).
"""

from __future__ import annotations

from enum import IntEnum
from math import inf
from typing import Annotated, ClassVar, Final, TypeAlias

from msgspec import Meta

from mesh.actor import Message
from mesh.document import Document
from mesh.linkers import LINKERS_MAX, USES_MAX
from mesh.slot_set import NO_SLOTS, SLOT_SET_BYTES_MAX

PROTOCOL_VERSION: Final = 2

FRAME_BYTES_MAX: Final = 16 << 20  # the largest page with its records and text, and slack
GOSSIP_MAX: Final = 64  # rumours that ride on one probe; the rest go with the next ones
ACCUSERS_MAX: Final = 8  # of one suspect; more make no difference
MEMBERS_MAX: Final = 4_096  # members of a mesh in one welcome
LINKS_MAX: Final = 1_000  # links in one batch: about 100 kB
PAGE_LINKS_MAX: Final = 6_000  # links of one page, as parser.LINKS_MAX
TERMS_MAX: Final = 256  # distinct terms of one query
HITS_MAX: Final = 1_000  # hits in one answer
FEATURES_MAX: Final = 32  # of a hit, besides its score
FACET_CHARS_MAX: Final = 300  # of a value; host names have 253 at most
FACET_VALUES_MAX: Final = 100  # of one facet in one answer: of hosts, the most frequent ones
EXPLANATION_BYTES_MAX: Final = 65_536
SNIPPETS_MAX: Final = 100
URL_CHARS_MAX: Final = 2_083  # as urls.URL_CHARS_MAX
ANCHOR_CHARS_MAX: Final = 200
ANCHORS_MAX: Final = 32  # distinct anchor texts kept of a page, besides those of the uses that are kept
# The texts, and who links by which: `mesh.linkers`.
ANCHOR_ENTRIES_MAX: Final = ANCHORS_MAX + USES_MAX + USES_MAX + LINKERS_MAX
COMPARED_SLOTS_MAX: Final = 16_384  # slots whose digests are compared at a time
ITEM_ID_BYTES: Final = 8  # of one thing that belongs to a slot, as `ItemsWanted` lists them
DIGEST_BYTES: Final = 8  # of all of them of one slot and store
ITEM_IDS_MAX: Final = 1 << 20
PART_BYTES_MAX: Final = 4 << 20  # of the items in one part of a transfer
# Of what they describe: the records of a page whose body is as large as the fetcher takes, which no packing
# makes smaller, and their heads. A gigabit takes 80 ms for it.
BULK_BYTES_MAX: Final = 9 << 20
CHANGES_MAX: Final = 1_024  # items in one `ItemsChanged`, which take some 10 ms to merge
ABSENT_MAX: Final = 64  # peers that others answer for in one question

Url: TypeAlias = Annotated[str, Meta(min_length=1, max_length=URL_CHARS_MAX)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Endpoint: TypeAlias = Annotated[str, Meta(max_length=300)]
Key: TypeAlias = Annotated[bytes, Meta(max_length=128)]
Anchor: TypeAlias = Annotated[str, Meta(max_length=ANCHOR_CHARS_MAX)]
Term: TypeAlias = Annotated[str, Meta(max_length=256)]
Slot: TypeAlias = Annotated[int, Meta(ge=0, lt=65_536)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
SlotSet: TypeAlias = Annotated[bytes, Meta(max_length=SLOT_SET_BYTES_MAX)]  # slot_set.encode_slots


# --- Membership (mesh/membership) ---------------------------------------------------------


class MemberRecord(Message, frozen=True, array_like=True):
    """What a peer says of itself; it alone writes and signs it, gossip carries it on."""

    peer: Name
    endpoint: Endpoint  # tcp://host:port of the inbox
    multicast: Endpoint  # tcp://host:port where it listens for multicasts
    door: Endpoint  # where strangers may ask for admission, "" for none
    gateway: Endpoint  # http://host:port, "" for none
    curve_key: Key  # Z85 text of the public CURVE key
    signing_key: Key  # raw Ed25519 public key
    certificate: Key  # the mesh root's signature over the two keys
    incarnation: Count  # grows with every change the peer makes; the highest wins
    weight: Annotated[int, Meta(ge=0, le=65_536)]  # share of the slots to crawl and keep, 0 for none
    serving: Annotated[int, Meta(ge=0, le=65_536)] = 0  # share to answer for; follows the weight when ready
    is_draining: bool = False  # it gives its slots away and takes none
    signature: Key = b""  # by signing_key over all fields before


class Rumour(Message, frozen=True, array_like=True):
    """A member and what is believed of it."""

    record: MemberRecord
    state: Annotated[int, Meta(ge=0, le=3)]  # members.State
    # Of a suspect: who found it silent, each of its own observation.
    accusers: Annotated[tuple[Name, ...], Meta(max_length=ACCUSERS_MAX)] = ()


class Ping(Message, frozen=True, array_like=True, tag=1):
    """Any member to another: are you alive? Answered at once by `PingAnswered`."""

    sequence: Count
    gossip: Annotated[tuple[Rumour, ...], Meta(max_length=GOSSIP_MAX)] = ()
    queue: Count = 0  # URLs that the sender has still to fetch
    pages: Count = 0  # and those of its slots that it has fetched


class PingAnswered(Message, frozen=True, array_like=True, tag=2):
    """The probed member, or the one asked to probe it, to the prober.

    Who is asked answers at once for itself, and again for the probed member when that has answered.
    """

    sequence: Count
    peer: Name  # who is alive
    gossip: Annotated[tuple[Rumour, ...], Meta(max_length=GOSSIP_MAX)] = ()
    queue: Count = 0  # as in `Ping`
    pages: Count = 0


class PingRequested(Message, frozen=True, array_like=True, tag=3):
    """A prober without an answer to a third member: please ping `peer` for me (SWIM, indirect)."""

    sequence: Count
    peer: Name
    gossip: Annotated[tuple[Rumour, ...], Meta(max_length=GOSSIP_MAX)] = ()


class JoinMesh(Message, frozen=True, array_like=True, tag=4):
    """A stranger at a member's door: let me in. Answered by `Welcomed` or `JoinRefused`."""

    record: MemberRecord
    mesh_digest: Key  # of the stranger's MeshConfig


class Welcomed(Message, frozen=True, array_like=True, tag=5):
    """The member at the door to the newcomer: all it knows of the mesh."""

    members: Annotated[tuple[Rumour, ...], Meta(max_length=MEMBERS_MAX)]


class JoinRefused(Message, frozen=True, array_like=True, tag=6):
    """The member at the door to a stranger it does not admit."""

    reason: Annotated[str, Meta(max_length=300)]


class MembersWanted(Message, frozen=True, array_like=True, tag=7):
    """Anti-entropy of the membership: a member sends all it believes and wants the same back."""

    members: Annotated[tuple[Rumour, ...], Meta(max_length=MEMBERS_MAX)]


class MembersTold(Message, frozen=True, array_like=True, tag=8):
    """Answer to `MembersWanted`."""

    members: Annotated[tuple[Rumour, ...], Meta(max_length=MEMBERS_MAX)]


class RumoursSpread(Message, frozen=True, array_like=True, tag=9):
    """Any member to a few others while it has news; not answered, the news comes from others too."""

    gossip: Annotated[tuple[Rumour, ...], Meta(max_length=GOSSIP_MAX)]


class DrainPeer(Message, frozen=True, array_like=True, tag=10):
    """A gateway to any membership: have a peer give all its slots away, or (False) take its share again.

    It is passed on to that peer. If that is dead, and we are with the majority, it is written off: it
    counts as one that has left.
    """

    is_draining: bool = True
    peer: Annotated[str, Meta(max_length=64)] = ""  # "" is the receiver itself


# --- Links (peers/crawler/controller.py) -----------------------------------------------------


class LinkUse(IntEnum):
    """What the owner of a link's target does with it."""

    FETCH = 0  # queue the target unless it is known, and keep the text
    TEXT = 1  # keep the text for the target, which may never be fetched
    STORED = 2  # the target is stored, from a file: there is no need to fetch it


class FoundLink(Message, frozen=True, array_like=True):
    """A link to a page of the receiver's slots."""

    url: Url  # canonical
    anchor: Anchor = ""
    depth: Annotated[int, Meta(ge=0, le=65_535)] = 0  # clicks from a seed
    hops: Annotated[int, Meta(ge=0, le=255)] = 0  # redirects in a row that led here
    use: LinkUse = LinkUse.FETCH
    linker: Annotated[str, Meta(max_length=16)] = ""  # see `mesh.linkers`; "" within a site


class LinksFound(Message, frozen=True, array_like=True, tag=20):
    """A controller to the controller that owns the links' hosts; repeated until accepted.

    A receiver that does not own a host passes the link on, so nothing is lost while tables differ.
    """

    batch: Count  # the sender's number for it
    links: Annotated[tuple[FoundLink, ...], Meta(max_length=LINKS_MAX)]


class LinksAccepted(Message, frozen=True, array_like=True, tag=21):
    """Promise of the receiver: the links of that batch are in its frontier or seen set, durably."""

    is_promise: ClassVar[bool] = True
    batch: Count


class ItemsChanged(Message, frozen=True, array_like=True, tag=22):
    """A store to the same one of the other members of some slots' teams: this is new. Repeated until kept."""

    batch: Count
    sent_at: float  # mesh clock of the sender; times in the items are by this clock
    items: Annotated[bytes, Meta(max_length=PART_BYTES_MAX)]  # as the store encodes them


class ItemsKept(Message, frozen=True, array_like=True, tag=23):
    """Promise of a team member: those items are merged into its own, durably."""

    is_promise: ClassVar[bool] = True
    batch: Count
    refused: Count = 0  # items of it that cannot be and were left out: to send them again is of no use


# --- Pages (peers/storage/cell.py) -----------------------------------------------------------


class StoredPage(Message, frozen=True, array_like=True):
    """A page as it is kept: its WARC records ready to be appended, and what is indexed of it."""

    url: Url
    slot: Slot
    fetched_at: float  # seconds since the epoch
    status: Annotated[int, Meta(ge=0, le=999)]
    records: bytes  # gzip members: response, request
    document: Document | None = None  # None when the page is not to be found: gone, or not to be indexed


class ReplicatePage(Message, frozen=True, array_like=True, tag=30):
    """An owner's cell to a standby's: keep this too. Repeated until answered."""

    page: StoredPage


class PageReplicated(Message, frozen=True, array_like=True, tag=31):
    """Promise of a standby: the page is in its archive and will be in its index."""

    is_promise: ClassVar[bool] = True
    url: Url
    fetched_at: float


class PageNotReplicated(Message, frozen=True, array_like=True, tag=39):
    """A standby to its owner: my disk is full, count it without me; I answer for its slot no more."""

    url: Url
    fetched_at: float


class ReadPage(Message, frozen=True, array_like=True, tag=34):
    """A gateway to the cell of the page's owner: give me the newest version that shows the page."""

    request: Count
    url: Url


class PageRead(Message, frozen=True, array_like=True, tag=35):
    """The cell's answer; `records` is empty when it does not have the page."""

    request: Count
    url: Url
    fetched_at: float
    records: bytes
    gone_at: float = 0.0  # when a later visit found that the page is not there any more; 0.0 while it is


class ImportPage(Message, frozen=True, array_like=True, tag=36):
    """An importer to the importer of the slot's owner: keep this page of a file. Repeated until answered.

    Who does not own the slot does not answer: soon both have the same table.
    """

    number: Count  # the sender's for it
    page: StoredPage
    links: Annotated[tuple[FoundLink, ...], Meta(max_length=PAGE_LINKS_MAX)] = ()


class PageImported(Message, frozen=True, array_like=True, tag=37):
    """Promise of the owner: its team keeps the page and will not fetch it, and its links are on their way."""

    is_promise: ClassVar[bool] = True
    number: Count
    is_new: bool = True  # False: exactly this version was there already


class ImportRefused(Message, frozen=True, array_like=True, tag=38):
    """The owner to an importer: that page cannot be kept, and asking again will not help."""

    number: Count
    reason: Annotated[str, Meta(max_length=200)]


# --- Search (peers/gateway/searcher.py asks, peers/index/indexer.py answers) ------------------


class CountTerms(Message, frozen=True, array_like=True, tag=40):
    """A gateway to every indexer: the statistics of these terms over the slots you answer for."""

    request: Count
    terms: Annotated[tuple[Term, ...], Meta(max_length=TERMS_MAX)]
    # Not empty: count over the slots that these answer for and you are the next best, and over no others.
    absent: Annotated[tuple[Name, ...], Meta(max_length=ABSENT_MAX)] = ()


class TermsCounted(Message, frozen=True, array_like=True, tag=41):
    """An indexer's answer. The statistics of peers that agree on who answers add up to those of the mesh."""

    request: Count
    epoch: Key  # Ownership.serving_epoch that it was counted under
    generation: Count  # index commit it was counted on
    document_count: Count
    field_lengths: Annotated[tuple[Count, ...], Meta(max_length=16)]  # tokens per field, summed
    doc_freqs: Annotated[tuple[Count, ...], Meta(max_length=TERMS_MAX)]  # in the order asked
    missing: Count = 0  # slots of those asked for that it has not all of: they are not counted


class Hit(Message, frozen=True, array_like=True):
    """A page that matches."""

    url: Url
    score: float  # what it is ordered by: with Order.DATE the date in seconds since the epoch
    features: Annotated[tuple[float, ...], Meta(max_length=FEATURES_MAX)] = ()  # as `ranking` orders them


class SearchSlots(Message, frozen=True, array_like=True, tag=42):
    """A gateway to every indexer: your best pages, over the slots you answer for."""

    request: Count
    query: bytes  # the encoded query.Query, whose version the analysis version covers
    document_count: Count
    field_lengths: Annotated[tuple[Count, ...], Meta(max_length=16)]
    terms: Annotated[tuple[Term, ...], Meta(max_length=TERMS_MAX)]
    doc_freqs: Annotated[tuple[Count, ...], Meta(max_length=TERMS_MAX)]
    k: Annotated[int, Meta(ge=1, le=HITS_MAX)]
    absent: Annotated[tuple[Name, ...], Meta(max_length=ABSENT_MAX)] = ()  # as in `CountTerms`
    # Only pages behind this place in the order of hits are wanted, for pages of results far down.
    after_score: float = inf
    after_url: Annotated[str, Meta(max_length=URL_CHARS_MAX)] = ""
    wants_facets: bool = False
    floor: float = -inf  # k better pages are known of others: those below may be left out


FacetValues: TypeAlias = Annotated[
    tuple[tuple[Annotated[str, Meta(max_length=FACET_CHARS_MAX)], Count], ...],
    Meta(max_length=FACET_VALUES_MAX),
]


class FacetCounts(Message, frozen=True, array_like=True):
    """How many of the matching pages have which value, the most frequent first.

    Those of several peers are to be added up. Hosts that are not among the most frequent ones of a peer are
    left out; a host is all on one peer.
    """

    hosts: FacetValues = ()
    languages: FacetValues = ()
    types: FacetValues = ()
    years: FacetValues = ()  # four digits


class HitsFound(Message, frozen=True, array_like=True, tag=43):
    """An indexer's answer: at most k hits by falling score, ties by URL."""

    request: Count
    epoch: Key
    generation: Count
    total: Count  # all that matched
    hits: Annotated[tuple[Hit, ...], Meta(max_length=HITS_MAX)]
    missing: Count = 0  # as in `TermsCounted`: slots that were not searched
    is_exact: bool = True  # False: more may have matched than `total`
    facets: FacetCounts | None = None  # where they were asked for


class Excerpt(Message, frozen=True, array_like=True):
    """What a result shows of a page."""

    url: Url
    title: Annotated[str, Meta(max_length=1_000)]
    snippet: Annotated[str, Meta(max_length=4_000)]
    highlights: Annotated[tuple[tuple[int, int], ...], Meta(max_length=1_000)]  # spans of snippet
    title_highlights: Annotated[tuple[tuple[int, int], ...], Meta(max_length=1_000)]
    fetched_at: float
    date: float = 0.0  # of the last change, seconds since the epoch; 0.0 when the page does not say
    type: Annotated[str, Meta(max_length=255)] = ""
    language: Annotated[str, Meta(max_length=255)] = ""
    explanation: Annotated[bytes, Meta(max_length=EXPLANATION_BYTES_MAX)] = b""  # an `Explanation`, if asked


class ReadExcerpts(Message, frozen=True, array_like=True, tag=44):
    """A gateway to the indexer that gave these hits."""

    request: Count
    query: bytes
    urls: Annotated[tuple[Url, ...], Meta(max_length=SNIPPETS_MAX)]
    # Not empty: explain the scores, which were made with these statistics. As in `SearchSlots`.
    terms: Annotated[tuple[Term, ...], Meta(max_length=TERMS_MAX)] = ()
    doc_freqs: Annotated[tuple[Count, ...], Meta(max_length=TERMS_MAX)] = ()
    document_count: Count = 0
    field_lengths: Annotated[tuple[Count, ...], Meta(max_length=16)] = ()


class ExcerptsRead(Message, frozen=True, array_like=True, tag=45):
    """The indexer's answer, in the order asked; pages it no longer has are left out."""

    request: Count
    excerpts: Annotated[tuple[Excerpt, ...], Meta(max_length=SNIPPETS_MAX)]


# --- Status ----------------------------------------------------------------------------------


class StatusWanted(Message, frozen=True, array_like=True, tag=50):
    """A gateway to every gateway: how are you?"""

    request: Count


class StatusTold(Message, frozen=True, array_like=True, tag=51):
    """Answer to `StatusWanted`: the encoded `status.PeerStatus`."""

    request: Count
    status: Annotated[bytes, Meta(max_length=65_536)]


# --- Hand-over (peers/handover/): who may crawl a slot, and that all who keep it have the same ------


class ClaimSlots(Message, frozen=True, array_like=True, tag=60):
    """A peer to all others: by the table of this epoch I crawl these. Stop, then say so, and what you have.

    Answered by `SlotsYielded`, in one part or several; repeated to those that have not yielded all. Who has
    another epoch does not answer: soon both have the same.
    """

    claim: Count  # grows with every claim of a peer; a new one replaces those before
    epoch: Key
    slots: SlotSet


class SlotsYielded(Message, frozen=True, array_like=True, tag=61):
    """Promise: of these slots I fetch nothing any more, and what I know of them is durable."""

    is_promise: ClassVar[bool] = True
    claim: Count
    epoch: Key
    slots: SlotSet
    filled: SlotSet  # of those, where the sender has anything at all
    complete: SlotSet = NO_SLOTS  # of those, where it has everything that was acknowledged
    lacking: SlotSet = NO_SLOTS  # of those, where it could not keep what counts elsewhere


class CompareSlots(Message, frozen=True, array_like=True, tag=62):
    """A controller to a controller, or a cell to a cell: do we have the same of these slots?"""

    request: Count
    slots: SlotSet
    digests: Annotated[bytes, Meta(max_length=COMPARED_SLOTS_MAX * DIGEST_BYTES)]  # the sender's, in order


class SlotsCompared(Message, frozen=True, array_like=True, tag=63):
    """Answer to `CompareSlots`."""

    request: Count
    differing: SlotSet
    unready: SlotSet  # not compared: the answerer is itself only getting them


class SendItems(Message, frozen=True, array_like=True, tag=64):
    """Who lacks something to who has it: of these slots, send all that is not among what I have."""

    request: Count
    slots: SlotSet
    have: Annotated[bytes, Meta(max_length=ITEM_IDS_MAX * ITEM_ID_BYTES)]  # ids of items, sorted


class ItemsSent(Message, frozen=True, array_like=True, tag=65):
    """Answer to `SendItems`, in parts, a few of them on their way at a time."""

    request: Count
    part: Count  # 0, 1, 2 ...
    sent_at: float  # mesh clock of the sender; times in the items are by this clock
    items: Annotated[bytes, Meta(max_length=PART_BYTES_MAX)]
    bulk: Annotated[bytes, Meta(max_length=BULK_BYTES_MAX)]  # what the items describe: records, a segment
    checksum: Count  # XXH3-64 of items and bulk
    is_last: bool


class ItemsTaken(Message, frozen=True, array_like=True, tag=66):
    """Promise of the receiver: that part is durable here. It is the sender's leave to send one more."""

    is_promise: ClassVar[bool] = True
    request: Count
    part: Count


class SlotsTaken(Message, frozen=True, array_like=True, tag=67):
    """Answer to `OfferSlots`, in one part or several: I keep these, and have all of them and what you had."""

    offer: Count
    slots: SlotSet


class CopiesWanted(Message, frozen=True, array_like=True, tag=68):
    """A standby to the owner: offer me these, whether I have taken them before or not."""

    slots: SlotSet


class OfferSlots(Message, frozen=True, array_like=True, tag=69):
    """A peer to one that is to keep these slots by the table of this epoch: bring what I have of them.

    The owner offers what it has complete to its standbys; who has something that it does not keep, or
    answers for what it does not own, offers that to those who do. Repeated until `SlotsTaken`. Who has
    another epoch does not answer: soon both have the same.
    """

    offer: Count  # another one whenever something new is offered
    epoch: Key
    slots: SlotSet


WireMessage: TypeAlias = (
    Ping
    | PingAnswered
    | PingRequested
    | JoinMesh
    | Welcomed
    | JoinRefused
    | MembersWanted
    | MembersTold
    | RumoursSpread
    | LinksFound
    | LinksAccepted
    | ReplicatePage
    | PageReplicated
    | PageNotReplicated
    | ReadPage
    | PageRead
    | ImportPage
    | PageImported
    | ImportRefused
    | CountTerms
    | TermsCounted
    | SearchSlots
    | HitsFound
    | ReadExcerpts
    | ExcerptsRead
    | StatusWanted
    | StatusTold
    | DrainPeer
    | ItemsChanged
    | ItemsKept
    | ClaimSlots
    | SlotsYielded
    | CompareSlots
    | SlotsCompared
    | SendItems
    | ItemsSent
    | ItemsTaken
    | SlotsTaken
    | CopiesWanted
    | OfferSlots
)
