"""Titles, links and text that the scanner finds in html5lib's cases of broken markup, beside a tree's.

The cases are those of html5lib-tests before they moved to web-platform-tests (224991e~1), all of
tree-construction/*.dat. Our scanner builds no tree, so where the standard moves, closes or ignores elements
the two may differ: how often is counted here, by what is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from mesh.urls import canonical
from peers.crawler.parsing.parser import NotHtml, parse_page
from tests.shared_data import shared

URL: Final = "http://a.test/d/"
UNSEEN: Final = frozenset(
    {"head", "iframe", "noembed", "noframes", "noscript", "rp", "script", "style", "template"}
)
OTHER_TEXTS_MAX: Final = 18  # cases, of 1,593


class Found(NamedTuple):
    """Title, links and text of a page."""

    title: str
    links: frozenset[str]
    letters: str  # all that can be read, without white space, sorted: where words end is another question


def cases() -> Iterator[str]:
    """Markup of whole documents, as a browser without scripts reads it."""
    for path in sorted(shared("suites/html5lib/tree-construction").glob("*.dat")):
        for case in ("\n" + path.read_text(encoding="utf-8", errors="surrogatepass")).split("\n#data\n")[1:]:
            data, _, rest = case.partition("\n#errors")
            if "\n#document-fragment\n" not in rest and "\n#script-on\n" not in rest:
                yield data


def ours(markup: str) -> Found | None:
    """None for what is taken for no markup."""
    try:
        page = parse_page(URL, markup.encode("utf-8", "replace"), "text/html; charset=utf-8")
    except NotHtml:
        return None
    links = frozenset(link.url for link in page.links)
    return Found(page.title, links, _letters(page.text + page.boilerplate))


def by_a_tree(markup: str) -> Found:
    tree = LexborHTMLParser(markup.encode("utf-8", "replace"))
    assert tree.root is not None
    titles = [node.text() for node in tree.css("title") if "svg" not in _above(node)]
    links = {canonical(node.attributes["href"] or "", URL) for node in tree.css("a[href]")}
    return Found(
        " ".join(titles[0].split()) if titles else "",
        frozenset(link for link in links if link is not None and link != URL),
        _letters("".join(_text(tree.root))),
    )


def _letters(text: str) -> str:
    return "".join(sorted("".join(text.split())))


def _above(node: LexborNode) -> Iterator[str]:
    above = node.parent
    while above is not None:
        yield above.tag or ""
        above = above.parent


def _text(node: LexborNode) -> Iterator[str]:
    """Yield the text that is shown, without frames and readings for browsers that cannot show them."""
    for each in node.iter(include_text=True):
        if each.tag == "-text":
            yield each.text_content or ""
        elif each.tag not in UNSEEN and not (each.tag == "title" and "svg" not in _above(each)):
            yield from _text(each)


@pytest.mark.more
def test_broken_markup_gives_what_a_tree_gives_in_nearly_all_cases() -> None:
    found = [(markup, ours(markup), by_a_tree(markup)) for markup in cases()]
    read = [(markup, one, other) for markup, one, other in found if one is not None]
    refused = [markup for markup, one, _ in found if one is None]
    # Without a title a page is called by its first line.
    titles = [markup for markup, one, other in read if other.title and one.title != other.title]
    links = [markup for markup, one, other in read if one.links != other.links]
    letters = [markup for markup, one, other in read if one.letters != other.letters]
    print(
        f"\n{len(found)} cases: {len(refused)} refused, {len(titles)} other titles, "
        f"{len(links)} other links, {len(letters)} other texts"
    )
    assert len(found) > 1_500
    assert all("\0" in markup for markup in refused), "they are taken for binary files"
    assert not titles
    assert not links
    # Text in or behind a frameset, what repeats an option of a list, `<template>` that something else ends.
    assert len(letters) <= OTHER_TEXTS_MAX, letters
