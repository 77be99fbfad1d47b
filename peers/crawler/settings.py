"""How one peer crawls: its politeness and its limits."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Seconds = Annotated[float, Meta(ge=0)]
Limit = Annotated[int, Meta(ge=1)]


class CrawlSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Policy of the controller. A site's robots.txt can make it gentler, never faster."""

    # Pause between the end of one fetch from a host and the start of the next. Nutch waits 5 s,
    # Marginalia 1 to 2.5 s.
    delay_s: Seconds = 2.0
    fetches_in_flight_max: Limit = 200  # about as many as Tianwang's fetchers per node
    # Pages between being fetched and being stored; their bodies are in memory. With more no fetch begins.
    pages_in_progress_max: Limit = 256
    page_bytes_in_progress_max: Limit = 256 << 20  # of decoded bodies; ordinary pages make 10 MB
    pages_per_host_max: Limit = 100_000  # requests; what traps can cost us at most
    depth_max: Annotated[int, Meta(ge=0, le=65_535)] = 1_000  # clicks from a seed
    redirects_max: Annotated[int, Meta(ge=0, le=255)] = (
        10  # in a row, as aiohttp; RFC 9309 wants 5 for robots.txt
    )
    attempts_max: Annotated[int, Meta(ge=1, le=255)] = (
        3  # for one URL that fails in a way that may pass, as Scrapy
    )
    # Pause after a failure, doubled with each failure of the host in a row.
    backoff_s: Seconds = 30.0
    backoff_max_s: Seconds = 3_600.0
    host_failures_max: Limit = 5  # in a row, then the host is given up; Nutch drops a queue after 5
    give_up_s: Seconds = 86_400.0  # until a host that was given up is asked again
    retry_after_max_s: Seconds = 3_600.0  # the longest Retry-After we wait for
    robots_ttl_s: Seconds = 86_400.0  # RFC 9309, 2.4: not longer than 24 hours
    # Pages whose link texts have changed are indexed anew together, at this interval or as soon as
    # nothing is left to fetch. Shorter ones index a page again and again while its site is crawled.
    anchors_interval_s: Seconds = 300.0
    is_recorded: bool = False  # tell the recorder of every page, for traces
