"""How alike linked pages are: on a web about a topic whose pages are all compared, and on the demo web."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from bootstrap.demo_web import DEMO_WARC
from mesh.urls import host_of
from simulations.web_reports.commands import app
from simulations.web_reports.locality import DISTANCES, KINDS, Locality, locality_of
from simulations.web_reports.page_words import WordedPages
from simulations.webs.web import WebShape
from simulations.world.topical_web import Topic, TopicalWeb
from tests.simulations.web_reports.test_web_report import page

pytest.importorskip("scipy", reason="the extra `simulations` is not installed")

WORDS = 30  # of a page
OF_TOPIC, OF_HOST, OF_ALL = 40, 40, 1_000  # words that there are


@cache
def played() -> WordedPages:
    """A web of which a third of the hosts is about a topic: two thirds of the words of their pages are of it.

    Of each page a few words are of its host, the others any.
    """
    shape = WebShape(has_domains=True, outside_share=0.3)
    web = TopicalWeb(5, 1_500, shape, Topic(hosts_share=0.3, inside_share=0.9, locality=1.0))
    random, pages, hosts = np.random.default_rng(5), WordedPages(), dict[str, int]()
    for url in web.all_pages:
        n_topic = 2 * WORDS // 3 if web.is_relevant(url) else 1
        of_host = hosts.setdefault(host_of(url), 1 + len(hosts)) * OF_HOST + random.integers(OF_HOST, size=5)
        of_all = 100_000 + random.integers(OF_ALL, size=WORDS - n_topic)
        words = [*random.integers(OF_TOPIC, size=n_topic), *of_host, *of_all]
        pages.add(page(url, targets=tuple(web.targets(url)), words=dict.fromkeys(map(int, words), 1)))
    return pages


@cache
def found() -> Locality:
    return locality_of(played(), seed=1)


def test_linked_pages_of_a_topical_web_are_more_alike_than_any_two() -> None:
    means = [found().kinds[kind].mean for kind in KINDS]
    assert all(mean is not None for mean in means)
    same, siblings, other, any_two = (mean or 0.0 for mean in means)
    assert min(same, siblings, other) > 1.1 * any_two
    assert found().is_in_the_books_order == (same > siblings > other)


def test_means_of_drawn_pairs_are_those_of_all_pairs() -> None:
    """The cosines of all pairs at once are the truth for any two pages, and for linked ones."""
    pages, graph = played(), played().graph()
    cosines = (pages.vectors() @ pages.vectors().T).toarray()
    np.fill_diagonal(cosines, np.nan)
    domain = pages.domains()[pages.columns().host]
    is_inside = domain[graph.source] == domain[graph.target]
    linked = cosines[graph.source, graph.target]
    truths = {
        "random": np.nanmean(cosines),
        "same domain": np.nanmean(linked[is_inside]),
        "other domain": np.nanmean(linked[~is_inside]),
    }
    for kind, truth in truths.items():
        likeness = found().kinds[kind]
        assert likeness.mean is not None
        assert likeness.error is not None
        assert abs(likeness.mean - truth) <= 4 * likeness.error + 1e-9, kind


def test_pages_are_less_alike_the_further_apart_they_are() -> None:
    means = [each.mean or 0.0 for each in found().distances]
    assert len(means) == DISTANCES
    assert means[0] > means[1] > means[2]


def test_pages_of_equal_content_and_without_words_are_no_pair() -> None:
    pages, words = WordedPages(), {1: 2, 2: 1}
    pages.add(page("http://a.test/", targets=("http://a.test/1", "http://b.test/"), content=7, words=words))
    pages.add(page("http://a.test/1", content=7, words=words))
    pages.add(page("http://b.test/", targets=("http://a.test/",), words={}))
    counts = locality_of(pages, seed=1).kinds
    assert [counts[kind].pairs for kind in KINDS] == [0] * len(KINDS)


def test_the_demo_web_is_reported_for_programs_and_people() -> None:
    told = CliRunner().invoke(app, ["locality", str(DEMO_WARC), "--json"])
    assert told.exit_code == 0, told.output
    report: dict[str, Any] = json.loads(told.stdout)
    assert report["kinds"]["same domain"]["mean"] > report["kinds"]["random"]["mean"] > 0.0
    shown = CliRunner().invoke(app, ["locality", str(DEMO_WARC)])
    assert "linked from one page" in shown.stdout
    assert "2 links apart" in shown.stdout


def test_a_seed_below_zero_is_wrong_usage() -> None:
    assert CliRunner().invoke(app, ["locality", str(DEMO_WARC), "--seed", "-1"]).exit_code == 2
