"""Pages as they were: the answer for a day is that of an index of the pages of that day, in any mesh."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import pairwise, zip_longest
from math import inf
from random import Random
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address, Message
from mesh.actors.ownership import Ownership
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.slot_set import NO_SLOTS, encode_slot_list
from mesh.urls import host_of
from peers.engine.pages.document import Document, content_digest
from peers.engine.pages.past import Lifetime, PastPage, TimeSpan
from peers.engine.past_index import settle
from peers.engine.queries.query_language import Oddity, Remark
from peers.gateway.model.messages import FoundPage, PagesFound, SearchPages, SuggestTexts, TextsSuggested
from peers.gateway.routes import application
from peers.index.messages import PastBehind
from peers.policy.rules import EVERYTHING, Action, Policy, Rule, SearchHistoryRules, policy_bytes
from peers.storage.wire_messages import StoredPage
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import FakeBackend
from tests.peers.gateway.fake_searcher import FULL
from tests.peers.gateway.test_exactness import SLOT_COUNT, WORDS, Mesh
from tests.peers.storage.team import SLOTS, RealIndex, records_of
from tests.peers.storage.test_replaced_versions import PastTeam, missing

DAY_S = 86_400.0
FIRST_DAY_S = 1_790_000_000.0 // DAY_S * DAY_S  # 2026-09-21
N_ROUNDS = 6
Visits: TypeAlias = dict[str, list[tuple[float, Document | None]]]  # by URL: when, and what was there


def day_of(round_: int) -> str:
    return f"{datetime.fromtimestamp(FIRST_DAY_S + round_ * DAY_S, UTC):%Y-%m-%d}"


class Sites:
    """Five sites, written anew in parts each day: pages change, come, go, change back, or stay."""

    def __init__(self, seed: int) -> None:
        self._random = random = Random(seed)
        self.rounds: list[dict[str, Document]] = []  # what a visit in each found
        self.versions: Visits = {}
        urls = [f"http://site{n % 5}.test/{'a' * (n % 3)}/{n}!{n % 2}" for n in range(150)]
        urls += [f"http://site{n % 5}.test/" for n in range(5)]
        known: dict[str, Document] = {}
        for round_ in range(N_ROUNDS):
            for url in urls:
                chance = random.random()
                at_s = FIRST_DAY_S + round_ * DAY_S + random.randrange(1, 86_000) + 0.25
                if chance < 0.1 and url in known:
                    del known[url]
                    self.versions[url].append((at_s, None))
                elif chance < 0.45 or (round_ == 0 and chance < 0.8):
                    known[url] = document = self._document(url, at_s, round_)
                    self.versions.setdefault(url, []).append((at_s, document))
                elif chance < 0.65 and url in self.versions:
                    # What is stored again is that of the visit before, or of one before a change.
                    before = [page for _, page in self.versions[url] if page is not None]
                    page = before[-1] if chance < 0.55 else before[0]
                    known[url] = document = replace(page, fetched_at=at_s, visit=round_)
                    self.versions[url].append((at_s, document))
            self.rounds.append(dict(known))

    def _document(self, url: str, at_s: float, visit: int) -> Document:
        random = self._random

        def text(length: int) -> str:
            return " ".join(random.choice(WORDS) for _ in range(random.randrange(1, length)))

        is_copy = random.random() < 0.1
        body = "twins of one text 天网 mesh" if is_copy else text(60)
        anchors = (f"link {WORDS[len(url) % len(WORDS)]}",) if len(url) % 2 else ()
        title = "Twins" if is_copy else text(5)
        return Document(url, title, "", body, anchors, random.choice(("zh", "en")), at_s, visit=visit)

    def past_of(self, url: str) -> list[tuple[Lifetime, Document]]:
        return lives(self.versions[url])[: -1 if self.versions[url][-1][1] is not None else None]


def lives(visits: list[tuple[float, Document | None]]) -> list[tuple[Lifetime, Document]]:
    """Return the versions that the visits of a page have found, each until the next visit."""
    nexts = pairwise([*visits, (inf, None)])
    return [(Lifetime(at, until), page) for (at, page), (until, _) in nexts if page is not None]


def there_in(visits: Visits, begin: float, end: float) -> set[tuple[str, float]]:
    """Return the versions that a span has, by URL and visit: of those that repeat one another the last."""
    there = set()
    for url, found in visits.items():
        within = [each for each in lives(found) if each[0].is_within(TimeSpan(begin, end))]
        for (lifetime, page), following in zip_longest(within, within[1:]):
            is_last = following is None or following[0].since > lifetime.until
            if is_last or content_digest(following[1]) != content_digest(page):
                there.add((url, lifetime.since))
    return there


def span_of(first: int, last: int) -> tuple[float, float]:
    """Return the first and the last moment of days."""
    return FIRST_DAY_S + first * DAY_S, FIRST_DAY_S + (last + 1) * DAY_S - 1e-6


def decrees(*rules: Rule, days: int | None = 100) -> DecreesInForce:
    history = SearchHistoryRules(days=days) if days else None
    body = policy_bytes(Policy(rules=(*rules, *EVERYTHING.rules), search_history=history))
    return DecreesInForce(POLICY, (Decree(POLICY, "", 1, 0.0, inf, body, b"", b""),))


def mesh_with_past(count: int, sites: Sites, stack: ExitStack) -> Mesh:
    """Peers that index the pages of the last round, and all versions before."""
    mesh = Mesh([f"peer{n}" for n in range(count)], stack)
    mesh.index(list(sites.rounds[-1].values()))
    mesh.name_copies(list(sites.rounds[-1].values()))
    for peer, index in mesh.indexes.items():
        ownership = Ownership(peer, mesh.table, mesh.alive)
        pages = []
        for url in sites.versions:
            slot = ownership.slot_of(host_of(url))
            if peer in ownership.team_of(slot):
                past = sites.past_of(url)
                lifetimes, documents = tuple(each for each, _ in past), tuple(each for _, each in past)
                texts = documents[0].anchors if documents else ()
                pages.append(PastPage(slot, url, lifetimes, texts, documents))
        assert not any(settle(index.past(), pages, index.snapshot()))
        behind(mesh, peer, ())
        mesh.publish(peer, decrees())
    mesh.now = FIRST_DAY_S + 10 * DAY_S
    return mesh


def index_of_versions(sites: Sites, there: set[tuple[str, float]], stack: ExitStack) -> Mesh:
    """One peer that knows these versions, by URL and visit, and no other."""
    mesh = Mesh(["solo"], stack)
    index, ownership = mesh.indexes["solo"], Ownership("solo", mesh.table, mesh.alive)
    now, pages = [], []
    for url, visits in sites.versions.items():
        found = [each for each in lives(visits) if (url, each[0].since) in there]
        now += [page for lifetime, page in found if lifetime.until == inf]
        past = [each for each in found if each[0].until < inf]
        if past:
            lifetimes, documents = zip(*past, strict=True)
            slot = ownership.slot_of(host_of(url))
            pages.append(PastPage(slot, url, lifetimes, documents[0].anchors, documents))
    mesh.index(now)
    assert not any(settle(index.past(), pages, index.snapshot()))
    behind(mesh, "solo", ())
    mesh.publish("solo", decrees())
    mesh.now = FIRST_DAY_S + 10 * DAY_S
    return mesh


def behind(mesh: Mesh, peer: str, slots: Iterable[int]) -> None:
    told = PastBehind(encode_slot_list(list(slots), SLOT_COUNT) if slots else NO_SLOTS)
    mesh._deliver(peer, Address(peer, "cell"), "indexer", told)


def shown(found: PagesFound) -> tuple[Any, ...]:
    hits = [
        (hit.url, hit.score, hit.title, hit.snippet, hit.fetched_at, hit.copies, hit.near_copies, hit.also_at)
        for hit in found.hits
    ]
    return hits, found.facets, found.relaxed, found.coverage.missing, bool(found.next)


def query(random: Random) -> str:
    words = random.sample(WORDS, random.randrange(1, 4))
    more = random.choice(("", "", "", " -天网", " lang:en", " site:site2.test", " nosuchword", ' "web page"'))
    return random.choice((" ", " OR ", " ")).join(words) + more


@pytest.fixture
def stack() -> Iterable[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("seed", [1, 2])
def test_the_answer_for_a_day_is_that_of_an_index_of_that_day(stack: ExitStack, seed: int) -> None:
    sites, random = Sites(seed), Random(seed)
    meshes = [mesh_with_past(count, sites, stack) for count in (1, 3, 5)]
    n_found = n_old = 0
    for round_ in range(N_ROUNDS):
        alone = Mesh(["solo"], stack)
        alone.now = FIRST_DAY_S + 20 * DAY_S
        alone.index(list(sites.rounds[round_].values()))
        for _ in range(50):
            text, offset = query(random), random.choice((0, 0, 10))
            expected = alone.search("solo", text, offset=offset, wants_facets=True)
            for mesh in meshes:
                peer = random.choice(sorted(mesh.nodes))
                found = mesh.search(peer, f"{text} asof:{day_of(round_)}", offset=offset, wants_facets=True)
                assert shown(found) == shown(expected), (text, round_)
                assert found.total == expected.total or not (found.is_exact and expected.is_exact)
                assert [each.oddity for each in found.remarks] == [
                    *(each.oddity for each in expected.remarks if each.oddity is not Oddity.NO_SUCH_PHRASE),
                    Oddity.AS_OF,
                    *(each.oddity for each in expected.remarks if each.oddity is Oddity.NO_SUCH_PHRASE),
                ]
                n_old += sum(hit.until > 0 for hit in found.hits)
            n_found += len(expected.hits)
    assert n_found > 500
    assert n_old > n_found


def test_a_span_is_searched_as_an_index_of_the_versions_that_were_there_in_it(stack: ExitStack) -> None:
    sites, random = Sites(3), Random(3)
    meshes = [mesh_with_past(count, sites, stack) for count in (1, 3, 5)]
    n_found = 0
    for first, last in ((0, 5), (1, 3), (2, 2), (0, 1), (4, 5), (3, 5)):
        there = there_in(sites.versions, *span_of(first, last))
        span = f"between:{day_of(first)}..{day_of(last)}"
        found = meshes[1].search("peer0", f"site:test copies:all {span}", k=100, wants_facets=True)
        assert found.facets is not None
        assert sum(count for _, count in found.facets.hosts) == len(there)
        alone = index_of_versions(sites, there, stack)
        for _ in range(50):
            text, mesh = f"{query(random)} copies:all {span}", random.choice(meshes)
            expected = alone.search("solo", text, k=50)
            found = mesh.search(random.choice(sorted(mesh.nodes)), text, k=50)
            assert shown(found) == shown(expected), text
            assert {(hit.url, hit.fetched_at) for hit in found.hits} <= there
            n_found += len(found.hits)
    assert n_found > 1_000


def test_an_answer_says_so_where_the_past_of_some_slots_is_not_all_there(stack: ExitStack) -> None:
    sites = Sites(4)
    mesh = mesh_with_past(3, sites, stack)
    text = f"mesh asof:{day_of(2)}"
    whole = mesh.search("peer1", text)
    assert whole.coverage.missing == 0
    behind(mesh, "peer0", range(SLOT_COUNT))  # its standbys answer instead
    assert shown(mesh.search("peer1", text)) == shown(whole)
    behind(mesh, "peer2", range(SLOT_COUNT))
    assert mesh.search("peer1", text).coverage.missing > 0
    assert mesh.search("peer1", "mesh").coverage.missing == 0  # which is nothing to pages as they are
    for peer in ("peer0", "peer2"):
        behind(mesh, peer, ())
    mesh.now += 60.0
    assert shown(mesh.search("peer1", text)) == shown(whole)


@pytest.mark.parametrize("count", [1, 3, 5])
def test_what_is_taken_down_is_in_no_answer_about_the_past(stack: ExitStack, count: int) -> None:
    sites = Sites(5)
    mesh = mesh_with_past(count, sites, stack)  # whose indexes have not followed yet
    texts = [f"site:site3.test {span}" for span in (f"asof:{day_of(3)}", f"between:{day_of(0)}..{day_of(5)}")]
    for text in texts:
        assert mesh.search("peer0", text).hits
    for peer in mesh.nodes:
        mesh.publish(peer, decrees(Rule(action=Action.TAKE_DOWN, hosts=("site3.test",))))
    for text in (*texts, f"mesh OR 天网 asof:{day_of(3)}"):
        for peer in mesh.nodes:
            found = mesh.search(peer, text, k=100)
            assert not any(hit.host == "site3.test" for hit in found.hits)
            assert not any("site3.test" in url for hit in found.hits for url in hit.also_at)


def test_where_the_policy_keeps_no_such_past_pages_are_searched_as_they_are(stack: ExitStack) -> None:
    mesh = mesh_with_past(1, Sites(6), stack)
    of_now = mesh.search("peer0", "mesh")
    mesh.publish("peer0", decrees(days=3))
    for text, kept in ((f"mesh asof:{day_of(0)}", False), ("mesh asof:2026-10-01", True)):
        found = mesh.search("peer0", text)
        assert [each.oddity for each in found.remarks] == [Oddity.AS_OF if kept else Oddity.NO_PAST]
    mesh.publish("peer0", decrees(days=None))
    found = mesh.search("peer0", "mesh asof:2026-10-01")
    assert [each.oddity for each in found.remarks] == [Oddity.NO_PAST]
    assert [(hit.url, hit.score, hit.as_of) for hit in found.hits] == [
        (hit.url, hit.score, 0.0) for hit in of_now.hits
    ]


def test_dates_that_make_no_sense_are_searched_as_text(stack: ExitStack) -> None:
    mesh = mesh_with_past(1, Sites(7), stack)
    for text in (
        "asof:yesterday",
        "asof:2026-13-01",
        "between:2026-11",
        "asof:1..2",
    ):
        assert Oddity.NO_DATE in [each.oddity for each in mesh.search("peer0", f"mesh {text}").remarks]
    for text in (
        "asof:2026-09-22",
        "asof:2026-09",
        "between:2026-09-22..2026-09-23",
        "between:2026-08..2026-10",
    ):
        assert [each.oddity for each in mesh.search("peer0", f"mesh {text}").remarks] == [Oddity.AS_OF]


def test_a_span_that_ends_before_it_begins_and_a_day_to_come_are_called_so(stack: ExitStack) -> None:
    mesh = mesh_with_past(1, Sites(8), stack)
    mesh.now = now = FIRST_DAY_S + 10.5 * DAY_S  # 2026-10-01 at noon
    for text, remark in (
        ("between:2026-12..2026-11", Oddity.ENDS_FIRST),
        ("between:2026-09-24..2026-09-23", Oddity.ENDS_FIRST),
        ("asof:2026-10-02", Oddity.YET_TO_COME),
        ("asof:2027", Oddity.YET_TO_COME),
        ("between:2026-10-02..2027", Oddity.YET_TO_COME),
        ("asof:2026-10-01", Oddity.AS_OF),
        ("between:2026-10-01..2027", Oddity.AS_OF),
    ):
        assert [each.oddity for each in mesh.search("peer0", f"mesh {text}").remarks] == [remark], text
        mesh.now = now
    for to_come in ("asof:2026-10-02", "between:2026-10-02..2027"):
        found = mesh.search("peer0", f"mesh copies:all {to_come}", k=100)
        as_they_are = mesh.search("peer0", "mesh copies:all", k=100)
        assert [hit.url for hit in found.hits] == [hit.url for hit in as_they_are.hits]


def page_of_round(url: str, slot: int, at_s: float, has_document: bool) -> StoredPage:
    """A page at a visit, the same from the same seed; or word that it is gone.

    It is written anew for each, or as it was on two days, after which it changes, and changes back.
    """
    day = int((at_s - FIRST_DAY_S) // DAY_S)
    random = Random(f"{url} {at_s}" if len(url) % 2 else f"{url} {day // 2 % 2}")
    words = [" ".join(random.choice(WORDS) for _ in range(random.randrange(1, n))) for n in (5, 60)]
    document = Document(url, words[0], "", words[1], fetched_at=at_s)
    status = 200 if has_document else 404
    records = records_of(url, at_s)
    return StoredPage(url, slot, at_s, status, records, document if has_document else None)


def visited_through_faults(
    n_peers: int, random: Random
) -> tuple[PastTeam, list[dict[str, Document]], Visits]:
    """Peers that have visited five sites on six days, crashed, lost disks, and brought what they lack.

    Returns: the pages at the end of each day, and what each visit found, too.
    """
    team = PastTeam(random.randrange(1_000), n_peers, min(n_peers, 2))
    team.page_of = page_of_round
    urls = [f"http://site{n % 5}.test/{n}" for n in range(60)]
    team.now = FIRST_DAY_S + 3_600.0
    rounds: list[dict[str, Document]] = []
    there: dict[str, Document] = {}
    visits: Visits = {}
    for round_ in range(N_ROUNDS):
        for url in random.sample(urls, 35):
            is_there = random.random() < 0.85
            team.store(url, has_document=is_there)
            document = page_of_round(url, 0, team.now, is_there).document
            visits.setdefault(url, []).append((team.now, document))
            there.pop(url, None)
            there |= {url: document} if document is not None else {}
            for _ in range(random.randrange(20)):
                team.step()
        name = random.choice(list(team.peers))
        team.settle()
        if n_peers > 1:
            team.crash(name)
            if random.random() < 0.5:
                team.peers[name].lose_disk()
            team.settle()
        rounds.append(dict(there))
        team.now = FIRST_DAY_S + (round_ + 1) * DAY_S + 3_600.0
    team.compare()
    team.settle()
    return team, rounds, visits


@pytest.mark.parametrize("n_peers", [1, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_after_kills_and_hand_overs_a_day_is_as_its_pages_indexed_alone(
    stack: ExitStack, n_peers: int, seed: int
) -> None:
    random = Random(seed)
    team, rounds, visits = visited_through_faults(n_peers, random)
    indexes = {
        name: peer.index.index for name, peer in team.peers.items() if isinstance(peer.index, RealIndex)
    }
    mesh = Mesh(indexes, stack, slot_count=SLOTS)
    for name, peer in team.peers.items():
        assert missing(peer) == 0
        behind(mesh, name, ())
        mesh.publish(name, decrees())
    mesh.now = team.now
    for is_killed in (False, True):
        if is_killed and n_peers > 1:
            mesh.change_alive(sorted(mesh.alive)[1:])
        for round_, pages in enumerate(rounds):
            alone = Mesh(["solo"], stack)
            alone.index(list(pages.values()))
            for _ in range(12):
                text = query(random)
                found = mesh.search(random.choice(sorted(mesh.alive)), f"{text} asof:{day_of(round_)}")
                assert shown(found)[0] == shown(alone.search("solo", text))[0], (text, round_)
                assert found.coverage.missing == 0
        for first in range(N_ROUNDS):
            last = random.randrange(first, N_ROUNDS)
            expected = there_in(visits, *span_of(first, last))
            for name in mesh.alive:
                asked = f"site:test copies:all between:{day_of(first)}..{day_of(last)}"
                found = mesh.search(name, asked, k=100, wants_facets=True)
                assert found.facets is not None
                assert sum(count for _, count in found.facets.hosts) == len(expected)
                assert {(hit.url, hit.fetched_at) for hit in found.hits} <= expected


async def test_results_say_of_when_they_are_and_lead_to_versions_of_then() -> None:
    at_s = FIRST_DAY_S + DAY_S - 1e-6

    def page(number: int, until: float) -> FoundPage:
        url = f"http://a.test/{number}"
        return FoundPage(
            url, "t", "s", (), (), 1.0, "a.test", FIRST_DAY_S + 60.5, "p", as_of=at_s, until=until
        )

    def answer(order: Message) -> Message:
        if isinstance(order, SuggestTexts):
            return TextsSuggested(order.ticket, ())
        assert isinstance(order, SearchPages)
        hits = page(1, at_s + 3_600.0), page(2, 0.0), page(3, at_s - 60.0)
        return PagesFound(order.ticket, ("t",), 3, 0.0, FULL, hits, remarks=(Remark(Oddity.AS_OF),))

    app = application(FakeBackend(answer))
    shown_page = (await ask(app, "/search?q=t+asof:2026-09-21&lang=en")).text
    ways = re.findall(r'<h2 dir="auto"><a href="([^"]+)"', shown_page)
    assert ways == [
        "/at/20260921235959/http://a.test/1",
        "/at/20260921235959/http://a.test/2",
        "/at/20260921000100/http://a.test/3",  # replaced within the span: as it was
    ]
    assert shown_page.count("as of 21 Sep 2026") == 3
    assert [f"since {day} Sep 2026" in shown_page for day in (21, 22)] == [True, True]
    assert shown_page.count("replaced or gone since") == 2
    assert "what links say of them is as of now" in shown_page
    told = (await ask(app, "/api/search?q=t+asof:2026-09-21")).json["hits"]
    assert [(hit["as_of"], hit["until"]) for hit in told] == [
        (at_s, at_s + 3_600.0),
        (at_s, 0.0),
        (at_s, at_s - 60.0),
    ]


async def test_a_day_to_come_is_no_day_of_which_a_page_is_shown() -> None:
    def answer(order: Message) -> Message:
        if isinstance(order, SuggestTexts):
            return TextsSuggested(order.ticket, ())
        assert isinstance(order, SearchPages)
        at_s, seen_s = 4e9, FIRST_DAY_S + 60.5
        hits = tuple(
            FoundPage("http://a.test/", "t", "s", (), (), 1.0, "a.test", seen_s, "p", as_of=at_s, until=until)
            for until in (0.0, seen_s + DAY_S)
        )
        return PagesFound(order.ticket, ("t",), 2, 0.0, FULL, hits)

    app = application(FakeBackend(answer))
    shown_page = (await ask(app, "/search?q=t+between:2026..2096&lang=en")).text
    assert "as of 21 Sep 2026" in shown_page, "the version that was replaced is of its visit"
    assert shown_page.count("as of ") == 2
    assert not re.search(r"as of \d+ \w+ 2096", shown_page)
