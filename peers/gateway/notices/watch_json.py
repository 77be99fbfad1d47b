"""Notices of watched words as the JSON of /api/watch and of its events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec

from peers.gateway.model.member_lines import called
from peers.gateway.model.messages import NoticesGathered
from peers.watch.watch_list import WatchInForce
from peers.watch.wire_messages import Notice

SHOWN_MAX: Final = 100  # notices at once, the newest of all peers


class NoticeJson(msgspec.Struct, frozen=True):
    """One notice: an entry of the list was found in a new text of a page; `url`, `mark`, `entry` name it."""

    url: str
    mark: str  # of title and text, in hexadecimal
    entry: str
    number: int  # of the list
    at_s: float  # when the page was fetched, seconds since the epoch
    title: str
    count: int  # occurrences in the page
    so_far: int  # notices of the entry by this peer, with this one
    excerpt: str
    highlight: tuple[int, int]  # of the excerpt, in characters
    peer: str  # that says so


class WatchedEntry(msgspec.Struct, frozen=True):
    """One entry of the list, with the counts of all peers."""

    entry: str
    kind: str
    text: str
    notices: int
    occurrences: int


class WatchJson(msgspec.Struct, frozen=True):
    """The watch list with its counts, and the last notices."""

    number: int  # of the list; 0 where nothing is watched for
    signer: str  # public key, in hexadecimal
    entries: list[WatchedEntry]
    notices: list[NoticeJson]  # the newest first; those behind a place the oldest first
    after: str  # where it goes on behind these
    silent: list[str]  # peers that have not answered


def notice_json(peer: str, notice: Notice, names: Mapping[str, str]) -> NoticeJson:
    """Return a notice of a peer for programs."""
    return NoticeJson(
        url=notice.url,
        mark=notice.mark.hex(),
        entry=notice.entry,
        number=notice.number,
        at_s=notice.at_s,
        title=notice.title,
        count=notice.count,
        so_far=notice.so_far,
        excerpt=notice.excerpt,
        highlight=(min(notice.start, len(notice.excerpt)), min(notice.end, len(notice.excerpt))),
        peer=called(names, peer),
    )


def watch_json(
    watch: WatchInForce | None, gathered: NoticesGathered, after: str, *, are_last: bool = True
) -> WatchJson:
    """Put the answers of all peers together; an entry that is not in the list any more is not counted.

    Args:
      after: as `WatchJson` has it.
      are_last: they are the last ones there are, not those behind a place, of which none may be missed.
    """
    names = dict(gathered.names)
    notices: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()
    for _, told in gathered.told:
        for count in told.counts:
            notices[count.entry] += count.notices
            occurrences[count.entry] += count.occurrences
    entries = [] if watch is None else watch.entries
    said = {
        each.identity: notice_json(peer, each, names) for peer, told in gathered.told for each in told.notices
    }
    newest = sorted(said.values(), key=lambda each: each.at_s, reverse=True)
    return WatchJson(
        number=0 if watch is None else watch.number,
        signer="" if watch is None else watch.signer.hex(),
        entries=[
            WatchedEntry(each.name, each.kind, each.text, notices[each.name], occurrences[each.name])
            for each in entries
        ],
        notices=newest[:SHOWN_MAX] if are_last else newest[::-1],
        after=after,
        silent=[called(names, peer) for peer in gathered.silent],
    )
