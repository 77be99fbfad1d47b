"""The cost of peers that come and go, by each way of dividing the web: the book's three schemes.

The web is divided by hosts (the book's way and ours), registrable domains, URLs, or directories; these are
mapped to peers by the schemes of `simulations.model.partitions`. In a storm several peers come, one after the
other or at once, and go again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
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
from simulations.outcomes.figures import bars, measure, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study
from simulations.traces.columns import Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, section 6.2, dynamic reconfiguration"
OURS: Final = "rendezvous (ours)"
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
    storm: Annotated[int, Meta(ge=1, le=100, description="Peers that come, and go, in a storm.")] = 5
    visited: Annotated[float, Meta(ge=0, le=1, description="Share of URLs that were fetched before.")] = 0.5
    links: Annotated[float, Meta(ge=0, le=1_000, description="Of a page.")] = 12.0
    outside: Annotated[float, Meta(ge=0, le=1, description="Share of links that leave their host.")] = 0.06
    stored_kb: Annotated[
        float, Meta(ge=0, description="Kept of a page and moved with it, kB; 0 where pages stay.")
    ] = 8.0
    mbps: Annotated[float, Meta(gt=0, description="Between a peer and the others, each way, Mbit/s.")] = 100.0


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
            for change, sizes in _changes(parameters).items():
                steps = _steps(mapping, parameters.peers, sizes)
                owners = [each.peers_of(keys)[number] for each in steps]
                rows.append(
                    {
                        "by": by,
                        "scheme": scheme,
                        "change": change,
                        **_cost_of(parameters, owners, sizes),
                        **_state_of(owners[-1], sizes[-1], host, links),
                        "entries": float(steps[-1].entries),
                    }
                )
    return rows


def _changes(parameters: PartitionParameters) -> dict[str, list[int]]:
    """How many peers there are when it begins, and whenever all has come to where it belongs."""
    n = parameters.peers
    many = n + parameters.storm
    up, down = list(range(n, many + 1)), list(range(many - 1, n - 1, -1))
    return {
        f"{n} -> {n + 1}": [n, n + 1],
        f"{n} -> {n - 1}": [n, n - 1],
        f"{n} -> {many} at once": [n, many],
        f"{n} -> {many} by one": up,
        f"{n} -> {many} -> {n} by one": up + down,
    }


def _steps(mapping: Mapping, n: int, sizes: Sequence[int]) -> list[Mapping]:
    """The mapping at each size; it is resized by one peer at a time, as some schemes have no other way."""
    steps = [mapping]
    for size in sizes[1:]:
        while n != size:
            n += 1 if size > n else -1
            mapping = mapping.resized(n)
        steps.append(mapping)
    return steps


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
        OURS: Rendezvous(n, parameters.slots),
        "consistent hashing": Ring(n, parameters.points),
        "jump hash": Jump(n),
    }


def _cost_of(parameters: PartitionParameters, owners: Sequence[Ints], sizes: Sequence[int]) -> Row:
    """Return the pages moved from step to step, and the seconds of the peer that sends or receives most."""
    pages = len(owners[0])
    url_bytes = parameters.visited * VISITED_BYTES + (1 - parameters.visited) * QUEUED_BYTES
    stored_bytes = parameters.visited * parameters.stored_kb * 1e3
    moved, fair, seconds = 0, 0.0, 0.0
    for (n, before), (more, after) in pairwise(zip(sizes, owners, strict=True)):
        is_moved = before != after
        moved += int(is_moved.sum())
        fair += abs(more - n) / max(n, more)
        busiest = max(int(np.bincount(each[is_moved], minlength=1).max()) for each in (before, after))
        seconds += busiest * (url_bytes + stored_bytes) * 8 / (parameters.mbps * 1e6)
    return {
        "moved": moved / pages,
        "fair_share": fair,
        "fetched_twice": parameters.visited * fetches_again(owners, sizes) / pages,
        "moved_mb": moved * url_bytes / 1e6,
        "stored_mb": moved * stored_bytes / 1e6,
        "balance_s": seconds,
    }


def fetches_again(owners: Sequence[Ints], sizes: Sequence[int]) -> int:
    """Count the pages that are fetched again where a peer knows only its own fetches.

    Args:
      owners: of each page, before and after each change.
      sizes: how many peers there were then; who has gone and comes back has forgotten everything.
    """
    count = 0
    for step in range(1, len(owners)):
        is_new = owners[step] != owners[step - 1]
        stayed = sizes[step]  # peers with lower numbers have been there all the time
        for before in range(step - 1, -1, -1):
            stayed = min(stayed, sizes[before])
            is_new &= (owners[before] != owners[step]) | (owners[step] >= stayed)
        count += int(is_new.sum())
    return count


def _state_of(owner: Ints, n: int, host: Ints, links: tuple[Ints, Ints]) -> Row:
    """Return how even the shares are afterwards, and the share of links from peer to peer."""
    pages = np.bincount(owner, minlength=n)
    pairs = np.unique(host * n + owner)
    return {
        "variation": float(pages.std() / pages.mean()),
        "max_over_mean": float(pages.max() / pages.mean()),
        "cross_share": float((owner[links[0]] != owner[links[1]]).mean()),
        "shared_hosts": float((np.bincount(pairs // n) > 1).mean()),
    }


def draw(figure: Figure, outcome: Outcome) -> None:
    figure.set_size_inches(10, 8.4)
    (moved, divided), (seconds, twice) = figure.subplots(2, 2)
    rows = outcome.summary()
    changes = list(dict.fromkeys(row["change"] for row in rows))
    by_host = [
        {
            **row,
            "scheme": row["scheme"]
            .replace(" + ", "\n+ ")
            .replace(" (", "\n(")
            .replace(" hashing", "\nhashing"),
        }
        for row in rows
        if row["by"] == "host"
    ]
    single = [row for row in by_host if row["change"] in changes[:2]]
    bars(moved, _in_percent(single, "moved"), "change", "scheme", "moved")
    for change, style in zip(changes[:2], (":", "--"), strict=True):
        share = 100 * next(row["fair_share"] for row in single if row["change"] == change)
        moved.axhline(share, color="0.3", linestyle=style, label=f"fair share, {change}: {share:.1f} %")
    name_axes(moved, "URLs that change their peer (by host)", "scheme", "% of all URLs")
    ours = [row for row in rows if row["scheme"] == OURS and row["change"] == changes[0]]
    pairs = [
        {"by": row["by"], "what": what, **measure(row, name, "share", 100)}
        for row in ours
        for what, name in (
            ("links to other peers", "cross_share"),
            ("hosts that several peers ask", "shared_hosts"),
        )
    ]
    bars(divided, pairs, "what", "by", "share")
    name_axes(divided, "What dividing by something else costs", "divided by", "%")
    storms = [row for row in by_host if row["change"] in changes[2:]]
    bars(seconds, storms, "change", "scheme", "balance_s")
    name_axes(seconds, "Time to balance after a storm (by host)", "scheme", "seconds")
    bars(twice, _in_percent(storms, "fetched_twice"), "change", "scheme", "fetched_twice")
    name_axes(twice, "Pages fetched again, if nothing visited moves", "scheme", "% of all URLs")
    for axes in (moved, seconds, twice):
        axes.tick_params(axis="x", labelsize=7)


def _in_percent(rows: Sequence[Row], name: str) -> list[Row]:
    return [{**row, **measure(row, name, name, 100)} for row in rows]


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = {(row["by"], row["scheme"], row["change"]): row for row in outcome.summary()}
    n = outcome.summary()[0]["change"].partition(" ")[0]
    join = f"{n} -> {int(n) + 1}"
    for scheme, says, expected in (
        ("1: mod n", "most hosts change their peer: n/(n+1)", int(n) / (int(n) + 1)),
        ("3: array", "m/(n+1) entries move", 1 / (int(n) + 1)),
        (OURS, "as with the array, 1/(n+1), without an array", 1 / (int(n) + 1)),
    ):
        moved, of_hosts = (rows[by, scheme, join]["moved"] for by in ("URL", "host"))
        ours = f"{moved:.1%} of the URLs; {of_hosts:.1%} where hosts are moved, which have unlike sizes"
        yield Claim(BOOK, f"{says} = {expected:.1%}", ours, abs(moved - expected) < 0.01)
    shared = rows["URL", OURS, join]["shared_hosts"]
    yield Claim(
        BOOK,
        "divided by URLs, no peer has all of a site",
        f"{shared:.1%} of the hosts are asked by several peers",
        shared > 0.9,
    )
    of_url, of_host = ({"by": by, "scheme": OURS, "change": join} for by in ("URL", "host"))
    fewer = outcome.paired("cross_share", of_url, of_host)
    yield Claim(
        BOOK,
        "divided by hosts, far fewer links lead to other peers than by URLs",
        f"{rows['host', OURS, join]['cross_share']:.1%} of all links, and by URLs "
        f"{rows['URL', OURS, join]['cross_share']:.1%}; seed by seed fewer by {fewer}",
        fewer.low > 0.5,
    )


STUDY: Final = Study(
    name="partition",
    question="What does it cost when peers come and go, by each way of dividing the web?",
    source=BOOK,
    parameters=PartitionParameters,
    run=run,
    keys=("by", "scheme", "change"),
    columns={
        "by": "what is hashed",
        "scheme": "the book's three; ours; consistent hashing with V points; jump hash",
        "change": "number of peers before and after; several come and go at once, or by one, each balanced",
        "moved": "URLs that change their peer, of all, in a storm added up",
        "fair_share": "what those that come or go have of all URLs where each peer has as many as any other",
        "fetched_twice": "URLs fetched again, of all, where peers know only what they fetched themselves",
        "moved_mb": "MB that move otherwise: 16 bytes of a visited URL, 128 of another",
        "stored_mb": "MB of stored pages that move with them",
        "balance_s": "seconds until all is where it belongs: of the peer that has most to send or receive",
        "variation": "standard deviation over mean of the peers' URLs afterwards",
        "max_over_mean": "URLs of the fullest peer over the mean",
        "cross_share": "links to other peers, of all links",
        "shared_hosts": "hosts that several peers ask, who would have to agree on the delay, of all hosts",
        "entries": "entries that all peers have to keep alike",
    },
    draw=draw,
    caption="What moves when peers come and go, one or several, and what dividing by something else costs.",
    shown=("scheme", "change", "moved", "fetched_twice", "moved_mb", "balance_s", "max_over_mean", "entries"),
    seeds=20,
    is_headline=lambda row: row["by"] == "host",
    claims=claims,
)
