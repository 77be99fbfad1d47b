"""A title that all pages of a site have does not tell them apart; their headings do."""

from __future__ import annotations

import random

import pytest

from peers.engine.excerpts.shared_titles import PAGES_MIN
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.snapshot import View

SITE = "Tianwang: a search engine"


def site_page(number: int, title: str = SITE, headings: str = "", host: str = "a.test") -> Document:
    words = random.Random(number).choices([f"word{n}" for n in range(500)], k=80)
    return Document(
        f"http://{host}/{number}",
        title,
        headings=headings or f"Tianwang\nChapter {number}",
        text=" ".join(words),
    )


def view_of(*batches: list[Document]) -> View:
    index = Index.open(MemoryStorage())
    for batch in batches:
        index.add([(0, each) for each in batch])
        index.commit()
    return index.snapshot().everything()


def test_a_heading_is_shown_instead_of_the_title_of_a_whole_site() -> None:
    pages = [site_page(n) for n in range(PAGES_MIN)]
    view = view_of(pages[:3], pages[3:], [site_page(99, "Another site", host="a.test.cn")])
    assert [view.shown_title(each) for each in pages] == [f"Chapter {n}" for n in range(PAGES_MIN)]
    without = site_page(7, headings="Tianwang\nA search engine")
    assert view.shown_title(without) == SITE, "its headings say nothing besides the title"


@pytest.mark.parametrize(("n_alike", "n_others"), [(PAGES_MIN - 1, 0), (PAGES_MIN, PAGES_MIN + 1)])
def test_a_title_of_few_pages_or_of_less_than_half_of_a_site_stays(n_alike: int, n_others: int) -> None:
    alike = [site_page(n) for n in range(n_alike)]
    others = [site_page(100 + n, f"Title {n}") for n in range(n_others)]
    elsewhere = [site_page(200 + n, host=host) for n in range(9) for host in ("b.test", "a.test:8080")]
    view = view_of(alike + others, elsewhere)
    assert {view.shown_title(each) for each in alike} == {SITE}
    assert all(view.shown_title(each) == each.title for each in others)
