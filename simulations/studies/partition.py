"""What does it cost when a peer comes or goes, by each way of dividing the web? The book's three schemes.

The web is divided by hosts (the book's way and ours), registrable domains, URLs, or directories; these are
mapped to peers by the schemes of `simulations.model.partitions`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta

from simulations.model.hosts import power_law
from simulations.model.partitions import (
    Hashes,
    HostTable,
    Jump,
    Mapping,
    ModN,
    Rendezvous,
    Ring,
    SlotArray,
    hashes_of,
)
from simulations.studies.drawing import bars, name_axes
from simulations.studies.study import Claim, Outcome, Parameters, Row, Study
from simulations.traces.columns import Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, section 6.2, dynamic reconfiguration"
DIRECTORY_PAGES: Final = 64
HOSTS_PER_DOMAIN: Final = 3
VISITED_BYTES: Final = 16  # an MD5 of a URL that was visited moves with it; book, 6.2
QUEUED_BYTES: Final = 128  # a URL that was not; at most


class PartitionParameters(Parameters, frozen=True, kw_only=True):
    """The book's example: 10 peers, 50,000 logical nodes."""

    peers: Annotated[int, Meta(ge=2, le=5_000, description="Before one comes or goes.")] = 10
    slots: Annotated[int, Meta(ge=1, le=65_536, description="Logical nodes, m.")] = 50_000
    points: Annotated[int, Meta(ge=1, le=10_000, description="Of a peer in consistent hashing, V.")] = 100
    pages: Annotated[int, Meta(ge=100, le=5_000_000, description="URLs of the web.")] = 100_000
    pages_per_host: Annotated[float, Meta(ge=1, le=1e6, description="Mean.")] = 50.0
    visited: Annotated[float, Meta(ge=0, le=1, description="Share of URLs that were fetched before.")] = 0.5
    links: Annotated[float, Meta(ge=0, le=1_000, description="Of a page.")] = 12.0
    outside: Annotated[float, Meta(ge=0, le=1, description="Share of links that leave their host.")] = 0.06


def run(parameters: PartitionParameters, seed: int) -> list[Row]:
    """A row for each way to divide, each scheme, and each change."""
    random = np.random.default_rng(seed)
    count = max(2, round(parameters.pages / parameters.pages_per_host))
    host = np.repeat(np.arange(count), power_law(parameters.pages, count, 0.9))
    links = _links(parameters, host, random)
    rows = []
    for by, key_of in _keys(host, seed).items():
        names, number = np.unique(key_of, return_inverse=True)
        keys = hashes_of([f"{seed} {name}" for name in names.tolist()])
        for scheme, mapping in _mappings(parameters, keys).items():
            before = mapping.peers_of(keys)[number]
            for change in (1, -1):
                resized = mapping.resized(parameters.peers + change)
                after = resized.peers_of(keys)[number]
                rows.append(
                    {
                        "by": by,
                        "scheme": scheme,
                        "change": f"{parameters.peers} -> {parameters.peers + change}",
                        **_measures(parameters, before, after, host, links, change),
                        "entries": float(resized.entries),
                    }
                )
    return rows


