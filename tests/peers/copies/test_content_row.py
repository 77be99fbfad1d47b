"""What is kept of the content of a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.stamp import Stamp
from mesh.urls import fingerprint
from peers.copies.content_row import (
    FIRST_S_MAX,
    ContentRow,
    domain_of,
    join,
    names_another_language,
    row_after,
    row_in,
    standing_of,
)
from peers.engine.pages.document import Document, content_digest

rows = st.builds(
    ContentRow,
    st.builds(Stamp, st.integers(0, 9), st.floats(0, 99)),
    st.integers(0, 3),
    st.integers(0, 9),
    st.integers(-1, 9),
    st.integers(0, 2**63 - 1),
    st.binary(min_size=4, max_size=4),
    st.sampled_from([b"", bytes(16)]),
    st.integers(0, 2**32 - 1),
    st.binary(min_size=16, max_size=16),
)


def page(text: str, url: str = "http://a.test/", **changes: object) -> Document:
    return Document(url, "t", text=text, **changes)  # type: ignore[arg-type]


@given(rows)
def test_a_row_is_read_as_it_was_written(row: ContentRow) -> None:
    assert row_in(row.encode()) == row


@given(rows, rows)
def test_the_later_row_rules_on_whatever_peer(one: ContentRow, other: ContentRow) -> None:
    joined = row_in(join(one.encode(), other.encode()))
    assert joined == row_in(join(other.encode(), one.encode()))
    assert joined[:3] == max(one[:3], other[:3])


@pytest.mark.parametrize("value", [b"", bytes(53), bytes(55), b"\xff" * 54])
def test_what_is_no_row_is_refused(value: bytes) -> None:
    with pytest.raises(ValueError, match="row"):
        row_in(value)


def test_what_a_page_was_named_holds_as_long_as_it_says_the_same() -> None:
    first = row_after(None, Stamp(1, 1.0), page("x"))
    assert first is not None
    assert (first.content, first.n_copies) == (content_digest(page("x")), 0)
    named = first.named(-1)
    assert row_after(named, Stamp(1, 1.0), page("x")) is None
    again = row_after(named, Stamp(2, 2.0), page("x"))
    assert again == named._replace(stamp=Stamp(2, 2.0))
    other = row_after(named, Stamp(2, 2.0), page("y"))
    assert other is not None
    assert (other.n_copies, other.namings, other.flips) == (0, 0, 0)
    assert row_after(other, Stamp(1, 1.0), page("x")) is None


def test_a_page_is_as_old_as_what_it_says() -> None:
    first = row_after(None, Stamp(1, 10.0), page("x"))
    assert first is not None
    again = row_after(first, Stamp(2, 20.0), page("x"))
    assert again is not None
    other = row_after(again, Stamp(3, 30.0), page("y"))
    assert other is not None
    assert (first.first_s, again.first_s, other.first_s) == (10, 10, 30)
    assert first.domain == domain_of("https://www.a.test/b") != domain_of("http://b.test/")
    # Short digests without a key have names that are found in milliseconds: these two have one xxh32.
    assert domain_of("http://original-library.com/") != domain_of("http://adbcbivm.com/")


def test_a_page_of_a_file_is_seen_first_when_the_mesh_visits_it() -> None:
    imported = row_after(None, Stamp(0, 10.0), page("x"))
    assert imported is not None
    visited = row_after(imported, Stamp(1, 30.0), page("x"))
    assert visited is not None
    assert (imported.first_s, visited.first_s) == (FIRST_S_MAX, 30)


def test_a_page_that_is_taken_down_and_shown_again_says_something_later_each_time() -> None:
    shown = row_after(None, Stamp(1, 1.0), page("x"))
    assert shown is not None
    hidden = row_after(shown.named(3), Stamp(1, 1.0), None)
    assert hidden is not None
    back = row_after(hidden, Stamp(1, 1.0), page("x"))
    assert back is not None
    assert (hidden.content, back.content, back.n_copies) == (0, shown.content, 0)
    assert shown.named(3).encode() < hidden.encode() < back.encode()
    assert row_after(None, Stamp(1, 1.0), None) is None
    assert row_after(None, Stamp(1, 1.0), page("")) is None


def test_pages_that_others_link_to_stand_before_short_addresses_and_https_before_http() -> None:
    order = [
        page("x", "http://a.test/long/address", linking_hosts=9),
        page("x", "https://a.test/"),
        page("x", "http://a.test/"),
        page("x", "https://a.test/index.html"),
        page("x", "https://a.test/index.html?session=1"),
    ]
    assert sorted(order, key=standing_of) == order


def test_of_twins_the_one_stands_first_whose_address_names_no_other_language() -> None:
    order = [
        page("x", "http://a.test/ko/a.html", language="en", linking_hosts=1),
        page("x", "https://a.test/ko/a"),  # nobody knows what it is in
        page("x", "https://a.test/en-US/guide/a.html", language="en"),
        page("x", "https://a.test/ko/a.html", language="en"),
    ]
    assert sorted(order, key=standing_of) == order


@pytest.mark.parametrize(
    "address",
    [
        "http://site.test/ko/guide",
        "http://site.test/ko",
        "http://site.test/docs/latest/ko-KR/guide.html",
        "http://site.test/guide/ko_KR/",
        "http://site.test/zh-Hant-TW/guide",
        "http://site.test/es-419/guide",
        "http://ko.site.test/guide",
        "https://docs.ko.site.test:8443/guide",
        "http://site.test/guide?id=3&lang=ko",
        "http://site.test/guide?hl=zh_CN&id=3",
        "http://site.test/guide?Locale=KO",
        "http://site.test/ko.html",
        "http://site.test/index.ko.html",
        "http://site.test/index_ko.php?id=3",
        "http://site.test/index.html.ko",
        "http://site.test/jp/guide",
        "http://site.test/" + "ko-" * 600 + "/ko/",
    ],
)
def test_an_address_names_a_language_that_the_text_is_not_in(address: str) -> None:
    assert names_another_language(address, "en")


@pytest.mark.parametrize(
    ("address", "language"),
    [
        ("http://site.test/en/guide", "en"),
        ("http://site.test/EN-us/guide", "en"),
        ("http://en.site.test/guide?lang=ko", "en"),  # one of two is that of the text
        ("http://site.test/ko/lessons/en/1", "en"),
        ("http://site.test/tw/guide", "zh"),
        ("http://site.test/nb/guide", "no"),
        ("http://site.test/no/guide", "nn"),
        ("http://site.test/guide", "en"),
        ("http://site.test/", "en"),
        ("http://site.test/korean/kor/k/ko%20kr/", "en"),
        ("http://site.test/is/my/uk/ca/", "en"),  # words and countries
        ("http://site.test/ko-to/", "ko"),
        ("http://site.test/programs/sort.pl", "en"),
        ("http://site.test/Program.cs?language=c", "en"),
        ("http://site.test/search?q=ko&slang=ko&lang=korean", "en"),
        ("http://www.gov.cn/guide", "en"),
        ("http://[::1]:8080/guide", "en"),
        ("http://127.0.0.1/guide", "en"),
    ],
)
def test_an_address_that_names_the_language_of_its_text_or_none_is_in_its_place(
    address: str, language: str
) -> None:
    assert not names_another_language(address, language)


def test_the_page_that_it_names_is_known_by_its_fingerprint() -> None:
    row = row_after(None, Stamp(1, 1.0), page("x", canonical="http://b.test/"))
    assert row is not None
    assert row.canonical == fingerprint("http://b.test/")
