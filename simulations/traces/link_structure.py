"""The shape of a web by its links: strong components, the bow-tie around the largest, and depth.

The bow-tie is that of Broder et al. 2000, "Graph structure in the web". Time is linear in pages and links.
It needs scipy, of the extra `simulations`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mesh.errors import ConfigError
from simulations.traces.columns import Ints

Flags = npt.NDArray[np.bool_]


class BowTie(msgspec.Struct, frozen=True):
    """Shares of the pages; they sum to 1."""

    core: float  # the largest strong component: each page of it leads to each other
    into: float  # what leads to the core, and is not in it: IN
    out: float  # what the core leads to: OUT
    tubes: float  # on the way from IN to OUT, past the core
    tendrils: float  # else joined to these by links, whichever way they go
    apart: float


class LinkStructure(msgspec.Struct, frozen=True):
    """The shape of a web."""

    strong_components: int
    bow_tie: BowTie
    depths: list[int]  # of each page: links from the nearest entrance; -1 where none leads to it


class _Links(NamedTuple):
    """The pages that each page links to, those of a page in a row, as sparse matrices have it."""

    ends: Ints  # of each page, behind the end of the page before it: n + 1 numbers
    targets: Ints


def structure_of(source: Ints, target: Ints, is_entrance: Flags) -> LinkStructure:
    """Find components and depths of a web with at least one page.

    Args:
      source, target: of each link, its pages by number.
      is_entrance: of each page, whether depths are counted from it: of a trace the seeds.

    Raises:
      ConfigError: scipy is not installed.
    """
    try:
        from scipy.sparse.csgraph import connected_components
    except ImportError as error:
        raise ConfigError(
            "the structure of links needs scipy: pip install scipy, or pipx inject tianmesh scipy"
        ) from error
    n_pages = len(is_entrance)
    links, back = _grouped(source, target, n_pages), _grouped(target, source, n_pages)
    count, component = connected_components(_matrix(links), connection="strong")
    _, joined = connected_components(_matrix(links), directed=False)
    is_core = component == np.bincount(component).argmax()
    is_in, is_out = _is_reached(back, is_core), _is_reached(links, is_core)
    parts = {
        "core": is_core,
        "into": is_in,
        "out": is_out,
        "tubes": _is_reached(links, is_in & ~is_core) & _is_reached(back, is_out & ~is_core),
        "tendrils": joined == joined[is_core.argmax()],
    }
    return LinkStructure(int(count), _bow_tie(parts), _depths(links, is_entrance))


def _bow_tie(parts: dict[str, Flags]) -> BowTie:
    """Each page counts in the first part that it is in."""
    is_left = np.ones(len(parts["core"]), np.bool_)
    shares: dict[str, float] = {}
    for name, is_part in parts.items():
        shares[name] = float((is_part & is_left).mean())
        is_left &= ~is_part
    return BowTie(**shares, apart=float(is_left.mean()))


def _grouped(source: Ints, target: Ints, n_pages: int) -> _Links:
    ends = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=n_pages))))
    return _Links(ends, target[np.argsort(source, kind="stable")])


def _matrix(links: _Links) -> Any:
    from scipy.sparse import csr_matrix

    n = len(links.ends) - 1
    matrix = csr_matrix((np.ones(len(links.targets)), links.targets, links.ends), shape=(n, n), copy=True)
    matrix.sum_duplicates()  # scipy's search for strong components never ends where a link stands twice
    return matrix


def _is_reached(links: _Links, is_begin: Flags) -> Flags:
    order, _ = _breadth_first(links, is_begin)
    is_reached = np.zeros(len(is_begin), np.bool_)
    is_reached[order] = True
    return is_reached


def _depths(links: _Links, is_begin: Flags) -> list[int]:
    """Count for each page the links on the shortest way to it from where it begins; -1 without a way."""
    order, before = _breadth_first(links, is_begin)
    depths = [-1] * (len(is_begin) + 1)  # the last is before those where it begins
    for page, earlier in zip(order.tolist(), before[order].tolist(), strict=True):
        depths[page] = depths[earlier] + 1
    return depths[:-1]


def _breadth_first(links: _Links, is_begin: Flags) -> tuple[Ints, Ints]:
    """Return pages in the order in which they are reached, and of each the one it was reached from."""
    from scipy.sparse.csgraph import breadth_first_order

    n = len(is_begin)
    targets = np.concatenate((links.targets, np.flatnonzero(is_begin)))
    all_links = _Links(np.append(links.ends, len(targets)), targets)  # from one page more to all that begin
    order, before = breadth_first_order(_matrix(all_links), n)
    return order[1:], before
