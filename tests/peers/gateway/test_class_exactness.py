"""Classes and their counts do not depend on how many peers there are, nor on losses and restarts."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import ExitStack
from math import inf
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from mesh.actors.actor import Address
from mesh.keys.decree import CLASSES, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.slots import slot_of
from mesh.urls import host_of
from peers.classes.model_fit import FittedModel, fitted_model, given_classes
from peers.engine.index import Index
from peers.engine.pages.class_model import ClassModel, model_in
from peers.engine.pages.document import Document
from peers.engine.queries.query_language import Oddity, Remark
from peers.engine.queries.query_parser import read_query
from peers.gateway.model.messages import PagesFound
from peers.gateway.search import merged_hits
from peers.gateway.search.plan import NOBODY_ABSENT, Share
from peers.index.wire_messages import FacetCounts, HitsFound
from tests.peers.classes.texts import SUBJECTS, samples_of, text_of
from tests.peers.gateway.test_exactness import Mesh, told


@pytest.fixture(scope="module")
def fitted() -> FittedModel:
    return fitted_model(samples_of(40))


@pytest.fixture(scope="module")
def model(fitted: FittedModel) -> ClassModel:
    return model_in(fitted.body)


@pytest.fixture
def stack() -> Iterable[ExitStack]:
    with ExitStack() as stack:
        yield stack


def pages(count: int) -> list[Document]:
    random, paths = Random(21), list(SUBJECTS)
    return [
        Document(
            f"http://host{n % 97}.test/{n}",
            title=text_of(paths[n % 5], random, 6),
            text=f"{text_of(paths[n % 5], random, 40)} {text_of(random.choice(paths), random)}",
            language="en",
            fetched_at=7.0,
        )
        for n in range(count)
    ]


def decrees(body: bytes | None, number: int = 1) -> DecreesInForce:
    decree = Decree(CLASSES, "", number, 0.0, inf, body or b"", b"", b"")
    return DecreesInForce(CLASSES, () if body is None else (decree,))


def follow(mesh: Mesh, told: DecreesInForce) -> None:
    """Tell all peers which classes are in force, as their memberships do."""
    for peer, node in mesh.nodes.items():
        assert node.receive(Address(peer, "membership"), "searcher", told, mesh.now) == []
        mesh.answerers[peer].follow_classes(told.decrees)


def counts_in(found: PagesFound) -> dict[str, int]:
    assert found.facets is not None
    return dict(found.facets.classes)


QUERIES = (
    *("class:science", "class:Physics", "class:*", "class:food class:tennis", "page class:sports"),
    *(
        "page OR news -class:sports",
        "(class:physics OR 面条) time",
        "今天",
        "quark class:food",
        "nosuchword class:food",
    ),
)


@pytest.mark.parametrize("count", [1, 3, 5])
def test_classes_and_counts_are_those_of_the_texts_on_any_number_of_peers(
    stack: ExitStack, fitted: FittedModel, model: ClassModel, count: int
) -> None:
    documents = pages(500)
    given = given_classes(fitted, [f"{page.title}\n{page.text}" for page in documents])
    counted = model.rolled_up(np.bincount(given[given >= 0], minlength=len(model.rows)))
    mesh = Mesh([f"peer{n}" for n in range(count)], stack)
    alone = Mesh(["solo"], stack)
    for each in (mesh, alone):
        each.index(documents[:350])
        follow(each, decrees(fitted.body))
        each.index(documents[350:])  # classes of later pages are told, too
    for peer in mesh.nodes:
        found = mesh.search(peer, "class:*", wants_facets=True)
        assert counts_in(found) == counted
        assert found.total == int((given >= 0).sum())
        for name, n in counted.items():
            assert mesh.search(peer, f"class:{name}").total == n
    for text in QUERIES:
        expected = alone.search("solo", text, wants_facets=True)
        for peer in mesh.nodes:
            found = mesh.search(peer, text, wants_facets=True)
            assert told(found) == told(expected), text
            assert (found.total, found.facets) == (expected.total, expected.facets), text
    assert alone.search("solo", "quark class:food").total < alone.search("solo", "quark").total


def test_a_member_counts_no_more_pages_in_a_class_than_it_says_that_match() -> None:
    told = HitsFound(1, b"e", 1, total=3, hits=(), facets=FacetCounts(classes=(("food", 900), ("tea", 2))))
    at_least = msgspec.structs.replace(told, is_exact=False)
    for answer, food in ((told, 3), (at_least, 900)):
        counted = merged_hits._facets({Share("liar", NOBODY_ABSENT): answer})
        assert dict(counted.classes) == {"food": food, "tea": 2}


def test_counts_stay_after_a_peer_is_lost(stack: ExitStack, fitted: FittedModel) -> None:
    mesh = Mesh(["ann", "bob", "cyd"], stack)
    mesh.index(pages(400))
    follow(mesh, decrees(fitted.body))
    before = counts_in(mesh.search("ann", "class:*", wants_facets=True))
    mesh.change_alive(["ann", "bob"])  # those ranked after the third answer for its slots
    found = mesh.search("bob", "class:*", wants_facets=True)
    assert found.coverage.missing == 0
    assert counts_in(found) == before
    assert sum(before.values()) > 300


def test_counts_stay_after_the_index_is_opened_again(tmp_path: Path, model: ClassModel) -> None:
    """As after kill -9: nothing of classes is on disk, and nothing has to be."""
    documents = pages(300)
    query = read_query("class:*", classes=model.names).query
    index = Index.open(tmp_path / "index")
    index.add([(slot_of(host_of(page.url), 1 << 16), page) for page in documents])
    index.commit()
    everything = np.ones(1 << 16, np.bool_)
    before = index.snapshot().responsible(everything, model).facets(query).classes
    shutil.copytree(tmp_path / "index", tmp_path / "killed")  # while it runs
    again = Index.open(tmp_path / "killed")
    assert again.snapshot().responsible(everything, model).facets(query).classes == before
    assert sum(before.values()) > 300
    # And after a hand-over: an index that has adopted the segments of the other.
    parts = index.snapshot().export(everything)
    moved = Index.open(tmp_path / "moved")
    for content in parts:
        moved.adopt(bytes(content), everything)
    moved.commit()
    assert moved.snapshot().responsible(everything, model).facets(query).classes == before


def test_without_classes_the_operator_is_text_and_answers_have_none(
    stack: ExitStack, fitted: FittedModel
) -> None:
    mesh = Mesh(["ann", "bob"], stack)
    mesh.index(pages(100))
    found = mesh.search("ann", "page class:food", wants_facets=True)
    assert found.remarks == (Remark(Oddity.NO_CLASS, "class:food"),)
    assert counts_in(found) == {}
    follow(mesh, decrees(fitted.body))
    assert mesh.search("ann", "page class:food").remarks == ()
    assert mesh.search("ann", "page class:nothing").remarks == (Remark(Oddity.NO_CLASS, "class:nothing"),)
    follow(mesh, decrees(None))
    assert mesh.search("ann", "page class:food").remarks == (Remark(Oddity.NO_CLASS, "class:food"),)
    assert counts_in(mesh.search("ann", "page", wants_facets=True)) == {}


def test_classes_about_something_else_are_none_of_the_mesh(stack: ExitStack, fitted: FittedModel) -> None:
    mesh = Mesh(["ann"], stack)
    mesh.index(pages(50))
    other = Decree(CLASSES, "x", 1, 0.0, inf, fitted.body, b"", b"")
    follow(mesh, DecreesInForce(CLASSES, (other,)))
    assert counts_in(mesh.search("ann", "page", wants_facets=True)) == {}
    follow(mesh, DecreesInForce(CLASSES, (other, *decrees(fitted.body).decrees)))
    assert counts_in(mesh.search("ann", "page", wants_facets=True)) != {}


def test_an_answer_made_while_a_peer_had_other_classes_is_not_shown_again(
    stack: ExitStack, fitted: FittedModel
) -> None:
    mesh = Mesh(["ann", "bob", "cyd"], stack)
    mesh.index(pages(200))
    for peer in ("ann", "bob", "cyd"):
        mesh.nodes[peer].receive(Address(peer, "membership"), "searcher", decrees(fitted.body), mesh.now)
        counts = counts_in(mesh.search("ann", "class:*", wants_facets=True))
        mesh.answerers[peer].follow_classes(decrees(fitted.body).decrees)
        assert sum(counts_in(mesh.search("ann", "class:*", wants_facets=True)).values()) > sum(
            counts.values()
        )


def test_new_classes_replace_the_old_ones_and_damaged_ones_do_not(
    stack: ExitStack, fitted: FittedModel
) -> None:
    mesh = Mesh(["ann", "bob"], stack)
    mesh.index(pages(200))
    follow(mesh, decrees(fitted.body))
    before = counts_in(mesh.search("ann", "page", wants_facets=True))
    renamed = [sample._replace(path=("other", sample.path[-1])) for sample in samples_of(40)]
    for body in (b"", b"nothing", fitted.body[:-9], msgspec.msgpack.encode((1, [], 0, 0, b""))):
        follow(mesh, decrees(body, 2))
        assert counts_in(mesh.search("bob", "page", wants_facets=True)) == before
    follow(mesh, decrees(fitted_model(renamed).body, 3))
    after = counts_in(mesh.search("ann", "page", wants_facets=True))
    assert "other" in after
    assert "sports" not in after
