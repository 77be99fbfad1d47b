"""Which pages does a crawl find first, by each order of new pages?

The peers crawl a web of which it is known what is relevant and what is important, with fewer fetches at a
time than hosts that may be asked, since where there is room for all no order matters. Seeds are the same,
politeness too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from mesh.errors import ConfigError
from mesh.urls import host_of
from peers.crawler.model.settings import CrawlSettings
from peers.policy.crawl_order import CrawlOrder, Order
from peers.policy.rules import EVERYTHING
from simulations.outcomes.figures import lines, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, SchemeDifference, Study, amounts
from simulations.webs.web import WebShape
from simulations.world.crawl import SimulatedCrawl
from simulations.world.topical_web import TOPIC, Topic, TopicalParser, TopicalWeb

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, 2.2 and 3.5"
FOCUSED: Final = "Chakrabarti et al. 1999, focused crawling"
FISH: Final = "De Bra and Post 1994, fish search"
_GUIDE: Final = (TOPIC,)
ORDERINGS: Final = {
    "breadth": CrawlOrder(),
    "depth": CrawlOrder(order=Order.DEPTH),
    "weight": CrawlOrder(order=Order.WEIGHT),
    "guided": CrawlOrder(order=Order.WEIGHT, guide_words=_GUIDE),
    "fish": CrawlOrder(order=Order.FISH, guide_words=_GUIDE),
    "focused": CrawlOrder(order=Order.FOCUSED, guide_words=_GUIDE),
}


class OrdersParameters(Parameters, frozen=True, kw_only=True):
    """A web with a topic, and a crawl that ends before it has all of it."""

    pages: Annotated[int, Meta(ge=500, le=1_000_000, description="Pages of the web.")] = 4_000
    pages_per_host: Annotated[float, Meta(ge=2, le=1_000, description="Of them, mean.")] = 20.0
    topical: Annotated[float, Meta(gt=0, lt=1, description="Share of hosts that are about the topic.")] = 0.1
    shares: Annotated[
        str, Meta(description="Of the pages, by comma: what is looked at after so many fetches.")
    ] = "0.1,0.2,0.3,0.5"
    orders: Annotated[str, Meta(description="Orders, by comma; guided is weight with guide words.")] = (
        ",".join(ORDERINGS)
    )
    peers: Annotated[int, Meta(ge=1, le=64, description="Peers.")] = 2
    fetches: Annotated[int, Meta(ge=1, le=1_000, description="Fetches of a peer at a time.")] = 1


def run(parameters: OrdersParameters, seed: int) -> list[Row]:
    """A row for each order and share."""
    shares = sorted(amounts(parameters.shares, "--shares", least=0.001, most=1.0))
    shape = WebShape(pages_per_host=parameters.pages_per_host)
    web = TopicalWeb(seed, parameters.pages, shape, Topic(hosts_share=parameters.topical))
    rows = []
    for name in _orders(parameters.orders):
        fetched = _fetched(web, ORDERINGS[name], parameters, round(shares[-1] * web.pages), seed)
        for share in shares:
            rows.append(
                {"order": name, "share": share, **_measured(web, fetched[: round(share * web.pages)])}
            )
    return rows


def _fetched(
    web: TopicalWeb, ordering: CrawlOrder, parameters: OrdersParameters, count: int, seed: int
) -> list[str]:
    """The first pages that a crawl fetches, in their order."""
    settings = CrawlSettings(ordering=ordering, fetches_in_flight_max=parameters.fetches)
    crawl = SimulatedCrawl(
        web,
        peers=parameters.peers,
        seed=seed,
        replicas=1,
        settings=settings,
        policy=EVERYTHING,
        parser=TopicalParser,
    )
    return crawl.run_to(count)[:count]


def _measured(web: TopicalWeb, fetched: list[str]) -> Row:
    n_relevant = sum(map(web.is_relevant, fetched))
    return {
        "harvest": n_relevant / max(1, len(fetched)),
        "recall": n_relevant / sum(map(web.is_relevant, web.all_pages)),
        "sites": len(set(map(host_of, fetched))) / web.host_count,
        "importance": sum(web.importance[url] for url in fetched),
        "pages": len(fetched),
    }


def _orders(text: str) -> list[str]:
    wanted = list(dict.fromkeys(text.split(",")))
    if not set(wanted) <= set(ORDERINGS):
        raise ConfigError(f"--orders are {', '.join(ORDERINGS)} with commas between; not {text!r}")
    return wanted


def draw(figure: Figure, outcome: Outcome) -> None:
    rows = [
        {name: 100 * value if isinstance(value, float) else value for name, value in row.items()}
        for row in outcome.summary()
    ]
    kinds = (("recall", "relevant pages"), ("importance", "importance"), ("sites", "sites"))
    for axes, (name, title) in zip(figure.subplots(1, len(kinds)), kinds, strict=True):
        lines(axes, rows, "order", "share", name)
        axes.set_ylim(bottom=0)
        name_axes(axes, f"Of all {title}, found", "% of the pages fetched", "%")


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = {(row["order"], row["share"]): row for row in outcome.summary()}
    shares = sorted({share for _, share in rows})

    def of(order: str, name: str) -> list[float]:
        return [rows[order, share][name] for share in shares] if (order, shares[0]) in rows else []

    def more(name: str, order: str, other: str) -> list[SchemeDifference]:
        return [
            outcome.paired(name, {"order": order, "share": share}, {"order": other, "share": share})
            for share in shares
        ]

    breadth, depth = of("breadth", "importance"), of("depth", "importance")
    if breadth and depth:
        yield Claim(
            BOOK,
            "breadth-first fetches more important pages than depth-first",
            f"{_percents(breadth)} of all importance, and {_percents(depth)}",
            all(each.is_above for each in more("importance", "breadth", "depth")),
        )
    if (weight := of("weight", "sites")) and shares[0] <= 0.1:
        at = max(share for share in shares if share <= 0.1)
        share = rows["weight", at]["sites"]
        yield Claim(
            BOOK,
            "at a tenth of the pages nearly all sites are covered, by weight",
            f"{share:.0%} of all sites at {at:.0%} of the pages",
            weight[shares.index(at)] >= 0.9,
        )
    for order, source in (("fish", FISH), ("focused", FOCUSED)):
        ours, plain = of(order, "harvest"), of("breadth", "harvest")
        if ours and plain:
            yield Claim(
                source,
                f"more of what the order {order} fetches is relevant than breadth-first",
                f"{_percents(ours)}; breadth-first {_percents(plain)}; seed by seed more by "
                + ", ".join(map(str, more("harvest", order, "breadth"))),
                all(each.is_above for each in more("harvest", order, "breadth")),
            )


def _percents(values: list[float]) -> str:
    return ", ".join(f"{value:.0%}" for value in values)


STUDY: Final = Study(
    name="orders",
    question="What does a crawl find first, by each order of new pages?",
    source=f"{BOOK}; {FISH}; {FOCUSED}",
    parameters=OrdersParameters,
    run=run,
    keys=("order", "share"),
    columns={
        "order": "which new page comes next, as `crawl.ordering` has it; guided is weight with guide words",
        "share": "of the pages of the web that were fetched",
        "harvest": "harvest rate: relevant pages of those fetched, share",
        "recall": "target recall: relevant pages that were fetched, share of all",
        "sites": "hosts of which a page was fetched, share of all",
        "importance": "sum of the PageRank of the pages fetched, of 1",
        "pages": "pages fetched; fewer than the share where an order ends before",
    },
    draw=draw,
    caption="What was found against the pages fetched, of all there is.",
    seeds=6,
    is_headline=lambda row: row["share"] <= 0.2,
    claims=claims,
)
