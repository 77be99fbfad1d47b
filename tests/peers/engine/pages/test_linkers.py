from __future__ import annotations

import random

import pytest

from peers.engine.pages.document import Document
from peers.engine.pages.linkers import (
    LINKER_PREFIX,
    LINKERS_MAX,
    TEXT_HOSTS_MAX,
    USE_PREFIX,
    entries_of,
    entry_of,
    is_linker,
    is_text,
    is_use,
    linker_of,
    linking_hosts_of,
    with_anchors,
)

PAGE = "http://target.test/page"


def linkers(count: int) -> list[str]:
    return [entry_of(linker_of(f"http://host-{n}.test/x", PAGE)) for n in range(count)]


@pytest.mark.parametrize(
    "source",
    [
        "http://target.test/",
        "https://target.test:8443/other",
        "http://www.target.test/",
        "http://news.target.test/",
    ],
)
def test_links_within_a_site_tell_nothing(source: str) -> None:
    assert linker_of(source, PAGE) == linker_of(PAGE, source) == ""


def test_links_from_all_pages_of_a_host_tell_the_same() -> None:
    told = linker_of("http://a.test/1", PAGE)
    assert told == linker_of("https://www.a.test/2", PAGE) == linker_of("http://a.test/1", "http://b.test/")
    assert told != linker_of("http://b.test/1", PAGE)
    assert is_linker(entry_of(told))


def test_a_host_whose_name_ends_alike_is_another_site() -> None:
    assert linker_of("http://mytarget.test/", PAGE) != ""


@pytest.mark.parametrize(
    "text", ["", "text", LINKER_PREFIX, LINKER_PREFIX + "x" * 16, LINKER_PREFIX + "0" * 17]
)
def test_what_only_looks_like_a_linker_is_none(text: str) -> None:
    assert not is_linker(text)


@pytest.mark.parametrize("count", [0, 1, LINKERS_MAX - 1])
def test_few_linkers_are_counted(count: int) -> None:
    assert linking_hosts_of(["text", *linkers(count)]) == count


@pytest.mark.parametrize("count", [100, 1_000, 20_000])
def test_many_linkers_are_estimated_from_the_smallest(count: int) -> None:
    smallest = sorted(linkers(count))[:LINKERS_MAX]
    assert linking_hosts_of(smallest) == pytest.approx(count, rel=0.5)


def test_the_estimate_is_right_on_average() -> None:
    chance = random.Random(7)
    estimates = []
    for _ in range(200):
        hashes = sorted(f"{chance.getrandbits(64):016x}" for _ in range(500))[:LINKERS_MAX]
        estimates.append(linking_hosts_of(map(entry_of, hashes)))
    assert sum(estimates) / len(estimates) == pytest.approx(500, rel=0.05)


def test_a_document_gets_texts_and_the_number_of_linkers() -> None:
    document = with_anchors(Document(PAGE), sorted(["text", *linkers(3)]))
    assert (document.anchors, document.linking_hosts) == (("text",), 3)
    assert with_anchors(document, sorted(["text", *linkers(3)])) is document


def test_a_document_that_brings_a_number_of_linkers_keeps_it_while_none_are_known() -> None:
    assert with_anchors(Document(PAGE, linking_hosts=9), ("text",)).linking_hosts == 9


def told(text: str, source: str) -> tuple[str, ...]:
    return entries_of(text, linker_of(source, PAGE))


def document_of(*links: tuple[str, ...]) -> Document:
    return with_anchors(Document(PAGE), sorted({entry for link in links for entry in link}))


def test_a_text_of_many_pages_of_one_host_counts_once() -> None:
    document = document_of(*(told("home", f"http://www.a.test/{n}") for n in range(5)))
    assert (document.anchors, document.linking_hosts) == (("home",), 1)


def test_a_text_counts_once_for_every_host_that_uses_it() -> None:
    links = [told("home", f"http://{name}.test/") for name in "abc"]
    document = document_of(*links, told("here", "http://c.test/"), told("own", "http://target.test/"))
    assert (document.anchors, document.linking_hosts) == (("here", "home", "home", "home", "own"), 3)


def test_beyond_some_hosts_more_do_not_count() -> None:
    links = [told("home", f"http://host-{n}.test/") for n in range(TEXT_HOSTS_MAX + 5)]
    assert document_of(*links).anchors == ("home",) * TEXT_HOSTS_MAX


def test_a_link_tells_its_text_its_linker_and_its_use() -> None:
    text, linker, use = told("home", "http://a.test/")
    assert text == "home"
    assert is_text(text)
    assert is_linker(linker)
    assert is_use(use)
    assert told("home", "http://target.test/2") == ("home",)
    assert told("", "http://a.test/") == (linker,)
    assert told("home", "http://b.test/")[2] != use != told("here", "http://a.test/")[2]


@pytest.mark.parametrize("text", [LINKER_PREFIX + "0" * 16, USE_PREFIX + "0" * 32])
def test_a_text_that_looks_like_something_else_is_left_out(text: str) -> None:
    assert entries_of(text, "no hash") == ()
    assert entries_of(text, "0" * 16) == (entry_of("0" * 16),)


@pytest.mark.parametrize("text", ["", USE_PREFIX, USE_PREFIX + "x" * 32, USE_PREFIX + "0" * 33])
def test_what_only_looks_like_a_use_is_none(text: str) -> None:
    assert not is_use(text)
