"""The pages of the mesh that have a name of an entity, each with its text and score. [io]

They are found by the mesh's index: phrases of the names, any of which suffices. So no page is read that has
none, and the gateway learns the names that are searched for, but nothing else of the entity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from mesh.client.gateway_client import GatewayBusy, GatewayClient, GatewayError, GatewayUnreachable
from mesh.errors import ConfigError
from peers.entities.mentions import PageText
from peers.entities.profile import Profile
from peers.entities.score import PageScore, score_page
from peers.entities.tone import ToneModel

PAGES_MAX: Final = 1_000
NAMES_PER_QUERY: Final = 8


class ScoredPage(NamedTuple):
    """A page with a name of the entity."""

    url: str
    title: str
    at_s: float  # when the mesh has fetched it
    found: PageScore


def pages_of(
    client: GatewayClient,
    profile: Profile,
    model: ToneModel,
    most: int,
    *,
    sort: str = "score",
    told: Callable[[int, int], None] = lambda done, total: None,
) -> list[ScoredPage]:
    """Return the pages of an entity, the highest scores first.

    Args:
      most: pages that are read.
      sort: of the search, "score" or "date": which pages are read, where there are more.
      told: how many have been read, of how many.
    """
    hits = list(_hits(client, profile, most, sort))
    scored: dict[str, ScoredPage] = {}
    for done, hit in enumerate(hits):
        told(done, len(hits))
        page = _page_of(client, hit)
        found = score_page(profile, page, model)
        if found is not None:
            scored[page.url] = ScoredPage(page.url, page.title, float(hit["fetched_at"]), found)
    return sorted(scored.values(), key=lambda each: (-each.found.score, each.url))


def page_at(client: GatewayClient, url: str) -> tuple[PageText, float]:
    """Return a page that the mesh has, and when it was fetched.

    Raises:
      ConfigError: the mesh does not have it, or its site lets nobody see the copy.
    """
    try:
        copy = client.page(url)
    except (GatewayBusy, GatewayUnreachable):
        raise
    except GatewayError as error:
        raise ConfigError(f"cannot score {url}: {error}; `tianmesh why {url}` says how it stands") from error
    return PageText(copy["url"], copy["title"], copy["text"]), float(copy["fetched_at"])


def query_of(names: tuple[str, ...]) -> str:
    """Return the search for pages with any of some names, each as a phrase."""
    return " OR ".join('"' + name.replace('"', " ") + '"' for name in names)


def _hits(client: GatewayClient, profile: Profile, most: int, sort: str) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for query in queries_of(profile):
        answer = client.search_deep(query, most, sort=sort)
        if answer["corrected"] or answer["relaxed"]["is_any"] or answer["relaxed"]["nowhere"]:
            continue  # nothing has these names, and the gateway answers for other words
        for hit in answer["hits"]:
            if len(seen) < most and hit["url"] not in seen:
                seen.add(hit["url"])
                yield hit


def completed(
    client: GatewayClient, profile: Profile, model: ToneModel, hit: dict[str, Any]
) -> dict[str, Any] | None:
    """Return a hit with score and tone for a webhook; None where it speaks of somebody else."""
    found = score_page(profile, _page_of(client, hit), model)
    if found is None:
        return None
    about = {"name": profile.label, "score": found.score, "tone": found.tone.sign, "sentence": found.sentence}
    return {**hit, "entity": about}


def queries_of(profile: Profile) -> list[str]:
    """Return the searches that together find the pages of an entity."""
    names = profile.names
    return [
        query_of(names[start : start + NAMES_PER_QUERY]) for start in range(0, len(names), NAMES_PER_QUERY)
    ]


def _page_of(client: GatewayClient, hit: dict[str, Any]) -> PageText:
    """Return the text of a hit; its excerpt, where the copy is not shown."""
    try:
        copy = client.page(hit["url"])
    except (GatewayBusy, GatewayUnreachable):
        raise
    except GatewayError:
        return PageText(hit["url"], hit["title"], hit["snippet"])
    return PageText(hit["url"], copy["title"] or hit["title"], copy["text"])
