"""Messages that bring the links and ranks of pages to the owners of their targets, and questions for them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec
from msgspec import Meta

from mesh.actors.actor import Message
from mesh.stamp import VisitNumber
from mesh.wire_fields import Count, Slot, Url
from peers.link_graph.source_row import GoneLink, GraphText, TargetLink, TargetMark
from peers.link_graph.target_row import DOMAINS_MAX, SOURCES_MAX, SourceLink

LINKS_MAX: Final = 500  # in one message, that are new or have gone
LISTED_MAX: Final = 100  # links of a part of a list
AROUND: Final = 10  # links before and after it: members may know so many more or fewer than each other
START_MAX: Final = DOMAINS_MAX * SOURCES_MAX
SUMS_MAX: Final = 32_768  # of a statement, in one message; a larger one goes in parts
PARTS_MAX: Final = 64
SUM_NAME_BYTES: Final = 8  # int64, big-endian
SUM_BYTES: Final = 4  # float32, big-endian
STATEMENTS_MAX: Final = 1_000  # in one message
RANKED_MAX: Final = 1_000  # pages and hosts, in one answer
STATEMENT_NUMBER_MAX: Final = 1 << 53

NEIGHBOURS_OF_MAX: Final = 40  # pages whose neighbours are asked for at once
NEIGHBOUR_DOMAINS_MAX: Final = 32  # of the pages that link to one
NEIGHBOUR_BYTES_MAX: Final = 512 << 10  # of their rows, of which a domain can fill one with 100 kB
SOURCES_LISTED_MAX: Final = 50  # pages that link to one; Kleinberg 1999 takes as many
TARGETS_LISTED_MAX: Final = 100  # pages that one links to
MARKS_NAMED_MAX: Final = 200  # pages whose addresses are asked for by their fingerprints

StatementNumber: TypeAlias = Annotated[int, Meta(ge=0, le=STATEMENT_NUMBER_MAX)]
Rank: TypeAlias = Annotated[float, Meta(ge=0.0, le=1e15)]


class GraphTold(Message, frozen=True, array_like=True, tag=137):
    """From the owner of a page to that of some of its links' targets; repeated until noted."""

    waits_for_company: ClassVar[bool] = True
    batch: Count
    url: Url  # of the page
    visit: VisitNumber
    fetched_at: float
    title: GraphText = ""
    links: Annotated[tuple[TargetLink, ...], Meta(max_length=LINKS_MAX)] = ()
    gone: Annotated[tuple[GoneLink, ...], Meta(max_length=LINKS_MAX)] = ()


class GraphNoted(Message, frozen=True, array_like=True, tag=138):
    """Promise of the receiver: its store has them, and so has the living team of their slots."""

    is_promise: ClassVar[bool] = True
    waits_for_company: ClassVar[bool] = True
    batch: Count


class ListBacklinks(Message, frozen=True, array_like=True, tag=139):
    """From a gateway to the team of a page: which pages link to it?"""

    request: Count
    url: Url
    start: Annotated[int, Meta(ge=0, le=START_MAX)] = 0  # of the part; those around it are told, too


class BacklinksListed(Message, frozen=True, array_like=True, tag=140):
    """Answer to `ListBacklinks`, in the order of `target_row.by_domains`: the part and `AROUND` it."""

    request: Count
    url: Url
    is_on: bool = False  # by the policy that the peer goes by
    n_links: Count = 0  # of all pages, about if it is not exact
    n_domains: Count = 0
    is_exact: bool = True
    n_kept: Annotated[int, Meta(ge=0, le=START_MAX)] = 0
    links: Annotated[tuple[SourceLink, ...], Meta(max_length=LISTED_MAX + 2 * AROUND)] = ()
    # Of the page, by the owner of its slot, see `slot_ranks`; None elsewhere, and where there are no ranks.
    rank: Rank | None = None


class SumsPart(msgspec.Struct, frozen=True, array_like=True):
    """A part of a statement, see `slot_ranks.Statement`: sums that a slot gives to pages of another."""

    source: Slot
    target: Slot
    number: StatementNumber  # with the sender it is the version
    part: Annotated[int, Meta(ge=0, lt=PARTS_MAX)] = 0
    n_parts: Annotated[int, Meta(ge=1, le=PARTS_MAX)] = 1
    names: Annotated[bytes, Meta(max_length=SUM_NAME_BYTES * SUMS_MAX)] = b""  # rising, over all parts
    values: Annotated[bytes, Meta(max_length=SUM_BYTES * SUMS_MAX)] = b""


