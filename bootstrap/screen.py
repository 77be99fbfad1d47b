"""The output of a lab on the terminal: a table that is kept up to date, and advice on the next step.

Everything goes to stderr; stdout is for results. Nothing is written when the user wants JSON.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mesh.client.gateway_client import error_count
from mesh.counts import counted
from peers.crawler.model.web_request import PAGE_STATUSES

COLUMNS: Final = ("peer", "pages", "pages/s", "hosts", "queue", "fetching", "indexed", "errors")
RECENT_REPORTS: Final = 10  # about 5 s where something happens, over which the speed is taken
REASONS_SHOWN: Final = 6
STEADY: Final = "steady"  # of a peer about whose slots nothing is to be told
_PAGES: Final = frozenset(map(str, PAGE_STATUSES))

Report = dict[str, Any]


class Screen:
    """One lab's messages to the person that started it."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False)

    def say(self, text: str) -> None:
        """Print a line; rich markup in it counts."""
        self._console.print(text, soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print a problem that does not stop the lab."""
        self._console.print(f"[yellow]{escape(text)}[/yellow]", soft_wrap=True)

    @contextmanager
    def starting(self, peers: int) -> Iterator[None]:
        """Say that a lab starts, as long as it does."""
        text = f"starting {counted(peers, 'peer')}"
        if self._console.is_terminal:
            with self._console.status(text):
                yield
        else:
            self.say(text)
            yield

    def show_gateways(self, peers: dict[str, dict[str, Any]]) -> None:
        """Say where to search.

        Args:
          peers: what each peer said of itself, by its name.
        """
        lines = [f"  {name}  [bold]{escape(at['gateway'])}[/bold]" for name, at in peers.items()]
        self.say("\n".join(["search at any of these, they give the same answer:", *lines]))

    @contextmanager
    def progress(self, peers: dict[str, dict[str, Any]]) -> Iterator[Callable[[Report], None]]:
        """A table for the reports that the yielded function is given; a terminal's keeps up with them."""
        names = {at["id"]: name for name, at in peers.items()}
        if not self._console.is_terminal:
            last: Report = {}
            yield last.update
            if last:
                self._console.print(progress_table(last, names))
                for line in _no_pages(last):
                    self.say(line)
            return
        recent: deque[Report] = deque(maxlen=RECENT_REPORTS)
        with Live(console=self._console, auto_refresh=False) as live:

            def show(report: Report) -> None:
                recent.append(report)
                table = progress_table(report, names, since=recent[0])
                live.update(Group(table, _summary(report, names)), refresh=True)

            yield show


def progress_table(report: Report, names: dict[str, str], since: Report | None = None) -> Table:
    """A row a peer and one for all.

    Args:
      names: of all peers, by id; those that are not in the report do not answer.
      since: an earlier report, to tell the speed of now; without it, that since the start.
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "peer" else "right")
    rows = {row["id"]: row for row in report["peers"]}
    before = {row["id"]: row for row in since["peers"]} if since else {}
    for peer in sorted({*names, *rows}, key=lambda peer: names.get(peer, peer)):
        if peer in rows:
            table.add_row(*_cells(names.get(peer, peer), rows[peer], before.get(peer)))
        else:
            table.add_row(names[peer], "down", style="yellow")
    table.add_section()
    table.add_row(*_cells("all", report["total"], since["total"] if since else None), style="bold")
    return table


def _cells(name: str, row: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    frontier = row["frontier"]
    counts = (frontier["hosts"], frontier["queued"], frontier["in_flight"], row["pages_indexed"])
    return [
        name,
        f"{row['pages_stored']:,}",
        f"{_pages_per_second(row, before):.1f}",
        *(f"{count:,}" for count in counts),
        f"{error_count(row['fetch_status']):,}",
    ]


def _pages_per_second(row: dict[str, Any], before: dict[str, Any] | None) -> float:
    seconds = row["seconds"] - before["seconds"] if before else 0.0
    pages = row["pages_fetched"] - before["pages_fetched"] if before else 0
    # A peer that was started again counts from nothing.
    return pages / seconds if seconds > 0 and pages >= 0 else row["pages_per_second"]


def _no_pages(report: Report) -> list[str]:
    """List the outcomes of requests that brought no page, the most frequent first."""
    outcomes = report["total"]["fetch_status"].items()
    others = sorted(((n, what) for what, n in outcomes if what not in _PAGES), reverse=True)
    named = ", ".join(f"{what} ({n:,})" for n, what in others[:REASONS_SHOWN])
    return [f"no pages: {named}"] if named else []


def _summary(report: Report, names: dict[str, str]) -> Group:
    """Build the lines on the work under way, the requests that brought no page, and full disks."""
    total = report["total"]
    megabytes, seconds = total["bytes_fetched"] / 1e6, int(total["seconds"])
    doing = "nothing left to fetch" if total["idle"] else f"pages and batches under way: {total['pending']:,}"
    lines = [f"{doing}; {megabytes:,.1f} MB fetched in {seconds // 60}:{seconds % 60:02d}; Ctrl-C stops"]
    lines = [*_no_pages(report), *lines]
    busy = [
        f"{names.get(row['id'], row['id'])} {row['state']}"
        for row in report["peers"]
        if row["state"] != STEADY
    ]
    if busy:
        lines.append("slots: " + ", ".join(busy))
    full = [names.get(row["id"], row["id"]) for row in report["peers"] if row["is_out_of_space"]]
    if full:
        warning = f"disk full: {', '.join(full)} fetches nothing until there is space"
        return Group(*(Text(line, style="dim") for line in lines), Text(warning, style="yellow"))
    return Group(*(Text(line, style="dim") for line in lines))