def _keys(host: Ints, seed: int) -> dict[str, Ints]:
    place = np.arange(len(host)) - np.searchsorted(host, host)
    return {
        "host": host,
        "domain": host // HOSTS_PER_DOMAIN,
        "URL": np.arange(len(host)),
        "directory": host * (len(host) // DIRECTORY_PAGES + 1) + place // DIRECTORY_PAGES,
    }


def _links(parameters: PartitionParameters, host: Ints, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Ends of links: inside a host, or to any page, so that large hosts have most of them."""
    count = round(parameters.links * len(host))
    source, target = random.integers(0, len(host), (2, count))
    starts = np.searchsorted(host, host)
    sizes = np.bincount(host)[host]
    inside = random.random(count) >= parameters.outside
    near = starts[source] + (random.random(count) * sizes[source]).astype(np.int64)
    return source, np.where(inside, near, target)


def _mappings(parameters: PartitionParameters, keys: Hashes) -> dict[str, Mapping]:
    n = parameters.peers
    return {
        "1: mod n": ModN(n),
        "2: mod n + table": HostTable(n, keys),
        "3: array": SlotArray(n, parameters.slots),
        "rendezvous (ours)": Rendezvous(n, parameters.slots),
        "consistent hashing": Ring(n, parameters.points),
        "jump hash": Jump(n),
    }


def _measures(
    parameters: PartitionParameters,
    before: Ints,
    after: Ints,
    host: Ints,
    links: tuple[Ints, Ints],
    change: int,
) -> Row:
    pages = np.bincount(after, minlength=parameters.peers + change)
    moved = float((before != after).mean())
    least = 1 / (parameters.peers + 1) if change > 0 else 1 / parameters.peers
    urls = moved * len(host)
    n_bytes = urls * (parameters.visited * VISITED_BYTES + (1 - parameters.visited) * QUEUED_BYTES)
    pairs = np.unique(host * (parameters.peers + 2) + after)
    peers_of_host = np.bincount(pairs // (parameters.peers + 2))
    return {
        "moved": moved,
        "moved_least": least,
        "fetched_twice": moved * parameters.visited,
        "moved_mb": n_bytes / 1e6,
        "variation": float(pages.std() / pages.mean()),
        "max_over_mean": float(pages.max() / pages.mean()),
        "cross_share": float((after[links[0]] != after[links[1]]).mean()),
        "shared_hosts": float((peers_of_host > 1).mean()),
    }


def draw(figure: Figure, outcome: Outcome) -> None:
    left, right = figure.subplots(1, 2)
    rows = outcome.summary()
    by_host = [row for row in rows if row["by"] == "host"]
    labels = {"2: mod n + table": "2: mod n\n+ table", "rendezvous (ours)": "rendezvous\n(ours)"}
    labels["consistent hashing"] = "consistent\nhashing"
    shown = [
        {
            **row,
            "scheme": labels.get(row["scheme"], row["scheme"]),
            "share": 100 * row["moved"],
            "share +-": 100 * row.get("moved +-", 0.0),
        }
        for row in by_host
    ]
    bars(left, shown, "change", "scheme", "share")
    left.tick_params(axis="x", labelsize=8)
    left.axhline(100 * by_host[0]["moved_least"], color="0.3", linestyle=":", label="least")
    name_axes(left, "URLs that change their peer (by host)", "scheme", "% of all URLs")
    ours = [row for row in rows if row["scheme"].endswith("(ours)") and row["change"] == rows[0]["change"]]
    pairs = [
        {"by": row["by"], "what": what, "share": 100 * row[name]}
        for row in ours
        for what, name in (
            ("links to other peers", "cross_share"),
            ("hosts that several peers ask", "shared_hosts"),
        )
    ]
    bars(right, pairs, "what", "by", "share")
    name_axes(right, "What dividing by something else costs", "divided by", "%")


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = {(row["by"], row["scheme"], row["change"]): row for row in outcome.summary()}
    n = outcome.summary()[0]["change"].partition(" ")[0]
    join = f"{n} -> {int(n) + 1}"
    for scheme, says, expected in (
        ("1: mod n", "most hosts change their peer: n/(n+1)", int(n) / (int(n) + 1)),
        ("3: array", "m/(n+1) entries move", 1 / (int(n) + 1)),
        ("rendezvous (ours)", "as with the array, 1/(n+1), without an array", 1 / (int(n) + 1)),
    ):
        moved, of_hosts = (rows[by, scheme, join]["moved"] for by in ("URL", "host"))
        ours = f"{moved:.1%} of the URLs; {of_hosts:.1%} where hosts are moved, which have unlike sizes"
        yield Claim(BOOK, f"{says} = {expected:.1%}", ours, abs(moved - expected) < 0.01)
    shared = rows["URL", "rendezvous (ours)", join]["shared_hosts"]
    own = rows["host", "rendezvous (ours)", join]["shared_hosts"]
    yield Claim(
        BOOK,
        "by host, one peer has all of a site; by URL it has not",
        f"hosts that several peers ask: by host {own:.1%}, by URL {shared:.1%}",
        own == 0 < shared,
    )


STUDY: Final = Study(
    name="partition",
    question="What does a change by one peer cost, by each way of dividing the web?",
    source=BOOK,
    parameters=PartitionParameters,
    run=run,
    keys=("by", "scheme", "change"),
    columns={
        "by": "what is hashed",
        "scheme": "the book's three; ours; consistent hashing with V points; jump hash",
        "change": "number of peers before and after",
        "moved": "URLs that change their peer, of all",
        "moved_least": "at least so many have to",
        "fetched_twice": "URLs fetched again, of all, where what was visited does not move with them",
        "moved_mb": "MB that move otherwise: 16 bytes of a visited URL, 128 of another",
        "variation": "standard deviation over mean of the peers' URLs afterwards",
        "max_over_mean": "URLs of the fullest peer over the mean",
        "cross_share": "links to other peers, of all links",
        "shared_hosts": "hosts that several peers ask, who would have to agree on the delay, of all hosts",
        "entries": "entries that all peers have to keep alike",
    },
    draw=draw,
    caption="What moves when a peer comes or goes, and what dividing by something else than hosts costs.",
    shown=("scheme", "change", "moved", "moved_mb", "variation", "cross_share", "entries"),
    is_headline=lambda row: row["by"] == "host",
    claims=claims,
)
