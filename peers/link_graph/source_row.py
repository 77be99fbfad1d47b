"""The row of a page in the link graph: where it links to, and which of that its targets have yet to hear.

    "p" fingerprint of the page(16) -> SourceRow

It lies at the slot of the page. Until the owners of all targets have noted its links it has them with their
texts, and whoever owns the slot tells them; then only marks of the targets are left, by which the next
version of the page finds out which links have gone.

Rows join by the greatest version, then round, then the one that is told. Two peers may visit a page and know
nothing of each other, as when one of them was cut off. Whoever sees that a row gives way to one that does not
know of its links (`lost_links`) begins another round, in which these are told to have gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from math import inf
from struct import Struct
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from mesh.stamp import VISITS_MAX, Stamp, VisitNumber
from mesh.urls import URL_CHARS_MAX, fingerprint, host_of, is_canonical
from peers.policy.graph_rules import LINKS_OF_PAGE_MAX

TEXT_CHARS_MAX: Final = 200  # of a link's text and of a page's title
ROW_BYTES_MAX: Final = 512 << 10  # of addresses and texts in a row; a value of a store has 1 MiB at most
MARK_BYTES: Final = 16  # `mesh.urls.fingerprint`
NAME_BYTES: Final = 1 + MARK_BYTES
_NAME: Final = b"p"
_TARGET: Final = Struct(">H16sI")  # slot, fingerprint, digest of the text and of the page's title
TARGET_BYTES: Final = _TARGET.size
GONE_MAX: Final = 2 * LINKS_OF_PAGE_MAX  # of versions that came faster than they were told
ROUNDS_MAX: Final = 1 << 30
_DIGEST_AT: Final = TARGET_BYTES - 4

Telling: TypeAlias = tuple[Stamp, int]
GraphText: TypeAlias = Annotated[str, Meta(max_length=TEXT_CHARS_MAX)]
GraphUrl: TypeAlias = Annotated[str, Meta(min_length=1, max_length=URL_CHARS_MAX)]
TargetMark: TypeAlias = Annotated[bytes, Meta(min_length=MARK_BYTES, max_length=MARK_BYTES)]


class TargetLink(msgspec.Struct, frozen=True, array_like=True):
    """A link as its target hears of it."""

    url: GraphUrl  # of the target, canonical
    text: GraphText = ""


class GoneLink(msgspec.Struct, frozen=True, array_like=True):
    """A link that the page has no more."""

    slot: Annotated[int, Meta(ge=0, lt=1 << 16)]  # of the target
    mark: TargetMark


class SourceRow(msgspec.Struct, frozen=True, array_like=True):
    """The links of one version of a page."""

    url: GraphUrl
    visit: VisitNumber
    fetched_at: float
    is_told: bool  # the owners of all targets have noted them
    targets: Annotated[bytes, Meta(max_length=TARGET_BYTES * LINKS_OF_PAGE_MAX)] = b""
    title: GraphText = ""  # while it is to be told
    untold: Annotated[tuple[TargetLink, ...], Meta(max_length=LINKS_OF_PAGE_MAX)] = ()  # new, or changed
    gone: Annotated[tuple[GoneLink, ...], Meta(max_length=GONE_MAX)] = ()  # since the version before
    round: Annotated[int, Meta(ge=0, le=ROUNDS_MAX)] = 0  # of telling this version

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.visit, self.fetched_at)

    @property
    def telling(self) -> Telling:
        """Return version and round."""
        return self.stamp, self.round

    @property
    def n_links(self) -> int:
        """Return how many pages it links to."""
        return len(self.targets) // TARGET_BYTES


class _UrlOfRow(msgspec.Struct, frozen=True, array_like=True):
    """The beginning of a row; the rest is passed over."""

    url: GraphUrl


def name_of_source(mark: bytes) -> bytes:
    """Return the name of a row in its slot."""
    return _NAME + mark


def is_name_of_source(name: bytes) -> bool:
    return len(name) == NAME_BYTES and name[:1] == _NAME


def source_row_bytes(row: SourceRow) -> bytes:
    return _encode(row)


def source_row_in(value: bytes) -> SourceRow:
    """Read a row.

    Raises:
      ValueError: it is none.
    """
    try:
        return _decode(value)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no links of a page: {error}") from error


def url_in_source_row(value: bytes) -> str:
    """Read the URL of a sound row alone: its links would take up to a millisecond."""
    return _decode_url(value).url


def join_source_rows(one: bytes, other: bytes) -> bytes:
    """Join two values of a row. ValueError for bytes that are none."""
    return max(one, other, key=_rank)


def is_source_row(
    slot: int, name: bytes, row: SourceRow, slot_of: Callable[[str], int], slot_count: int
) -> bool:
    """Is this a row in its place, as an honest peer writes it?

    Args:
      slot_of: the slot of a host.
      slot_count: of the mesh.
    """
    if not (is_canonical(row.url) and row.stamp.is_sound and name == name_of_source(fingerprint(row.url))):
        return False
    if slot != slot_of(host_of(row.url)) or len(row.targets) % TARGET_BYTES:
        return False
    slots = (int.from_bytes(target[:2], "big") for target in _targets_in(row))
    if any(to >= slot_count for to in chain(slots, (link.slot for link in row.gone))):
        return False
    if (
        sum(map(size_of_link, row.untold)) > ROW_BYTES_MAX
    ):  # with what has gone it would be no value of a store
        return False
    return all(is_canonical(link.url) for link in row.untold) and not (row.is_told and row.untold)


def row_after(
    before: SourceRow | None,
    url: str,
    stamp: Stamp,
    title: str,
    links: Sequence[TargetLink],
    slot_of: Callable[[str], int],
    untold_before_s: float = -inf,
) -> SourceRow | None:
    """Return the row of a page from now on; None when that is the row before, of a later version or this.

    A version that was visited later than that of the row, with a lower number, proves the row made up: a
    member can write any number, and no honest one is followed by a lower one. It counts as the next.

    Args:
      links: canonical, each to another page, as `distinct` returns them; one to the page itself is none.
      slot_of: the slot of a host.
      untold_before_s: links of a row from before are told anew, see `LinkGraphRules.since_s`.
    """
    if before is not None and stamp <= before.stamp:
        if not (stamp.visit and stamp.fetched_at > before.fetched_at):
            return None
        stamp = Stamp(min(before.visit + 1, VISITS_MAX), stamp.fetched_at)
    title = title[:TEXT_CHARS_MAX]
    targets = {link.url: _TARGET.pack(*_target_of(link, title, slot_of)) for link in links if link.url != url}
    is_told_anew = before is None or before.fetched_at < untold_before_s
    told = set() if before is None or is_told_anew else _told_targets(before)
    untold = tuple(link for link in links if link.url != url and targets[link.url] not in told)
    marks = {target[:_DIGEST_AT] for target in targets.values()}
    gone = () if before is None else tuple(_gone_from(before, marks))
    is_told = not (untold or gone)
    return SourceRow(
        url, *stamp, is_told, b"".join(targets.values()), "" if is_told else title, untold, gone[:GONE_MAX]
    )


def told_row(row: SourceRow) -> SourceRow:
    """Return the row of a page once all owners have noted its links."""
    return replace(row, is_told=True, title="", untold=())


def lost_links(one: SourceRow, other: SourceRow) -> tuple[GoneLink, ...]:
    """Return the links of the older of two versions that have gone unknown to the newer one."""
    older, newer = sorted((one, other), key=lambda row: row.stamp)
    if older.stamp == newer.stamp:
        return ()
    marks = {target[:_DIGEST_AT] for target in _targets_in(newer)}
    known = {link.mark for link in newer.gone}
    return tuple(link for link in _gone_from(older, marks) if link.mark not in known)


def with_lost(row: SourceRow, lost: Iterable[GoneLink]) -> SourceRow:
    """Return the row that tells, in another round, that these links have gone, too."""
    gone = tuple(dict.fromkeys((*row.gone, *lost)))[:GONE_MAX]
    return replace(row, is_told=False, gone=gone, round=min(row.round + 1, ROUNDS_MAX))


def distinct(links: Iterable[TargetLink], limit: int) -> list[TargetLink]:
    """Return the first links to so many different pages, each with the first text that any has.

    Nor are there more than have room in a row.
    """
    found: dict[str, TargetLink] = {}
    room = ROW_BYTES_MAX
    for link in links:
        known = found.get(link.url)
        is_wanted = len(found) < limit if known is None else bool(link.text and not known.text)
        if is_wanted and (room := room - size_of_link(link)) > 0:
            found[link.url] = link
    return list(found.values())


def size_of_link(link: TargetLink) -> int:
    """Return the bytes of a link in a row or message, at most."""
    return len(link.url) + 4 * len(link.text) + 8


def marks_in(row: SourceRow) -> set[bytes]:
    """Return the fingerprints of the pages that a page links to."""
    return {target[2:_DIGEST_AT] for target in _targets_in(row)}


def targets_of(row: SourceRow) -> list[tuple[int, bytes]]:
    """Return the slot and the fingerprint of each page that a page links to."""
    return [(int.from_bytes(target[:2], "big"), target[2:_DIGEST_AT]) for target in _targets_in(row)]


def _target_of(link: TargetLink, title: str, slot_of: Callable[[str], int]) -> tuple[int, bytes, int]:
    digest = xxh3_64_intdigest(f"{link.text}\0{title}".encode(errors="replace")) & 0xFFFFFFFF
    return slot_of(host_of(link.url)), fingerprint(link.url), digest


def _told_targets(row: SourceRow) -> set[bytes]:
    """Return the targets that have surely noted the link as it is."""
    # One that has gone may be there again, and be told to have gone by the version before.
    if row.gone and not row.is_told:
        return set()
    open_marks = {fingerprint(link.url) for link in row.untold}
    return {target for target in _targets_in(row) if target[2:_DIGEST_AT] not in open_marks}


def _gone_from(before: SourceRow, marks: set[bytes]) -> Iterator[GoneLink]:
    """Yield the links of a row, or gone since an earlier one, that are not among these."""
    known = dict.fromkeys(target[:_DIGEST_AT] for target in _targets_in(before))
    if not before.is_told:
        known |= dict.fromkeys(link.slot.to_bytes(2, "big") + link.mark for link in before.gone)
    for mark in known:
        if mark not in marks:
            yield GoneLink(int.from_bytes(mark[:2], "big"), mark[2:])


def _targets_in(row: SourceRow) -> Iterator[bytes]:
    return (row.targets[at : at + TARGET_BYTES] for at in range(0, len(row.targets), TARGET_BYTES))


def _rank(value: bytes) -> tuple[Telling, bool, bytes]:
    row = source_row_in(value)
    return row.telling, row.is_told, value


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(SourceRow).decode
_decode_url = msgspec.msgpack.Decoder(_UrlOfRow).decode
