"""Guiding a crawl by pages like those that are wanted: their words become guide words of the policy. [io]

The mesh fetches such a page itself, alone and as politely as any other, unless it has it. The policy has the
words, not the page: who wants other ones changes them there.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from mesh.client.gateway_client import GatewayClient
from mesh.errors import ConfigError
from mesh.urls import canonical
from peers.policy import edits
from peers.policy.crawl_order import Order
from peers.policy.policy_issuer import PolicyIssuer
from peers.policy.rules import OF_SEEDS

PATIENCE_S: Final = 120.0  # for one page to be fetched: robots.txt, pauses, a slow server
POLL_S: Final = 0.5


def guide_by_pages(
    client: GatewayClient,
    issuer: PolicyIssuer,
    texts: Iterable[str],
    order: Order | None = None,
    patience_s: float = PATIENCE_S,
) -> tuple[str, ...]:
    """Have the crawl go by the subjects of these pages; return the guide words, those of each page together.

    Args:
      texts: URLs.
      order: of new pages; None for that of the policy if it goes by guide words, else focused.

    Raises:
      ConfigError: what is no URL, or a page of which the mesh gets no copy, or that says nothing.
      GatewayError: the mesh does not take it.
    """
    urls = [_url_in(text) for text in texts]
    wanted = [url for url in urls if not client.keywords(url)["is_stored"]]
    if wanted:
        _fetch(client, issuer, wanted)
    found = [word for url in urls for word in _words_of(client, url, patience_s)]
    guide_words = tuple(dict.fromkeys(found))
    issuer.issue(edits.guided(issuer.to_change(), guide_words, order))
    return guide_words


def _url_in(text: str) -> str:
    url = canonical(text)
    if url is None:
        raise ConfigError(f"{text!r} is no URL of a web page; give one with http:// or https://")
    return url


def _fetch(client: GatewayClient, issuer: PolicyIssuer, urls: list[str]) -> None:
    """Have pages visited, and nothing that they link to."""
    policy = issuer.to_change() or OF_SEEDS
    left_out = [url for url in urls if not policy.has_room_for(url)]
    if left_out:
        issuer.issue(edits.widened(policy, [edits.target(url) for url in left_out], edits.ALL_ELSE))
    client.add_seeds(urls, levels=0)


def _words_of(client: GatewayClient, url: str, patience_s: float) -> list[str]:
    until_s = time.monotonic() + patience_s
    while True:
        told = client.keywords(url)
        if told["is_stored"]:
            break
        if time.monotonic() >= until_s:
            raise ConfigError(f"the mesh has got no copy of {url}: `tianmesh why {url}` says why")
        time.sleep(POLL_S)
    if not told["keywords"]:
        raise ConfigError(f"{url} has no words to go by, or asks that its text be shown to nobody")
    return list(told["keywords"])
