"""Charts: what is drawn, of honest numbers and of others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree

import pytest

from peers.gateway.site import charts
from peers.gateway.site.charts import BYTES, DURATION, LINES_MAX, NUMBER, Chart, ChartUnit, Plot, wait_unit

PLOT = Plot(top=0, base=100, most=10.0)
HUGE = float(1 << 53)


def drawn(total: charts.Values, **lines: charts.Values) -> ElementTree.Element:
    return read("Pages", total, lines)


def read(title: str, total: charts.Values, lines: Mapping[str, charts.Values]) -> ElementTree.Element:
    chart = Chart(title, "All of them", NUMBER, total, lines, ["then", "now"])
    return ElementTree.fromstring(charts.svg(chart, 3))


def paths_of(picture: ElementTree.Element) -> dict[str, str]:
    return {each.attrib["class"]: each.attrib["d"] for each in picture.iter("path")}


def test_a_line_goes_through_its_values() -> None:
    assert charts.path((0.0, 5.0, 10.0), PLOT) == "M40 100l120-50l120-50"


def test_what_is_level_is_one_stroke() -> None:
    assert charts.path((5.0,) * 120, PLOT) == "M40 50H280"


def test_a_gap_is_a_gap_and_a_value_alone_is_a_dot() -> None:
    assert charts.path((5.0, 5.0, None, 5.0, None), PLOT) == "M40 50H100M220 50h1"
    assert charts.area((5.0, 5.0, None), PLOT) == "M40 50H160V100H40z"


@pytest.mark.parametrize("values", [(), (None, None), (0.0, 0.0), (0.0,)])
def test_nothing_known_and_nothing_there_is_drawn_too(values: charts.Values) -> None:
    assert set(paths_of(drawn(values, ann=values))) == {"grid", "sum", "edge", "p0"}


def test_lines_stay_within_their_plot() -> None:
    picture = drawn((1.0, HUGE, 0.0), ann=(HUGE, 1e-300, None), bob=(3.0, 2.0, 1.0))
    for path in paths_of(picture).values():
        numbers = [int(each) for each in re.findall(r"-?\d+", path)]
        assert all(abs(each) <= charts.WIDTH for each in numbers)


def test_no_more_lines_than_can_be_told_apart() -> None:
    picture = drawn((1.0,), **{f"p{n}": (1.0,) for n in range(LINES_MAX + 5)})
    assert len(paths_of(picture)) == LINES_MAX + 3


def test_all_text_is_escaped_and_a_screen_reader_has_something_to_say() -> None:
    hostile = "</svg><script>alert(1)</script>\"'&"
    picture = read(hostile, (1.0,), {})
    assert [each.text for each in picture.iter("title")] == [hostile]
    assert picture.attrib["role"] == "img"
    ids = {each.attrib.get("id") for each in picture.iter()}
    assert set(picture.attrib["aria-labelledby"].split()) <= ids
    assert not list(picture.iter("script"))


def test_a_picture_has_no_style_of_its_own() -> None:
    picture = drawn((1.0,), ann=(1.0,))
    assert not any("style" in each.attrib for each in picture.iter())


@pytest.mark.parametrize(
    ("unit", "most", "top", "text"),
    [
        (NUMBER, 0.0, 1.0, "1"),
        (NUMBER, 0.7, 0.8, "0.8"),
        (NUMBER, 107.0, 200.0, "200"),
        (NUMBER, 1_000.0, 1_000.0, "1k"),
        (NUMBER, 999_999.0, 1e6, "1M"),
        (NUMBER, HUGE, 1e16, "10P"),
        (NUMBER, 3e18, 3.04e18, "3.04e+03P"),
        (BYTES, 0.0, 1_000.0, "1 kB"),
        (BYTES, 3.7e9, 4e9, "4 GB"),
        (DURATION, 0.037, 0.04, "40 ms"),
        (DURATION, 5.0, 6.0, "6 s"),
        (DURATION, 0.0, 0.1, "100 ms"),
        (wait_unit(lambda seconds: f"{seconds:.0f}"), 1e12, 1.00224e12, "1002240000000"),
    ],
)
def test_axes_end_at_round_numbers_of_any_size(unit: ChartUnit, most: float, top: float, text: str) -> None:
    found = charts.top_of([(most,)], unit)
    assert found >= most
    assert found == pytest.approx(top)
    assert unit.text(found) == text


def test_small_numbers_have_few_letters() -> None:
    assert [NUMBER.text(value) for value in (0.0, 0.5, 0.995, 999.7, 1_500.0)] == [
        "0",
        "0.5",
        "0.995",
        "1k",
        "1.5k",
    ]
    assert [BYTES.text(value) for value in (0.0, 26.4e9)] == ["0 B", "26.4 GB"]


@pytest.mark.parametrize("share", [-1.0, 0.0, 0.5, 1.0, 7.0])
def test_bars_stay_within_their_place(share: float) -> None:
    _, width = re.findall(r'width="(\d+)"', charts.bar(share))
    assert 0 <= int(width) <= 200
