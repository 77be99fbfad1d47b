"""Hubs and authorities, and the pages around results that they are looked for among."""

from __future__ import annotations

import numpy as np
import pytest

from mesh.actors.actor import Address, Send
from mesh.membership.model.wire_messages import MembersTold
from mesh.urls import fingerprint, host_of
from peers.gateway.hubs.hits import hubs_and_authorities
from peers.gateway.hubs.neighbour_roundup import NeighbourRoundup
from peers.gateway.hubs.neighbourhood import Neighbourhood
from peers.gateway.model.messages import GatherNeighbours, NeighboursGathered
from peers.link_graph.wire_messages import (
    LinkingPage,
    ListNeighbours,
    MarkedPage,
    NeighboursListed,
    PageNeighbours,
)
from peers.policy.rules import EVERYTHING
from tests.peers.gateway.mesh_of_three import PEERS, ownership, url_of

VIEW = ownership()


def test_what_many_hubs_link_to_is_an_authority() -> None:
    links = [(f"http://hub{n}.test/", "http://best.test/") for n in range(3)]
    links += [("http://hub0.test/", "http://second.test/"), ("http://best.test/a", "http://best.test/")]
    found = hubs_and_authorities(links, 2)
    assert [each.url for each in found.authorities] == ["http://best.test/", "http://second.test/"]
    assert [(each.url, each.n_links) for each in found.hubs] == [
        ("http://hub0.test/", 2),
        ("http://hub1.test/", 1),
    ]
    assert (found.n_pages, found.n_links) == (5, 4), "links within a domain do not count"
    assert hubs_and_authorities([("http://a.test/", "http://a.test/b")], 9).n_links == 0


def test_a_domain_has_one_voice_however_many_pages_it_has() -> None:
    farm = [(f"http://farm.test/{n}", "http://bought.test/") for n in range(50)]
    honest = [(f"http://site{n}.test/", "http://good.test/") for n in range(3)]
    found = hubs_and_authorities([*farm, *honest, ("http://site0.test/", "http://bought.test/")], 1)
    assert found.authorities[0].url == "http://good.test/"


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_the_first_eigenvectors(seed: int) -> None:
    random, n = np.random.default_rng(seed), 30
    urls = [f"http://host{number % 10}.test/{number}" for number in range(n)]
    is_same = np.equal.outer(np.arange(n) % 10, np.arange(n) % 10).astype(float)
    links = (random.random((n, n)) < 0.3) * (1.0 - is_same)
    found = hubs_and_authorities([(urls[a], urls[b]) for a, b in np.argwhere(links)], n)
    given, had = links / np.maximum(is_same @ links, 1.0), links / np.maximum(links @ is_same, 1.0)
    for product, pages in ((given.T @ had, found.authorities), (had @ given.T, found.hubs)):
        values, vectors = np.linalg.eig(product)
        first = np.abs(vectors[:, values.real.argmax()].real)
        of_url = {each.url: each.score for each in pages}
        wanted = first / np.linalg.norm(first)
        assert [of_url.get(url, 0.0) for url in urls] == pytest.approx(wanted.tolist(), abs=1e-4)


def around(*pages: PageNeighbours) -> NeighboursGathered:
    return NeighboursGathered(1, (NeighboursListed(1, True, pages),), ())


def marked(url: str) -> MarkedPage:
    return MarkedPage(VIEW.slot_of(host_of(url)), fingerprint(url))


def test_pages_that_several_results_link_to_belong_to_the_neighbourhood() -> None:
    a, b, hub, known, alone = (f"http://{name}.test/" for name in ("a", "b", "hub", "known", "alone"))
    pages = Neighbourhood(
        {a: "A", b: ""},
        around(
            PageNeighbours(a, (LinkingPage(hub, "Hub"),), (marked(b), marked(known), marked(alone))),
            PageNeighbours(b, (), (marked(known), marked(hub))),
        ),
    )
    assert pages.unnamed() == (marked(known),)
    assert pages.titles == {a: "A", b: "", hub: "Hub"}
    assert set(pages.links(NeighboursGathered(0, (), ()))) == {(hub, a), (a, b), (b, hub)}
    named = NeighboursGathered(2, (NeighboursListed(2, True, named=(known,)),), ("cyd",))
    assert set(pages.links(named)) == {(hub, a), (a, b), (b, hub), (a, known), (b, known)}


