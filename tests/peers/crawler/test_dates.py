"""Dates of pages: who is believed, in which order, and what is no date."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.dates import http_seconds_of, page_date, seconds_of
from peers.crawler.extraction import extract, extract_again
from peers.crawler.messages import PageParsed
from peers.storage.messages import ParseRecords
from tests.helpers import fetched, seen

NOW = datetime(2024, 6, 1, tzinfo=UTC).timestamp()
HTTP_DATE = "Tue, 05 Mar 2024 06:07:08 GMT"


def at(*numbers: int) -> float:
    return datetime(*numbers, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-03-05", at(2024, 3, 5)),
        ("2024-03-05T06:07:08Z", at(2024, 3, 5, 6, 7, 8)),
        ("2024-03-05T06:07:08.123+08:00", at(2024, 3, 4, 22, 7, 8)),
        ("2024-03-05 06:07", at(2024, 3, 5, 6, 7)),
        (" 2024/3/5 ", at(2024, 3, 5)),
        ("2024年3月5日 06:07", at(2024, 3, 5, 6, 7)),
        ("2024-03", at(2024, 3, 1)),
        ("2024", at(2024, 1, 1)),
        ("2024-02-31", 0.0),
        ("yesterday", 0.0),
        ("", 0.0),
    ],
)
def test_iso_8601_and_its_relatives_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@given(st.text(alphabet="0123456789-/.年月日T:Z+ ,", max_size=40))
def test_no_text_makes_reading_a_date_fail(text: str) -> None:
    assert seconds_of(text) < at(3000, 1, 1) + 86_400
    http_seconds_of(text)


def test_http_dates_are_read() -> None:
    assert http_seconds_of(HTTP_DATE) == at(2024, 3, 5, 6, 7, 8)
    assert http_seconds_of("Mon, 99 Foo 2024 99:99:99 GMT") == 0.0


def test_what_the_page_says_comes_before_what_its_server_says() -> None:
    assert page_date(("2023-01-02",), HTTP_DATE, NOW) == at(2023, 1, 2)
    assert page_date((), HTTP_DATE, NOW) == at(2024, 3, 5, 6, 7, 8)


@pytest.mark.parametrize("said", ["2030-01-01", "1989-12-31", "0999-01-01"])
def test_what_is_not_credible_is_passed_over(said: str) -> None:
    assert page_date((said, "2023-01-02"), None, NOW) == at(2023, 1, 2)
    assert page_date((said,), None, NOW) == 0.0


def test_a_page_made_for_the_fetch_has_no_date_by_its_header() -> None:
    assert page_date((), HTTP_DATE, at(2024, 3, 5, 6, 7, 30)) == 0.0


PAGE = (
    '<html><head><meta property="article:published_time" content="2020-02-03T04:05:06+00:00">%s</head>'
    '<body><time datetime="2019-01-01">then</time> a page</body></html>'
)


@pytest.mark.parametrize(
    ("head", "seconds"),
    [
        ("", at(2020, 2, 3, 4, 5, 6)),
        ('<meta name="DCTERMS.modified" content="2021-01-01">', at(2021, 1, 1)),
        ('<meta name="last-modified" content="never">', at(2020, 2, 3, 4, 5, 6)),
        ('<meta itemprop="dateModified" content="2999-01-01">', at(2020, 2, 3, 4, 5, 6)),
    ],
)
def test_modified_comes_before_published_and_both_before_time_elements(head: str, seconds: float) -> None:
    body = (PAGE % head).encode()
    parsed = extract(fetched("http://a.test/", body=body, started_at=NOW), 1)
    assert isinstance(parsed, PageParsed)
    assert parsed.document is not None
    assert parsed.document.date == seconds
    assert parsed.document.type == "text/html"


def test_a_time_element_dates_a_page_that_says_nothing_else() -> None:
    parsed = extract(
        fetched("http://a.test/", body=b"<p><time datetime=2019-01-01>x</time>", started_at=NOW), 1
    )
    assert isinstance(parsed, PageParsed)
    assert parsed.document is not None
    assert parsed.document.date == at(2019, 1, 1)


def test_a_document_read_back_from_the_archive_has_the_same_date_type_and_language() -> None:
    headers = (("Content-Type", "text/plain"), ("Last-Modified", HTTP_DATE))
    body = "如果网页没有说明语言，就看文字本身是哪一种。".encode()
    parsed = extract(fetched("http://a.test/a.txt", headers=headers, body=body, started_at=NOW), 1)
    assert isinstance(parsed, PageParsed)
    assert parsed.document is not None
    again = extract_again(ParseRecords("http://a.test/a.txt", seen(NOW, 1), parsed.records)).document
    assert again == parsed.document
    assert (again.type, again.date, again.language) == ("text/plain", at(2024, 3, 5, 6, 7, 8), "zh")
