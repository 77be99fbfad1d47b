"""Ranking does not depend on how many peers there are: searchers and indexers, without a network."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from itertools import chain, cycle, product
from math import inf
from random import Random
from typing import Any

import msgspec
import pytest

from mesh.actors.actor import EVERYBODY, Address, Message
from mesh.actors.codec import encode
from mesh.actors.node import Node, Outgoing
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.slot_set import encode_slot_list
from mesh.slots import SlotTable
from mesh.urls import host_of
from peers.copies.content_row import standing_of
from peers.copies.groups import FOLDED_MAX
from peers.engine.excerpts.definition import strength_of
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.merging.copies import CopyMark
from peers.engine.pages.document import Document, content_digest
from peers.engine.queries.native_forms import has_forms, native_forms
from peers.engine.queries.query import Sort
from peers.engine.queries.query_language import Oddity, Remark
from peers.engine.queries.query_parser import parse_query
from peers.engine.rescoring.model import MODEL_DEPTH
from peers.engine.segments.live_segment import COPY, FOLDED
from peers.gateway.grouping.groups import GroupedBy, grouped
from peers.gateway.model.messages import FoundPage, PagesFound, SearchPages
from peers.gateway.search.search_task import DEFINED_AMONG
from peers.gateway.search.shared_state import AGGREGATED_FROM
from peers.gateway.searcher import Searcher
from peers.handover.messages import SlotsComplete
from peers.index.answerer import Answerer
from peers.index.index_reader import IndexReader
from peers.index.indexer import Indexer
from peers.index.messages import AnswerQuestion
from peers.index.wire_messages import CountTerms, Hit, HitsFound, SearchSlots, TermsCounted
from peers.policy.log_rules import QueryLogRules, SecondRanking, SecondWeights
from peers.policy.rules import EVERYTHING, Policy, policy_bytes
from peers.text.analysis import query_terms
from tests.frames import decode

SLOT_COUNT = 256
REPLICAS = 2
GATEWAY = Address("other", "searcher")
WORDS = (
    *("天网", "搜索", "引擎", "网页", "爬虫", "web", "crawler", "index", "query"),
    *("peer", "slot", "owner", "epoch", "mesh", "search", "page"),
)


def documents(count: int) -> list[Document]:
    random = Random(7)

    def text(length: int) -> str:
        return " ".join(random.choice(WORDS) for _ in range(random.randrange(1, length)))

    return [
        Document(f"http://host{n % 97}.test/{n}", text(5), text(8), text(60), (text(3),), "zh", 7.0)
        for n in range(count)
    ]


class Mesh:
    """Peers that share an index of documents; messages between them arrive at once, encoded."""

    def __init__(
        self,
        peers: Iterable[str] | Mapping[str, Index],
        stack: ExitStack,
        aggregated_from: int = AGGREGATED_FROM,
        slot_count: int = SLOT_COUNT,
    ) -> None:
        """Args: peers: their names, or with the index that each has."""
        self.slot_count = slot_count
        self.indexes = (
            dict(peers)
            if isinstance(peers, Mapping)
            else {peer: stack.enter_context(Index.open(MemoryStorage())) for peer in sorted(peers)}
        )
        self.nodes = {
            peer: Node(
                peer, [Indexer(peer, IndexReader(index)), Searcher(peer, aggregated_from=aggregated_from)]
            )
            for peer, index in self.indexes.items()
        }
        self.answerers = {
            peer: Answerer(IndexReader(index), self.slot_count) for peer, index in self.indexes.items()
        }
        self.answers: list[PagesFound] = []
        self.now = 0.0
        self.complete: dict[str, set[int]] = {}  # slots by peer
        self.change_alive(self.indexes)

    def change_alive(self, alive: Iterable[str]) -> None:
        """All that live weigh the same and have their slots; who is dead is in no table."""
        self.alive = frozenset(alive)
        self.table = SlotTable(dict.fromkeys(self.alive, 100), self.slot_count, REPLICAS)
        for peer in self.alive:
            change = OwnershipChanged(Ownership(peer, self.table, self.alive))
            for actor in ("indexer", "searcher"):
                self._deliver(peer, Address(peer, "membership"), actor, change)
            # What somebody gets by the death of another it has not yet.
            kept = {slot for slot in range(self.slot_count) if peer in self.table.team_of(slot)}
            self.complete[peer] = self.complete.get(peer, kept) & kept
            complete = SlotsComplete(encode_slot_list(sorted(self.complete[peer]), self.slot_count))
            self._deliver(peer, Address(peer, "handover"), "indexer", complete)

    def index(self, pages: list[Document]) -> None:
        for peer, index in self.indexes.items():
            ownership = Ownership(peer, self.table, self.alive)
            slots = [(ownership.slot_of(host_of(page.url)), page) for page in pages]
            index.add([(slot, page) for slot, page in slots if peer in ownership.team_of(slot)])
            index.commit()

    def name_copies(self, pages: list[Document]) -> None:
        """Tell every index what the groups of copies would be told."""
        groups: dict[int, list[Document]] = defaultdict(list)
        for page in pages:
            groups[content_digest(page)].append(page)
        marks = {}
        for content, group in groups.items():
            shown, *others = sorted(group, key=lambda page: (standing_of(page), page.url))
            marks[shown.url.encode()] = CopyMark(content, len(others))
            marks |= {page.url.encode(): CopyMark(content, COPY) for page in others}
            of_site = {host_of(page.url): page for page in reversed((shown, *others))}
            folded = sorted(of_site.keys() - {host_of(shown.url)})[:FOLDED_MAX]
            marks |= {of_site[site].url.encode(): CopyMark(content, FOLDED) for site in folded}
        for index in self.indexes.values():
            index.mark_copies(marks)
            index.commit()

    def search(self, peer: str, text: str, **wishes: Any) -> PagesFound:
        """Search a second after the last one: nothing is answered from what was known then."""
        self.answers.clear()
        self.now += 1.0
        self._deliver(peer, Address(peer, "http"), "searcher", SearchPages(1, text, **wishes))
        [answer] = self.answers
        return answer

    def publish(self, peer: str, decrees: DecreesInForce) -> None:
        self._deliver(peer, Address(peer, "membership"), "searcher", decrees)

    def ask(self, peer: str, question: Message) -> Message:
        """What the indexer of a peer answers."""
        [(_, _, order)] = self.nodes[peer].receive(GATEWAY, "indexer", question, self.now)
        assert isinstance(order, AnswerQuestion)
        message = self.answerers[peer].answer(order).message
        [(_, _, answer)] = self.nodes[peer].receive(Address(peer, "questions"), "indexer", message, self.now)
        return answer

    def _deliver(self, peer: str, source: Address, actor: str, message: Message) -> None:
        queue = deque([(peer, source, actor, message)])
        while queue:
            peer, source, actor, message = queue.popleft()
            for item in self.nodes[peer].receive(source, actor, message, self.now):
                queue.extend(self._carry(peer, item))

    def _carry(self, peer: str, item: Outgoing) -> Iterable[tuple[str, Address, str, Message]]:
        source, target, message = item
        if target == Address(peer, "http"):
            assert isinstance(message, PagesFound)
            self.answers.append(message)
            return
        if target == Address(peer, "questions"):
            assert isinstance(message, AnswerQuestion)
            yield peer, target, source.actor, self.answerers[peer].answer(message).message
            return
        envelope = decode(encode(source.actor, target.actor, message))
        for other in self.alive - {peer} if target.peer == EVERYBODY else {target.peer}:
            yield other, Address(peer, envelope.source), envelope.target, envelope.message


QUERIES = [
    "天网",
    "搜索引擎",
    "crawler",
    "web search",
    "天网 index",
    '"web crawler"',
    '"搜索 引擎" page',
    "peer -slot",
    "site:host5.test mesh",
    "site:host5.test",
    "-mesh epoch owner query",
    "missingword 天网",  # falls back to any
    "missingword otherword",
]


@pytest.fixture
def stack() -> Iterable[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("count", [2, 3, 5])
def test_every_gateway_of_any_mesh_answers_as_one_peer_would(stack: ExitStack, count: int) -> None:
    pages = documents(600)
    alone, mesh = Mesh(["solo"], stack), Mesh([f"peer{n}" for n in range(count)], stack)
    alone.index(pages)
    mesh.index(pages)
    for text in QUERIES:
        for offset in (0, 10):
            expected = alone.search("solo", text, offset=offset)
            shown = [(hit.url, hit.score, hit.title, hit.snippet) for hit in expected.hits]
            for peer in mesh.nodes:
                found = mesh.search(peer, text, offset=offset)
                assert [(hit.url, hit.score, hit.title, hit.snippet) for hit in found.hits] == shown, text
                assert found.relaxed == expected.relaxed
                assert is_total_right(found, count_of(alone, text))
                assert found.coverage.missing == 0


@pytest.mark.parametrize("count", [9, 16])
def test_answers_that_aggregators_merge_are_those_of_one_peer(stack: ExitStack, count: int) -> None:
    pages = skewed_documents(700)
    pages += [msgspec.structs.replace(page, url=f"{page.url}/index.html") for page in pages[:150]]
    alone, mesh = Mesh(["solo"], stack), Mesh([f"peer{n}" for n in range(count)], stack, aggregated_from=4)
    for each in (alone, mesh):
        each.index(pages)
        each.name_copies(pages)
    random = Random(count)
    n_by_cursor = 0
    for _ in range(150):
        text, wishes = random_query(random)
        expected = alone.search("solo", text, **wishes)
        found = mesh.search(random.choice(sorted(mesh.nodes)), text, **wishes)
        assert told(found) == told(expected), (text, wishes)
        assert is_total_right(found, count_of(alone, text)), (text, wishes)
        assert found.coverage.missing == 0
        if expected.next:
            n_by_cursor += 1
            wishes |= {"cursor": expected.next}
            behind = mesh.search("peer0", text, **wishes)
            assert told(behind) == told(alone.search("solo", text, **wishes)), (text, wishes)
    assert n_by_cursor > 30


def test_answers_are_exact_after_every_commit_and_loss(stack: ExitStack) -> None:
    pages = documents(600)
    alone, mesh = Mesh(["solo"], stack), Mesh(["ann", "bob", "cyd"], stack)
    for start in range(0, 600, 200):
        for each in (alone, mesh):
            each.index(pages[start : start + 200])
        for text in QUERIES:
            assert scores(mesh.search("bob", text)) == scores(alone.search("solo", text)), text
    mesh.change_alive(["ann", "bob"])  # those ranked after the third
    for text in QUERIES:
        found = mesh.search("bob", text)
        assert scores(found) == scores(alone.search("solo", text)), text
        assert found.coverage.missing == 0


def test_hidden_domains_are_left_out_as_if_the_query_said_so(stack: ExitStack) -> None:
    pages = documents(600)
    pages += [msgspec.structs.replace(page, url="http://open.test/twin") for page in pages[3:4]]
    mesh = Mesh(["ann", "bob", "cyd"], stack)
    mesh.index(pages)
    mesh.name_copies(pages)
    hidden = ("host3.test", "host5.test")
    is_of = re.compile(r"http://host[35]\.test/").match
    n_less = 0
    for text in QUERIES:
        plain, found = mesh.search("ann", text), mesh.search("ann", text, hidden=hidden, wants_facets=True)
        said = mesh.search("ann", f"{text} -site:host3.test -site:host5.test", wants_facets=True)
        assert scores(found) == scores(said), text
        assert (found.facets, found.relaxed) == (said.facets, said.relaxed)
        assert not any(is_of(hit.url) for hit in found.hits), text
        assert [remark.oddity for remark in found.remarks] == [remark.oddity for remark in plain.remarks]
        n_less += any(is_of(hit.url) for hit in plain.hits)
    assert n_less > 3
    typed = " ".join(f"-intitle:w{n}" for n in range(80))  # more than a query may have
    assert not any(is_of(hit.url) for hit in mesh.search("ann", f"天网 {typed}", hidden=hidden).hits)
    text = pages[3].text.split()[0]
    found = mesh.search("ann", f"{text} site:open.test", hidden=hidden)
    assert [hit.url for hit in found.hits] == ["http://open.test/twin"]


def test_synonyms_of_the_policy_find_the_same_in_any_mesh(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peers.engine.queries.query_parser.query_terms", query_terms)
    pages = documents(304)
    for n, word in enumerate(("zebra", "quagga", "斑马", "quagga")):
        page = pages[300 + n]
        pages[300 + n] = msgspec.structs.replace(page, url=f"http://zoo{n}.test/", text=f"{page.text} {word}")
    groups = (("Zebra", "quagga", "斑马"), ("gnu", "天网"))
    body = policy_bytes(Policy(synonyms=groups, rules=EVERYTHING.rules))
    decrees = DecreesInForce(POLICY, (Decree(POLICY, "", 1, 0.0, inf, body, b"", b""),))
    animals = {f"http://zoo{n}.test/" for n in range(4)}
    for count in (1, 3, 5):
        mesh = Mesh([f"peer{n}" for n in range(count)], stack)
        mesh.index(pages)
        for word, n_found in (("zebra", 1), ("quagga", 2), ("gnu", 0)):
            assert mesh.search("peer0", word).total == n_found
        mesh.publish("peer0", decrees)
        for word, first in (("zebra", {0}), ("quagga", {1, 3}), ("斑马", {2})):
            urls = [hit.url for hit in mesh.search("peer0", word).hits]
            assert set(urls) == animals
            assert set(urls[: len(first)]) == {f"http://zoo{n}.test/" for n in first}
        assert mesh.search("peer0", "gnu").total == mesh.search("peer0", "天网").total > 100
        assert mesh.search("peer0", "gnu").corrected == ""
        assert mesh.search("peer0", "zebra", is_verbatim=True).total == 1
        assert mesh.search("peer0", '"zebra"').total == 1


def test_user_words_of_the_policy_find_the_same_in_any_mesh(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peers.engine.queries.query_parser.query_terms", query_terms)
    pages = documents(304)
    texts = ("北大爱心社招新", "爱心人士与社团", "爱心社", "社会爱心")
    for n, text in enumerate(texts):
        page = pages[300 + n]
        pages[300 + n] = msgspec.structs.replace(
            page, url=f"http://club{n}.test/", text=f"{page.text} {text}"
        )
    body = policy_bytes(Policy(user_words=("爱心社 12 n",), rules=EVERYTHING.rules))
    decrees = DecreesInForce(POLICY, (Decree(POLICY, "", 1, 0.0, inf, body, b"", b""),))
    answers = []
    for count in (1, 3, 5):
        mesh = Mesh([f"peer{n}" for n in range(count)], stack)
        mesh.index(pages)
        before = [(hit.url, hit.score) for hit in mesh.search("peer0", "爱心社").hits]
        mesh.publish("peer0", decrees)
        after = [(hit.url, hit.score) for hit in mesh.search("peer0", "爱心社").hits]
        assert {url for url, _ in after[:2]} == {"http://club0.test/", "http://club2.test/"}
        assert after != before
        assert mesh.search("peer0", "爱心社").corrected == ""
        assert mesh.search("peer0", "爱新设").suggestion == "爱心社", "no page has it, and it sounds alike"
        assert mesh.search("peer0", "爱新设", is_verbatim=True).suggestion == ""
        answers.append((before, after))
    assert answers[0] == answers[1] == answers[2]


def test_two_rankings_show_the_pages_of_one_and_draft_alike_on_1_3_and_5_peers(stack: ExitStack) -> None:
    """Whoever has not agreed, or a policy without a second ranking, has what was there before."""
    second = SecondRanking(name="titles", weights=SecondWeights(title=2.0, proximity=0.0))
    rules = QueryLogRules(days=7, clicks=True, second=second)
    body = policy_bytes(Policy(rules=EVERYTHING.rules, query_log=rules))
    decrees = DecreesInForce(POLICY, (Decree(POLICY, "", 1, 0.0, inf, body, b"", b""),))
    answers = []
    for count in (1, 3, 5):
        mesh = Mesh([f"peer{n}" for n in range(count)], stack)
        mesh.index(documents(120))
        plain = mesh.search("peer0", "天网 mesh", k=100)
        assert mesh.search("peer0", "天网 mesh", k=100, draw=3).hits == plain.hits
        mesh.publish("peer0", decrees)
        assert scores(mesh.search("peer0", "天网 mesh", k=100)) == scores(plain)
        drafted = mesh.search("peer0", "天网 mesh", k=100, draw=3)
        assert MODEL_DEPTH < plain.total == drafted.total <= 100
        assert sorted(scores(drafted)) == sorted(scores(plain))
        assert scores(drafted) != scores(plain)
        assert plain.teams == ()
        assert Counter(drafted.teams)[0] == Counter(drafted.teams)[1] == MODEL_DEPTH // 2
        first = [mesh.search("peer0", "天网 mesh", draw=3, offset=each, k=10) for each in (0, 10, 20)]
        assert [hit.url for each in first for hit in each.hits] == [hit.url for hit in drafted.hits[:30]]
        assert sum((each.teams for each in first), ()) == drafted.teams[:30]
        assert mesh.search("peer0", "天网 mesh", draw=3, k=10, order=Sort.DATE).teams == ()
        other = mesh.search("peer0", "天网 mesh", k=100, draw=4)
        assert scores(other) != scores(drafted)
        answers.append((scores(drafted), drafted.teams, scores(other), other.teams))
    assert answers[0] == answers[1] == answers[2]


def test_copies_of_other_domains_stand_under_the_same_result_in_any_mesh(stack: ExitStack) -> None:
    pages = documents(300)
    pages += [
        msgspec.structs.replace(page, url=f"http://mirror{n % 7}.test/{n % 5}/{n}", anchors=())
        for n, page in enumerate(chain.from_iterable([page] * (n % 6) for n, page in enumerate(pages[:80])))
    ]
    meshes = [Mesh([f"peer{n}" for n in range(count)], stack) for count in (1, 3, 5)]
    for mesh in meshes:
        mesh.index(pages)
        mesh.name_copies(pages)
    n_under = 0
    for text in QUERIES:
        alone, *others = (told(mesh.search("peer0", text)) for mesh in meshes)
        for found in others:
            assert found == alone
        for hit in alone["hits"]:
            n_under += len(hit.also_at)
            sites = [host_of(url) for url in (hit.url, *hit.also_at)]
            assert len(set(sites)) == len(sites) <= FOLDED_MAX + 1
            assert len(hit.also_at) <= hit.copies
    assert n_under > 20


# As it is typed, as other pages have it.
SPELLINGS = [
    ("résumé", "resume"),
    ("pêche", "péché"),
    ("Ελλάδα", "Ελλαδα"),
    ("كِتَاب", "كتاب"),
    ("नुक़्ता", "नुक्ता"),
    ("שָׁלוֹם", "שלום"),
    ("ёлка", "елка"),
    ("芸術", "艺术"),
    ("图书", "図書"),
]


def test_pages_with_the_word_as_it_was_typed_come_first_on_1_3_and_5_peers(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peers.engine.queries.query_parser.query_terms", query_terms)
    pages = [
        # Ties are by URL, and would put the others first.
        Document(f"http://{place}{n}.test/{number}", word, text=f"{word} and other words {n}")
        for number, (typed, other) in enumerate(SPELLINGS)
        for n in range(4)
        for place, word in (("b", typed), ("a", other))
    ]
    meshes = [Mesh([f"peer{n}" for n in range(count)], stack) for count in (1, 3, 5)]
    for mesh in meshes:
        mesh.index(pages)
    for typed, other in SPELLINGS:
        alone, *others = (told(mesh.search("peer0", typed)) for mesh in meshes)
        assert [hit.title for hit in alone["hits"]] == [typed] * 4 + [other] * 4
        for found in others:
            assert found == alone


def test_pages_have_x_900_as_one_word_or_in_parts_on_1_3_and_5_peers(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peers.engine.queries.query_parser.query_terms", query_terms)
    # In each row, whether X-900 means it; the number of a row is the first part of a path.
    rows = [
        ("the X-900", True),
        ("the X900", True),
        ("the x 900", True),
        ("900 of the x", False),
        ("an x", False),
        ("an X-900-Y", True),
    ]
    pages = [
        Document(
            f"http://host{n}{number}.test/{number}/",
            *("", "", f"{text} {'camera' * (n % 2)} and words {n}"),
            fetched_at=n * 3e7,
        )
        for number, (text, _) in enumerate(rows)
        for n in range(30)
    ]
    meshes = [Mesh([f"peer{n}" for n in range(count)], stack) for count in (1, 3, 5)]
    for mesh in meshes:
        mesh.index(pages)
    meant = {f"{number}" for number, (_, is_meant) in enumerate(rows) if is_meant}
    for text, wanted, count in (
        ("X-900", meant, 120),
        ("X900", {"0", "1"}, 60),
        ("X-900 camera", meant, 60),
        ("camera (X-900 OR nosuchword)", meant, 60),
        ("X-900 nosuchword", meant, 120),
        ('X-900 "the x" -camera', {"0", "2"}, 30),
        ("X-900 after:1980", meant, 76),
    ):
        for wishes in ({}, {"order": Sort.DATE}, {"wants_facets": True}):
            alone, *others = (mesh.search("peer0", text, k=100, **wishes) for mesh in meshes)
            assert {hit.url.split("/")[3] for hit in alone.hits} == wanted, text
            assert is_total_right(alone, count), text
            for found in others:
                assert told(found) == told(alone), text
    # Too few: what has only a part of it follows.
    few = meshes[1].search("peer1", "X-900 before:1971 site:host00.test")
    assert [hit.url for hit in few.hits] == ["http://host00.test/0/"]
    first = [hit.url.split("/")[3] for hit in meshes[1].search("peer1", "X-900", k=100).hits[:60]]
    assert set(first) == {"0", "1"}


def scores(found: PagesFound) -> list[tuple[str, float]]:
    return [(hit.url, hit.score) for hit in found.hits]


# --- A thousand queries of all kinds -----------------------------------------------------------------

LANGUAGES = {"zh": WORDS[:5], "en": WORDS[5:], "ja": ("天网", "カタカナ", "mesh", "東京タワー")}
THREE = ("peer0", "peer1", "peer2")


def skewed_documents(count: int) -> list[Document]:
    """Pages whose hosts belong, in a mesh of three, to one peer for each language."""
    random = Random(11)
    table = SlotTable(dict.fromkeys(THREE, 100), SLOT_COUNT, REPLICAS)
    view = Ownership(THREE[0], table, frozenset(THREE))
    hosts: dict[str, list[str]] = {language: [] for language in LANGUAGES}
    for number in range(200):
        host = f"http://host{number}.test"
        owner = view.team_of(view.slot_of(host_of(host)))[0]
        hosts[tuple(LANGUAGES)[THREE.index(owner)]].append(host)

    def page(number: int) -> Document:
        language = random.choice(("zh", "en", "en", "ja"))

        def text(length: int) -> str:
            return " ".join(random.choice(LANGUAGES[language]) for _ in range(random.randrange(1, length)))

        return Document(
            f"{random.choice(hosts[language][:15])}/{language}/{number}",
            *(text(5), text(8), text(60), (text(3),), language),
            fetched_at=random.randrange(40) * 3e7,
            type=random.choice(("text/html", "text/html", "application/pdf")),
        )

    return [page(number) for number in range(count)]


def random_query(random: Random) -> tuple[str, dict[str, Any]]:
    """A query with some filters and operators, and how its results are wanted."""
    words = [*WORDS, "カタカナ", "タワー", "nosuchword", "東京"]

    def some(most: int) -> str:
        return " ".join(random.choices(words, k=random.randint(1, most)))

    parts = [
        random.choice(
            [some(1), some(2), some(4), f'"{some(2)}"', f"{some(1)} OR {some(1)}", f"({some(2)}) | {some(1)}"]
        )
    ]
    filters = [
        *(
            f"site:host{random.randrange(200)}.test",
            "site:test",
            "lang:en",
            "lang:zh",
            "-lang:en",
            "type:pdf",
        ),
        *(f"-{some(1)}", f'-"{some(2)}"', f"intitle:{some(1)}", f"inurl:{random.choice(('zh', 'en'))}"),
        *(f"after:{random.randrange(1970, 2010)}", f"before:{random.randrange(1970, 2010)}", f"({some(1)}"),
    ]
    parts += random.sample(filters, random.choice((0, 0, 1, 1, 2)))
    wishes: dict[str, Any] = {
        "order": random.choice((Sort.SCORE, Sort.SCORE, Sort.DATE)),
        "wants_facets": random.random() < 0.3,
        "wants_explanations": random.random() < 0.1,
        "offset": random.choice((0, 0, 0, 10, MODEL_DEPTH - 5, MODEL_DEPTH)),
    }
    return " ".join(parts), wishes


def told(found: PagesFound) -> dict[str, Any]:
    """All of an answer but what says by whom and when it was made."""
    return {
        "hits": [msgspec.structs.replace(hit, peer="") for hit in found.hits],
        "given up": found.relaxed,
        "facets": found.facets,
        "next": found.next,
        "remarks": found.remarks,
    }


def count_of(alone: Mesh, text: str) -> int:
    """How many pages match, words given up where they are: counted one by one, by their languages."""
    [peer] = alone.nodes
    facets = alone.search(peer, text, wants_facets=True).facets
    assert facets is not None
    return sum(count for _, count in facets.languages)


def is_total_right(found: PagesFound, count: int) -> bool:
    """Is it the number of pages that match, or a lower bound that says so?

    How many pages a search leaves uncounted depends on how they are spread.
    """
    return found.total == count if found.is_exact else len(found.hits) <= found.total <= count


def test_a_thousand_queries_are_answered_alike_by_1_2_3_and_5_peers_skewed_by_language(
    stack: ExitStack,
) -> None:
    pages = skewed_documents(700)
    pages += [msgspec.structs.replace(page, url=f"{page.url}/index.html") for page in pages[:150]]
    meshes = [Mesh([f"peer{n}" for n in range(count)], stack) for count in (1, 2, 3, 5)]
    for mesh in meshes:
        mesh.index(pages)
        mesh.name_copies(pages)
    for peer, language in zip(THREE, LANGUAGES, strict=True):
        of_peer = Ownership(peer, meshes[2].table, meshes[2].alive)
        here = [page.language for page in pages if of_peer.answers[of_peer.slot_of(host_of(page.url))]]
        assert set(here) == {language}
    random = Random(17)
    n_found = n_given_up = n_with_facets = n_by_cursor = n_bounds = 0
    for _ in range(1_000):
        text, wishes = random_query(random)
        alone = meshes[0].search("peer0", text, **wishes)
        count = count_of(meshes[0], text)
        assert is_total_right(alone, count), (text, wishes)
        for mesh in meshes[1:]:
            found = mesh.search(random.choice(sorted(mesh.nodes)), text, **wishes)
            assert told(found) == told(alone), (text, wishes)
            assert is_total_right(found, count), (text, wishes)
            assert found.coverage.missing == 0
        n_found += bool(alone.hits)
        n_bounds += not alone.is_exact
        n_given_up += alone.relaxed.is_any or bool(alone.relaxed.nowhere)
        n_with_facets += alone.facets is not None and bool(alone.facets.hosts)
        if alone.next and random.random() < 0.2:
            n_by_cursor += 1
            wishes |= {"cursor": alone.next}
            behind = told(meshes[0].search("peer0", text, **wishes))
            for mesh in meshes[1:]:
                assert told(mesh.search(min(mesh.nodes), text, **wishes)) == behind, (text, wishes)
    assert count_of(meshes[0], "mesh") < count_of(meshes[0], "mesh copies:all")
    assert n_found > 500
    assert min(n_given_up, n_with_facets) > 100
    assert 0 < n_bounds < 500
    assert n_by_cursor > 30


def test_phrases_that_no_page_has_are_given_up_alike(stack: ExitStack) -> None:
    pages = skewed_documents(200)
    meshes = [Mesh([f"peer{n}" for n in range(count)], stack) for count in (1, 2, 5)]
    for mesh in meshes:
        mesh.index(pages)
    random = Random(5)
    n_given_up, given_up = [0, 0], (Oddity.NO_SUCH_PHRASE, Oddity.NO_DEFINITION)
    for number in range(80):
        phrase = " ".join(random.choices([*WORDS, "nosuchword"], k=2))
        text = f'{"define:" * (number % 2)}"{phrase}" {random.choice(("", "lang:en", *WORDS))}'
        alone = meshes[0].search("peer0", text)
        for mesh in meshes[1:]:
            assert told(mesh.search("peer1", text)) == told(alone), text
        n_given_up[number % 2] += any(Remark(each) in alone.remarks for each in given_up)
    assert min(n_given_up) > 10


def defining_documents(count: int) -> list[Document]:
    """Pages that mention crawlers, of which some say more or less surely what they are."""
    random = Random(11)
    said = (
        "A crawler is a program that visits pages.",
        "Crawler: Software that visits pages by itself.",
        "Such a program is called a crawler.",
        "Nobody has seen the crawler of late.",
    )

    def text() -> str:
        return " ".join(random.choices(WORDS, k=6))

    return [
        Document(
            f"http://host{n % 37}.test/{n}",
            text(),
            "",
            f"{text()} here.\n{said[random.randrange(len(said))]}\n{text()}",
            language="en",
            fetched_at=7.0,
        )
        for n in range(count)
    ]


def test_pages_that_define_come_first_alike_and_pages_by_cursor_are_the_list(stack: ExitStack) -> None:
    meshes = [Mesh([f"peer{n}" for n in range(count)], stack) for count in (1, 3, 5)]
    for mesh in meshes:
        mesh.index(defining_documents(160))
    text = "define:crawler"
    alone = meshes[0].search("peer0", text, k=100)
    first = alone.hits[:DEFINED_AMONG]
    strengths = [strength_of("crawler", hit.definition) for hit in first]
    assert strengths == sorted(strengths, reverse=True)
    assert set(strengths) == {0, 1, 2, 4}
    assert all(hit.snippet == hit.definition and hit.highlights for hit in first if hit.definition)
    for mesh in meshes[1:]:
        assert told(mesh.search("peer1", text, k=100)) == told(alone)
    whole = [*alone.hits, *meshes[0].search("peer0", text, k=100, offset=100).hits]
    assert len(whole) > 100
    for k in (9, DEFINED_AMONG // 4):  # a page ends where definitions do
        shown: list[str] = []
        found = meshes[1].search("peer2", text, k=k)
        while found.hits:
            shown += [hit.url for hit in found.hits]
            if not found.next or len(shown) > len(whole):
                break
            found = meshes[2].search("peer3", text, k=k, cursor=found.next)
        assert shown == [hit.url for hit in whole]
    assert [hit.url for hit in meshes[1].search("peer0", text, k=10, offset=20).hits] == shown[20:30]
    spelled = meshes[1].search("peer0", "DeFiNe:crawler", k=100)
    assert told(spelled)["hits"] == told(alone)["hits"]
    undefined = meshes[1].search("peer0", "define:epoch")
    assert undefined.hits
    assert Remark(Oddity.NOT_DEFINED, "epoch") in undefined.remarks


def test_the_words_of_results_are_the_same_on_any_mesh_and_told_where_they_are_wanted(
    stack: ExitStack,
) -> None:
    meshes = [Mesh([f"peer{n}" for n in range(count)], stack) for count in (1, 3, 5)]
    for mesh in meshes:
        mesh.index(documents(200))
    alone = meshes[0].search("peer0", "crawler", k=60, wants_words=True)
    assert all(hit.words for hit in alone.hits)
    groups = grouped(alone, GroupedBy.WORDS)
    assert sum(len(each.hits) for each in groups) == len(alone.hits) == 60
    for mesh in meshes[1:]:
        other = mesh.search("peer1", "crawler", k=60, wants_words=True)
        assert told(other) == told(alone)
        assert [each.names for each in grouped(other, GroupedBy.WORDS)] == [each.names for each in groups]
    assert not any(hit.words for hit in meshes[0].search("peer0", "crawler").hits)


@pytest.mark.parametrize("text", ["天网 OR crawler", "mesh", "nosuchword page 天网", "lang:en"])
@pytest.mark.parametrize("order", list(Sort))
@pytest.mark.parametrize("k", [7, 10, 33])
def test_pages_by_cursor_are_the_list_without_gap_or_repetition(
    stack: ExitStack, text: str, order: Sort, k: int
) -> None:
    alone, mesh = Mesh(["solo"], stack), Mesh(["ann", "bob", "cyd"], stack)
    pages = skewed_documents(500)
    for each in (alone, mesh):
        each.index(pages)
    whole = [
        hit.url
        for offset in range(0, 500, 100)
        for hit in alone.search("solo", text, k=100, offset=offset, order=order).hits
    ]
    shown: list[str] = []
    gateways = cycle(mesh.nodes)  # whoever gets the next question
    found = mesh.search(next(gateways), text, k=k, order=order)
    while found.hits:
        shown += [hit.url for hit in found.hits]
        if not found.next:
            break
        found = mesh.search(next(gateways), text, k=k, order=order, cursor=found.next)
        assert found.remarks == ()
    assert len(whole) > 100
    contents = {content_digest(page) for page in pages if page.url in whole}
    copies = [page for page in pages if page.url not in whole and content_digest(page) in contents]
    assert len(whole) <= count_of(alone, text) <= len(whole) + len(copies)
    assert is_total_right(found, count_of(alone, text))
    assert shown == whole


@pytest.mark.parametrize("order", list(Sort))
def test_copies_are_one_result_on_any_page_of_any_mesh(stack: ExitStack, order: Sort) -> None:
    alone, mesh = Mesh(["solo"], stack), Mesh(["ann", "bob", "cyd"], stack)
    originals = skewed_documents(60)
    pages = [
        msgspec.structs.replace(page, url=url)
        for number, page in enumerate(originals)
        for url in (page.url, f"{page.url}/index.html", f"http://www.mirror{number % 5}.test/{number}")
    ]
    contents = {page.url: content_digest(page) for page in pages}
    for each in (alone, mesh):
        each.index(pages)
    shown: list[str] = []
    cursor = ""
    while True:
        answers = [
            each.search(peer, "mesh", order=order, cursor=cursor)
            for each, peer in ((alone, "solo"), (mesh, "bob"))
        ]
        assert told(answers[0]) == told(answers[1])
        shown += [hit.url for hit in answers[1].hits]
        cursor = answers[1].next
        if not cursor:
            break
        assert len(answers[1].hits) == 10
    assert len(shown) > 20
    assert len({contents[url] for url in shown}) == len(shown)
    numbered = [
        hit.url
        for offset in range(0, 60, 10)
        for hit in mesh.search("ann", "mesh", order=order, offset=offset).hits
    ]
    assert numbered == shown
    first = mesh.search("ann", "mesh", order=order, k=100).hits
    assert {hit.copies for hit in first} == {2}


@pytest.mark.parametrize("order", list(Sort))
def test_near_copies_are_one_result_on_any_page_of_any_mesh(stack: ExitStack, order: Sort) -> None:
    meshes = [Mesh(names, stack) for names in (["solo"], ["ann", "bob"], ["ann", "bob", "cyd"])]
    random = Random(7)
    pages: list[Document] = []
    for number in range(70):
        words = [f"{random.choice('abcdef')}{random.randrange(500)}" for _ in range(400)]
        for version in range(random.randrange(1, 4)):
            text = " ".join(["mesh"] * random.randrange(1, 4) + words)
            url = f"http://host{number * 7 % 40 + version}.test/{version}/{number}"
            pages.append(Document(url, f"Page {number}", text=text, fetched_at=random.randrange(99) * 1e6))
            words[random.randrange(400)] = "changed"
    for mesh in meshes:
        mesh.index(pages)
    shown: list[FoundPage] = []
    cursor = ""
    while True:
        answers = [mesh.search(next(iter(mesh.nodes)), "mesh", order=order, cursor=cursor) for mesh in meshes]
        assert told(answers[0]) == told(answers[1]) == told(answers[2])
        shown += answers[0].hits
        cursor = answers[0].next
        if not cursor:
            break
    assert len({hit.url for hit in shown}) == len(shown) == len({hit.title for hit in shown}) == 70
    whole = meshes[2].search("bob", "mesh", order=order, k=100).hits
    assert [hit.url for hit in whole] == [hit.url for hit in shown]
    assert sum(1 + hit.near_copies for hit in whole) == len(pages)
    assert not any(hit.copies for hit in whole)


def test_a_language_is_told_by_the_pages_of_all_peers(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peers.engine.queries.query_parser.query_terms", query_terms)
    monkeypatch.setattr("peers.engine.queries.query_parser.native_forms", native_forms)
    monkeypatch.setattr("peers.engine.queries.query_parser.has_forms", has_forms)
    alone, mesh = Mesh(["solo"], stack), Mesh(["ann", "bob", "cyd"], stack)
    texts = ["Tabellen einfügen", "die Tabelle", "Tabellenbereich", "der Bereich", "insert a table", "tables"]
    pages = [
        Document(f"http://host{n}.test/", text=f"{text} {n}", language="en" if n % 6 > 3 else "de")
        for n, text in enumerate(texts * 20)
    ]
    alone.index(pages)
    # This one knows of no pages in German at first, and reads queries in no such language.
    mesh.index([page for page in pages if page.language == "en"])
    assert not mesh.search("bob", "Tabellen").hits
    mesh.index([page for page in pages if page.language == "de"])
    for text in ("Tabellen", "Tabellenbereiche", "tables", "die Tabellen und der Bereich"):
        assert told(mesh.search("bob", text)) == told(alone.search("solo", text))
    assert len(alone.search("solo", "Tabellen", k=100).hits) == 40


def test_sites_take_turns_unless_one_is_asked_for(stack: ExitStack) -> None:
    mesh = Mesh(["ann", "bob"], stack)
    mesh.index(
        [Document(f"http://big.test/{n}", "mesh", text=f"mesh {n}") for n in range(9)]
        + [Document(f"http://small{n}.test/", text=f"mesh and much else {n}") for n in range(9)]
    )
    found = mesh.search("ann", "mesh").hits
    assert sum(hit.host == "big.test" for hit in found) == 2
    assert [hit.has_more_of_site for hit in found if hit.host == "big.test"] == [False, True]
    assert len(mesh.search("ann", "mesh", offset=10).hits) == 8
    of_site = mesh.search("ann", "mesh site:big.test").hits
    assert len(of_site) == 9
    assert not any(hit.has_more_of_site for hit in of_site)


def test_a_peer_that_knows_the_score_to_beat_leaves_out_nothing_that_is_shown(stack: ExitStack) -> None:
    mesh = Mesh(["ann", "bob"], stack)
    mesh.index(documents(600))
    n_left_out = 0
    for k, (one, other) in product((1, 10, 40), (("ann", "bob"), ("bob", "ann"))):
        for text in QUERIES:
            first, whole = (ask_to_search(mesh, peer, text, k).hits for peer in (one, other))
            if len(first) < k:
                continue
            rest = ask_to_search(mesh, other, text, k, floor=first[-1].score).hits
            assert best(first + rest, k) == best(first + whole, k)
            n_left_out += len(whole) - len(rest)
    assert n_left_out > 30


def ask_to_search(mesh: Mesh, peer: str, text: str, k: int, floor: float = -inf) -> HitsFound:
    """What one indexer answers, with the statistics of all."""
    query = parse_query(text)
    counts: list[TermsCounted] = []
    for each in mesh.nodes:
        counted = mesh.ask(each, CountTerms(1, query.terms))
        assert isinstance(counted, TermsCounted)
        counts.append(counted)
    question = SearchSlots(
        request=1,
        query=msgspec.msgpack.encode(query),
        document_count=sum(each.document_count for each in counts),
        field_lengths=tuple(map(sum, zip(*(each.field_lengths for each in counts), strict=True))),
        terms=query.terms,
        doc_freqs=tuple(map(sum, zip(*(each.doc_freqs for each in counts), strict=True))),
        k=k,
        floor=floor,
    )
    found = mesh.ask(peer, question)
    assert isinstance(found, HitsFound)
    return found


def best(hits: tuple[Hit, ...], k: int) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.url))[:k]


def test_cursor_of_another_query_shows_the_first_page_and_says_so(stack: ExitStack) -> None:
    alone = Mesh(["solo"], stack)
    alone.index(skewed_documents(200))
    first = alone.search("solo", "mesh")
    other = alone.search("solo", "page", cursor=first.next)
    assert other.remarks == (Remark(Oddity.NO_CURSOR),)
    assert told(other) | {"remarks": ()} == told(alone.search("solo", "page"))


def test_explanations_come_to_the_scores(stack: ExitStack) -> None:
    mesh = Mesh(["ann", "bob"], stack)
    mesh.index(skewed_documents(300))
    found = mesh.search("ann", "天网 搜索 mesh", wants_explanations=True)
    assert len(found.hits) == 10
    for hit in found.hits:
        assert hit.explanation is not None
        assert hit.explanation.value == hit.score
