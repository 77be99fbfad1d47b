"""What a page is about, apart from what is around it; how well: `tests/benchmarks/bench_main_text.py`."""

from __future__ import annotations

from html.entities import html5
from math import exp

import numpy as np
import pytest

from peers.crawler.parsing._markup import FIRST_FEATURES, SECOND_FEATURES, UNITS, measure_blocks, read_markup
from peers.crawler.parsing.main_text import NETWORKS, parted
from peers.crawler.parsing.parser import ParsedPage, parse_page
from peers.engine.pages.document import Document

LIMITS = (1_000_000, 500_000, 6_000, 100)
ARTICLE = "".join(
    f"<p>The committee said on Monday, in its report number {number}, that the river would be measured, "
    "and that nobody who lives beside it had to fear for the house they were in.</p>"
    for number in range(8)
)
NEWS = "".join(
    f"<p>委员会周一在第{number}号报告中表示，这条河流将再次得到测量，住在河边的人都不必为自己的房子担心。"
    "记者在现场看到，许多居民已经回到了家里，生活正在恢复正常。</p>"
    for number in range(8)
)


def page_of(article: str, menu: str, foot: str) -> ParsedPage:
    links = "".join(f'<li><a href="/{number}">{menu} {number}</a></li>' for number in range(12))
    return parse_page(
        "http://a.test/b",
        (
            f'<html><head><meta charset="utf-8"><title>River</title></head><body><nav><ul>{links}</ul></nav>'
            f'<div class="content"><h1>River</h1>{article}</div><aside><p>{foot}</p></aside>'
            f'<footer id="footer"><p>{foot}</p></footer></body></html>'
        ).encode(),
        "text/html",
    )


@pytest.mark.parametrize(
    ("article", "menu", "foot"),
    [
        (ARTICLE, "Section", "Copyright 2026 Example. All rights reserved."),
        (NEWS, "频道", "版权所有 京ICP备12345号"),
    ],
)
def test_menus_and_footers_are_apart_from_the_article(article: str, menu: str, foot: str) -> None:
    page = page_of(article, menu, foot)
    assert len(page.text.split("\n")) in (8, 9)  # the headline may belong to it
    assert menu not in page.text
    assert foot not in page.text
    assert f"{menu} 7" in page.boilerplate
    assert foot in page.boilerplate


def test_a_page_that_is_nothing_but_an_article_is_main_text() -> None:
    body = f"<title>River</title><main><article><h1>River</h1>{ARTICLE}</article></main>"
    page = parse_page("http://a.test/b", body.encode(), "text/html")
    assert page.text.count("nobody who lives beside it") == 8


def test_nothing_that_is_visible_is_lost() -> None:
    page = page_of(ARTICLE, "Section", "Contact")
    both = f"{page.text}\n{page.boilerplate}".split("\n")
    assert len(both) == 12 + 1 + 8 + 2
    assert {"River", "Contact", *(f"Section {number}" for number in range(12))} < set(both)


def test_a_page_of_links_has_a_text_as_well() -> None:
    links = "".join(
        f"<p><a href='/{number}'>The story number {number} of many</a></p>" for number in range(60)
    )
    page = parse_page("http://a.test/", f"<html><body>{links}</body></html>".encode(), "text/html")
    assert page.text


def test_a_short_text_is_all_of_it_main_text() -> None:
    assert parted("a\nb", [0.0, 0.1]) == ("a\nb", "")
    assert parted("", []) == ("", "")


def test_lines_are_parted_by_their_scores() -> None:
    long, short = "word " * 200, "menu"
    assert parted(f"{short}\n{long}\n{short}", [0.1, 0.9, 0.44]) == (long, f"{short}\n{short}")
    # Of too little text, what comes next to it as well.
    assert parted(f"few\n{long}\n{short}", [0.5, 0.3, 0.1]) == (f"few\n{long}", short)


def test_each_line_has_a_score_and_features() -> None:
    markup = b"<p>a<br>b <b>c</b></p> <hr> <ul><li>&nbsp;<li>d</ul><title>e</title>f"
    _, _, _, text, scores, *_ = read_markup(markup, html5, *LIMITS, *NETWORKS)
    measured, (first, second) = measure_blocks(markup, html5, *LIMITS, *NETWORKS)
    assert text == measured == "a\nb c\nd\nf"
    assert len(scores) == 4
    assert all(0 <= score <= 1 for score in scores)
    assert (len(first), len(second)) == (4 * 8 * FIRST_FEATURES, 4 * 8 * SECOND_FEATURES)


def test_a_feature_counts_no_more_beyond_what_the_network_was_fitted_to() -> None:
    least, greatest = np.zeros(SECOND_FEATURES), np.full(SECOND_FEATURES, 0.5)
    weights = np.zeros((SECOND_FEATURES + 2, UNITS))
    weights[1, 0] = weights[-1, 0] = 1.0  # the size of a block alone
    network = np.concatenate([weights.ravel(), [0.0], least, greatest]).astype(np.float32).tobytes()
    markup = b"<p>a b<p>" + b"a " * 10 + b"<p>" + b"a " * 1000
    _, _, _, _, (few, more, most), *_ = read_markup(markup, html5, *LIMITS, b"", network)
    assert few < more == most == pytest.approx(1 / (1 + exp(-0.5)), abs=1e-3)


def test_weights_for_other_features_are_refused() -> None:
    with pytest.raises(ValueError, match="weights for"):
        read_markup(b"a", html5, *LIMITS, NETWORKS[0][:-4], NETWORKS[1])


def test_what_is_not_shown_at_first_is_found_but_is_no_main_text() -> None:
    shown = f"<div><p>{'Sentences that are shown to all, every day. ' * 20}</p></div>"
    for attribute, is_apart in (
        ("hidden", True),
        ("HIDDEN=''", True),
        ("hidden=until-found", False),
        ("style='color: red; Display : none'", True),
        ("aria-hidden=true", False),
    ):
        page = parse_page(
            "http://a.test/", f"{shown}<div {attribute}><p>one secret</p></div><p>x".encode(), "text/html"
        )
        assert "one secret" in f"{page.text}\n{page.boilerplate}", attribute
        assert not is_apart or "one secret" in page.boilerplate, attribute
        assert "\nx" in f"{page.text}\n{page.boilerplate}"


def test_words_that_are_hidden_in_a_sentence_are_not_in_it() -> None:
    markup = b"<p>press <b hidden>Command<script>x</script></b><b hidden>Ctrl<br>key</b> +Z<p hidden>a<br>b"
    page = parse_page("http://a.test/", markup, "text/html")
    assert (page.text, page.boilerplate) == ("press\n+Z", "Command\nCtrl\nkey\na\nb")


def test_a_deep_page_is_not_slow() -> None:
    markup = b"<div>" * 100_000 + b"<p>x y z</p>" * 20_000
    _, _, _, text, scores, *_ = read_markup(markup, html5, *LIMITS, *NETWORKS)
    assert len(scores) == 20_000 == len(text.split("\n"))


def test_documents_of_before_have_no_boilerplate() -> None:
    assert Document("http://a.test/", text="all of it").boilerplate == ""
