"""Query logs as numbers, and the command `tianmesh trace queries`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from peers.query_log.log_files import read_log
from simulations.traces.commands import app
from simulations.traces.queries import read_queries
from simulations.traces.query_statistics import statistics_of
from tests.peers.query_log.test_log_files import BOOK, LAYOUTS


def test_the_book_s_record_of_five_lines_is_one_query(tmp_path: Path) -> None:
    records = [BOOK.replace("北京大学", f"q{number % 4_000}") for number in range(12_000)]
    (tmp_path / "log").write_text("".join(records))
    asked = read_queries(tmp_path / "log")
    assert (len(asked), asked.max() + 1) == (12_000, 4_000)


def test_the_command_shows_a_log_and_writes_the_book_s(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LAYOUTS["SogouQ of 2012"][0])
    written = "--book-queries", str(tmp_path / "queries"), "--book-clicks", str(tmp_path / "clicks")
    output = CliRunner().invoke(app, ["queries", str(tmp_path / "log"), *written]).output
    assert "SogouQ of 2012" in output
    assert "2 entries of 2 clients" in output
    for name, clicks in (("queries", None), ("clicks", 2)):
        told = json.loads(CliRunner().invoke(app, ["queries", str(tmp_path / name), "--json"]).output)
        assert (told["requests"], told["clicks"] and told["clicks"]["clicks"]) == (2, clicks)
        assert (told["entries"], told["clients"], told["distinct"]) == (2, 2, 2)


def test_requests_of_a_log_by_client_are_numbered_by_time(tmp_path: Path) -> None:
    lines = [f"{query}\t{query}\t2006-03-0{day} 07:17:12" for query in ("red", "blue") for day in (1, 2, 3)]
    (tmp_path / "log").write_text("\n".join(lines))
    assert read_queries(tmp_path / "log").tolist() == [0, 1, 0, 1, 0, 1]


def test_a_log_of_days_by_time_of_day_stays_in_its_order(tmp_path: Path) -> None:
    times = [f"{second // 3600:02d}:{second // 60 % 60:02d}:00" for second in range(0, 86_400, 600)]
    lines = [f"{at}\t1\t[day {day}]\t1 1\tb.test/{at}" for day in range(2) for at in times]
    (tmp_path / "log").write_text("\n".join(lines))
    asked = read_queries(tmp_path / "log").tolist()
    assert asked == sorted(asked)
    found = statistics_of(read_log(tmp_path / "log"))
    assert found.order is not None
    assert found.order.rate_per_s == pytest.approx(len(asked) / (2 * 85_800))


def test_a_log_by_client_has_no_figures_of_order_and_says_so(tmp_path: Path) -> None:
    lines = [f"{client}\tred\t2006-03-0{day} 07:17:12" for client in range(9) for day in (1, 2)]
    (tmp_path / "log").write_text("\n".join(lines))
    output = CliRunner().invoke(app, ["queries", str(tmp_path / "log")]).output
    assert "44.4% are earlier than the one before" in output
