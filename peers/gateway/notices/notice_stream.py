"""Notices of watched words as they come, from all peers, each with the place to go on from. [io]

A gateway asks the watchers once a second while somebody follows: so a notice is told within about a second
of its commit, and nothing is asked while nobody does. The place of a stream is that of its last notice of
each peer, and is the id of an event: a reader that comes back with it misses nothing that is still kept.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

import trio

from peers.gateway.model.messages import NoticesGathered
from peers.gateway.notices.watch_json import NoticeJson, notice_json
from peers.watch.wire_messages import PLACE_MAX

POLL_S: Final = 1.0
QUIET_ROUNDS_MAX: Final = 5  # then something is sent: a third of what our own client waits for
PLACE_CHARS_MAX: Final = 8_192  # of an id, which comes back in a header
PEERS_MAX: Final = 200  # that an id has; of others it is told again, from their oldest on
_OLDEST: Final = 1  # a place before all that there are

# Asks all peers for what is behind these places, by peer, and behind the oldest of others.
Gather: TypeAlias = Callable[[Mapping[str, int]], Awaitable[NoticesGathered]]


class StreamedNotice(NamedTuple):
    """A notice and where to go on; None where nothing is new."""

    after: str
    notice: NoticeJson | None


def places_in(text: str) -> dict[str, int]:
    """Read the id of an event: `peer.place`, with commas.

    Raises:
      ValueError: it is none.
    """
    if len(text) > PLACE_CHARS_MAX:
        raise ValueError("too long")
    places = {}
    for part in filter(None, text.split(",")):
        peer, _, place = part.rpartition(".")
        if not (0 < len(peer) <= 64 and place.isascii() and place.isdigit() and len(place) < 20):
            raise ValueError(part)
        places[peer] = min(int(place), PLACE_MAX)
    return places


def id_of(places: Mapping[str, int]) -> str:
    """Write the places to go on from as the id of an event."""
    return ",".join(f"{peer}.{place}" for peer, place in sorted(places.items())[:PEERS_MAX])


def last_places(gathered: NoticesGathered) -> dict[str, int]:
    """Return where each peer has got to."""
    return {peer: max(told.last, _OLDEST) for peer, told in gathered.told}


def read_to(places: Mapping[str, int], gathered: NoticesGathered) -> dict[str, int]:
    """Return where to go on behind the notices of an answer."""
    ends = {peer: told.notices[-1].place for peer, told in gathered.told if told.notices}
    return {**dict.fromkeys((peer for peer, _ in gathered.told), _OLDEST), **places, **ends}


async def streamed(gather: Gather, places: Mapping[str, int]) -> AsyncGenerator[StreamedNotice]:
    """Yield notices behind these places without an end; first of all the places themselves.

    Args:
      places: see `places_in`.
    """
    here = dict(places)
    yield StreamedNotice(id_of(here), None)
    n_quiet = 0
    while True:
        gathered = await gather(here)
        names, is_new = dict(gathered.names), False
        for peer, told in gathered.told:
            for notice in told.notices:
                if notice.place > here.get(peer, 0):
                    here[peer], is_new = notice.place, True
                    yield StreamedNotice(id_of(here), notice_json(peer, notice, names))
            here.setdefault(peer, _OLDEST)
        n_quiet = 0 if is_new else n_quiet + 1
        if n_quiet >= QUIET_ROUNDS_MAX:
            n_quiet = 0
            yield StreamedNotice(id_of(here), None)
        await trio.sleep(POLL_S)
