"""How figures look: lines that differ without colour, units on the axes, no decoration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from mesh.counts import counted
from mesh.errors import ConfigError
from simulations.outcomes.study import ends_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulations.outcomes.study import Outcome, Row

MARKERS: Final = "os^DvP*X"
DASHES: Final = ("-", "--", "-.", ":")
# Okabe and Ito's colours, in an order in which neighbours differ in brightness as well.
COLOURS: Final = ("#000000", "#E69F00", "#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7")
HATCHES: Final = ("", "///", "...", "xxx", "\\\\\\", "++", "oo")


def figure_of(outcome: Outcome, format: str) -> bytes:
    """Draw the figure of an outcome.

    Args:
      format: "png", "svg" or "pdf".

    Raises:
      ConfigError: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError(
            "figures need matplotlib: pip install matplotlib, or pipx inject tianmesh matplotlib"
        ) from error
    style: dict[Any, Any] = {"font.size": 10, "svg.hashsalt": "tianmesh", "svg.fonttype": "path"}
    with rc_context(style):
        figure = Figure(figsize=(10, 4.2), layout="constrained", dpi=110)
        outcome.study.draw(figure, outcome)
        buffer = BytesIO()
        figure.savefig(buffer, format=format, metadata={"Date": None} if format in ("svg",) else None)
    return buffer.getvalue()


def lines(
    axes: Axes,
    rows: Sequence[Row],
    by: str,
    x: str,
    y: str,
    name: Callable[[Any], str] = str,
) -> None:
    """Draw y over x, a line for each value of `by` with its name, with intervals where there are some."""
    for style, value in enumerate(dict.fromkeys(row[by] for row in rows)):
        chosen = [row for row in rows if row[by] == value]
        error = _intervals(chosen, y)
        axes.errorbar(
            [row[x] for row in chosen],
            [row[y] for row in chosen],
            yerr=error if any(error[1]) else None,
            label=name(value),
            color=COLOURS[style % len(COLOURS)],
            marker=MARKERS[style % len(MARKERS)],
            linestyle=DASHES[style % len(DASHES)],
            markersize=4,
            capsize=2,
            linewidth=1.3,
        )


def bars(axes: Axes, rows: Sequence[Row], by: str, x: str, y: str) -> None:
    """Draw a group of bars for each value of x, one bar of it for each value of `by`."""
    groups = list(dict.fromkeys(row[x] for row in rows))
    series = list(dict.fromkeys(row[by] for row in rows))
    width = 0.8 / len(series)
    for number, value in enumerate(series):
        chosen = {row[x]: row for row in rows if row[by] == value}
        places = [
            at + (number - (len(series) - 1) / 2) * width
            for at, group in enumerate(groups)
            if group in chosen
        ]
        shown = [chosen[group] for group in groups if group in chosen]
        axes.bar(
            places,
            [row[y] for row in shown],
            width,
            yerr=_intervals(shown, y),
            label=str(value),
            color=COLOURS[1:][number % 6],
            hatch=HATCHES[number % len(HATCHES)],
            edgecolor="black",
            linewidth=0.6,
            capsize=2,
        )
    axes.set_xticks(range(len(groups)), [str(group) for group in groups])


def _intervals(rows: Sequence[Row], y: str) -> tuple[list[float], list[float]]:
    """Return how far intervals reach down and up."""
    ends = [ends_of(row, y) for row in rows]
    down = [row[y] - low for row, (low, _) in zip(rows, ends, strict=True)]
    return down, [high - row[y] for row, (_, high) in zip(rows, ends, strict=True)]


def measure(row: Row, name: str, to: str, factor: float = 1.0) -> Row:
    """Return a measured column under another name, times a factor, with its interval."""
    ends = {end: f"{name}{end}" for end in ("", " low", " high")}
    return {f"{to}{end}": factor * row[column] for end, column in ends.items() if column in row}


def peers_named(count: int) -> str:
    """Name a mesh in a legend."""
    return counted(count, "peer")


def name_axes(axes: Axes, title: str, x: str, y: str) -> None:
    """Title, axes with units, a legend if there are several lines, a faint grid."""
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.25, linewidth=0.5)
    if len(axes.get_legend_handles_labels()[0]) > 1:
        axes.legend(fontsize=8)
