"""Lists the visits that a policy does not believe, as each peer has them made again. [io]"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Final

from mesh.client.gateway_client import GatewayClient
from peers.crawler.explanations import UndoneVisits
from peers.options import read_told

PATIENCE_S: Final = 30.0  # a peer looks through some 50,000 rows a second
AGAIN_S: Final = 0.5


def undone_visits(client: GatewayClient, until_s: float) -> dict[str, UndoneVisits]:
    """Return by peer the visits made again, once all peers that answer have looked for them.

    After half a minute it is what has been found so far: see `UndoneVisits.is_done`.

    Args:
      until_s: when the time ends that the policy speaks of, seconds since the epoch.

    Raises:
      GatewayError: the gateway does not answer.
    """
    from peers.gateway.why.why_json import IdleJson  # loads all that reads queries, dictionaries included

    ends_s = time.monotonic() + PATIENCE_S
    while True:
        idle = read_told(client.why_idle(), IdleJson)
        undone = {peer: told.facts.undone for peer, told in idle.peers.items()}
        heard = {peer: each for peer, each in undone.items() if each.until_s == until_s}
        if len(heard) == len(undone) and all(each.is_done for each in heard.values()):
            return heard
        if time.monotonic() >= ends_s:
            return heard
        time.sleep(AGAIN_S)


def undone_lines(undone: Mapping[str, UndoneVisits]) -> Iterator[str]:
    """Lines for people: how many visits each peer makes again, and some of their pages."""
    for peer, told in sorted(undone.items()):
        so_far = "" if told.is_done else " so far"
        yield f"{peer} visits {told.visits:,} pages again{so_far}"
        if told.texts:
            yield f"{peer} has forgotten texts of links to {told.texts:,} pages{so_far}"
        for url in told.examples:
            yield f"  {''.join(letter for letter in url if letter.isprintable())}"
