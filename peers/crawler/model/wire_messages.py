"""How links get to the controllers that own their hosts, how these explain their work, how lessors lend
addresses to each other's peers, how it is found out which hosts are other names of one site, what gateways
tell of searches, and how pages are looked at once more by others."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, ClassVar, Final, TypeAlias

from msgspec import Meta

from mesh.actors.actor import Message
from mesh.urls import URL_CHARS_MAX
from mesh.wire_fields import Count, SlotSet, Url
from peers.crawler.model.course import UNLIMITED

LINKS_MAX: Final = 1_000  # links in one batch: about 100 kB
ANCHOR_CHARS_MAX: Final = 200
FACTS_BYTES_MAX: Final = 65_536
WEIGHT_MAX: Final = 1_000  # of a page, as links carry it
LEASES_TOLD_MAX: Final = 2_000  # about 60 kB
COMPARED_MAX: Final = 16  # pages of two hosts at once
HOMES_MAX: Final = 8  # hosts that are told of with one home page
WORD_CHARS_MAX: Final = 64
MOMENT_S_MAX: Final = 1e12
WORDS_TOLD_MAX: Final = 16  # by one gateway
PAGES_TOLD_MAX: Final = 256  # likewise
HASTENED_MAX: Final = 200  # links named in one wish of a live search
PAUSE_S_MAX: Final = 600.0  # that a member can have an address left alone for, whatever a policy wants

Anchor: TypeAlias = Annotated[str, Meta(max_length=ANCHOR_CHARS_MAX)]
Word: TypeAlias = Annotated[str, Meta(min_length=1, max_length=WORD_CHARS_MAX)]
Moment: TypeAlias = Annotated[float, Meta(ge=0.0, le=MOMENT_S_MAX)]  # since the epoch
Network: TypeAlias = Annotated[str, Meta(min_length=1, max_length=39)]  # see `address_turns.network_of`
Pause: TypeAlias = Annotated[float, Meta(ge=0.0, le=PAUSE_S_MAX)]
HostName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=255)]
TextHashes: TypeAlias = Annotated[tuple[Annotated[int, Meta(ge=0, lt=1 << 32)], ...], Meta(max_length=64)]
Mark: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 32)]  # see `alias_evidence.mark_in`


class LinkUse(IntEnum):
    """The use that the owner of a link's target makes of the link."""

    FETCH = 0  # queue the target unless it is known, and keep the text
    TEXT = 1  # keep the text for the target, which may never be fetched
    STORED = 2  # the target is stored, from a file: there is no need to fetch it
    ABROAD = 3  # as FETCH, found on a page of another registrable domain, where a policy goes by that


class FoundLink(Message, frozen=True, array_like=True):
    """A link to a page of the receiver's slots."""

    url: Url  # canonical
    anchor: Anchor = ""
    depth: Annotated[int, Meta(ge=0, le=65_535)] = 0  # clicks from a seed
    hops: Annotated[int, Meta(ge=0, le=255)] = (
        0  # redirects that led here in a row, and lists: see `url_rows`
    )
    use: LinkUse = LinkUse.FETCH
    linker: Annotated[str, Meta(max_length=16)] = ""  # see `peers.engine.pages.linkers`; "" within a site
    is_listed: bool = False  # in a sitemap or feed, of which one names as many as it likes
    # When the target has changed, as its site says, in whole seconds since the epoch; 0 for not told.
    changed_s: Annotated[int, Meta(ge=0, lt=1 << 40)] = 0
    # What orders go by, see `orders`: weight of the page that has the link; clicks that may be made from its
    # target, as its seed wants; without meeting a relevant page; reached from a seed that comes first.
    parent: Annotated[int, Meta(ge=0, le=WEIGHT_MAX)] = 0
    levels: Annotated[int, Meta(ge=0, le=UNLIMITED)] = UNLIMITED
    steps: Annotated[int, Meta(ge=0, le=UNLIMITED)] = UNLIMITED
    is_ahead: bool = False
    # Where the page was before, as its server says for good: that is visited soon, and refers to it.
    moved_from: Annotated[str, Meta(max_length=URL_CHARS_MAX)] = ""
    # Tags of the members through which it came to the sender (`anchor_rows`); "" if that one found it.
    tellers: Annotated[str, Meta(pattern="^(?:[-0-9A-Z_a-z]{4}){0,3}$")] = ""


