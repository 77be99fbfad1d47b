"""Charts of a mesh's history as SVG that stands in a page: no script, no inline style, few bytes. Pure.

A chart has two plots over one axis of time: an area for all peers together, and below it a line for each of
some peers, on a scale of their own, since a sum dwarfs its parts. Lines differ by colour and by dashes, so
that they are told apart in grey too; how they look is written once in the style sheet (`.p0` to `.p7`). Where
nothing is known a line has a gap. Places are whole units of a drawing of WIDTH x HEIGHT, each from the one
before, and what is level is one stroke: a line of 90 values takes some 400 bytes.

What a peer tells may be of any size, so the axis has a name for every size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Final, NamedTuple

from markupsafe import Markup

LINES_MAX: Final = 8  # that can be told apart

WIDTH: Final = 288
HEIGHT: Final = 150
LEFT: Final = 40  # of the drawn part: there stand the numbers
RIGHT: Final = WIDTH - 8


class Plot(NamedTuple):
    """Where in a drawing values are drawn."""

    top: int
    base: int
    most: float  # what the top stands for

    def y(self, value: float) -> int:
        share = min(max(value / self.most, 0.0), 1.0) if self.most > 0 else 0.0
        return self.base - round((self.base - self.top) * share)


Values = Sequence[float | None]


class ChartUnit(NamedTuple):
    """How the numbers of a chart are written."""

    steps: Sequence[float]  # round numbers, rising, between which the top of an axis is chosen
    least: float  # which it is where there is nothing
    text: Callable[[float], str]


class Chart(NamedTuple):
    """The values and labels of a chart."""

    title: str
    about: str  # a sentence for who does not see it
    unit: ChartUnit
    total: Values
    lines: Mapping[str, Values]  # by peer
    ticks: Sequence[str]  # under the axis of time, at equal distances


def svg(chart: Chart, number: int) -> Markup:
    """Draw a chart; `number` tells it from others in the same page."""
    lines = list(chart.lines.values())[:LINES_MAX]
    total = Plot(8, 44, top_of([chart.total], chart.unit))
    peers = Plot(58, 128, top_of(lines, chart.unit))
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="c{number} d{number}">',
        f'<title id="c{number}">{escape(chart.title)}</title>',
        f'<desc id="d{number}">{escape(chart.about)}</desc>',
        *_scale(total, chart.unit, (1.0,)),
        *_scale(peers, chart.unit, (1.0, 0.5)),
        *_times(chart.ticks),
        f'<path class="sum" d="{area(chart.total, total)}"/>',
        f'<path class="edge" d="{path(chart.total, total)}"/>',
        *(f'<path class="p{n}" d="{path(values, peers)}"/>' for n, values in enumerate(lines)),
        "</svg>",
    ]
    return Markup("".join(parts))


def line_svg(
    number: int,
    names: tuple[str, str],
    unit: ChartUnit,
    values: Values,
    hollow: Iterable[int],
    ticks: Sequence[str],
) -> Markup:
    """Draw the line of one series, with hollow points where values were put in.

    Args:
      number: tells it from others in the same page.
      names: title, and a sentence for who does not see it.
      hollow: places of values; nothing is drawn where there is none.
    """
    plot = Plot(8, 128, top_of([values], unit))
    n_steps = max(len(values) - 1, 1)
    points = ((_x(place, n_steps), values[place]) for place in hollow)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="c{number} d{number}">',
        f'<title id="c{number}">{escape(names[0])}</title>',
        f'<desc id="d{number}">{escape(names[1])}</desc>',
        *_scale(plot, unit, (1.0, 0.5)),
        *_times(ticks),
        f'<path class="p0" d="{path(values, plot)}"/>',
        *(
            f'<circle class="hollow" cx="{x}" cy="{plot.y(value)}" r="3"/>'
            for x, value in points
            if value is not None
        ),
        "</svg>",
    ]
    return Markup("".join(parts))


def swatch(name: str) -> Markup:
    """Draw a sample of a line of this class, for the legend."""
    drawn = "M0 7h28v-6H0z" if name == "sum" else "M0 4h28"
    return Markup(
        '<svg class="swatch" viewBox="0 0 28 8" aria-hidden="true">'
        f'<path class="{escape(name)}" d="{drawn}"/></svg>'
    )


def bar(share: float) -> Markup:
    """Draw a share, 0 to 1."""
    width = min(max(round(200 * share), 0), 200)
    return Markup(
        '<svg class="bar" viewBox="0 0 200 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="all" width="200" height="10"/><rect width="{width}" height="10"/></svg>'
    )


def top_of(lines: Iterable[Values], unit: ChartUnit) -> float:
    """Choose a round number that no value is above, as the top of an axis."""
    most = max((value for values in lines for value in values if value), default=unit.least)
    within = next((step for step in unit.steps if step >= most), None)
    return within if within is not None else unit.steps[-1] * ceil(most / unit.steps[-1])


def path(values: Values, plot: Plot) -> str:
    """The line of some values, with gaps."""
    return "".join(map(_stroke, _runs(values, plot)))


def area(values: Values, plot: Plot) -> str:
    """The area under the line of some values, with gaps."""
    return "".join(f"{_stroke(places)}V{plot.base}H{places[0][0]}z" for places in _runs(values, plot))


def _runs(values: Values, plot: Plot) -> Iterator[list[tuple[int, int]]]:
    """The places of values, in parts without a gap."""
    n_steps = max(len(values) - 1, 1)
    places: list[tuple[int, int]] = []
    for n, value in enumerate((*values, None)):
        if value is not None:
            places.append((_x(n, n_steps), plot.y(value)))
        elif places:
            yield places
            places = []


def _stroke(places: Sequence[tuple[int, int]]) -> str:
    """Draw from place to place; a level stretch is one step, and a place alone is a dot."""
    (x, y), *rest = places
    parts = [f"M{x} {y}"]
    flat_to = x
    for to_x, to_y in rest:
        if to_y == y:
            flat_to = to_x
            continue
        if flat_to != x:
            parts.append(f"H{flat_to}")
            x = flat_to
        parts.append(f"l{to_x - x}{'' if to_y < y else ' '}{to_y - y}")
        x, y, flat_to = to_x, to_y, to_x
    if flat_to != x:
        parts.append(f"H{flat_to}")
    return "".join(parts) if rest else f"{parts[0]}h1"


def _x(n: int, n_steps: int) -> int:
    return LEFT + round((RIGHT - LEFT) * n / n_steps)


def _scale(plot: Plot, unit: ChartUnit, shares: Iterable[float]) -> Iterator[str]:
    """Lines at nothing and at shares of the top, with numbers."""
    heights = {share: plot.y(plot.most * share) for share in (*shares, 0.0)}
    yield f'<path class="grid" d="{"".join(f"M{LEFT} {y}H{RIGHT}" for y in heights.values())}"/>'
    for share, y in heights.items():
        yield f'<text class="amount" x="{LEFT - 4}" y="{y + 3}">{escape(unit.text(plot.most * share))}</text>'


def _times(ticks: Sequence[str]) -> Iterator[str]:
    last = max(len(ticks) - 1, 1)
    for n, text in enumerate(ticks):
        side = "last" if n == last else "time"
        yield f'<text class="{side}" x="{_x(n, last)}" y="{HEIGHT - 8}">{escape(text)}</text>'


# --- Units ---


def _plain(value: float) -> str:
    """A number in at most five letters."""
    if value < 0.995:
        return f"{value:.2g}"
    thousands = min(max(floor(log10(value * 1.0005) / 3), 0), len(_LARGE) - 1)
    return f"{value / 1_000**thousands:.3g}{_LARGE[thousands]}"


def _bytes(value: float) -> str:
    plain = _plain(value)
    return f"{plain[:-1]} {plain[-1]}B" if plain[-1].isalpha() else f"{plain} B"


def _milliseconds(value: float) -> str:
    return f"{value * 1_000:.3g} ms" if value < 1 else f"{value:.3g} s"


_LARGE: Final = ("", "k", "M", "G", "T", "P")
_DIGITS: Final = (1, 2, 3, 4, 6, 8)  # whose halves are round, too


def _rounds(least: int, most: int) -> Sequence[float]:
    """Round numbers from a power of ten to another."""
    return [digit * 10.0**power for power in range(least, most) for digit in _DIGITS]


NUMBER: Final = ChartUnit(_rounds(-2, 17), 1.0, _plain)
BYTES: Final = ChartUnit(_rounds(3, 17), 1e3, _bytes)
DURATION: Final = ChartUnit(_rounds(-3, 2), 0.1, _milliseconds)


def wait_unit(span_text: Callable[[float], str]) -> ChartUnit:
    """How long something waits: seconds to years, in the words of a reader."""
    minutes = (60.0, 120.0, 240.0, 600.0, 1_200.0)
    hours = (3_600.0, 7_200.0, 14_400.0, 36_000.0, 72_000.0)
    days = [86_400.0 * digit * 10**power for power in range(5) for digit in (1, 2, 4)]
    return ChartUnit((2.0, 10.0, 20.0, *minutes, *hours, *days), 60.0, span_text)