class RanksTold(Message, frozen=True, array_like=True, tag=150):
    """From the owner of source slots to that of the targets; repeated until held."""

    parts: Annotated[tuple[SumsPart, ...], Meta(max_length=STATEMENTS_MAX)]


class HeldSums(msgspec.Struct, frozen=True, array_like=True):
    """The version of a statement that the owner of its target holds."""

    source: Slot
    target: Slot
    number: StatementNumber
    teller: Annotated[str, Meta(max_length=64)]  # that made it; "" with 0 for none
    is_asked: bool = False  # it is wanted anew


class RanksHeld(Message, frozen=True, array_like=True, tag=151):
    """Answer to `RanksTold`; or a question of the owner of target slots, repeated until answered."""

    held: Annotated[tuple[HeldSums, ...], Meta(max_length=STATEMENTS_MAX)]


class RanksBegun(Message, frozen=True, array_like=True, tag=152):
    """From a peer that has begun to rank, with nothing in memory, to each other one; repeated until heard."""

    life: Count


class RanksHeard(Message, frozen=True, array_like=True, tag=153):
    """Answer to `RanksBegun`: statements and questions come anew."""

    life: Count


class ListRanks(Message, frozen=True, array_like=True, tag=154):
    """From a gateway to all peers: which pages and hosts of your slots have the highest ranks?"""

    request: Count
    most: Annotated[int, Meta(ge=1, le=RANKED_MAX)]


class RankedPage(msgspec.Struct, frozen=True, array_like=True):
    """A page that the mesh has visited."""

    url: Url
    rank: Rank


class RankedHost(msgspec.Struct, frozen=True, array_like=True):
    """A host with the sum of the ranks of its pages."""

    host: Annotated[str, Meta(min_length=1, max_length=255)]
    rank: Rank
    n_pages: Count


class RanksListed(Message, frozen=True, array_like=True, tag=155):
    """Answer to `ListRanks`, highest first."""

    request: Count
    is_on: bool = False  # by the policy that the peer goes by
    is_settled: bool = False  # nothing is left to be worked out, told or heard of
    n_pages: Count = 0  # visited
    n_left_out: Count = 0  # of these, whose links are beyond the limit of memory
    pages: Annotated[tuple[RankedPage, ...], Meta(max_length=RANKED_MAX)] = ()
    hosts: Annotated[tuple[RankedHost, ...], Meta(max_length=RANKED_MAX)] = ()


class MarkedPage(msgspec.Struct, frozen=True, array_like=True):
    """A page by its fingerprint."""

    slot: Slot
    mark: TargetMark


class LinkingPage(msgspec.Struct, frozen=True, array_like=True):
    """A page that links to one."""

    url: Url
    title: GraphText = ""


class PageNeighbours(msgspec.Struct, frozen=True, array_like=True):
    """A page, some of the pages that link to it, and some that it links to."""

    url: Url
    sources: Annotated[tuple[LinkingPage, ...], Meta(max_length=SOURCES_LISTED_MAX)] = ()
    targets: Annotated[tuple[MarkedPage, ...], Meta(max_length=TARGETS_LISTED_MAX)] = ()


class ListNeighbours(Message, frozen=True, array_like=True, tag=176):
    """From a gateway to the owners of pages: which pages link to these, and which do they link to?"""

    request: Count
    urls: Annotated[tuple[Url, ...], Meta(max_length=NEIGHBOURS_OF_MAX)] = ()
    marks: Annotated[tuple[MarkedPage, ...], Meta(max_length=MARKS_NAMED_MAX)] = ()  # their URLs are wanted


class NeighboursListed(Message, frozen=True, array_like=True, tag=177):
    """Answer to `ListNeighbours`; of pages of which nothing is known it says nothing."""

    request: Count
    is_on: bool = False  # by the policy that the peer goes by
    pages: Annotated[tuple[PageNeighbours, ...], Meta(max_length=NEIGHBOURS_OF_MAX)] = ()
    named: Annotated[tuple[Url, ...], Meta(max_length=MARKS_NAMED_MAX)] = ()
