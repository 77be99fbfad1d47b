"""A row of the log: the pages of results of one query that one client was shown on one day, and its clicks.

Its name is query, day, gateway and client. So a client counts once a day and query, whatever is told again,
and rows join by unions. The client is a digest whose key its gateway forgets at the end of the day, and the
query is in it: by rows nobody sees which queries are of one client. The gateway is a digest of the peer that
has told the row, with the query and the day in it; who takes the row writes it, so that no gateway can seem
to be several.

    digest of the query(16) day(2) gateway(2) client(6) -> query, pages, clicks, credits, lists

Where clicks are logged, a row has the first page of results that the client was shown, each result as a
digest: how often one is clicked on says something beside how often it was looked at only.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import islice
from typing import Annotated, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from peers.policy.log_rules import DIGEST_BYTES, query_digest

QUERY_CHARS_MAX: Final = 200  # a longer one is a text that somebody has pasted, and is not logged
URL_CHARS_MAX: Final = 500  # of a page clicked on; a longer one is not logged
PAGES_MAX: Final = 100  # of one client: the first ones
CLIENTS_TOLD_MIN: Final = 5  # that must have asked a query before anybody is told it
CLICKS_MAX: Final = 10  # of one client: the highest ranks
WEIGHT_WHOLE: Final = 1_000  # of what readers open, see `click_weights`: the weight of 1
WEIGHTS_MAX: Final = 50  # pages of a query that have one, those of the greatest
RANK_MAX: Final = 1_000_000
CLIENT_BYTES: Final = 8  # of which the first ones are of its gateway
GATEWAY_BYTES: Final = 2  # two gateways are taken for one at one query in 65,536
GROUP_BYTES: Final = DIGEST_BYTES + 2  # of a name: query and day
NAME_BYTES: Final = GROUP_BYTES + CLIENT_BYTES
ROW_BYTES_MAX: Final = 32 << 10
RESULT_BYTES: Final = 4  # of a digest of a URL: of 100 of a query two are alike with a chance of 1 in 10^6
LISTED_MAX: Final = 10  # results of a list: those of the first page
LISTS_MAX: Final = 3  # of one client; one with several is not counted
DAY_MAX: Final = (1 << 16) - 1

Rank: TypeAlias = Annotated[int, Meta(ge=1, le=RANK_MAX)]  # of a result, or the number of a page of them
Comparison: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,32}\.[0-9a-f]{8}\Z")]
Url: TypeAlias = Annotated[str, Meta(min_length=1, max_length=URL_CHARS_MAX)]


class LogRow(msgspec.Struct, frozen=True, array_like=True):
    """The value of a row; pages and clicks in their order, each once."""

    query: Annotated[str, Meta(min_length=1, max_length=QUERY_CHARS_MAX)]
    # Each page of results with the hits that it had, the most there were.
    pages: Annotated[
        tuple[tuple[Rank, Annotated[int, Meta(ge=0, le=1_000)]], ...], Meta(max_length=PAGES_MAX)
    ]
    clicks: Annotated[tuple[tuple[Rank, Url], ...], Meta(max_length=CLICKS_MAX)] = ()
    # Clicks that count for a ranking: the comparison, the rank, and the team that has picked that result.
    credits: Annotated[
        tuple[tuple[Comparison, Rank, Annotated[int, Meta(ge=0, le=1)]], ...], Meta(max_length=CLICKS_MAX)
    ] = ()
    # Its first pages of results: the digests of their URLs in order.
    lists: Annotated[
        tuple[Annotated[bytes, Meta(min_length=RESULT_BYTES, max_length=RESULT_BYTES * LISTED_MAX)], ...],
        Meta(max_length=LISTS_MAX),
    ] = ()


class RowName(NamedTuple):
    """The name of a row, taken apart."""

    digest: bytes
    day: int  # since the epoch
    client: bytes

    @property
    def encoded(self) -> bytes:
        return self.digest + self.day.to_bytes(2, "big") + self.client

    @property
    def gateway(self) -> bytes:
        return self.client[:GATEWAY_BYTES]


class GatewayRow(NamedTuple):
    """A row, and through which gateway it came."""

    gateway: bytes
    row: LogRow


def name_in(name: bytes) -> RowName:
    day = int.from_bytes(name[DIGEST_BYTES:GROUP_BYTES], "big")
    return RowName(name[:DIGEST_BYTES], day, name[GROUP_BYTES:])


def name_through(name: bytes, peer: str) -> bytes:
    """Return the name of a row that a peer has told: with that gateway in the place of its first bytes."""
    group = name[:GROUP_BYTES]
    gateway = blake2b(peer.encode(), digest_size=GATEWAY_BYTES, key=group, person=b"gateway").digest()
    return group + gateway + name[GROUP_BYTES + GATEWAY_BYTES :]


def number_in(name: bytes) -> int:
    """Return the number of a query, that modulo the number of slots is its slot."""
    return int.from_bytes(name[:8], "big")


def is_loggable(text: str) -> bool:
    """May a query stand in the log? One with a lone surrogate has no UTF-8 form."""
    return 0 < len(text) <= QUERY_CHARS_MAX and text.isprintable()


def row_bytes(row: LogRow) -> bytes:
    """Write a row; empty fields at its end are not told, as before there were such."""
    if row.lists:
        return _encode(row)
    told = (row.query, row.pages, row.clicks)
    return _encode((*told, row.credits) if row.credits else told)


def result_digest(url: str) -> bytes:
    """Return the digest of a URL in a list of results: BLAKE2b."""
    return blake2b(url.encode("utf-8", "replace"), digest_size=RESULT_BYTES, person=b"result").digest()


def list_of(urls: Iterable[str]) -> bytes:
    """Return the list of the first results that a client was shown, for `LogRow.lists`."""
    return b"".join(map(result_digest, islice(urls, LISTED_MAX)))


def results_in(listed: bytes) -> list[bytes]:
    """Return the digests of a list."""
    return [listed[at : at + RESULT_BYTES] for at in range(0, len(listed), RESULT_BYTES)]


def row_in(value: bytes) -> LogRow:
    """Read a row.

    Raises:
      ValueError: it is none.
    """
    try:
        return _decode(value)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no row of a log: {error}") from error


def join(one: bytes, other: bytes) -> bytes:
    """Join two values of one name: see `handover.item_store`. ValueError for bytes that are no row."""
    a, b = row_in(one), row_in(other)
    return row_bytes(joined(a, b))


def joined(a: LogRow, b: LogRow) -> LogRow:
    """Return the union of two rows of one name; of too many pages or clicks the first ones.

    What comes first of a union does not depend on in which order it was made.
    """
    pages = dict(a.pages)
    for page, shown in b.pages:
        pages[page] = max(shown, pages.get(page, 0))
    clicks = sorted({*a.clicks, *b.clicks})
    credited = sorted({*a.credits, *b.credits}) if a.credits or b.credits else ()
    lists = sorted({*a.lists, *b.lists}) if a.lists or b.lists else ()
    return LogRow(
        min(a.query, b.query),
        tuple(sorted(pages.items())[:PAGES_MAX]),
        tuple(clicks[:CLICKS_MAX]),
        tuple(credited[:CLICKS_MAX]),
        tuple(lists[:LISTS_MAX]),
    )


def preferences_of(row: LogRow) -> dict[str, int]:
    """Return by comparison how many more results of the second ranking than of the first were clicked on."""
    found: dict[str, int] = {}
    for comparison, _, team in row.credits:
        found[comparison] = found.get(comparison, 0) + (1 if team else -1)
    return found


def is_row(name: bytes, value: bytes) -> bool:
    """Are these name and value of one row, as an honest peer writes it?"""
    if len(name) != NAME_BYTES:
        return False
    try:
        row = row_in(value)
        is_whole = row_bytes(joined(row, row)) == value
        is_printable = is_loggable(row.query) and all(url.isprintable() for _, url in row.clicks)
        is_listed = all(len(each) % RESULT_BYTES == 0 for each in row.lists)
        return is_whole and is_printable and is_listed and query_digest(row.query) == name[:DIGEST_BYTES]
    except ValueError:
        return False


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(LogRow).decode