class LinksFound(Message, frozen=True, array_like=True, tag=20):
    """A controller to the controller that owns the links' hosts; repeated until accepted.

    A receiver that does not own a host passes the link on, so nothing is lost while tables differ.
    """

    waits_for_company: ClassVar[bool] = True
    batch: Count  # the sender's number for it
    links: Annotated[tuple[FoundLink, ...], Meta(max_length=LINKS_MAX)]
    policy: Count = 0  # number of the policy that the sender goes by; who has heard of an older one waits
    is_instead: bool = False  # their owners accept none: who keeps their slots, too, takes them


class LinksAccepted(Message, frozen=True, array_like=True, tag=21):
    """Promise of the receiver: the links of that batch are in its frontier or seen set, durably."""

    is_promise: ClassVar[bool] = True
    waits_for_company: ClassVar[bool] = True
    batch: Count


class ExplainUrl(Message, frozen=True, array_like=True, tag=24):
    """From a gateway to the controllers that keep a URL's slot: which facts do you have about it?"""

    request: Count
    url: Url  # canonical


class UrlExplained(Message, frozen=True, array_like=True, tag=25):
    """Answer to `ExplainUrl`: the encoded `explanations.UrlFacts`."""

    request: Count
    facts: Annotated[bytes, Meta(max_length=FACTS_BYTES_MAX)]


class ExplainCrawl(Message, frozen=True, array_like=True, tag=26):
    """From a gateway to every controller: which URLs do you fetch now, and why does the rest wait?

    With `peer`, also: what has that member alone told in some time? Asked again until that is done.
    """

    request: Count
    peer: Annotated[str, Meta(max_length=64)] = ""
    since_s: Moment = 0.0
    until_s: Moment = 0.0


class CrawlExplained(Message, frozen=True, array_like=True, tag=27):
    """Answer to `ExplainCrawl`: the encoded `explanations.CrawlFacts`."""

    request: Count
    facts: Annotated[bytes, Meta(max_length=FACTS_BYTES_MAX)]


class LeaseAddress(Message, frozen=True, array_like=True, tag=85):
    """A lessor to that of the owner of an address's slot: let us ask it. Repeated while it is wanted.

    Answered by `AddressLeased`, at once and again when its turn has come.
    """

    network: Network
    number: Count  # the asker's for this message
    delay_s: Pause  # for which it is left alone after a question
    is_held: bool = False  # it is with us, and we want it for longer


class AddressLeased(Message, frozen=True, array_like=True, tag=86):
    """Answer to `LeaseAddress`: nobody else asks that address before the lease ends, or is given back.

    For no seconds: others have it, or, said to who has it, others want it too.
    """

    network: Network
    number: Count  # of the question
    after_s: Pause  # from when on, or not worth asking again before
    seconds: Pause  # from the question on, `after_s` too
    is_wanted: bool = False  # by others: it is to be given back after a few turns


class AddressReturned(Message, frozen=True, array_like=True, tag=87):
    """From the lessor that has leased an address to the one that lends it: others may have it."""

    network: Network
    number: Count  # of the lease; another one is not ended
    free_s: Pause  # for which it is to be left alone


class TellLeases(Message, frozen=True, array_like=True, tag=88):
    """A lessor to all: slots are held here now; which of their addresses have you leased? Repeated."""

    number: Count
    slots: SlotSet


class LeasesTold(Message, frozen=True, array_like=True, tag=89):
    """Answer to `TellLeases`: these, by the numbers of their leases, and none that is on its way.

    Who has more does not answer: then all leases have ended before anybody gets one.
    """

    number: Count
    leases: Annotated[tuple[tuple[Network, Count], ...], Meta(max_length=LEASES_TOLD_MAX)] = ()


