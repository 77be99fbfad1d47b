"""Dates of pages: who is believed, in which order, and what is no date."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.model.messages import PageParsed
from peers.crawler.parsing.date_texts import moments_in, read_moment
from peers.crawler.parsing.dates import http_seconds_of, page_date, seconds_of
from peers.crawler.parsing.extraction import extract, extract_again
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
        ("20240305", at(2024, 3, 5)),
        ("20240305T0607", at(2024, 3, 5, 6, 7)),
        ("20240305060708", at(2024, 3, 5, 6, 7, 8)),
        ("2024-03-05T060708Z", at(2024, 3, 5, 6, 7, 8)),
        ("2024-065", at(2024, 3, 5)),
        ("2024065", at(2024, 3, 5)),
        ("2024-366", at(2024, 12, 31)),
        ("2023-366", 0.0),
        ("2024-W10-2", at(2024, 3, 5)),
        ("2024W102T06", at(2024, 3, 5, 6)),
        ("2024-W10", at(2024, 3, 4)),
        ("2024-W54", 0.0),
        ("2024-03-05T06+08", at(2024, 3, 4, 22)),
        ("2024-03-05T24:00", at(2024, 3, 6)),
        ("2024-03-05T25:00", 0.0),
        ("2024-03-05 06:07 PM", at(2024, 3, 5, 18, 7)),
        ("2024-03-05, 12:07 a.m.", at(2024, 3, 5, 0, 7)),
        ("2024-03-05 6pm", at(2024, 3, 5, 18)),
        ("2024-03-05 6 comments", at(2024, 3, 5)),
        ("2024년 3월 5일", at(2024, 3, 5)),
        ("2024 年 3 月 5 日", at(2024, 3, 5)),
        (HTTP_DATE, at(2024, 3, 5, 6, 7, 8)),
        ("Tue, 5 Mar 24 06:07:08 EST", at(2024, 3, 5, 11, 7, 8)),
        ("Tuesday, 05-Mar-24 06:07:08 GMT", at(2024, 3, 5, 6, 7, 8)),
        ("Tue Mar  5 06:07:08 2024", at(2024, 3, 5, 6, 7, 8)),
        ("Tue Mar 05 2024 06:07:08 GMT+0100 (CET)", at(2024, 3, 5, 5, 7, 8)),
        ("March 5th, 2024 at 6:07 PM", at(2024, 3, 5, 18, 7)),
        ("Di., 5. März 2024 - 06:07", at(2024, 3, 5, 6, 7)),
        ("5 de marzo de 2024", at(2024, 3, 5)),
        ("1er févr. 2024", at(2024, 2, 1)),
        ("2024 Mar 5", at(2024, 3, 5)),
        ("2024-Mar-05", at(2024, 3, 5)),
        ("5 марта 2024, 06:07", at(2024, 3, 5, 6, 7)),
        ("05.03.2024", at(2024, 3, 5)),
        ("05/03/2024", at(2024, 3, 5)),
        ("03/25/2024", at(2024, 3, 25)),
        ("5 apples 2024", 0.0),
        ("1612345678", 0.0),
        ("2024-02-31", 0.0),
        ("yesterday", 0.0),
        ("", 0.0),
    ],
)
def test_iso_8601_its_relatives_and_what_people_write_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@given(st.text(alphabet="0123456789-/.年月日TW:Z+ ,apmMrJun", max_size=40))
def test_no_text_makes_reading_a_date_fail(text: str) -> None:
    assert seconds_of(text) < at(3000, 1, 1) + 86_400
    http_seconds_of(text)
    list(moments_in(text))


def test_the_language_tells_which_number_is_the_month() -> None:
    days = {locale: read_moment("03/05/2024", locale) for locale in ("en", "en-us", "en-gb", "fr", "")}
    assert [day and (day.month, day.day) for day in days.values()] == [(3, 5), (3, 5), (5, 3), (5, 3), (5, 3)]


@pytest.mark.parametrize(
    "text",
    [
        "Published on 5 March 2024 by A. Author",
        "Stand: 05.03.2024, 06:07 Uhr",
        "5 comments, Mar 5, 2024",
        "v1.2.3 (2024-03-05)",
        "Cureus. 2024 Mar 5;15(1):e33475",
    ],
)
def test_dates_in_running_text_are_found(text: str) -> None:
    assert [each.date().isoformat() for each in moments_in(text)] == ["2024-03-05"]


@pytest.mark.parametrize(
    "text", ["in 2024", "2024-03", "IP 12.5.2024.7", "20240305", "5/4/2024/7 x", "call 555 2024"]
)
def test_numbers_in_running_text_are_no_days(text: str) -> None:
    assert list(moments_in(text)) == []


def published(body: str, url: str = "http://a.test/") -> tuple[str, float]:
    parsed = extract(fetched(url, body=body.encode(), started_at=NOW), 1)
    assert isinstance(parsed, PageParsed)
    assert parsed.document is not None
    return parsed.document.published, parsed.document.date


DATA = '<script type="application/ld+json">%s</script>'
LONG = "<p>" + "running text " * 20


@pytest.mark.parametrize(
    ("body", "day"),
    [
        ('<meta name=DC.date content="20240305">', "2024-03-05"),
        (
            '<meta name=date content="2019-01-01"><meta property=article:published_time content=2024-03-05>',
            "2024-03-05",
        ),
        (DATA % '{"@type":"NewsArticle","datePublished":"2024-03-05"}', "2024-03-05"),
        (
            DATA % '[{"@graph":[{"@type":"Person"},{"@type":["WebPage"],"datePublished":"2024-03-05\n"}]}]',
            "2024-03-05",
        ),
        (
            DATA % '{"mainEntity":{"datePublished":"2024-03-05"},"comment":{"datePublished":"2019"}}',
            "2024-03-05",
        ),
        (DATA % '{"@type":"VideoObject","datePublished":"2024-03-05"}', ""),
        (DATA % '{"datePublished":"2024-03-05"', ""),
        (DATA % ("[" * 100_000), ""),
        ("<span itemprop=datePublished content=2024-03-05>yesterday</span>", "2024-03-05"),
        ("<div itemprop=datePublished>On <b>March 5, 2024</b></div>", "2024-03-05"),
        ("<time>5 March 2024</time>", "2024-03-05"),
        (
            "<time datetime=2019-01-01>x</time><time class=entry-date datetime=2024-03-05>x</time>",
            "2024-03-05",
        ),
        ("<abbr class=published title=2024-03-05T01:02:03+08:00>x</abbr>", "2024-03-05"),
        ("<p class=post-date>5. März 2024", "2024-03-05"),
        (f"<title>A day of ours</title><h1>A day of ours</h1><p>By me, 5 March 2024{LONG}", "2024-03-05"),
        (f"<p>5 March 2024{LONG}", "2024-03-05"),
        (f"{LONG}<p>5 March 2024", ""),
        ("<template><time datetime=2024-03-05>x</time></template><svg><time datetime=2024-03-05>x</svg>", ""),
        (
            "<meta name=article:published_time content=2030-01-01><time datetime=2024-03-05>x</time>",
            "2024-03-05",
        ),
        ("<time datetime=2024-03-04>x</time><time datetime=2024-03-05>x</time>", ""),
        ("<p class=date>4 March 2024<p class=date>5 March 2024", ""),
        ("<meta itemprop=datePublished content=2024-03-05><p class=date>4 March 2024", "2024-03-05"),
    ],
)
def test_pages_say_when_they_were_published(body: str, day: str) -> None:
    said, changed_at = published(body)
    assert said[:10] == day
    assert (changed_at > 0) == bool(day)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("2024/03/05/a", "", "2024-03-05T00:00:00+00:00"),
        ("news/2024-3-5-a", "", "2024-03-05T00:00:00+00:00"),
        ("20240305/a", "<time datetime=2019-01-01>x</time>", "2024-03-05T00:00:00+00:00"),
        ("2024/03/05/a", "<time datetime=2024-03-05T06:07+08:00>x</time>", "2024-03-05T06:07:00+08:00"),
        (
            "2024/03/a",
            "<time datetime=2019-01-01>x</time><p class=date>5 March 2024",
            "2024-03-05T00:00:00+00:00",
        ),
        ("2024/03/5-things", "<time datetime=2024-03-31>x</time>", "2024-03-31T00:00:00+00:00"),
        ("191211_a/", "<time datetime=2019-12-11>x</time>", "2019-12-11T00:00:00+00:00"),
        ("2023/43/a", "<time datetime=2023-10-16>x</time>", "2023-10-16T00:00:00+00:00"),
        ("2024/13/45/a", "", ""),
        ("2024/03/1234567/a", "", ""),
    ],
)
def test_the_address_of_a_page_has_its_day_or_contradicts_others(path: str, body: str, said: str) -> None:
    assert published(body, f"http://a.test/{path}")[0] == said


HEAD = "<title>A day of ours</title><h1>A day of ours</h1><p>5 March 2024"


@pytest.mark.parametrize(
    "others",
    [
        "<p class=date>1 June 2023<p class=date>5 March 2024<p class=date>7 June 2023",
        "<p class=date>1 June 2023<p class=date>7 June 2023",
        "<time datetime=2023-06-01>x</time><time datetime=2024-03-05>x</time>",
        "<meta itemprop=datePublished content=1988><meta itemprop=datePublished content=2001>",
    ],
)
def test_of_several_days_that_of_the_line_beside_the_title_is_of_the_page(others: str) -> None:
    assert published(HEAD + LONG + others)[0][:10] == "2024-03-05"


@pytest.mark.parametrize(
    ("others", "day"),
    [
        ("<meta itemprop=datePublished content=2024-03-04>", "2024-03-04"),
        ("<meta itemprop=datePublished content=2024-03-06>", "2024-03-05"),  # published anew
        ("<p class=date>4 March 2024", "2024-03-05"),  # a clock, or of another page
        ("<time datetime=2024-03-04>x</time>", "2024-03-05"),
    ],
)
def test_a_line_comes_before_clocks_and_counts_where_it_tells_an_earlier_day(others: str, day: str) -> None:
    assert published(others + HEAD)[0][:10] == day


@pytest.mark.parametrize(
    ("lines", "day"),
    [
        ("<p>4 March 2024<h1>%s</h1><p>5 March 2024", "2024-03-05"),
        ("<p>4 March 2024<p>5 March 2024<h1>%s</h1><p>by me", "2024-03-05"),
        ("<p>Of our site<p>4 March 2024<p>x<p>x<p>x<p>x<h1>%s</h1><p>5 March 2024", "2024-03-05"),
        ("<h1>%s</h1><p>Updated 6 March 2024<p>5 March 2024", "2024-03-05"),
        ("<h1>%s</h1><p>更新于 2024年3月6日<p>发布于 2024年3月5日", "2024-03-05"),
        ("<h1>%s</h1><p>Published 5 March 2024, updated 6 March 2024", "2024-03-05"),
    ],
)
def test_the_line_nearest_to_the_title_and_below_it_is_of_the_page(lines: str, day: str) -> None:
    title = "Of the 1st of March 2024, a day of ours"
    assert published(f"<title>{title} - Of our site</title>" + lines % title + LONG)[0][:10] == day


@pytest.mark.parametrize(
    "body",
    [
        "<title>A day of ours</title><h1>A day of ours</h1><p>Last updated: 5 March 2024" + LONG,
        "<p class=date>Zuletzt geändert am 5. März 2024",
        "<time>Mis à jour le 5 mars 2024</time>",
        f"<p>最后更新：2024-03-05{LONG}<time datetime=2024-03-05>x</time>",
    ],
)
def test_the_day_of_a_change_is_not_that_of_the_publication(body: str) -> None:
    assert published(body) == ("", at(2024, 3, 5))


def test_a_moment_in_utc_is_of_the_day_where_it_was_written() -> None:
    meta = '<meta property="article:published_time" content="2024-03-06T03:00:00+00:00">'
    assert published(meta)[0] == "2024-03-06T03:00:00+00:00"
    assert published(meta + "<time datetime=2024-03-05T22:00:00-05:00>x</time>") == (
        "2024-03-05T22:00:00-05:00",
        at(2024, 3, 6, 3),
    )


def test_many_changes_do_not_keep_the_publication_from_being_read() -> None:
    changes = "<meta itemprop=dateModified content=2024-04-06>" * 20
    assert published(f"{changes}<time datetime=2024-03-05>x</time>")[0][:10] == "2024-03-05"


def test_publication_and_change_are_both_kept() -> None:
    data = (
        DATA % '{"@type":"Article","datePublished":"2024-03-05T22:00:00-05:00","dateModified":"2024-04-06"}'
    )
    assert published(data) == ("2024-03-05T22:00:00-05:00", at(2024, 4, 6))
    times = (
        "<time class='published date' datetime=2024-03-05>x</time><time class=updated datetime=2024-04-06>"
    )
    assert published(times) == ("2024-03-05T00:00:00+00:00", at(2024, 4, 6))


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
