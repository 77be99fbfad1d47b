"""How one peer crawls: its politeness and its limits."""

from __future__ import annotations

from enum import StrEnum
from math import inf
from typing import Annotated

import msgspec
from msgspec import Meta

from peers.crawler.model.web_request import USER_AGENT
from peers.policy.crawl_order import PLAIN, CrawlOrder
from peers.policy.rules import OF_SEEDS, Policy

Seconds = Annotated[float, Meta(ge=0)]
Limit = Annotated[int, Meta(ge=1)]


class Revisit(StrEnum):
    """The policy by which pages are visited again; see `revisit_policies`."""

    FIXED = "fixed"
    OPTIMAL = "optimal"


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on a controller's batches, memory and reports; no site notices, so nobody configures them."""

    flush_pages: int = 64  # that are done, and are settled together
    links_remembered: int = 1 << 16  # as sent, per generation: about 20 MB
    links_left_out_max: int = 1 << 20  # by the policy, that are kept for another one: 200 MB on the disk
    accepting_max: int = 4_096  # batches with links for others that we have still to promise
    # Links of one member that others bring us. An eighth of the quota of links that members have: what is
    # not answered is repeated five times in a minute, and we have links of our own.
    passed_on_per_minute: int = 150_000
    measure_s: float = 1.0  # between two reports of the queue's length
    policy: Policy = OF_SEEDS  # until a decree is heard of


class CrawlConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How this peer crawls. A site's robots.txt can make it gentler, never faster."""

    user_agent: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z_-][ -~]*$",
            description="what this peer calls itself, by its first letters in robots.txt too (RFC 9309, "
            "2.2.1); the contact follows it",
        ),
    ] = USER_AGENT
    contact: Annotated[
        str,
        Meta(
            pattern=r"^[!-'*-~]*$",
            max_length=200,
            description="where webmasters reach you, an e-mail address or the URL of a page, such as /bot of "
            "your gateway if all can open it; without it no public host is asked",
        ),
    ] = ""
    delay_s: Annotated[
        Seconds,
        Meta(
            description="least pause between the end of one fetch from a host and the start of the next; "
            "Nutch waits 5, Marginalia 1 to 2.5; 0 for no pause at all, as in a laboratory"
        ),
    ] = 1.0
    delay_factor: Annotated[
        float,
        Meta(
            ge=0,
            description="the pause in times that the last answer took to come: who is slow gets longer ones; "
            "with 5 a host has a sixth of its time for us, with 100, as Scooter, a hundredth",
        ),
    ] = 5.0
    requests_per_host_day_max: Annotated[
        Limit,
        Meta(
            description="to one host on one day, UTC; then it is left alone until the next; more for "
            "your own sites"
        ),
    ] = 20_000
    pages_per_host_max: Annotated[
        Limit,
        Meta(
            description="requests to one host: what traps can cost us at most; more for the few sites that "
            "have more pages"
        ),
    ] = 100_000
    depth_max: Annotated[
        int, Meta(ge=0, le=65_535, description="clicks from a seed; fewer to see the tops of many sites")
    ] = 1_000
    backoff_s: Annotated[
        Seconds,
        Meta(
            description="pause after a failure, doubled with each failure of the host in a row, up to an "
            "hour; less where somebody waits, as in a laboratory"
        ),
    ] = 30.0
    ordering: Annotated[
        CrawlOrder,
        Meta(description="in which order pages are visited that never were; a policy may say otherwise"),
    ] = PLAIN
    guesses_ancestors: Annotated[
        bool,
        Meta(
            description="visit the folders above each page that is linked, too: of /a/b/c.html also /a/b/, "
            "/a/ and /, whether anything links there or not"
        ),
    ] = False
    revisit: Annotated[
        Revisit,
        Meta(
            description="by what policy pages are visited again: fixed (all at one interval) or optimal "
            "(where visits keep most pages fresh; what changes all the time is visited seldom)"
        ),
    ] = Revisit.FIXED
    revisit_after_s: Annotated[
        Seconds,
        Meta(
            description="from one visit of a URL to the next, with optimal the first interval of each page; "
            "inf: each is visited once"
        ),
    ] = inf
    gone_after_s: Annotated[
        Seconds,
        Meta(
            description="how long a page has to be missing (404, 410), at two visits at least, until it is "
            "shown no more: seven days; less where sites are made anew often"
        ),
    ] = 604_800.0
    audit_rate: Annotated[
        float,
        Meta(
            ge=0.0,
            le=1.0,
            description="share of the pages of other members kept here that are looked at once more, by this "
            "peer and, where that differs, by another one: so a member that invents pages is found; 0 for "
            "none; other members look at ours by their own",
        ),
    ] = 0.0

    @property
    def agent(self) -> str:
        """The User-Agent that is sent."""
        return f"{self.user_agent} (+{self.contact})" if self.contact else self.user_agent

    @property
    def has_contact(self) -> bool:
        """Tell whether the User-Agent gives a contact address or the URL of a page."""
        return bool(self.contact) or "@" in self.user_agent or "://" in self.user_agent


