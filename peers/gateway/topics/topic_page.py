"""The pages of the topics of a mesh: a list of them, and the series of one as charts. Without script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from peers.gateway.model.time_words import utc
from peers.gateway.site import charts
from peers.gateway.site.charts import ChartUnit, Values
from peers.gateway.site.pages import Here, Reader, render
from peers.gateway.topics.topic_json import SeriesJson, TopicsJson, TopicStrengthJson, series_of

_TICKS: Final = 4  # under a chart, beside the last
_SHARES: Final = [digit * 10.0**power for power in range(-4, 0) for digit in (1, 2, 4, 6, 8)]


class _Figure(NamedTuple):
    """A chart, with the sums of its series."""

    title: str
    total: str
    mean: str
    deviation: str
    drawing: Markup


class _Row(NamedTuple):
    """A slice in the table."""

    begins: str
    numbers: tuple[str, ...]
    share: str
    is_lost: bool


def topics_page(reader: Reader, topics: TopicsJson) -> str:
    """List the topics."""
    return render("topics.html", reader, Here("/topics"), query="", topics=topics.topics)


def topic_page(reader: Reader, told: TopicStrengthJson) -> str:
    """Draw the series of a topic; values that were put in for lost slices are hollow points."""
    address = f"/topic/{told.topic.name}"
    until = utc(told.open_until)
    n_lost = sum(each.is_lost for each in told.slices)
    return render(
        "topic.html",
        reader,
        Here(address),
        query="",
        topic=told.topic,
        open_until="" if until is None else f"{until:%Y-%m-%d %H:%M} UTC",
        figures=list(_figures(reader, told)),
        rows=list(_rows(told)),
        lost=reader.say("topic_lost", lost=n_lost, slices=len(told.slices)) if n_lost else "",
        left_out=told.left_out,
        silent=reader.say("topic_silent", peers=", ".join(told.silent), share=f"{told.missing_share:.1%}")
        if told.silent
        else "",
        json=f"/api{address}",
        csv=f"/api{address}?format=csv",
    )


def _figures(reader: Reader, told: TopicStrengthJson) -> Iterator[_Figure]:
    if not told.slices:
        return
    ticks, lost = _ticks(told), [each.is_lost for each in told.slices]
    for number, (name, series) in enumerate(series_of(told)):
        unit = _SHARE if name.endswith("_share") else charts.NUMBER
        title = reader.say(name)
        total, mean, deviation = (_text(unit, v) for v in (series.total, series.mean, series.deviation))
        about = reader.say("topic_about", mean=mean, most=_text(unit, _most(series)), lost=sum(lost))
        hollow = [n for n, is_lost in enumerate(lost) if is_lost]
        drawing = charts.line_svg(number, (title, about), unit, series.values, hollow, ticks)
        yield _Figure(title, total, mean, deviation, drawing)


def _rows(told: TopicStrengthJson) -> Iterator[_Row]:
    for each in reversed(told.slices):
        numbers = each.pages, each.topic, each.related, each.contents, each.topic_contents
        share = _percent(each.topic / each.pages) if each.pages else "–"
        begins = _when(each.begins_at, told.topic.slice_s)
        yield _Row(begins, tuple(f"{number:,}" for number in numbers), share, each.is_lost)


def _ticks(told: TopicStrengthJson) -> Sequence[str]:
    last = len(told.slices) - 1
    places = sorted({round(last * n / _TICKS) for n in range(_TICKS + 1)})
    return [_when(told.slices[place].begins_at, told.topic.slice_s)[5:] for place in places]


def _when(at_s: float, slice_s: int) -> str:
    at = utc(at_s)
    if at is None:
        return ""
    return f"{at:%Y-%m-%d}" if slice_s >= 86_400 else f"{at:%Y-%m-%d %H:%M}"


def _most(series: SeriesJson) -> float:
    values: Values = series.values
    return max((value for value in values if value is not None), default=0.0)


def _text(unit: ChartUnit, value: float) -> str:
    if unit is charts.NUMBER:
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return unit.text(value)


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


_SHARE: Final = ChartUnit([*_SHARES, 1.0], 0.01, _percent)
