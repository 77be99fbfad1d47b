from __future__ import annotations

from pathlib import Path

import pytest

from peers.evaluation.judged import HELP_PAGES, collections_in, read_help, read_suite
from tests.shared_data import shared


def test_help_pages_have_the_texts_of_links_to_them_and_not_their_hidden_keywords(tmp_path: Path) -> None:
    pages, judged = tmp_path / "help", tmp_path / "judged"
    (pages / "en-US" / "text").mkdir(parents=True)
    judged.mkdir()
    base = '<base href="../../">'
    one = '<meta itemprop="keywords" content="secret"><h1>One</h1><a href="en-US/text/two.html">to two</a>'
    (pages / "en-US" / "text" / "one.html").write_text(f"<html>{base}<body>{one}")
    (pages / "en-US" / "text" / "two.html").write_text(f"<html>{base}<title>Two</title><body>text")
    (judged / "lo.en-US.queries.tsv").write_text("1\tsecret\n")
    (judged / "lo.en-US.qrels").write_text("1 0 text/one.html 1\n")
    collection = read_help(pages, "en-US", judged)
    by_url = {document.url: document for document in collection.documents}
    assert by_url["http://help.test/en-US/text/two.html"].anchors == ("to two",)
    assert collection.judgements == {"1": {"http://help.test/en-US/text/one.html": 1}}
    assert not any("secret" in repr(document) for document in collection.documents)


def test_collections_without_pages_are_named_all_the_same(tmp_path: Path) -> None:
    assert dict(collections_in(tmp_path, None)) == {"lo.zh-CN": None, "lo.en-US": None, "lo.de": None}
    folder = tmp_path / HELP_PAGES.format("zh-cn") / "zh-CN"
    folder.mkdir(parents=True)
    assert dict(collections_in(tmp_path, tmp_path)) == {
        "lo.zh-CN": folder.parent,
        "lo.en-US": None,
        "lo.de": None,
    }


@pytest.mark.more
def test_a_suite_is_read_with_all_its_judgements() -> None:
    collection = read_suite(shared("suites/ir/cranfield"))
    assert (len(collection.documents), len(collection.queries)) == (1400, 225)
    assert sum(map(len, collection.judgements.values())) == 1612
    assert not collection.is_known_item


def test_queries_of_a_help_are_its_authors_index_where_nobody_has_made_files_of_it(tmp_path: Path) -> None:
    pages = tmp_path / "help"
    (pages / "de" / "text").mkdir(parents=True)
    (pages / "de" / "text" / "a.html").write_text("<title>Tabellen</title>", "utf-8")
    (pages / "de" / "bookmarks.js").write_text(
        '{url:"de/text/a.html?DbPAR=CALC#x", app:"CALC", text:"Tabellen -- einfügen"},\n'
        '{url:"de/text/a.html", app:"WRITER", text:"Seiten"},',
        "utf-8",
    )
    collection = read_help(pages, "de", tmp_path)
    url = "http://help.test/de/text/a.html"
    assert collection.queries == {"de-1": "Tabellen einfügen", "de-2": "Seiten"}
    assert collection.judgements == {"de-1": {url: 1}, "de-2": {url: 1}}
