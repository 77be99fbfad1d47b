"""How alike linked pages are, for people."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from mesh.counts import counted
from simulations.web_reports.locality import Locality, PairCosines

ORDERS = {
    True: "as in the book: same domain > siblings > other domain > random",
    False: "not as in the book, which has same domain > siblings > other domain > random",
    None: "not of all kinds are there pairs",
}


def locality_table(found: Locality) -> RenderableType:
    """Return the report as a table."""
    right = [Column(name, justify="right") for name in ("pairs", "cosine", "error", "median", "by random")]
    table = Table("pairs of pages", *right, title="how alike pages are", box=SIMPLE_HEAD)
    names = ("linked, of one domain", "linked from one page", "linked, of two domains", "any two")
    random = found.kinds["random"].mean
    for name, likeness in zip(names, found.kinds.values(), strict=True):
        table.add_row(name, *_cells(likeness, random))
    for distance, likeness in enumerate(found.distances, 1):
        table.add_row(f"{counted(distance, 'link')} apart", *_cells(likeness, random))
    pages, links = counted(found.pages, "page"), counted(found.links, "link")
    lines = [
        *([f"of a part only: {found.part}"] if found.part else []),
        f"{pages}, {found.worded:,} of them with words that not all have; {links}",
        ORDERS[found.is_in_the_books_order],
    ]
    return Group(table, Text("\n".join(lines)))


def _cells(likeness: PairCosines, random: float | None) -> tuple[str, ...]:
    mean, error, median = likeness.mean, likeness.error, likeness.median
    if mean is None or error is None or median is None:
        return "0", "", "", "", ""
    times = f"{mean / random:.1f}" if random else ""
    return f"{likeness.pairs:,}", f"{mean:.3f}", f"{error:.3f}", f"{median:.3f}", times
