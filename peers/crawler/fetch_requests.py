"""The requests to the fetcher for pages and robots.txts: which answers may come, and how gently."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from mesh.urls import host_of
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.url_queues import QueuedUrl
from peers.crawler.host_clocks import HostClocks
from peers.crawler.model.address_rules import AddressRules
from peers.crawler.model.robots import ROBOTS_BYTES_MAX
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.url_rows import ICON_HOPS
from peers.crawler.model.web_request import WANTED_MEDIA_TYPES, FetchPage
from peers.crawler.parsing.link_lists import (
    LIST_MEDIA_TYPES,
    PACKED_LS,
    PACKED_LS_TYPES,
    PACKED_MEDIA_TYPES,
    has_list_name,
)
from peers.crawler.robots_files import RobotsFetch, RobotsFiles
from peers.crawler.site_watch import PROOF_BYTES_MAX
from peers.documents.icon_image import ICON_BYTES_MAX, ICON_MEDIA_TYPES

NO_LIST: Final = tuple(each for each in WANTED_MEDIA_TYPES if each not in LIST_MEDIA_TYPES)
PROOF_MEDIA_TYPES: Final = ("text/plain",)
PAGE_OR_PACKED_LIST: Final = (*dict.fromkeys((*WANTED_MEDIA_TYPES, *PACKED_MEDIA_TYPES)),)


class FetchRequests:
    """Builds the requests from settings, clocks and robots.txts."""

    def __init__(self, clocks: HostClocks, robots: RobotsFiles, settings: CrawlSettings) -> None:
        self.settings = settings  # may be replaced
        self._clocks = clocks
        self._robots = robots

    def for_robots(self, question: RobotsFetch, state: HostState, taken: QueuedUrl, now: float) -> FetchPage:
        """Ask for a robots.txt, of which a byte more than is read tells that it was cut."""
        rules = self._address_rules(state, taken, now) if host_of(question.url) == state.host else None
        return self._question(question.url, rules, (), ROBOTS_BYTES_MAX + 1)

    def for_proof(self, url: str, state: HostState, taken: QueuedUrl, now: float) -> FetchPage:
        """Ask for the proof file of a submitted site, or for its start page."""
        rules = self._address_rules(state, taken, now)
        if url == taken.url:
            return self._question(url, rules, PROOF_MEDIA_TYPES, PROOF_BYTES_MAX)
        return self._question(url, rules, NO_LIST)

    def for_page(self, state: HostState, taken: QueuedUrl, now: float) -> FetchPage:
        url, rules = taken.url, self._address_rules(state, taken, now)
        if taken.hops == ICON_HOPS or url.endswith(".ico"):  # which is no page, whatever leads there
            # As of a robots.txt, a byte more tells that it is too large.
            return self._question(url, rules, ICON_MEDIA_TYPES, ICON_BYTES_MAX + 1)
        if url.endswith(PACKED_LS):  # of which a beginning is read
            return replace(self._question(url, rules, PACKED_LS_TYPES), may_be_cut=True)
        if not self.settings.reads_sitemaps:
            return self._question(url, rules, NO_LIST)
        if not has_list_name(url):
            return self._question(url, rules)
        return replace(self._question(url, rules, PAGE_OR_PACKED_LIST), may_be_cut=True)

    def _question(
        self,
        url: str,
        rules: AddressRules | None,
        media_types: tuple[str, ...] = WANTED_MEDIA_TYPES,
        beginning_bytes: int = 0,
    ) -> FetchPage:
        delay_s = self._clocks.address_delay_s(host_of(url))
        return FetchPage(
            url,
            media_types,
            beginning_bytes,
            self.settings.agent,
            delay_s,
            rules,
            self._clocks.policy.allow_private,
        )

    def _address_rules(self, state: HostState, taken: QueuedUrl, now: float) -> AddressRules | None:
        """Return the policy's rules on the addresses of a host; None when its address makes no difference."""
        if not self._clocks.policy.is_of_addresses:
            return None
        page = self._robots.address_rules(state, taken)
        host = self._clocks.address_rules(state.host, now)
        return AddressRules(page, host) if len(page) + len(host) > 2 else None
