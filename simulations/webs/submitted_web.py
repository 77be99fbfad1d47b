"""A changing web, and beside it sites to which nothing links: they are crawled if they are submitted.

Each is a synthetic web of one host and a registrable domain of its own, without missing pages or redirects.
Some show a proof: their file has all codes that they were given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mesh.urls import origin_of
from peers.crawler.model.wire_messages import FoundLink
from peers.crawler.site_watch import PROOF_PATH
from peers.submissions.submission import code_text
from simulations.webs.changing_web import ChangingWeb
from simulations.webs.web import Served, SyntheticWeb, WebShape

SITES: Final = 4
SITE_PAGES: Final = 20
_SHAPE: Final = WebShape(
    pages_per_host=SITE_PAGES,
    outside_share=0.0,
    missing_share=0.0,
    redirect_share=0.0,
    forbidden_share=0.0,
    dead_hosts_share=0.0,
    slow_hosts_share=0.0,
    crawl_delay_share=0.0,
    has_domains=True,
)


class SubmittedWeb(ChangingWeb):
    """Attributes:
    sites: home pages of the sites.
    codes: of submissions, by home page of the sites that show them.
    """

    def __init__(self, seed: int, pages: int, shape: WebShape, now: Callable[[], float]) -> None:
        """Lay out the hosts; the last site shows no proof. Args: as those of `ChangingWeb`."""
        super().__init__(seed, pages, shape, now)
        webs = [SyntheticWeb(500_000_000 + SITES * seed + n, SITE_PAGES, _SHAPE) for n in range(SITES)]
        self.sites = tuple(web.seeds[0] for web in webs)
        self.codes: dict[str, list[bytes]] = {site: [] for site in self.sites[:-1]}
        self._webs = {site.rstrip("/"): web for site, web in zip(self.sites, webs, strict=True)}

    def serve(self, url: str) -> Served:
        origin = origin_of(url)
        if origin not in self._webs:
            return super().serve(url)
        if url == origin + PROOF_PATH:
            body = "\n".join(map(code_text, self.codes.get(f"{origin}/", ()))).encode()
            return Served(200 if body else 404, 0.2, len(body), body=body)
        return self._webs[origin].serve(url)

    def links(self, url: str) -> tuple[FoundLink, ...]:
        web = self._webs.get(origin_of(url))
        return super().links(url) if web is None else web.links(url)

    def targets(self, url: str) -> list[str]:
        web = self._webs.get(origin_of(url))
        return super().targets(url) if web is None else web.targets(url)

    def crawl_delay_s(self, origin: str) -> float:
        web = self._webs.get(origin)
        return super().crawl_delay_s(origin) if web is None else web.crawl_delay_s(origin)

    def is_forbidden(self, url: str) -> bool:
        web = self._webs.get(origin_of(url))
        return super().is_forbidden(url) if web is None else web.is_forbidden(url)

    def is_steady(self, url: str) -> bool:
        return origin_of(url) in self._webs or super().is_steady(url)
