from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.mending.completions import Nearness
from peers.engine.pages.document import Document
from peers.engine.searching.effort import Effort

PAGES = [
    Document("http://a.test/1", "Introduction to PostgreSQL — PostgreSQL 16", text="database postgresql"),
    Document("http://a.test/2", "pg_dump | PostgreSQL 16", text="dump a database"),
    Document("http://b.test/1", "软件包管理", text="软件 软件包 管理 工具"),
    Document("http://b.test/2", "软件包管理器入门", text="软件 软件包 工具"),
    Document("http://c.test/1", "Python Tutorial", text="python tutorial"),
    Document("http://c.test/2", "The Python Standard Library", text="python library"),
    Document("http://d.test/1", "Secret Plans", text="secretion secretion", is_quotable=False),
]


def completed(typed: str, pages: Sequence[Document] = PAGES, *, visits: int = 1 << 40) -> dict[str, Nearness]:
    """Ask an index of two segments; the nearest completion of each text."""
    found: dict[str, Nearness] = {}
    with Index.open(MemoryStorage()) as index:
        for half in (pages[::2], pages[1::2]):
            index.add([(n % 7, page) for n, page in enumerate(half)])
            index.commit()
        for each in index.snapshot().everything().completions(typed, Effort(visits)):
            found.setdefault(each.text, each.nearness)
    return found


@pytest.mark.parametrize(
    ("typed", "text", "nearness"),
    [
        ("intro", "Introduction to PostgreSQL", Nearness.TEXT),
        ("INTRODUCTION  to", "Introduction to PostgreSQL", Nearness.TEXT),
        ("PG d", "pg_dump", Nearness.TEXT),
        ("postgresql", "PostgreSQL 16", Nearness.TEXT),
        ("datab", "database", Nearness.WORD),
        ("dump data", "dump database", Nearness.WORD),
        ("stand", "The Python Standard Library", Nearness.INSIDE),
        ("python st", "The Python Standard Library", Nearness.INSIDE),
        ("软件", "软件包管理", Nearness.TEXT),
        ("軟件包管", "软件包管理", Nearness.TEXT),
        ("管理器", "软件包管理器入门", Nearness.INSIDE),
        ("ruanjian", "软件", Nearness.LIKE),
        ("ruanjian", "软件包管理", Nearness.LIKE),
        ("pyhton", "Python Tutorial", Nearness.LIKE),
    ],
)
def test_completions_begin_with_contain_or_resemble_what_is_typed(
    typed: str, text: str, nearness: Nearness
) -> None:
    assert completed(typed).get(text) == nearness


def test_pages_of_which_no_text_may_be_shown_complete_nothing() -> None:
    assert completed("secre") == {}
    shown = Document("http://e.test/1", "Secretary", text="secretary")
    assert completed("secre", [*PAGES, shown]) == {"Secretary": 0, "secretary": 1}


def test_a_complete_word_is_gone_on_with_by_texts_alone() -> None:
    assert set(completed("python ")) == {"Python Tutorial", "The Python Standard Library"}


@pytest.mark.parametrize(
    "typed", ["", " ", "?!", "\x0e", "\x00", "\ud800", "\U0010ffff", "a" * 200, "天" * 99]
)
def test_anything_may_be_typed(typed: str) -> None:
    completed(typed)


def test_titles_that_no_one_types_are_no_texts() -> None:
    odd = [Document("http://e.test/1", "a\x1f\x07evil"), Document("http://e.test/2", "word " * 40)]
    assert not any(nearness == Nearness.TEXT for nearness in completed("word", odd).values())
    assert completed("evil", odd) == {"evil": Nearness.WORD}


def test_texts_of_links_count_where_several_domains_have_them_and_go_with_them() -> None:
    page = Document("http://a.test/1", "Start", anchors=("Peking University",) * 2 + ("click",))
    with Index.open(MemoryStorage()) as index:
        index.add([(0, page)])
        index.commit()

        def texts(typed: str) -> list[str]:
            found = index.snapshot().everything().completions(typed, Effort())
            return [each.text for each in found if each.nearness == Nearness.TEXT]

        assert (texts("pek"), texts("cli")) == (["Peking University"], [])
        index.relink({page.url: ("Beijing University",) * 2})
        index.commit()
        assert (texts("pek"), texts("bei"), texts("sta")) == ([], ["Beijing University"], ["Start"])


def test_the_pages_of_a_text_are_those_of_the_view() -> None:
    pages = [Document(f"http://h{n}.test/", "Same Title") for n in range(6)]
    with Index.open(MemoryStorage()) as index:
        index.add([(n, page) for n, page in enumerate(pages)])
        index.commit()
        slots = np.arange(1 << 16) < 2
        [text, *_] = index.snapshot().responsible(slots).completions("same t", Effort())
        assert (text.pages, set(text.samples)) == (2, {"http://h0.test/", "http://h1.test/"})


def test_without_effort_there_are_fewer() -> None:
    assert completed("p", visits=1) == {}
    assert len(completed("post", visits=300)) < len(completed("post"))
