"""The facts that a controller tells of a URL, and the reasons why no more is fetched: values."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from mesh.errors import RemoteProtocolError
from mesh.urls import URL_CHARS_MAX
from peers.crawler.model.wire_messages import FACTS_BYTES_MAX

LINES_MAX: Final = 8  # rules, texts, hosts and fetches that are named
WAITS_MAX: Final = 32
COUNT_MAX: Final = 1 << 53

Seconds = Annotated[float, Meta(ge=-1e12, le=1e12)]  # and no NaN
Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]
TEXT_CHARS_MAX: Final = 300
Text = Annotated[str, Meta(max_length=TEXT_CHARS_MAX)]
Name = Annotated[str, Meta(max_length=300)]
LongText = Annotated[str, Meta(max_length=URL_CHARS_MAX)]
Facts = TypeVar("Facts", "UrlFacts", "CrawlFacts")


class UrlState(StrEnum):
    """The state of a URL in the crawl; the values are texts for people."""

    UNKNOWN = "unknown"
    QUEUED = "queued"  # never visited
    FETCHING = "being fetched"
    IN_PROGRESS = "being stored"
    STORED = "stored"
    IMPORTED = "stored, from a file"
    VISITED = "visited, and nothing stored"  # a redirect, a sitemap
    FAILED = "failed"
    LEFT_OUT = "left out"


class DueBy(StrEnum):
    """Why a URL is due when it is."""

    FIRST = "it was never visited"
    AGAIN = "it is tried again after a failure"
    INTERVAL = "pages are visited again after this interval"
    POLICY = "it is looked at again whether the policy leaves it out"
    ROBOTS = "its robots.txt is asked for again"
    ONCE = "pages are visited once, as `revisit_after_s` is not set"


class DelayBy(StrEnum):
    """The reasons for the delay of a host."""

    ROBOTS = "Crawl-delay of its robots.txt"
    ANSWER = "delay_factor of the peer's settings"
    RULE = "a rule of the policy"
    SETTING = "delay_s of the peer's settings"


class IndexState(StrEnum):
    """How the index stands to the versions of a page that are kept."""

    INDEXED = "in the index"
    MARKED = "the index is about to follow"
    DAMAGED = "not in the index: a version is damaged, and comes back from another peer"
    HIDDEN = "not in the index: it is taken down"
    MOVED = "not in the index: the page has moved"
    GONE = "not in the index: the page is gone, or asks not to be indexed"


class Hold(StrEnum):
    """The reason why a URL or a host is not asked."""

    NOT_HELD = "its slot is being handed over"
    STOPPED = "the crawl is being ended"
    UNLICENSED = "no licence to crawl, as too few members answer"
    HELD_UP = "other peers do not accept its links"
    DISK_FULL = "the disk is full"
    PAUSED = "a pause, as its own network failed or slots change hands"
    PAGE_LIMIT = "the mesh has as many pages as its policy lets it"
    ALL_PAUSED = "the policy pauses the whole crawl"
    POLICY = "a pause or the hours of the policy"
    GIVEN_UP = "given up after too many failures"
    NO_ADDRESS = "given up: no address that may be asked"
    BACK_OFF = "left alone for a while after a failure"
    DAY_SPENT = "the host has been asked as often as it may be in a day"
    DELAY = "the politeness delay of the host or its address"
    BEING_ASKED = "the host is being asked something else"
    DOMAIN = "other hosts of the same domain are being asked, or its pages taken apart"
    NOT_DUE = "it is not due yet"
    BEHIND = "others of the same host come first"
    ROBOTS_TXT = "the robots.txt has to be read first"
    BUSY = "as many fetches and pages are in progress as may be"


class Wait(msgspec.Struct, frozen=True):
    """The reason why a URL waits, and until when."""

    hold: Hold
    until_s: Seconds | None = None  # by the clock of who tells; None when that is not known


class Underway(msgspec.Struct, frozen=True):
    """A fetch that has not ended."""

    url: LongText
    seconds: Seconds


class RobotsFacts(msgspec.Struct, frozen=True):
    """The answer of the URL's origin to the question for its robots.txt, and the rule for the URL."""

    origin: LongText
    status: Count  # 0 when it could not be had
    believed_until_s: Seconds
    asked_s: Seconds | None  # when it was fetched; None when it could not be had
    is_allowed: bool
    is_honoured: bool  # False: it wants a longer delay than we wait
    crawl_delay_s: Seconds | None = None
    line_number: Count = 0  # of the line that decides; 0 when none does
    line: Text = ""


