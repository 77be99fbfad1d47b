"""Lists visits and texts that a policy does not believe, or that it might not believe, by peer. [io]"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from mesh.client.gateway_client import GatewayClient
from peers.crawler.explanations import UndoneVisits
from peers.options import printable, read_told

if TYPE_CHECKING:
    from peers.gateway.why.why_json import IdleJson

PATIENCE_S: Final = 30.0  # a peer looks through some 15,000 rows a second
LISTING_S: Final = 600.0  # likewise; the next one would begin anew
AGAIN_S: Final = 0.5
CLOCK_AHEAD_MAX: Final = timedelta(days=1)  # of a member, by which it dates its visits


def undone_visits(client: GatewayClient, until_s: float) -> dict[str, UndoneVisits]:
    """Return by peer the visits made again, once all peers that answer have looked for them.

    After half a minute it is what has been found so far: see `UndoneVisits.is_done`.

    Args:
      until_s: when the time ends that the policy speaks of, seconds since the epoch.

    Raises:
      GatewayError: the gateway does not answer.
    """

    def told() -> dict[str, UndoneVisits]:
        return {peer: each.facts.undone for peer, each in idle_of(client).peers.items()}

    return _once_done(told, until_s, PATIENCE_S)


def told_alone(client: GatewayClient, member: str, since_s: float, until_s: float) -> dict[str, UndoneVisits]:
    """Return by peer all that would be undone if the policy did not believe a member; nothing changes by it.

    That member's own answer is left out. After ten minutes it is what has been found so far. Times and errors
    are those of `undone_visits`.
    """

    def told() -> dict[str, UndoneVisits]:
        peers = idle_of(client, member, since_s, until_s).peers.items()
        return {peer: each.facts.told_alone or UndoneVisits() for peer, each in peers if peer != member}

    return _once_done(told, until_s, LISTING_S)


def idle_of(client: GatewayClient, member: str = "", since_s: float = 0.0, until_s: float = 0.0) -> IdleJson:
    """Return the answer of /api/why/idle; see `GatewayClient.why_idle`."""
    from peers.gateway.why.why_json import IdleJson  # loads all that reads queries, dictionaries included

    return read_told(client.why_idle(member, since_s, until_s), IdleJson)


def _once_done(
    told: Callable[[], dict[str, UndoneVisits]], until_s: float, patience_s: float
) -> dict[str, UndoneVisits]:
    ends_s = time.monotonic() + patience_s
    while True:
        found = told()
        heard = {peer: each for peer, each in found.items() if each.until_s == until_s}
        if len(heard) == len(found) and all(each.is_done for each in heard.values()):
            return heard
        if time.monotonic() >= ends_s:
            return heard
        time.sleep(AGAIN_S)


def undone_lines(undone: Mapping[str, UndoneVisits]) -> Iterator[str]:
    """Lines for people: how many visits each peer makes again, and some of their pages."""
    return _lines(undone, "visits {:,} pages again", "has forgotten texts of links to {:,} pages")


def told_alone_lines(told: Mapping[str, UndoneVisits]) -> Iterator[str]:
    """Lines for people: how much each peer has by the word of one member, and some of its pages."""
    return _lines(told, "has {:,} pages as it saw them last", "has texts of links to {:,} pages by it alone")


def _lines(found: Mapping[str, UndoneVisits], visits: str, texts: str) -> Iterator[str]:
    for peer, told in sorted(found.items()):
        so_far = "" if told.is_done else " so far"
        yield f"{peer} {visits.format(told.visits)}{so_far}"
        if told.texts:
            yield f"{peer} {texts.format(told.texts)}{so_far}"
        for url in told.examples:
            yield f"  {printable(url)}"
