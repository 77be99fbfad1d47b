"""A web of any size that is alike to a recorded one.

Theory of operation
===================
Each new host is modelled on one of the trace, drawn at random; it has as many pages as that, times a factor
near 1, all scaled so that their sum is what is wanted. A new page at some place of a host (the first page is
at 0, the last at 1) is modelled on the page of the model host at that place, from which it has its size, its
seconds and the number of its links. A link inside the host is modelled on a link inside the model host, and
leads to the same place; where the new host has k times the pages, the links to a page are spread over k of
them, which are k times as many: so the links to a page are distributed as they were. A link that leaves the
host is modelled on one of the trace that does, and leads to a new host made after the same one.

Besides, every page links to the next ones in a tree over its host, and home pages to other home pages, so
that all can be reached from the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from mesh.domains import registrable_domain
from mesh.trace import TracedPage
from simulations.traces.columns import Floats, Ints, TraceColumns

CHILDREN: Final = 8  # of a page in the tree of its host, and of a host in that of hosts
SIZE_JITTER: Final = 0.2  # standard deviation of the logarithm of the factor of a host's pages


@dataclass(frozen=True, slots=True)
class _Model:
    """The trace, sorted by host."""

    columns: TraceColumns
    order: Ints  # pages by host, and within it as they were fetched
    starts: Ints  # of hosts in `order`
    sizes: Ints
    place: Ints  # of each page among those of its host
    inside: tuple[Ints, Ints]  # links by host of their page: where they lead, within it; starts of hosts
    outside: Ints  # pages that links across hosts lead to
    inside_share: Floats  # of the links of each host that lead to pages of the trace


def synthesise(columns: TraceColumns, n_pages: int, seed: int) -> Iterator[TracedPage]:
    """Yield the pages of a web modelled on a trace, in an order in which a crawl could fetch them.

    Args:
      columns: of at least one page.
      n_pages: of the new web, at least 1.
    """
    random = np.random.default_rng(seed)
    model = _model_of(columns)
    models, sizes = _draw_hosts(model, n_pages, random)
    by_model = np.argsort(models, kind="stable")
    model_starts = np.searchsorted(models[by_model], np.arange(len(model.sizes) + 1))
    per_domain = round(
        columns.host_count / len(set(map(registrable_domain, columns.hosts[: columns.host_count])))
    )
    names = [f"http://h{number}.d{number // per_domain}.test" for number in range(len(models))]
    host_of_page = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(host_of_page)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    depth = np.log2(1 + place) + random.random(len(place))  # home pages first, as a crawl finds them
    at = 0.0
    for page in np.lexsort((host_of_page, depth)):
        host, number = int(host_of_page[page]), int(place[page])
        m, size = int(models[host]), int(sizes[host])
        like = int(model.order[model.starts[m] + int(number * model.sizes[m] / size)])
        seconds = float(columns.seconds[like])
        links = _links(model, m, host, number, size, like, names, sizes, by_model, model_starts, random)
        yield TracedPage(
            _url(names, host, number),
            at,
            seconds,
            int(columns.n_bytes[like]),
            links,
        )
        at += seconds / CHILDREN


def _model_of(columns: TraceColumns) -> _Model:
    order = np.argsort(columns.page_host, kind="stable")
    sizes = columns.host_sizes
    starts = np.cumsum(sizes) - sizes
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    is_there = columns.link_target >= 0
    is_inside = columns.is_inside & is_there
    inside_hosts = columns.page_host[columns.link_page[is_inside]]
    by_host = np.argsort(inside_hosts, kind="stable")
    inside = place[columns.link_target[is_inside]][by_host]
    bounds = np.searchsorted(inside_hosts[by_host], np.arange(len(sizes) + 1))
    there = np.bincount(columns.page_host[columns.link_page[is_there]], minlength=len(sizes))
    share = np.bincount(inside_hosts, minlength=len(sizes)) / np.maximum(there, 1)
    outside = columns.link_target[is_there & ~columns.is_inside]
    return _Model(columns, order, starts, sizes, place, (inside, bounds), outside, share)


def _draw_hosts(model: _Model, n_pages: int, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw for each new host which it is modelled on, and its number of pages."""
    mean = len(model.order) / len(model.sizes)
    count = max(1, min(n_pages, round(n_pages / mean)))
    whole, rest = divmod(count, len(model.sizes))  # each as often as any other, before chance decides
    chosen = random.choice(len(model.sizes), rest, replace=False)
    models = np.concatenate((np.tile(np.arange(len(model.sizes)), whole), chosen))
    random.shuffle(models)
    wanted = model.sizes[models] * np.exp(random.normal(0.0, SIZE_JITTER, count))
    spare = n_pages - count
    ends = np.round(np.cumsum(wanted) / wanted.sum() * spare).astype(np.int64)
    ends[-1] = spare
    return models, np.diff(ends, prepend=0) + 1


def _links(
    model: _Model,
    m: int,
    host: int,
    number: int,
    size: int,
    like: int,
    names: list[str],
    sizes: Ints,
    by_model: Ints,
    model_starts: Ints,
    random: np.random.Generator,
) -> tuple[str, ...]:
    first = number * CHILDREN + 1
    links = [_url(names, host, child) for child in range(first, min(first + CHILDREN, size))]
    if number == 0:
        other = host * CHILDREN + 1
        links += [_url(names, each, 0) for each in range(other, min(other + CHILDREN, len(names)))]
    columns = model.columns
    wanted = int(np.searchsorted(columns.link_page, like, "right") - np.searchsorted(columns.link_page, like))
    inside, bounds = model.inside
    low, high = int(bounds[m]), int(bounds[m + 1])
    for draw, at, jitter in random.random((max(0, wanted - len(links)), 3)):
        if draw < model.inside_share[m] and low < high:
            place = (int(inside[low + int(at * (high - low))]) + jitter) / model.sizes[m]
            links.append(_url(names, host, int(place * size)))
        elif len(model.outside):
            target = int(model.outside[int(at * len(model.outside))])
            kind = int(columns.page_host[target])
            alike = by_model[model_starts[kind] : model_starts[kind + 1]]
            if len(alike):
                there = int(alike[int(jitter * len(alike))])
                place = (model.place[target] + draw) / model.sizes[kind]
                links.append(_url(names, there, int(place * sizes[there])))
    return tuple(dict.fromkeys(links))


def _url(names: list[str], host: int, number: int) -> str:
    """Pages stand in folders of some dozens, as the trees of sites do."""
    return f"{names[host]}/d{number // 64}/p{number}" if number else f"{names[host]}/"
