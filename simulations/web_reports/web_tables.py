"""The report of a crawl for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mesh.counts import counted
from simulations.traces.statistics import QuantitySpread
from simulations.web_reports.growth import Growth
from simulations.web_reports.page_columns import LINKS_MAX, TAG_WEIGHTS
from simulations.web_reports.web_report import LinkReport, WebReport

COUNTED_SHOWN = 8  # types, languages, answers: the most frequent
BARS = 10  # of a curve
TAG_GROUPS = 2  # of columns beside each other: three do not fit 80 characters


def web_tables(found: WebReport) -> RenderableType:
    """Return the report as tables."""
    parts: list[RenderableType] = []
    if found.part:
        parts.append(Text(f"of a part only: {found.part}", style="bold yellow"))
    sites = (
        f"{counted(found.pages, 'page')} of {counted(found.hosts, 'host')} in "
        f"{counted(found.domains, 'domain')}; {found.largest_host} has {found.largest_share:.1%} of them"
    )
    kinds = (
        ("answers", found.answers),
        ("types", found.types),
        ("languages", {name or "not known": count for name, count in found.languages.items()}),
    )
    lines = [sites, *(f"{name}: {_most_of(counts)}" for name, counts in kinds)]
    if found.damaged:
        lines.append(f"{counted(found.damaged, 'record')} could not be read")
    parts += [Text("\n".join(lines)), _beside_the_book(found), _spreads(found), _tags(found)]
    lines = [f"pages by the levels of their paths: {_by_number(found.pages_by_level)}"]
    if found.links is not None:
        by_depth = _by_number(found.links.shape.pages_by_depth)
        lines.append(f"pages by links from the nearest entrance: {by_depth}")
    parts.append(Text("\n".join((*lines, *_last_lines(found)))))
    return Group(*parts)


def _beside_the_book(found: WebReport) -> Table:
    table = Table("", "here", "the book", title="beside the book", box=SIMPLE_HEAD)
    for column in table.columns[1:]:
        column.justify = "right"
    book, titles = found.book, found.titles
    rows: list[tuple[str, str, str]] = [
        ("bytes of markup for one of main text", _factor(found.markup_per_text), "4"),
        ("the same for one of all text", _factor(found.markup_per_visible), ""),
        ("distinct words that say something", f"{found.distinct_words.mean:,.0f}", "200"),
        ("bytes of a page", f"{found.page_bytes.mean:,.0f}", f"{book['page_bytes']:,.0f}"),
        ("pages with a title", f"{titles.titled_share:.1%}", f"{book['titled_share']:.1%}"),
        ("titles that say nothing", f"{titles.says_nothing_share:.1%}", ""),
        ("titles that another page of the host has", f"{titles.repeated_share:.1%}", ""),
        ("hosts where most titles are repeated", f"{titles.repeating_hosts:,}", ""),
        (
            "pages with elements that stress words",
            f"{found.stressed_share:.1%}",
            f"{book['stressed_share']:.0%}",
        ),
        (
            "pages for each content",
            f"{found.replication:.2f}",
            f"{book['replication_2001']} (2001), 4 (2003)",
        ),
        ("pages that others are like", f"{found.mirrored_share:.1%}", ""),
        ("most pages of one content", f"{found.mirror_degree_max:,}", ""),
        ("pages that repeat another one, word for word", f"{found.repeats.ours:,}", ""),
        ("the same by the book's digest of words", f"{found.repeats.book:,}", ""),
        ("by that alone", f"{found.repeats.only_book:,}", ""),
        ("by ours alone", f"{found.repeats.only_ours:,}", ""),
        ("contents of a host", f"{found.host_contents:,.1f}", f"{book['host_contents']}"),
        ("labels of the host and levels of the path", f"{found.depth.mean:.2f}", f"{book['depth']}"),
        ("pages that ask not to be indexed", f"{found.noindex_share:.1%}", ""),
    ]
    if found.links is not None:
        shape = found.links.shape.bow_tie
        rows.append(
            ("links to a page from others of the crawl", f"{found.links.inlinks:.2f}", str(book["inlinks"]))
        )
        rows.append(
            ("pages that links of the core lead to", f"{shape.core + shape.out:.1%}", "66.7% at most")
        )
    for row in rows:
        table.add_row(*row)
    return table


def _spreads(found: WebReport) -> Table:
    table = Table("of a page", "mean", "10 %", "median", "90 %", "most", title="spread", box=SIMPLE_HEAD)
    for column in table.columns[1:]:
        column.justify = "right"
    spreads: dict[str, QuantitySpread] = {
        "bytes of HTML": found.page_bytes,
        "words of main text": found.words,
        "distinct, that say something": found.distinct_words,
        "characters of the title": found.titles.chars,
        "labels and levels": found.depth,
    }
    if found.links is not None:
        spreads |= {
            "links inside its host": found.links.inside,
            "links to its domain's other hosts": found.links.domain,
            "links across domains": found.links.across,
            "links from the nearest entrance": found.links.shape.depth,
        }
    spreads["host: pages"] = found.host_pages
    for name, spread in spreads.items():
        values = (spread.mean, spread.p10, spread.median, spread.p90, spread.max)
        table.add_row(name, *(f"{value:,.1f}" for value in values))
    return table


def _tags(found: WebReport) -> Table:
    title = (
        f"elements of {counted(found.html_pages, 'page')} of HTML, and what a word in them weighs by the book"
    )
    table = Table(*(TAG_GROUPS * ("element", "pages", "weight")), title=title, box=SIMPLE_HEAD)
    cells = [
        (name, f"{share:.1%}", str(TAG_WEIGHTS[name] or ""))
        for name, share in sorted(found.tags.items(), key=lambda each: (-each[1], each[0]))
        if share
    ]
    n_rows = -(-len(cells) // TAG_GROUPS)
    for at in range(n_rows):
        table.add_row(*(cell for row in cells[at::n_rows] for cell in row))
    return table


def _last_lines(found: WebReport) -> Iterable[str]:
    if found.links is None:
        yield f"the graph of links is not told: there are more than {LINKS_MAX:,}"
    else:
        yield _shape_line(found.links)
    for what, growth in (("hosts", found.new_hosts), ("contents", found.new_contents)):
        if growth is None:
            yield f"new {what}: all pages have the same date, so nothing is known of their order"
        else:
            yield growth_line(what, growth, found.pages)


def growth_line(what: str, growth: Growth, n_pages: int) -> str:
    """Tell where the curve of new hosts or contents is flat."""
    per_bar = -(-len(growth.new) // BARS)
    sums = [sum(growth.new[at : at + per_bar]) for at in range(0, len(growth.new), per_bar)]
    bars = " ".join(f"{each:,}" for each in sums)
    told = f"new {what} in each {counted(per_bar * growth.window, 'page')}, as fetched: {bars}; "
    behind = f"{growth.per_1000_behind:,.2f} per 1,000 pages"
    if growth.flat_from is None:
        return told + f"never flat: the last tenth still brought {behind}, in the mean {growth.per_1000:,.2f}"
    return told + (
        f"flat from page {growth.flat_from:,} on: the {n_pages - growth.flat_from:,} behind it brought "
        f"{behind}, a tenth of the mean ({growth.per_1000:,.2f}) or less"
    )


def _shape_line(links: LinkReport) -> str:
    shape = links.shape.bow_tie
    return (
        f"{counted(links.links, 'link')} from page to page; {links.shape.strong_components:,} strong "
        f"components: of the largest {shape.core:.1%} of the pages, {shape.into:.1%} lead to it, it leads to "
        f"{shape.out:.1%}; tubes {shape.tubes:.1%}, tendrils {shape.tendrils:.1%}, apart {shape.apart:.1%}; "
        f"from entrances {links.shape.unreached_share:.1%} are not reached"
    )


def _by_number(counts: Sequence[int]) -> str:
    return ", ".join(f"{number}: {count:,}" for number, count in enumerate(counts) if count)


def _most_of(counts: Mapping[str, int]) -> str:
    shown = [f"{escape(name)} {count:,}" for name, count in islice(counts.items(), COUNTED_SHOWN)]
    rest = sum(islice(counts.values(), COUNTED_SHOWN, None))
    return ", ".join([*shown, *([f"others {rest:,}"] if rest else [])])


def _factor(value: float | None) -> str:
    return "no text" if value is None else f"{value:,.2f}"
