"""Versions that were replaced are found on every copy alike, and nothing of what is taken down."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import inf
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from mesh.actors.actor import Address
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.urls import host_of
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.past import Lifetime, past_key, read_key
from peers.index.messages import AnswerQuestion, GiveUpSegment, SettlePast
from peers.index.segments_twin import SegmentsTwin
from peers.index.wire_messages import AskPast, CountTerms
from peers.policy.rules import EVERYTHING, Action, Policy, Rule, SearchHistoryRules, policy_bytes
from peers.storage.ledger.ledger_keys import IDENTITY_BYTES, identity_of
from peers.storage.ledger.place import Place
from peers.storage.replaced_versions import WALKED_AT_ONCE, ReplacedVersions, lifetimes_of
from tests.peers.storage.team import SLOTS, Peer, RealIndex, Team

URLS = [f"http://host{n % 7}.example/{n}" for n in range(20)]
DOWN = "host3.example"


class PastIndexOfPeer(RealIndex):
    """The index as it is, with the versions that were replaced."""

    def __init__(self) -> None:
        self.open(MemoryStorage())

    def open(self, storage: MemoryStorage) -> None:
        self.storage = storage
        self.index = Index(storage)
        self._twin = SegmentsTwin(self.index, SLOTS)

    @property
    def past(self) -> set[str]:
        if not self.index.replaced is not None:
            return set()
        return set(self.index.past().snapshot().everything().urls())

    def texts_of(self, key: str) -> tuple[str, ...]:
        document = self.index.past().snapshot().everything().stored(key)
        assert document is not None
        return document.anchors


class PastTeam(Team):
    """A team of a mesh whose policy wants replaced versions to be found, and may take sites down."""

    def __init__(self, seed: int, n_peers: int = 3, replicas: int = 2) -> None:
        self.policy = policy()
        super().__init__(seed, n_peers, replicas, PastIndexOfPeer)

    def tell_ownership(self) -> None:
        super().tell_ownership()
        self.publish(self.policy)

    def publish(self, to: Policy) -> None:
        self.policy = to
        told = DecreesInForce(POLICY, (Decree(POLICY, "", 1, 0.0, inf, policy_bytes(to), b"", b""),))
        for peer in self.peers.values():
            if peer.is_up:
                self._do(peer, Address(peer.name, "membership"), "cell", told)

    def is_at_rest(self, peer: Peer) -> bool:
        return super().is_at_rest(peer) and (self.policy.search_history is None or missing(peer) == 0)


def policy(*down: str, days: int | None = 36_500) -> Policy:
    rules = (Rule(action=Action.TAKE_DOWN, hosts=down),) if down else ()
    history = SearchHistoryRules(days=days) if days else None
    return Policy(rules=(*rules, *EVERYTHING.rules), search_history=history)


def missing(peer: Peer) -> int:
    """Of how many slots a peer says that it may lack replaced versions."""
    question = AskPast(0.0, 1.0, CountTerms(1, ()))
    [(_, _, order)] = peer.node.receive(Address("other", "searcher"), "indexer", question, 0.0)
    assert isinstance(order, AnswerQuestion)
    return order.missing


def past_of(peer: Peer) -> set[str]:
    assert isinstance(peer.index, PastIndexOfPeer)
    return peer.index.past


def expected(team: Team, peer: Peer, down: Sequence[str] = ()) -> set[str]:
    """Return the versions of the past that a peer is to find."""
    keys = set()
    for url in team.latest:
        slot = team.slot_of(url)
        places = peer._ledger.versions_of(identity_of(slot, url), 10_000)
        refusing = next((place for place in places if place.has_content), None)
        if not places or host_of(url) in down or (refusing is not None and not refusing.has_document):
            continue
        for older, newer in zip(places[1:], places, strict=False):
            if older.has_document:
                keys.add(past_key(url, Lifetime(older.fetched_at, newer.fetched_at)))
    return keys


def assert_alike(team: Team, down: Sequence[str] = ()) -> int:
    """Every copy has just the past that its ledger says, and all copies of a slot have the same."""
    of_slot: dict[int, set[frozenset[str]]] = {}
    for peer in team.peers.values():
        found = past_of(peer)
        assert found == expected(team, peer, down), peer.name
        for slot in range(SLOTS):
            if peer.name in team.table.team_of(slot):
                here = frozenset(key for key in found if team.slot_of(read_key(key)[0]) == slot)
                of_slot.setdefault(slot, set()).add(here)
    assert all(len(copies) == 1 for copies in of_slot.values())
    return sum(len(past_of(peer)) for peer in team.peers.values())


def visit_all(team: Team, n_times: int, share_gone: float = 0.0) -> None:
    for _ in range(n_times):
        for url in URLS:
            team.store(url, has_document=team.random.random() >= share_gone)
        team.settle()
        team.pass_time(10.0)


def test_each_version_but_the_newest_is_found_as_long_as_it_was_there() -> None:
    team = PastTeam(1)
    visit_all(team, 3)
    assert assert_alike(team) == 2 * 2 * len(URLS)  # two versions of each page, on two peers
    [peer, *_] = (each for each in team.peers.values() if past_of(each))
    url = read_key(min(past_of(peer)))[0]
    times = sorted(
        (each.since, each.until)
        for key in past_of(peer)
        if (each := read_key(key)[1]) and key.startswith(url + " ")
    )
    assert times[0][1] == times[1][0]
    assert times[1][1] == team.latest[url]


def test_without_the_policy_nothing_is_kept_and_what_was_is_deleted() -> None:
    team = PastTeam(2)
    team.publish(policy(days=None))
    visit_all(team, 3)
    assert not any(past_of(peer) for peer in team.peers.values())
    team.publish(policy())
    team.settle()
    assert assert_alike(team) > 0
    assert all(missing(peer) == 0 for peer in team.peers.values())
    team.publish(policy(days=None))
    team.settle()
    assert not any(past_of(peer) for peer in team.peers.values())
    assert all(missing(peer) > 0 for peer in team.peers.values())  # and nobody answers of it


def test_link_texts_of_replaced_versions_are_those_of_now() -> None:
    team = PastTeam(3)
    visit_all(team, 2)
    for url in URLS:
        team.store_anchors(url, "called so")
    team.settle()
    for peer in team.peers.values():
        assert isinstance(peer.index, PastIndexOfPeer)
        assert {peer.index.texts_of(key) for key in past_of(peer)} <= {("called so",)}


@pytest.mark.parametrize("seed", range(40))
def test_copies_agree_on_a_hostile_network_with_crashes_and_lost_disks(seed: int) -> None:
    team = PastTeam(seed, n_peers=2 + seed % 3, replicas=2)
    random = team.random
    team.loss, team.duplication = random.choice([0.0, 0.3]), random.choice([0.0, 0.2])
    for _ in range(4):
        for _ in range(200):
            name = random.choice(list(team.peers))
            draw = random.random()
            if draw < 0.02:
                team.crash(name) if team.peers[name].is_up else team.restart(name)
            elif draw < 0.15:
                team.store(random.choice(URLS), has_document=random.random() < 0.7)
            elif draw < 0.25:
                team.commit(name)
            elif draw < 0.40:
                team.pass_time(random.expovariate(1.0))
            else:
                team.step()
        team.settle()
        if random.random() < 0.3:
            empty = random.choice(list(team.peers))
            team.crash(empty)
            team.peers[empty].lose_disk()
            team.restart(empty)
    team.settle()
    team.compare()  # versions that their owner has never acknowledged may be on one peer only until then
    team.settle()
    assert assert_alike(team) > 0


@pytest.mark.parametrize("n_peers", [1, 3, 5])
@pytest.mark.parametrize("seed", range(10))
def test_take_down_hides_all_versions_on_every_peer_and_can_be_taken_back(seed: int, n_peers: int) -> None:
    team = PastTeam(seed, n_peers, min(n_peers, 2))
    random = team.random
    visit_all(team, 4, share_gone=0.2)
    before = {name: past_of(peer) for name, peer in team.peers.items()}
    assert any(DOWN in key for keys in before.values() for key in keys)
    team.publish(policy(DOWN))
    if random.random() < 0.7 and n_peers > 1:  # in the middle of it
        for _ in range(random.randrange(40)):
            team.step()
        name = random.choice(list(team.peers))
        team.crash(name)
        if random.random() < 0.5:
            team.peers[name].lose_disk()
    team.settle()
    assert_alike(team, (DOWN,))
    visit_all(team, 2, share_gone=0.3)  # visited on: versions come that are never shown
    for peer in team.peers.values():
        assert not any(DOWN in key for key in past_of(peer))
        team.crash(peer.name)
        team.restart(peer.name)
    team.settle()
    assert_alike(team, (DOWN,))
    team.publish(policy())
    team.settle()
    assert_alike(team)
    assert any(DOWN in key for peer in team.peers.values() for key in past_of(peer))


@pytest.mark.parametrize("seed", range(5))
def test_a_damaged_segment_of_the_past_is_made_anew_and_no_answer_is_given_until_then(seed: int) -> None:
    team = PastTeam(seed)
    visit_all(team, 3)
    before = {name: past_of(peer) for name, peer in team.peers.items()}
    peer = team.random.choice([each for each in team.peers.values() if past_of(each)])
    assert isinstance(peer.index, PastIndexOfPeer)
    segment = peer.index.index.past().snapshot().segments[0].segment.name
    assert not any(each.segment.name == segment for each in peer.index.index.snapshot().segments)
    answers = peer.index.receive(GiveUpSegment(segment))  # as when a search has met damage
    assert past_of(peer) != before[peer.name]
    for actor, answer in answers:
        team._do(peer, Address(peer.name, "segments"), actor, answer)
    assert missing(peer) > 0
    team.settle()
    assert {name: past_of(each) for name, each in team.peers.items()} == before
    storage = MemoryStorage()
    storage.files = dict(peer.index.storage.files)
    for name in [name for name in storage.files if name.startswith("past.")]:  # while it was down
        damage = team.random.choice(("gone", "flipped", "kept"))
        if damage == "gone":
            del storage.files[name]
        elif damage == "flipped":
            storage.files[name] = storage.files[name][:-1] + bytes((storage.files[name][-1] ^ 1,))
    team.crash(peer.name)
    peer.index.open(storage)
    team.restart(peer.name)
    team.settle()
    assert {name: past_of(each) for name, each in team.peers.items()} == before
    assert_alike(team)


def place(visit: int, at_s: float, *, has_document: bool = True) -> Place:
    return Place("http://a.test/", at_s, 200 if has_document else 404, 1, 0, 1, 0, has_document, visit)


def test_lifetimes_do_not_overlap_whatever_clocks_said() -> None:
    assert lifetimes_of([place(1, 5.0)]) == ()
    gone = place(2, 7.0, has_document=False)
    assert lifetimes_of([place(3, 9.0), gone, place(1, 5.0)]) == ((5.0, 7.0),)
    assert lifetimes_of([gone, place(1, 5.0)]) == ((5.0, 7.0),)
    backwards = [place(4, 6.0), place(3, 9.0), place(2, 5.0), place(1, 5.5)]
    assert lifetimes_of(backwards) == ((5.0, 6.0),)
    assert read_key(past_key("http://a.test/", lifetimes_of(backwards)[0]))[1] == (5.0, 6.0)


class MarkedLedger:
    """Pages of one version each, all of which wait for the index, as after an update of the program."""

    def __init__(self, count: int) -> None:
        self.keys = [b"p" + bytes(2) + n.to_bytes(IDENTITY_BYTES - 2, "big") for n in range(count)]
        self.read = 0
        self.is_marked = True
        self.replaced: set[bytes] | None = None
        self.marks = SimpleNamespace(has_page_mark=lambda _: self.is_marked)

    def places(self, after: bytes, limit: int) -> list[tuple[bytes, bytes, Place]]:
        begin = bisect_right(self.keys, after)
        self.read += len(self.keys[begin : begin + limit])
        return [(key, key[1:], place(1, 5.0)) for key in self.keys[begin : begin + limit]]

    def versions_of(self, identity: bytes, limit: int) -> list[Place]:
        gone = place(3, 9.0, has_document=False)
        refused = msgspec.structs.replace(place(2, 7.0, has_document=False), status=200)
        return {0: [place(1, 5.0)], 1: [gone, refused, place(1, 5.0)]}[identity[-1] % 2][:limit]


def test_a_walk_over_pages_that_all_wait_is_taken_in_steps_and_goes_on_by_itself() -> None:
    """One turn walked through them all: seconds, where a million pages were to be indexed anew."""
    ledger = MarkedLedger(10_000)
    texts: Any = SimpleNamespace(of=lambda _: ())
    take_downs: Any = SimpleNamespace(hides=lambda _: False)
    past = ReplacedVersions("ann", cast("Any", ledger), texts, take_downs)
    past.change_policy(1e9, 0.0)
    now, turns = 0.0, 0
    while ledger.read < 10_000:
        before = ledger.read
        past.end_turn(now)
        assert ledger.read - before <= WALKED_AT_ONCE
        if ledger.read < 10_000:
            now = past.wake_at()
            assert now <= 1.0 * (turns := turns + 1), (
                "else the walk would stand still until something happens"
            )
            past.wake(now)
    ledger.is_marked = False
    [settle] = [send.message for send in past.end_turn(now) if isinstance(send.message, SettlePast)]
    assert {page.lifetimes for page in settle.pages} == {()}, "what refused to be indexed when it went, too"