def test_neighbours_and_titles_that_one_member_alone_tells_are_not_shown() -> None:
    """One owner named 50 pages of other domains around each of its pages, under titles of its own."""
    theirs = url_of("bob")
    errand = NeighbourRoundup(9, "ann", GatherNeighbours(5, (theirs,)), frozenset(), EVERYTHING, VIEW)
    errand.start(0.0)
    asked = errand.receive(Address("ann", "membership"), MembersTold(()), 0.0) or []
    assert {each.target.peer for each in asked} == {"bob", "cyd"}
    true, titled, made_up = (f"http://{name}.test/" for name in ("true", "titled", "made-up"))
    y, z = marked("http://y.test/"), marked("http://z.test/")
    told = {
        "bob": ((LinkingPage(true, "A"), LinkingPage(titled, "Buy"), LinkingPage(made_up, "M")), (y, z)),
        "cyd": ((LinkingPage(titled, "B"), LinkingPage(true, "A")), (y,)),
    }
    ends: list[Send] = []
    for send in asked:
        assert isinstance(send.message, ListNeighbours)
        page = PageNeighbours(theirs, *told[send.target.peer])
        ends += errand.receive(send.target, NeighboursListed(send.message.request, True, (page,)), 0.1) or []
    [end] = [each.message for each in ends if isinstance(each.message, NeighboursGathered)]
    both = PageNeighbours(theirs, (LinkingPage(true, "A"), LinkingPage(titled, "")), (y,))
    assert [page for each in end.told for page in each.pages] == [both]


def test_owners_are_asked_for_their_pages_alone_and_speak_for_no_others() -> None:
    ours, theirs, third = (url_of(peer) for peer in PEERS)
    order = GatherNeighbours(5, (ours, theirs), (marked(third),), hidden=("hidden.test",))
    errand = NeighbourRoundup(9, "ann", order, frozenset(), EVERYTHING, VIEW)
    errand.start(0.0)
    asked = errand.receive(Address("ann", "membership"), MembersTold(()), 0.0)
    assert asked is not None
    questions = {each.target.peer: each.message for each in asked}
    assert all(isinstance(each, ListNeighbours) for each in questions.values())
    assert {peer: (each.urls, each.marks) for peer, each in questions.items()} == {  # type: ignore[attr-defined]
        "ann": ((ours,), ()),
        "bob": ((theirs,), ()),
        "cyd": ((theirs,), (marked(third),)),  # it has the slot of bob's, too
    }
    request = questions["ann"].request  # type: ignore[attr-defined]
    sources = tuple(LinkingPage(url) for url in ("http://x.test/", "http://www.hidden.test/", "not a url"))
    told = NeighboursListed(request, True, (PageNeighbours(ours, sources), PageNeighbours(theirs)), (third,))
    assert errand.receive(Address("ann", "link_graph"), told, 0.1) == []
    named = NeighboursListed(request, True, (), (third, ours))
    assert errand.receive(Address("cyd", "link_graph"), named, 0.1) == []
    sends = errand.receive(Address("bob", "link_graph"), NeighboursListed(request, is_on=False), 0.1)
    [end] = [each.message for each in sends or () if isinstance(each.message, NeighboursGathered)]
    of_ann, of_cyd = end.told
    assert of_ann.pages == (PageNeighbours(ours, (LinkingPage("http://x.test/"),)),)
    assert of_ann.named == ()
    assert of_cyd.named == (third,)
    assert end.silent == (), "cyd has told of the page of bob"


def test_a_member_gives_one_list_for_each_of_its_pages_and_no_text_that_turns_others() -> None:
    ours = url_of("ann")
    order = GatherNeighbours(5, (ours,))
    errand = NeighbourRoundup(9, "ann", order, frozenset(), EVERYTHING, VIEW)
    errand.start(0.0)
    asked = errand.receive(Address("ann", "membership"), MembersTold(()), 0.0)
    assert asked is not None
    [question] = [each.message for each in asked]
    assert isinstance(question, ListNeighbours)
    lists = [
        PageNeighbours(
            ours,
            (LinkingPage(f"http://x{number}.test/", "turned\u202e\x1b[2J"),),
            (marked("http://y.test/"),) * 2,
        )
        for number in range(40)
    ]
    told = NeighboursListed(question.request, True, tuple(lists))
    sends = errand.receive(Address("ann", "link_graph"), told, 0.1)
    assert sends is not None
    [end] = [each.message for each in sends if isinstance(each.message, NeighboursGathered)]
    linking = (LinkingPage("http://x39.test/", "turned\u2060 [2J"),)
    assert end.told[0].pages == (PageNeighbours(ours, linking, (marked("http://y.test/"),)),)
