"""Names of sites: a site that is asked for comes first, and other queries stay as they were."""

from __future__ import annotations

from collections import Counter

import pytest

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.pages.filter_entries import NAME_PREFIX
from peers.engine.pages.site_names import name_in, names_of
from peers.engine.queries.query_parser import read_query


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Python documentation", "python"),
        ("www.python.org", "pythonorg"),
        ("PostgreSQL 15.20 Documentation", "postgresql"),
        ("The SQLite Home Page", "sqlite"),
        ("node.js", "nodejs"),
        ("北京大学官方网站", "北京大学"),
        ("163", "163"),
        ("documentation", ""),
        ("one two three four five six seven eight", ""),
        ("", ""),
    ],
)
def test_a_name_is_what_is_left_of_what_all_sites_are_called(text: str, name: str) -> None:
    assert name_in(text) == (NAME_PREFIX + name if name else "")


def test_an_entrance_is_called_by_its_host_its_folder_its_title_and_its_links() -> None:
    document = Document(
        "http://docs.tian.co.uk/net/", title="Tianwang | Search for all", anchors=("天网", "Home")
    )
    names = {name.removeprefix(NAME_PREFIX) for name in names_of(document)}
    assert {"tiancouk", "tian", "net", "tianwang", "天网"} <= names
    assert not names & {"", "home"}


@pytest.mark.parametrize("url", ["http://a.test/page.html", "http://a.test/?q=1", "http://a.test/a/b/c/d/"])
def test_other_pages_have_no_names(url: str) -> None:
    assert names_of(Document(url, title="A")) == []


def test_names_count_by_depth_and_by_the_hosts_that_link() -> None:
    def times(document: Document) -> int:
        return names_of(document).count(NAME_PREFIX + "tian")

    root = Document("http://tian.test/", title="Tian")
    assert times(root) == 4
    assert times(Document("http://tian.test/index.html", title="Tian")) == 4
    assert times(Document("http://tian.test/b/", title="Tian")) == 3
    assert times(Document("http://tian.test/", title="Tian", linking_hosts=7)) == 7


def test_a_name_that_nobody_confirms_counts_half_and_a_title_has_two() -> None:
    title = " | ".join(("Debian", "Python", *(f"Name{n}" for n in range(200)), "Tian"))
    names = Counter(names_of(Document("http://pills.test/", title, anchors=("Pku", "Nju", "Nju"))))
    told = {name.removeprefix(NAME_PREFIX): times for name, times in names.items()}
    assert told == {"pillstest": 4, "pills": 4, "nju": 4, "debian": 2, "tian": 2, "pku": 2}


def test_who_asks_for_a_site_gets_its_entrance_first() -> None:
    """The pages below it say its name more often."""
    inside = [
        Document(f"http://www.tian.test/manual/{n}.html", title=f"Tian {n}", text="tian tian search tian")
        for n in range(50)
    ]
    entrance = Document(
        "http://www.tian.test/", title="Welcome - Tian", text="news, and all about search at tian"
    )
    index = Index.open(MemoryStorage())
    index.add([(0, document) for document in (*inside, entrance)])
    index.commit()
    view = index.snapshot().everything()

    def best(text: str) -> str:
        query = read_query(text).query
        return view.search(query, view.statistics(query.terms), 1)[2][0].url

    assert best("tian") == best("www.tian.test") == best("tian.test") == entrance.url
    assert best("tian manual 7").endswith("/7.html")