class CrawlSettings(CrawlConfig, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings of a controller: those of a person, and limits that nobody has to judge.

    Windows are those of a peer with a gigabyte; `peers.sizes` fits them to the memory that a peer has.
    """

    # Find out by their pages which hosts are other names of one site, and crawl it under one of them; a
    # mistake is undone by itself, within a day
    finds_aliases: bool = True
    # Of the pause that `delay_factor` makes; a robots.txt may want a longer one.
    delay_max_s: Seconds = 30.0
    # The longest Crawl-delay of a robots.txt that we wait for, six pages a day; hosts that want more are left
    # out; of 4,231 real files 17 ask for 2 to 10 minutes
    crawl_delay_max_s: Seconds = 14_400.0
    # Fetches at a time, about as many as Tianwang's fetchers per node
    fetches_in_flight_max: Limit = 200
    # Pages between being fetched and being stored, whose bodies are in memory; with more no fetch begins
    pages_in_progress_max: Limit = 256
    # Bytes of their bodies as received; ordinary pages make 10 MB
    page_bytes_in_progress_max: Limit = 256 << 20
    # Pages that are done and shown to others as queued until their links are safe, 20 MB in memory; with more
    # no fetch begins
    pages_held_back_max: Limit = 32_768
    # Links that wait for other peers, 300 MB on the disk; with more no fetch begins
    outbox_links_max: Limit = 2_000_000
    # Fetches of this peer at a time from the hosts of one registrable domain: what slow servers under a
    # wildcard name can hold of all
    fetches_per_domain_max: Limit = 50
    # Hosts of one registrable domain in memory, up to 40 kB each; the others wait in the table for their
    # places
    hosts_per_domain_max: Limit = 1_000
    # Hosts in memory of which nothing is to come, for the next links to them; 1 kB each
    hosts_idle_max: Limit = 10_000
    # Requests of this peer to all hosts of one registrable domain, robots.txts too; each peer counts its own,
    # so that n peers may make n times as many
    requests_per_domain_max: Limit = 1_000_000
    # Schemes and ports of one name; the rest is left out, real names have two or three
    origins_per_host_max: Limit = 16
    # Redirects in a row, as aiohttp; RFC 9309 wants 5 for robots.txt
    redirects_max: Annotated[int, Meta(ge=0, le=62)] = 10
    # Requests for one URL that fails in a way that may pass, as many as Scrapy's
    attempts_max: Annotated[int, Meta(ge=1, le=255)] = 3
    # Of the pause that grows from `backoff_s`.
    backoff_max_s: Seconds = 3_600.0
    # Failures in a row, after which a host is given up; Nutch drops a queue after 5
    host_failures_max: Limit = 5
    # The least interval of a policy that learns, whatever changes
    revisit_min_s: Seconds = 3_600.0
    # The longest one: three months
    revisit_max_s: Seconds = 7_776_000.0
    # Part of the turns of a host for pages that are due again, as long as it has new ones too
    revisit_share: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.5
    # Visits in a row that find no page where one was (404, 410), before it is shown no more; see
    # `gone_after_s`
    gone_visits: Annotated[int, Meta(ge=1, le=255)] = 2
    # Visits in a row that get no answer, or one that may pass, before a page is shown no more
    lost_visits: Annotated[int, Meta(ge=1, le=255)] = 5
    # And for so long, 60 days: when a whole host has no address, or no robots.txt can be had there, all of
    # its pages leave that are to be visited again
    lost_after_s: Seconds = 5_184_000.0
    # Until a host that was given up is asked again
    give_up_s: Seconds = 86_400.0
    # The longest Retry-After of a server that we wait for
    retry_after_max_s: Seconds = 3_600.0
    # How long robots.txt is believed: not over 24 hours, says RFC 9309, 2.4
    robots_ttl_s: Seconds = 86_400.0
    # Pages whose link texts have changed are indexed anew together, at this interval or when nothing is left
    # to fetch; a shorter one indexes a page again and again while its site is crawled
    anchors_interval_s: Seconds = 300.0
    # Leave out what is like too many pages that were copies of each other: session ids, calendars, endless
    # paths
    avoids_traps: bool = True
    # Find pages by the sitemaps that a robots.txt names, and by sitemaps and feeds (RSS, Atom) that are
    # linked or given as seeds
    reads_sitemaps: bool = True
    # Record every page with its links in web.trace, for simulations
    is_recorded: bool = False