class Ruling(msgspec.Struct, frozen=True):
    """A rule of the policy that decides, or may."""

    number: Count  # from 1; 0 when no rule matches
    action: Name = ""
    condition: Text = ""  # which of its conditions: "domains debian.org"; "" when it has none
    addresses: Text = ""  # it decides if the host is there, which is not known
    is_of_pages: bool = False  # it decides if the page is of its type or language
    reason: Text = ""
    refusal: Name = ""  # why this rule has the URL left out; "" when it lets it be visited


class HostFacts(msgspec.Struct, frozen=True):
    """The politeness state of the URL's host: its clock, delay, failures and queue."""

    name: Name
    next_s: Seconds  # not asked before
    delay_s: Seconds
    delay_by: DelayBy
    fetched: Count  # pages asked for
    failures: Count  # in a row
    is_given_up: bool
    queued: Count | None = None  # new URLs; None when it is not in memory
    address: Name = ""
    address_delay_s: Seconds = 0.0  # for which the address is left alone after a question to this host
    refusal: Name = ""  # the budget that is used up
    alias_of: Name = ""  # the host under whose name its pages are visited; "" when it is no alias
    delay_rule: Count = 0  # the number of the rule by which it is delayed; 0 for none
    answer_s: Seconds = 0.0  # that its last answer took, if it is delayed by that


class ArchiveFacts(msgspec.Struct, frozen=True):
    """The versions of the page that a peer keeps."""

    versions: Count
    is_cut: bool  # there are more
    n_bytes: Count
    newest_s: Seconds
    newest_status: Count
    has_document: bool  # the newest is the page, and not that it is gone
    is_indexed: bool
    index: IndexState
    moved_to: LongText = ""  # where the page is now, as the newest says


class UrlFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that one peer has about a URL. Times are by its clock, `at_s` is now."""

    at_s: Seconds
    url: LongText
    state: UrlState
    is_held: bool  # this peer crawls its slot
    depth: Count = 0  # clicks from a seed
    hops: Count = 0  # redirects that led here
    attempts: Count = 0  # made for the visit that comes
    visits: Count = 0
    outcome: Name = ""  # of the last visit: an HTTP status or a reason
    visited_s: Seconds | None = None
    changed_s: Seconds | None = None
    due_s: Seconds | None = None
    due_by: DueBy | None = None
    interval_s: Seconds | None = None
    revisit: Name = ""  # the policy by which it is due again
    is_out_of_turn: bool = False  # it is due sooner: its site says that it has changed, or many ask for it
    checks: Count = 0  # visits that told whether it had changed, the last ones
    changes: Count = 0  # of these, it had
    misses: Count = 0  # visits in a row that have not shown it, while searchers see it
    missed_s: Seconds | None = None  # when the first of them was made
    place: Count | None = None  # in the queue of its host, from 1; those that are out are counted
    is_place_cut: bool = False  # it is further behind
    order: Name = ""  # by which it stands there, if it was never visited
    rank: Count | None = None  # the least of a host comes first
    levels: Count | None = None  # clicks that may be made from it, as its seed wants; None for no limit
    steps: Count | None = None  # likewise without meeting a relevant page
    asking: Underway | None = None  # what is asked now for it: its robots.txt, or itself
    waits: Annotated[tuple[Wait, ...], Meta(max_length=WAITS_MAX)] = ()
    texts: Annotated[tuple[Text, ...], Meta(max_length=LINES_MAX)] = ()  # of links to it
    linkers: Count = 0  # other domains that link to it; the most that is counted is 32
    moved_from: Annotated[tuple[LongText, ...], Meta(max_length=LINES_MAX)] = ()  # URLs where it was before
    left_out_depth: Count | None = None  # a link to it was found so many clicks from a seed, and left out
    is_left_out_abroad: bool = False  # the pages that lead to it are of other registrable domains
    robots: RobotsFacts | None = None
    host: HostFacts | None = None
    rulings: Annotated[tuple[Ruling, ...], Meta(max_length=LINES_MAX)] = ()
    is_taken_down: bool = False
    archive: ArchiveFacts | None = None


class HostWait(msgspec.Struct, frozen=True):
    """A host with a long queue."""

    name: Name
    queued: Count
    hold: Hold | None  # None: it is ready
    until_s: Seconds | None = None


class UndoneVisits(msgspec.Struct, frozen=True):
    """Visits and texts that the policy does not believe, and that this peer has put right since it started.

    As `CrawlFacts.told_alone` those that it would put right if the policy did not believe one member.
    """

    until_s: Seconds = 0.0  # when the time ends that the policy speaks of last; 0.0 when it speaks of none
    visits: Count = 0
    examples: Annotated[tuple[LongText, ...], Meta(max_length=LINES_MAX)] = ()
    is_done: bool = True  # it has looked through all that it keeps
    texts: Count = 0  # pages to which it has forgotten link texts that only such a peer had told


class CrawlFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The fetches of one peer now, and why the rest waits. Times are by its clock, `at_s` is now."""

    at_s: Seconds
    halts: Annotated[tuple[Wait, ...], Meta(max_length=WAITS_MAX)] = ()  # why no fetch begins at all
    slots_owned: Count = 0
    slots_held: Count = 0
    slots_stopping: Count = 0
    hosts: Count = 0  # known, of the slots held
    looked_at: Count = 0  # of these in memory, for the counts that follow
    ready: Count = 0
    waiting: dict[Hold, Count] = {}  # hosts with something to come, by what they wait for
    urls_waiting: dict[Hold, Count] = {}  # URLs never visited, of these
    queued: Count = 0  # URLs never visited
    given_up: Count = 0  # of these, on hosts that were given up
    is_due_again: bool = False  # some that were visited are, on hosts looked at that were not given up
    next_s: Seconds | None = None  # when a host may be asked; None for never
    in_flight: Count = 0
    in_flight_max: Count = 0
    robots_in_flight: Count = 0  # of these, questions for a robots.txt
    in_progress: Count = 0  # pages fetched and not stored
    in_progress_max: Count = 0
    slowest: Annotated[tuple[Underway, ...], Meta(max_length=LINES_MAX)] = ()
    longest: Annotated[tuple[HostWait, ...], Meta(max_length=LINES_MAX)] = ()
    answers: Annotated[
        dict[Name, Count], Meta(max_length=LINES_MAX)
    ] = {}  # the most frequent, since the start
    links_left_out: Count = 0  # out of scope, since the start
    links_waiting: Count = 0  # that other peers have not accepted
    pages_max: Count | None = None
    undone: UndoneVisits = UndoneVisits()
    told_alone: UndoneVisits | None = None  # by the member that was asked about, so far


_encoder = msgspec.msgpack.Encoder()


def encode_facts(facts: UrlFacts | CrawlFacts) -> bytes:
    """MessagePack, as the answers carry it."""
    encoded = _encoder.encode(facts)
    assert len(encoded) <= FACTS_BYTES_MAX, "all lists and texts are short"
    return encoded


def url_facts_in(encoded: bytes) -> UrlFacts:
    """Decode the facts that a peer tells of a URL.

    Raises:
      RemoteProtocolError: it is none.
    """
    return _decoded(_url_decoder, encoded)


def crawl_facts_in(encoded: bytes) -> CrawlFacts:
    """Decode the facts that a peer tells of its fetches.

    Raises:
      RemoteProtocolError: it is none.
    """
    return _decoded(_crawl_decoder, encoded)


def _decoded(decoder: msgspec.msgpack.Decoder[Facts], encoded: bytes) -> Facts:
    try:
        return decoder.decode(encoded)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise RemoteProtocolError(f"undecodable facts of {len(encoded)} bytes: {error}") from error


_url_decoder = msgspec.msgpack.Decoder(UrlFacts)
_crawl_decoder = msgspec.msgpack.Decoder(CrawlFacts)