class MarksWanted(Message, frozen=True, array_like=True, tag=104):
    """From the peer that crawls a host to the one that crawls another: tell the marks of these pages there.

    What they are to be compared with is not in it, so that nobody answers what is wanted to be heard.
    """

    number: Count
    urls: Annotated[tuple[Url, ...], Meta(max_length=COMPARED_MAX)]


class MarksTold(Message, frozen=True, array_like=True, tag=105):
    """Answer to `MarksWanted`, in order."""

    number: Count
    marks: Annotated[tuple[Mark, ...], Meta(max_length=COMPARED_MAX)]


class HomeTold(Message, frozen=True, array_like=True, tag=106):
    """From a host's crawler to the owner of the slot of its home page's mark: which hosts have the same?"""

    host: HostName
    mark: Mark


class HomesTold(Message, frozen=True, array_like=True, tag=107):
    """Answer to `HomeTold`, and said again when there are others: these come before the host as its names.

    It promises nothing: whether they are one site is found out by comparing their pages.
    """

    host: HostName
    mark: Mark
    others: Annotated[tuple[HostName, ...], Meta(max_length=HOMES_MAX)]


class DemandTold(Message, frozen=True, array_like=True, tag=120):
    """A gateway to every controller: several asked here for each of these.

    What most asked for first. Repeated, with nothing too, as long as the crawl goes by it.
    """

    words: Annotated[tuple[Word, ...], Meta(max_length=WORDS_TOLD_MAX)] = ()
    pages: Annotated[tuple[Url, ...], Meta(max_length=PAGES_TOLD_MAX)] = ()  # that they were shown first


class HastenUrls(Message, frozen=True, array_like=True, tag=125):
    """From a gateway to the controller that crawls some hosts: a search waits for the best of these pages.

    Those that were never visited and promise most move to the front of their queues. Repeated.
    """

    request: Count
    words: Annotated[tuple[Word, ...], Meta(max_length=WORDS_TOLD_MAX)]
    links: Annotated[tuple[FoundLink, ...], Meta(max_length=HASTENED_MAX)]  # their texts are known there
    count: Annotated[int, Meta(ge=0, le=HASTENED_MAX)]  # of pages at most
    seconds: Pause  # of a host no more than have a turn within these
    is_fish: bool = False  # chosen as `orders` has it for fish; else as for focused


class UrlsHastened(Message, frozen=True, array_like=True, tag=126):
    """Answer to `HastenUrls`: the pages that come first now, the best first.

    Each by its number in the question, with the promise of the texts of links to it and of its path.
    """

    request: Count
    pages: Annotated[
        tuple[
            tuple[Annotated[int, Meta(ge=0, lt=HASTENED_MAX)], Annotated[int, Meta(ge=0, le=WEIGHT_MAX)]], ...
        ],
        Meta(max_length=HASTENED_MAX),
    ] = ()


class LendTurn(Message, frozen=True, array_like=True, tag=121):
    """From an auditor to the controller that crawls a host: let me ask it for this page. Repeated."""

    number: Count
    url: Url


class TurnLent(Message, frozen=True, array_like=True, tag=122):
    """Answer to `LendTurn`: nobody else asks the host from the order on until so many seconds after it.

    They count for the auditor from when it gave the order, so that they are over there before they are here.
    """

    number: Count
    seconds: Pause = 0.0  # 0.0 when it is not lent now
    pause_s: Pause = 0.0  # after which it is worth asking again
    delay_s: Pause = 0.0  # for which the address of the host is left alone after the question
    is_refused: bool = False  # that page is not to be asked for, by what is known here


class LookAtPage(Message, frozen=True, array_like=True, tag=123):
    """From one auditor to another, which the page and the day choose: look at this page as well. Repeated."""

    number: Count
    url: Url


class PageObserved(Message, frozen=True, array_like=True, tag=124):
    """Answer to `LookAtPage`, once there is one: the page as its server shows it."""

    number: Count
    text: TextHashes = ()  # of the page, see `auditing.likeness`; none when it has too little text
    is_gone: bool = False  # the server knows no such page
    is_unlent: bool = False  # nothing was seen: there was no turn of the host to be had
