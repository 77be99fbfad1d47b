"""The pages and hosts with the highest ranks at a gateway, and how they are gathered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mesh.actors.actor import Address, Message
from mesh.actors.ownership import Ownership
from mesh.membership.model.wire_messages import MembersTold
from mesh.slots import SlotTable
from mesh.urls import host_of
from peers.gateway.backlinks.rank_roundup import RankRoundup
from peers.gateway.model.messages import GatherRanks, RanksGathered
from peers.gateway.routes import application
from peers.link_graph.wire_messages import ListRanks, RankedHost, RankedPage, RanksListed
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.rules import EVERYTHING, OF_SEEDS, Action, Policy, Rule
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import FakeBackend
from tests.peers.gateway.fake_searcher import answer_to

ANN = RanksListed(1, True, True, 2, 0, (RankedPage("http://a.test/", 3.5),), (RankedHost("a.test", 4.0, 2),))
BOB = RanksListed(1, True, True, 3, 1, (RankedPage("http://b.test/", 7.5),), (RankedHost("b.test", 1.0, 3),))
RANKED = LinkGraphRules(ranks=True)
VIEW = Ownership("ann", SlotTable({"ann": 100}, 64, 1), ("ann",))
HIDING = Policy(rules=(Rule(action=Action.TAKE_DOWN, domains=("hidden.test",)), *EVERYTHING.rules))


async def told_of(
    rules: LinkGraphRules | None, *told: RanksListed, silent: tuple[str, ...] = (), more: str = ""
) -> tuple[int, dict[str, Any]]:
    def answer(order: Message) -> Message:
        if not isinstance(order, GatherRanks):
            return answer_to(order)
        return RanksGathered(7, tuple((f"peer {n}", each) for n, each in enumerate(told)), silent)

    backend = FakeBackend(answer)
    backend.policy = Policy(rules=OF_SEEDS.rules, link_graph=rules)
    reply = await ask(application(backend), f"/api/graph/ranks{more}")
    return reply.status, json.loads(reply.body)


@pytest.mark.parametrize("rules", [None, LinkGraphRules()])
async def test_it_is_off_unless_the_policy_has_it(rules: LinkGraphRules | None) -> None:
    status, told = await told_of(rules, ANN)
    assert status == 404
    assert "ranks = true" in told["error"]


async def test_the_answers_of_all_peers_are_merged_by_rank() -> None:
    status, told = await told_of(RANKED, ANN, BOB)
    assert status == 200
    assert [page["url"] for page in told["pages"]] == ["http://b.test/", "http://a.test/"]
    assert told["hosts"] == [
        {"host": "a.test", "rank": 4.0, "n_pages": 2},
        {"host": "b.test", "rank": 1.0, "n_pages": 3},
    ]
    assert (told["n_pages"], told["n_left_out"], told["is_settled"], told["silent"]) == (5, 1, True, [])
    _, one = await told_of(RANKED, ANN, BOB, more="?limit=1")
    assert [len(one["pages"]), len(one["hosts"])] == [1, 1]


async def test_who_is_silent_or_still_at_work_is_said() -> None:
    _, told = await told_of(RANKED, ANN, silent=("bob",))
    assert (told["is_settled"], told["silent"]) == (False, ["bob"])
    _, told = await told_of(RANKED, ANN, RanksListed(1, True, False))
    assert not told["is_settled"]


@pytest.mark.parametrize("limit", ["0", "1001", "x"])
async def test_a_limit_that_is_none_is_refused(limit: str) -> None:
    assert (await told_of(RANKED, ANN, more=f"?limit={limit}"))[0] == 400


def gathered(answer: RanksListed, view: Ownership = VIEW, hidden: tuple[str, ...] = ()) -> RanksListed:
    """Return what a roundup takes of the answer of its own peer, the only one."""
    errand = RankRoundup(1, "ann", GatherRanks(7, 10, hidden), frozenset(), HIDING, view)
    errand.start(0.0)
    [question] = errand.receive(Address("ann", "membership"), MembersTold(()), 0.0) or []
    assert isinstance(question.message, ListRanks)
    assert question.message.most == 10
    request = question.message.request
    sends = errand.receive(
        Address("ann", "link_graph"),
        RanksListed(request, True, True, 1, 0, answer.pages, answer.hosts),
        0.0,
    )
    [end] = sends or []
    assert isinstance(end.message, RanksGathered)
    [(_, told)] = end.message.told
    return told


def test_what_is_taken_down_hidden_or_no_page_is_left_out() -> None:
    pages = [
        RankedPage(url, 1.0)
        for url in ("http://hidden.test/", "javascript:x", "http://in.test/", "http://a.test/")
    ]
    hosts = [RankedHost(host, 1.0, 1) for host in ("in.test", "a.test/x", "a.test")]
    told = gathered(RanksListed(1, True, True, 1, 0, tuple(pages), tuple(hosts)), hidden=("in.test",))
    assert [page.url for page in told.pages] == ["http://a.test/"]
    assert [host.host for host in told.hosts] == ["a.test"]


def test_nobody_speaks_for_pages_of_others_slots() -> None:
    view = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, 64, 1), ("ann", "bob"))
    urls = [f"http://{n}.test/" for n in range(20)]
    told = gathered(RanksListed(1, True, pages=tuple(RankedPage(url, 1.0) for url in urls)), view)
    ours = [url for url in urls if view.owner_of(view.slot_of(host_of(url))) == "ann"]
    assert 0 < len(ours) < 20
    assert [page.url for page in told.pages] == ours
