"""Query logs: each layout is read as its records are, or refused with the line that does not fit."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import ConfigError
from peers.query_log.log_files import (
    CLIENTS_REMEMBERED,
    LINE_BYTES_MAX,
    NO_CLIENT,
    LoggedQuery,
    clients_of,
    read_log,
    requests_of,
    write_book_clicks,
    write_book_queries,
)

NOON = datetime(2003, 3, 21, 12, 0, 2, tzinfo=UTC).timestamp()
BOOK = "Fri Mar 21 12:00:02 2003\n192.0.2.1\nDatabase\n北京大学\n1\n"
# Each layout: the text, its name, and its first entry.
LAYOUTS = {
    "the book's query log": (
        BOOK + "Fri Mar 21 12:00:03 2003\n192.0.2.2\nCache\nred panda\n2\n",
        LoggedQuery("北京大学", NOON, "192.0.2.1"),
    ),
    "the book's click log": (
        (
            "Sat Mar  1 12:00:02 2003\n192.0.2.1\n北京大学\nhttp://www.pku.edu.cn/\n16\n"
            "Sat Mar  1 12:00:04 2003\n192.0.2.2\nred panda\nhttp://b.test/\n1\n"
        ),
        LoggedQuery("北京大学", NOON - 20 * 86_400, "192.0.2.1", 2, 16, "http://www.pku.edu.cn/"),
    ),
    "the log of TSE": (
        "Fri-Mar-21-12:00:02-2003 北京大学\nFri-Mar-21-12:00:03-2003 red panda\n",
        LoggedQuery("北京大学", NOON),
    ),
    "SogouQ of 2008": (
        "00:01:02\t29821\t[北京大学]\t8 3\twww.pku.edu.cn/a\n00:01:03\t2\t[red panda]\t1 1\tb.test/\n",
        LoggedQuery("北京大学", 62.0, "29821", 1, 8, "www.pku.edu.cn/a"),
    ),
    "SogouQ of 2012": (
        (
            "20030321120002\t57375476989eea12\t北京大学\t11\t1\thttp://www.pku.edu.cn/\n"
            "20030321120003\t2\tred panda\t1\t1\thttp://b.test/\n"
        ),
        LoggedQuery("北京大学", NOON, "57375476989eea12", 2, 11, "http://www.pku.edu.cn/"),
    ),
    "SogouQ with commas": (
        (
            "访问时间,用户ID,查询词,该URL在返回结果中的排名,用户点击的顺序号,用户点击的URL\n"
            '00:01:02,29821,北京大学,8,3,"www.pku.edu.cn/a,1"\n00:01:03,2,red panda,1,1,b.test/\n'
        ),
        LoggedQuery("北京大学", 62.0, "29821", 1, 8, "www.pku.edu.cn/a,1"),
    ),
    "the log of AOL": (
        (
            "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
            "142\t北京大学\t2003-03-21 12:00:02\t\t\n142\tred panda\t2003-03-21 12:00:03\t1\thttp://b.test\n"
        ),
        LoggedQuery("北京大学", NOON, "142"),
    ),
    "the log of Excite": (
        "BED75271605EBD0C\t970321120002\t北京大学\nBED75271605EBD0C\t970321120003\tred panda\n",
        LoggedQuery("北京大学", datetime(1997, 3, 21, 12, 0, 2, tzinfo=UTC).timestamp(), "BED75271605EBD0C"),
    ),
    "an id and a query, with a tab between": ("7\t北京大学\n8\tred panda\n", LoggedQuery("北京大学")),
    "a query a line": ("\n北京大学\n\nred panda\n", LoggedQuery("北京大学")),
    "TREC topics": (
        "<top>\n<num> 1\n<TITLE> Topic: 北京大学\n</top>\n<top>\n<title>\nred panda</title>\n</top>\n",
        LoggedQuery("北京大学"),
    ),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "gbk"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_is_recognised_in_utf_8_and_gbk(tmp_path: Path, layout: str, encoding: str) -> None:
    text, first = LAYOUTS[layout]
    (tmp_path / "log").write_bytes(text.encode(encoding))
    log = read_log(tmp_path / "log")
    entries = list(log.entries)
    assert (log.layout, entries[0]) == (layout, first)
    assert [entry.query for entry in entries] == ["北京大学", "red panda"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no queries"),
        ("\n \n", "has no queries"),
        ("<top>\n</top>\n", "no <title>"),
        ("1\tred\t2\tblue\n", r"line 1: '1\\tred\\t2\\tblue' begins no log of a known layout"),
        ("\n\n1\tred\t2\tblue\n", "line 3"),
        ("red\nblue\tgreen\n", "line 2 is 'blue"),
        ("1\tred\nblue\n", "line 2 is 1 fields"),
        ('192.0.2.1 - - [02/Jan/2026:03:04:05 +0000] "GET / HTTP/1.1" 200 1\n', "line 1"),
        ('{"q": "red"}\n', "line 1"),
        (BOOK + BOOK.replace("Database", "Elsewhere"), "line 8 is 'Elsewhere', not Database or Cache"),
        (BOOK + BOOK[:-2], r"line 10 is missing|line 9"),
        (BOOK + BOOK.replace("\n1\n", "\nfirst\n"), "line 10 has 'first', not a number"),
        (BOOK + BOOK.replace("Mar 21", "Mar 32"), "line 6 has 'Fri Mar 32 12:00:02 2003', not a time"),
        (LAYOUTS["the book's click log"][0] + "red\n", "line 11 has 'red', not a time"),
        (LAYOUTS["the log of TSE"][0] + "red\n", "line 3"),
        (LAYOUTS["SogouQ of 2008"][0] + "00:01:02\t2\tred\t1 1\tb.test\n", "line 3 has no .query."),
        (LAYOUTS["SogouQ of 2012"][0] + "20030321120003\t2\tred\t0\t1\tb.test\n", "line 3 has '0'"),
        (LAYOUTS["SogouQ with commas"][0] + "00:01:03,2,red\n", "line 4 is not six fields"),
        (LAYOUTS["the log of Excite"][0] + "1\t20030321120002\tred\n", "line 3 has '20030321120002'"),
        (LAYOUTS["the log of AOL"][0] + "1\tred\tyesterday\n", "line 4 has 'yesterday'"),
    ],
)
def test_what_has_no_known_layout_is_refused_with_its_line(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "log").write_text(text)
    with pytest.raises(ConfigError, match=reason):
        list(read_log(tmp_path / "log").entries)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("北京\n".encode("utf-16"), "line 1 is no text"),
        (bytes(range(256)), "line 1 is no text"),
        ("red\n北京\n".encode() + "上海\n".encode("gbk"), "line 3 is not UTF-8"),
        (b"red\n\xff\xff\n", "line 2 is no text in UTF-8 or GB18030"),
    ],
)
def test_what_is_not_text_is_refused_with_its_line(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "log").write_bytes(data)
    with pytest.raises(ConfigError, match=reason):
        list(read_log(tmp_path / "log").entries)


def test_a_line_of_100_megabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        file.truncate(100 << 20)  # a hole: bytes 0 without a line end
    begin = time.process_time()
    with pytest.raises(ConfigError, match="line 1 has more than 65,536 bytes"):
        read_log(tmp_path / "log")
    assert time.process_time() - begin < 1.0


@pytest.mark.parametrize("unit", [" ", "\t", ",", '"', "<title>", "a b ", "[", "\r", "1\t", "Fri Mar "])
def test_the_longest_line_costs_no_more_than_its_length(tmp_path: Path, unit: str) -> None:
    line = (unit * LINE_BYTES_MAX)[: LINE_BYTES_MAX - 1] + "\n"
    begin = time.process_time()
    for first in ("red\n", "<top>\n", "AnonID\tQuery\tQueryTime\n", "访问时间,\n"):
        (tmp_path / "log").write_text(first + line)
        try:
            list(read_log(tmp_path / "log").entries)
        except ConfigError:
            continue
    assert time.process_time() - begin < 2.0  # what is quadratic takes minutes


LINES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=20).map(str.strip)
ENTRIES = st.builds(
    LoggedQuery,
    query=LINES,
    at=st.integers(0, 4_000_000_000).map(float),
    client=LINES,
    page=st.integers(1, 999),
    rank=st.just(0),
    url=st.just(""),
    answered_by=st.sampled_from(["Database", "Cache"]),
)


@given(st.lists(ENTRIES, min_size=1, max_size=5))
def test_the_book_s_query_log_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, entries: list[LoggedQuery]
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    assert write_book_queries(path, entries) == len(entries)
    log = read_log(path)
    assert (log.layout, list(log.entries)) == ("the book's query log", entries)


def test_clicks_of_another_layout_are_read_from_the_book_s_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LAYOUTS["SogouQ of 2008"][0])
    clicks = list(read_log(tmp_path / "log").entries)
    assert write_book_clicks(tmp_path / "book", clicks) == 2
    log = read_log(tmp_path / "book")
    assert (log.layout, list(log.entries)) == ("the book's click log", clicks)


def test_further_clicks_on_a_page_of_results_are_no_request() -> None:
    clicks = [
        LoggedQuery("red", 0.0, client, (rank - 1) // 10 + 1, rank, "http://a.test/")
        for client, rank in [("a", 1), ("b", 1), ("a", 2), ("a", 11), ("b", 3), ("a", 1)]
    ]
    assert [(each.client, each.rank) for each in requests_of(clicks)] == [
        ("a", 1),
        ("b", 1),
        ("a", 11),
        ("a", 1),
    ]
    asked_twice = [LoggedQuery("red", 0.0, "a")] * 2
    assert list(requests_of(asked_twice)) == asked_twice


def test_a_client_counts_once_a_query_and_a_request_where_clients_are_not_told() -> None:
    asked = [
        ("red", "a"),
        ("red", "a"),
        ("red", "b"),
        ("blue", "a"),
        ("green", NO_CLIENT),
        ("green", NO_CLIENT),
    ]
    assert clients_of(asked) == {"red": 2, "blue": 1, "green": 2}


def test_pages_before_clients_are_remembered_of_the_last_clients_only() -> None:
    others = CLIENTS_REMEMBERED - 1
    clicks = [LoggedQuery("red", 0.0, str(client), 1, 1, "http://a.test/") for client in range(others + 1)]
    assert len(list(requests_of([*clicks, clicks[0]]))) == others + 1
    assert len(list(requests_of([*clicks, clicks[0]._replace(client="new"), clicks[0]]))) == others + 3
