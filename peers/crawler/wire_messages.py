"""How links get to the controllers that own their hosts, and how these explain what they do."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, ClassVar, Final, TypeAlias

from msgspec import Meta

from mesh.actor import Message
from mesh.wire_fields import Count, Url
from peers.crawler.course import UNLIMITED

LINKS_MAX: Final = 1_000  # links in one batch: about 100 kB
ANCHOR_CHARS_MAX: Final = 200
FACTS_BYTES_MAX: Final = 65_536
WEIGHT_MAX: Final = 1_000  # of a page, as links carry it

Anchor: TypeAlias = Annotated[str, Meta(max_length=ANCHOR_CHARS_MAX)]


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
    linker: Annotated[str, Meta(max_length=16)] = ""  # see `peers.engine.linkers`; "" within a site
    is_listed: bool = False  # in a sitemap or feed, of which one names as many as it likes
    # When the target has changed, as its site says, in whole seconds since the epoch; 0 for not told.
    changed_s: Annotated[int, Meta(ge=0, lt=1 << 40)] = 0
    # What orders go by, see `orders`: weight of the page that has the link; clicks that may be made from its
    # target, as its seed wants; without meeting a relevant page; reached from a seed that comes first.
    parent: Annotated[int, Meta(ge=0, le=WEIGHT_MAX)] = 0
    levels: Annotated[int, Meta(ge=0, le=UNLIMITED)] = UNLIMITED
    steps: Annotated[int, Meta(ge=0, le=UNLIMITED)] = UNLIMITED
    is_ahead: bool = False


class LinksFound(Message, frozen=True, array_like=True, tag=20):
    """A controller to the controller that owns the links' hosts; repeated until accepted.

    A receiver that does not own a host passes the link on, so nothing is lost while tables differ.
    """

    batch: Count  # the sender's number for it
    links: Annotated[tuple[FoundLink, ...], Meta(max_length=LINKS_MAX)]
    policy: Count = 0  # number of the policy that the sender goes by; who has heard of an older one waits
    is_instead: bool = False  # their owners accept none: who keeps their slots, too, takes them


class LinksAccepted(Message, frozen=True, array_like=True, tag=21):
    """Promise of the receiver: the links of that batch are in its frontier or seen set, durably."""

    is_promise: ClassVar[bool] = True
    batch: Count


class ExplainUrl(Message, frozen=True, array_like=True, tag=24):
    """A gateway to the controllers that keep a URL's slot: what do you know of it?"""

    request: Count
    url: Url  # canonical


class UrlExplained(Message, frozen=True, array_like=True, tag=25):
    """Answer to `ExplainUrl`: the encoded `explanations.UrlFacts`."""

    request: Count
    facts: Annotated[bytes, Meta(max_length=FACTS_BYTES_MAX)]


class ExplainCrawl(Message, frozen=True, array_like=True, tag=26):
    """A gateway to every controller: what do you fetch now, and what does the rest wait for?"""

    request: Count


class CrawlExplained(Message, frozen=True, array_like=True, tag=27):
    """Answer to `ExplainCrawl`: the encoded `explanations.CrawlFacts`."""

    request: Count
    facts: Annotated[bytes, Meta(max_length=FACTS_BYTES_MAX)]
