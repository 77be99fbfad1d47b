"""Does a crawl have more pages that people search for, and fresher ones, if it goes by their searches?

People search the gateways of a mesh while it crawls a web with several topics (`asked_web`). Its actors do
what they always do: gateways count who asked for what, all crawls are told, words become guide words, pages
that several were shown are visited again sooner. New pages: with fewer fetches at a time than hosts that may
be asked, how many of the pages on what is asked for are known after a share of the web. Pages known: how old
is what is shown, where pages change by chance, beside a crawl that makes as many visits and spreads them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta

from mesh.errors import ConfigError
from mesh.urls import host_of
from peers.crawler.model.settings import CrawlSettings
from peers.policy.crawl_order import CrawlOrder, Order
from peers.policy.rules import EVERYTHING
from simulations.outcomes.figures import bars, lines, measure, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study, amounts
from simulations.webs.web import WebShape
from simulations.world.asked_web import ASKED, WORDS, AskedWeb, Searchers, asked_shares
from simulations.world.crawl import SimulatedCrawl
from simulations.world.topical_web import Topic, TopicalParser

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, 9.4"
NEW, AGAIN = "new", "again"
ORDERINGS: Final = {
    "breadth": CrawlOrder(),
    "weight": CrawlOrder(order=Order.WEIGHT),
    "searches": CrawlOrder(order=Order.WEIGHT, searched_words_max=len(WORDS)),
}
BROUGHT_FORWARD: Final = CrawlOrder(asked_pages_max=64)
INTERVAL_S: Final = 20_000.0  # between two visits of a page
INTERVALS: Final = 5  # that are played; what is shown in the last two is judged
DELAY_S: Final = 0.5  # of a host that is visited again: it has time for all
# Of a new page, median: a crawl of some hours, as demand is told each five minutes, and heard once an hour.
SECONDS: Final = 20.0


class DemandParameters(Parameters, frozen=True, kw_only=True):
    """A web with topics, people that search for some, and a crawl that ends before it has all of it."""

    pages: Annotated[int, Meta(ge=200, le=1_000_000, description="Pages of the web.")] = 2_000
    pages_per_host: Annotated[float, Meta(ge=2, le=1_000, description="Of them, mean.")] = 20.0
    topical: Annotated[float, Meta(gt=0, lt=1, description="Share of hosts that are about a topic.")] = 0.4
    shares: Annotated[
        str, Meta(description="Of the pages, by comma: what is looked at after so many fetches.")
    ] = "0.1,0.2,0.3,0.5"
    changing: Annotated[
        int, Meta(ge=100, le=100_000, description="Pages of the web that is visited again and again.")
    ] = 500
    pause: Annotated[float, Meta(gt=0, le=3_600, description="Seconds between two searches.")] = 20.0
    peers: Annotated[int, Meta(ge=1, le=64, description="Peers.")] = 2


def run(parameters: DemandParameters, seed: int) -> list[Row]:
    """A row for each order and share, and one for each way of visiting again."""
    return [*_new_pages(parameters, seed), *_visits_again(parameters, seed)]


# --- New pages


def _new_pages(parameters: DemandParameters, seed: int) -> Iterable[Row]:
    shares = sorted(amounts(parameters.shares, "--shares", least=0.001, most=1.0))
    web = _web(parameters, parameters.pages, SECONDS, seed)
    of_word = _relevant_by_word(web, web.all_pages)
    if not all(of_word[word] for word in WORDS):
        raise ConfigError("--topical hosts are too few for a page about each topic; give more --pages")
    for name, ordering in ORDERINGS.items():
        crawl = _crawl(web, parameters, seed, CrawlSettings(ordering=ordering, fetches_in_flight_max=1))
        Searchers(crawl, web, seed, parameters.pause)
        fetched = crawl.run_to(round(shares[-1] * web.pages))
        pause_s = _least_pause(crawl)
        for share in shares:
            known = _relevant_by_word(web, fetched[: round(share * web.pages)])
            found = {word: known[word] / of_word[word] for word in WORDS}
            others = [found[word] for word in WORDS if word not in ASKED]
            yield {
                "what": NEW,
                "by": name,
                "share": share,
                "asked": sum(asked * found[word] for word, asked in asked_shares().items()),
                "others": sum(others) / len(others),
                "visits": 1.0,
                "pause_s": pause_s,
            }


def _relevant_by_word(web: AskedWeb, urls: Iterable[str]) -> Counter[str]:
    return Counter(web.word_of(url) for url in urls if web.is_relevant(url))


def _least_pause(crawl: SimulatedCrawl) -> float:
    """Return the least seconds between two questions to a host."""
    asked_at: dict[str, list[float]] = defaultdict(list)
    for request in crawl.log:
        asked_at[host_of(request.url)].append(request.at_s)
    gaps = (later - early for times in asked_at.values() for early, later in pairwise(sorted(times)))
    return min(gaps, default=inf)


# --- Pages known


def _visits_again(parameters: DemandParameters, seed: int) -> Iterable[Row]:
    web = _web(parameters, parameters.changing, WebShape().seconds_median, seed)
    alike = _row_of_visits(web, parameters, seed, "all alike", CrawlOrder(), INTERVAL_S)
    asked = _row_of_visits(web, parameters, seed, "asked sooner", BROUGHT_FORWARD, INTERVAL_S)
    shorter_s = INTERVAL_S * alike["visits"] / asked["visits"]
    return [alike, asked, _row_of_visits(web, parameters, seed, "all sooner", CrawlOrder(), shorter_s)]


def _row_of_visits(
    web: AskedWeb,
    parameters: DemandParameters,
    seed: int,
    name: str,
    ordering: CrawlOrder,
    interval_s: float,
) -> Row:
    settings = CrawlSettings(ordering=ordering, delay_s=DELAY_S, revisit_after_s=interval_s)
    crawl = _crawl(web, parameters, seed, settings)
    searchers = Searchers(crawl, web, seed, parameters.pause)
    end_s = INTERVALS * INTERVAL_S
    crawl.run_for(end_s)
    visits: dict[str, list[float]] = defaultdict(list)
    for request in crawl.log:
        if request.status in (200, 304) and not request.url.endswith("/robots.txt"):
            visits[request.url].append(request.at_s)
    ages = _Ages(visits, seed, end_s)
    since_s = end_s - 2 * INTERVAL_S
    shown = [ages.at(url, at_s) for at_s, urls in searchers.shown if at_s >= since_s for url in urls]
    every = [ages.at(url, at_s) for at_s in np.linspace(since_s, end_s, 50).tolist() for url in visits]
    return {
        "what": AGAIN,
        "by": name,
        "share": 1.0,
        "asked": sum(shown) / max(1, len(shown)) / INTERVAL_S,
        "others": sum(every) / max(1, len(every)) / INTERVAL_S,
        "visits": sum(map(len, visits.values())) / max(1, len(visits)),
        "pause_s": _least_pause(crawl),
    }


class _Ages:
    """Pages that change by chance, each once in an interval in the mean, and the visits that see it."""

    def __init__(self, visits: dict[str, list[float]], seed: int, end_s: float) -> None:
        self._visits = {url: sorted(times) for url, times in visits.items()}
        random = np.random.default_rng(seed)
        n_changes = int(3 * end_s / INTERVAL_S) + 10
        self._changes = {
            url: np.cumsum(random.exponential(INTERVAL_S, n_changes)).tolist() for url in sorted(visits)
        }

    def at(self, url: str, at_s: float) -> float:
        """Return for how many seconds the copy of a page has been older than the page."""
        times, changes = self._visits[url], self._changes[url]
        n_visits = bisect_right(times, at_s)
        if not n_visits:
            return 0.0
        next_change = changes[bisect_right(changes, times[n_visits - 1])]
        return float(max(0.0, at_s - next_change))


def _web(parameters: DemandParameters, pages: int, seconds: float, seed: int) -> AskedWeb:
    shape = WebShape(pages_per_host=parameters.pages_per_host, seconds_median=seconds)
    return AskedWeb(seed, pages, shape, Topic(hosts_share=parameters.topical))


def _crawl(web: AskedWeb, parameters: DemandParameters, seed: int, settings: CrawlSettings) -> SimulatedCrawl:
    return SimulatedCrawl(
        web,
        peers=parameters.peers,
        seed=seed,
        replicas=1,
        settings=settings,
        policy=EVERYTHING,
        parser=TopicalParser,
    )


# --- What came of it


def draw(figure: Figure, outcome: Outcome) -> None:
    left, right = figure.subplots(1, 2)
    rows = outcome.summary()
    new = [{**row, **measure(row, "asked", "percent", 100)} for row in rows if row["what"] == NEW]
    lines(left, [{**row, "share": 100 * row["share"]} for row in new], "by", "share", "percent")
    left.set_ylim(bottom=0)
    name_axes(left, "Of the pages on what is asked for, known", "% of the pages fetched", "%")
    bars(right, [row for row in rows if row["what"] == AGAIN], "by", "what", "asked")
    right.set_ylim(bottom=0)
    name_axes(right, "Age of the pages that are shown", "pages visited", "intervals of visits")


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = {(row["what"], row["by"], row["share"]): row for row in outcome.summary()}
    shares = sorted({share for what, _, share in rows if what == NEW})
    others = ("weight", "breadth")
    more = [
        outcome.paired("asked", _key(NEW, "searches", share), _key(NEW, other, share))
        for share in shares
        for other in others
    ]
    known, without, breadth = (
        ", ".join(f"{rows[NEW, each, share]['asked']:.0%}" for share in shares)
        for each in ("searches", *others)
    )
    yield Claim(
        BOOK,
        "more of what is asked for is known if the words of searches guide the crawl",
        f"{known}; without {without}, breadth-first {breadth}; seed by seed more by "
        + ", ".join(map(str, more)),
        all(each.is_above for each in more),
    )
    sooner = [
        outcome.paired("asked", _key(AGAIN, other, 1.0), _key(AGAIN, "asked sooner", 1.0))
        for other in ("all alike", "all sooner")
    ]
    asked, alike, spread = (rows[AGAIN, name, 1.0] for name in ("asked sooner", "all alike", "all sooner"))
    yield Claim(
        BOOK,
        "what is shown is fresher if it is visited sooner, also than by as many visits of all pages",
        f"{asked['asked']:.3f} of an interval old; all alike {alike['asked']:.3f}, all sooner "
        f"{spread['asked']:.3f}; seed by seed less by {', '.join(map(str, sooner))}",
        all(each.is_above for each in sooner),
    )
    least = min(row["pause_s"] for row in rows.values())
    allowed_s = {NEW: CrawlSettings().delay_s, AGAIN: DELAY_S}
    yield Claim(
        BOOK,
        "no host is asked sooner than its pause allows for what is asked for",
        f"at least {least:.2f} s between two questions to one, whoever asks",
        all(row["pause_s"] >= allowed_s[row["what"]] for row in rows.values()),
    )


def _key(what: str, by: str, share: float) -> Row:
    return {"what": what, "by": by, "share": share}


STUDY: Final = Study(
    name="demand",
    question="Does a crawl have more of what people search for, and fresher, if it goes by their searches?",
    source=BOOK,
    parameters=DemandParameters,
    run=run,
    keys=("what", "by", "share"),
    columns={
        "what": "new: pages never visited, of a web of `pages`; again: visits of known ones, of `changing`",
        "by": "new: breadth-first, by weight, and by weight with words of searches that found little; again: "
        "all pages alike, those asked for sooner, all so much sooner that visits are at least as many",
        "share": "of the pages of the web that were fetched",
        "asked": "new: of the pages on what is asked for, known, by how often it is asked for, share; again: "
        "for how long the pages shown had been out of date, of an interval of visits, mean",
        "others": "new: likewise of topics that nobody asks for; again: of all pages",
        "visits": "of a page that was fetched, mean",
        "pause_s": "least seconds between two questions to one host",
    },
    draw=draw,
    caption="What is known of that which is asked for, and how old it is, with and without demand.",
    seeds=6,
    claims=claims,
)
