"""Files of directories in answers: their links lead below the directory, by whichever peer they are told."""

from __future__ import annotations

import pytest

from peers.gateway.model.listed_file import ListedFile, listed_files
from peers.index.wire_messages import ListedEntry

URL = "http://a.test/pub/?C=N;O=D"


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        (ListedEntry("a b&c.zip"), "http://a.test/pub/a%20b&c.zip"),
        (ListedEntry("数据.zip", address="%CA%FD%BE%DD.zip"), "http://a.test/pub/%CA%FD%BE%DD.zip"),
        (ListedEntry("old/"), "http://a.test/pub/old/"),
        (ListedEntry("linux/a.xz"), "http://a.test/pub/linux/a.xz"),
        (ListedEntry("javascript:alert(1)"), "http://a.test/pub/javascript:alert(1)"),
        (ListedEntry("a", address="//evil.test/"), "http://a.test/pub///evil.test/"),
        (ListedEntry("a", address='"><script>'), ""),
        (ListedEntry("a", address="../../login"), ""),
        (ListedEntry("../../login"), ""),
        (ListedEntry("a\nb?c#d"), "http://a.test/pub/a%0Ab%3Fc%23d"),
        (ListedEntry(""), ""),
    ],
)
def test_links_lead_below_the_directory(entry: ListedEntry, url: str) -> None:
    [file] = listed_files(URL, [entry])
    assert file.url == url


def test_sizes_and_dates_are_as_people_read_them() -> None:
    entries = [
        ListedEntry("a", 999),
        ListedEntry("b", 1_536, True),
        ListedEntry("c", 5 << 30, date=1_704_067_200),
        ListedEntry("d", 1 << 60, date=99_999_999_999),
        ListedEntry("\u202egnp.exe"),
    ]
    found = listed_files(URL, entries)
    assert [(file.size_text, file.day) for file in found] == [
        ("999 bytes", ""),
        ("1.5 KB", ""),
        ("5.0 GB", "2024-01-01"),
        ("1.0 EB", "5138-11-16"),
        ("", ""),
    ]
    assert found[0] == ListedFile("a", "http://a.test/pub/a", 999, False, "999 bytes", "")
    assert "\u202e" not in found[-1].name
    assert found[-1].size is None
    assert [file.url for file in listed_files("http://a.files.localhost/pub/", entries)] == [""] * 5
