"""Messages that bring rows of the log to their slots, and counts of them to gateways."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec
from msgspec import Meta

from mesh.actors.actor import Message
from mesh.wire_fields import Count
from peers.policy.log_rules import DIGEST_BYTES
from peers.query_log.log_row import (
    DAY_MAX,
    LISTED_MAX,
    NAME_BYTES,
    QUERY_CHARS_MAX,
    RESULT_BYTES,
    ROW_BYTES_MAX,
    WEIGHT_WHOLE,
    WEIGHTS_MAX,
    Comparison,
    Rank,
    Url,
    number_in,
)

ROWS_MAX: Final = 200  # in one batch: some 20 kB, 1.3 MB of the largest
PLACE_BYTES_MAX: Final = 2 + NAME_BYTES
GROUPS_MAX: Final = 1_000  # in one answer
LISTS_TOLD_MAX: Final = 16  # of a query and day, those most clients were shown: as many as two rankings draft

Day: TypeAlias = Annotated[int, Meta(ge=0, le=DAY_MAX)]  # since the epoch, UTC


class ToldRow(msgspec.Struct, frozen=True, array_like=True):
    """A row of the log; see `log_row`."""

    name: Annotated[bytes, Meta(min_length=NAME_BYTES, max_length=NAME_BYTES)]
    value: Annotated[bytes, Meta(max_length=ROW_BYTES_MAX)]

    @property
    def number(self) -> int:
        """The number of its query, that modulo the number of slots is its slot."""
        return number_in(self.name)


class SearchesTold(Message, frozen=True, array_like=True, tag=127):
    """The log of a gateway's peer to the one that answers for their slots; repeated until noted."""

    waits_for_company: ClassVar[bool] = True
    batch: Count
    rows: Annotated[tuple[ToldRow, ...], Meta(max_length=ROWS_MAX)]


class SearchesNoted(Message, frozen=True, array_like=True, tag=128):
    """Promise of the receiver: they are in its store, durably, but for those that it may not keep."""

    is_promise: ClassVar[bool] = True
    waits_for_company: ClassVar[bool] = True
    batch: Count


class LogWanted(Message, frozen=True, array_like=True, tag=129):
    """A gateway to a log: how often was which query asked, behind this place? By `LogTold`."""

    request: Count
    after: Annotated[bytes, Meta(max_length=PLACE_BYTES_MAX)] = b""  # `next` of the answer before


class ListShown(msgspec.Struct, frozen=True, array_like=True):
    """A first page of results that at least five clients were shown on a day, and no other one."""

    results: Annotated[bytes, Meta(min_length=RESULT_BYTES, max_length=RESULT_BYTES * LISTED_MAX)]
    clients: Count
    clicks: Annotated[tuple[Count, ...], Meta(max_length=LISTED_MAX)]  # clients that clicked, by place


class QueryOfDay(msgspec.Struct, frozen=True, array_like=True):
    """A query that several have asked on one day, or of very many a part of them."""

    day: Day
    query: Annotated[str, Meta(min_length=1, max_length=QUERY_CHARS_MAX)]
    clients: Count
    # Page of results, clients that were shown it, hits on it.
    pages: Annotated[tuple[tuple[Rank, Count, Count], ...], Meta(max_length=GROUPS_MAX)]
    # Rank, URL, clients that have clicked on it.
    clicks: Annotated[tuple[tuple[Rank, Url, Count], ...], Meta(max_length=10 * GROUPS_MAX)]
    lists: Annotated[tuple[ListShown, ...], Meta(max_length=LISTS_TOLD_MAX)] = ()


class RareQueries(msgspec.Struct, frozen=True, array_like=True):
    """How many queries of one day were asked by fewer clients than are told of, and no word of them."""

    day: Day
    queries: Annotated[tuple[Count, ...], Meta(max_length=16)]  # asked by 1 client, by 2, ...


class ComparedDay(msgspec.Struct, frozen=True, array_like=True):
    """The preferences of readers between two rankings on one day: each counts once for a query."""

    day: Day
    comparison: Comparison
    first: Count  # clicked on more results that the ranking in force has picked
    second: Count  # of the other one
    ties: Count


class ClicksWanted(Message, frozen=True, array_like=True, tag=144):
    """A gateway to the log of the peer that answers for a query's slot: which pages do its readers open?"""

    request: Count
    digest: Annotated[bytes, Meta(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]  # `query_digest`


class ClicksTold(Message, frozen=True, array_like=True, tag=145):
    """Answer to `ClicksWanted`: pages that several clients have opened on one day, and no count of them."""

    request: Count
    # URL and weight in thousandths, see `click_weights`; none while the policy gives clicks no weight.
    weights: Annotated[
        tuple[tuple[Url, Annotated[int, Meta(ge=1, le=WEIGHT_WHOLE)]], ...], Meta(max_length=WEIGHTS_MAX)
    ]


class LogTold(Message, frozen=True, array_like=True, tag=130):
    """Answer to `LogWanted`; nothing in it is of a single client."""

    request: Count
    queries: Annotated[tuple[QueryOfDay, ...], Meta(max_length=GROUPS_MAX)]
    rare: Annotated[tuple[RareQueries, ...], Meta(max_length=GROUPS_MAX)]
    next: Annotated[bytes, Meta(max_length=PLACE_BYTES_MAX)] = b""  # to go on behind; empty at the end
    compared: Annotated[tuple[ComparedDay, ...], Meta(max_length=GROUPS_MAX)] = ()
