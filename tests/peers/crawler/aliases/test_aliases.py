"""Who crawls hosts finds out which are other names of one site."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import msgspec
import pytest
from xxhash import xxh3_64_intdigest

from mesh.actors.actor import Address, Message, Send
from mesh.tables.memory_table import MemoryTable
from mesh.urls import fingerprint, host_of
from peers.crawler.aliases import aliases
from peers.crawler.aliases.aliases import Aliases
from peers.crawler.frontier.items import host_hash
from peers.crawler.frontier.keys import host_key, url_key
from peers.crawler.model.alias_evidence import NO_PAGE
from peers.crawler.model.messages import CallAlias, HostGrown
from peers.crawler.model.politeness import HostRecord
from peers.crawler.model.url_rows import UrlRow, row_bytes
from peers.crawler.model.visit_memory import VisitMemory
from peers.crawler.model.wire_messages import HomesTold, HomeTold, LinksFound, MarksTold, MarksWanted
from tests.helpers import hold_slots, ownership_changed

PEERS = ("ann", "bob", "cid")
N_PAGES = 40
OWNERSHIP = ownership_changed(PEERS).ownership


def owner_of(host: str) -> str:
    owner = OWNERSHIP.owner_of(OWNERSHIP.slot_of(host))
    assert owner is not None
    return owner


def name_of(owner: str, end: str = ".test") -> str:
    """A host that belongs to a peer."""
    return next(name for n in range(1_000) if owner_of(name := f"site{n}{end}") == owner)


def text_of_one(host: str, path: str) -> str:
    return f"one site {path}"


class Mesh:
    """The actors of three peers with what their frontiers have; controllers do what they are told."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.tables = {peer: MemoryTable() for peer in PEERS}
        self.actors = {peer: Aliases(peer, self.tables[peer], 1) for peer in PEERS}
        self.judged: list[tuple[str, str]] = []  # hosts with their representatives
        self.wanted: list[str] = []  # URLs that others are to visit
        self.sent: list[Message] = []
        for peer, actor in self.actors.items():
            changed = ownership_changed(PEERS, peer)
            actor.receive(Address(peer, "membership"), changed, self.now)
            actor.receive(Address(peer, "handover"), hold_slots(changed.ownership), self.now)

    def put(self, url: str, text: str, depth: int = 1, outcome: str = "D200", visited_s: float = 1.0) -> None:
        """Have a page visited."""
        mark = xxh3_64_intdigest(text.encode()) & 0xFFFFFFFF
        host, stored = host_of(url), url if outcome == "D200" else ""
        row = UrlRow(host_hash(host), depth, 0, 0, outcome, 1, visited_s=visited_s, url=stored)
        data = row_bytes(row._replace(memory=VisitMemory(text=mark)))
        self.tables[owner_of(host)].put(url_key(OWNERSHIP.slot_of(host), fingerprint(url)), data)

    def crawl(
        self,
        host: str,
        text_of: Callable[[str, str], str] = text_of_one,
        paths: Iterable[int] = range(N_PAGES),
    ) -> None:
        for number in paths:
            path = f"/{number}" if number else "/"
            self.put(f"http://{host}{path}", text_of(host, path), int(number > 0))

    def call(self, host: str, representative: str, *, given_up: bool = False) -> None:
        record = HostRecord(host, alias_of=representative, judged=1, given_up=given_up)
        key = host_key(OWNERSHIP.slot_of(host), host_hash(host))
        self.tables[owner_of(host)].put(key, msgspec.msgpack.encode(record))

    def grow(self, *hosts: str) -> None:
        for host in hosts:
            peer = owner_of(host)
            self.carry(
                peer, self.actors[peer].receive(Address(peer, "controller"), HostGrown(host), self.now)
            )

    def wait(self, seconds: float = 3_000.0) -> None:
        until = self.now + seconds
        while (at_s := min(actor.wake_at() for actor in self.actors.values())) <= until:
            self.now = max(self.now, at_s)
            for peer, actor in self.actors.items():
                if actor.wake_at() <= self.now:
                    self.carry(peer, actor.wake(self.now))
        self.now = until

    def carry(self, peer: str, sends: list[Send]) -> None:
        waiting = deque((peer, send) for send in sends)
        while waiting:
            sender, send = waiting.popleft()
            self.sent.append(send.message)
            match send.message:
                case CallAlias(host, representative):
                    assert sender == send.target.peer == owner_of(host), "who crawls a host judges it"
                    self.judged.append((host, representative))
                    self.call(host, representative)
                case LinksFound(links=links):
                    self.wanted += [link.url for link in links]
                case _:
                    target = send.target.peer
                    answers = self.actors[target].receive(Address(sender, "aliases"), send.message, self.now)
                    waiting += [(target, answer) for answer in answers]

    def say(self, peer: str, sender: str, message: Message) -> list[Send]:
        return self.actors[peer].receive(Address(sender, "aliases"), message, self.now)


ANN, BOB = name_of("ann", ".one.test"), name_of("bob", "-by-another-name.one.test")
STRANGER = name_of("bob", "-mirrored-elsewhere.test")


def test_www_is_another_name_of_a_host_with_the_same_pages() -> None:
    mesh = Mesh()
    mesh.crawl(ANN)
    mesh.crawl(f"www.{ANN}")
    mesh.grow(ANN, f"www.{ANN}")
    mesh.wait()
    assert mesh.judged == [(f"www.{ANN}", ANN)]


def test_a_mirror_of_another_domain_takes_no_site_over() -> None:
    """Nor with the shorter name: what it has tomorrow would be the site."""
    mesh = Mesh()
    for host in (ANN, STRANGER):
        mesh.crawl(host)
        mesh.grow(host)
    mesh.wait()
    assert mesh.judged == []
    assert mesh.wanted == []


@pytest.mark.parametrize("first", [0, 1])
def test_hosts_with_one_home_page_find_each_other_whoever_tells_of_it_first(first: int) -> None:
    mesh, hosts = Mesh(), (ANN, BOB)
    for host in (hosts[first], hosts[1 - first]):
        mesh.crawl(host)
        mesh.grow(host)
        mesh.wait()
    assert mesh.judged == [(BOB, ANN)]


def test_all_names_of_a_site_lead_to_the_first() -> None:
    mesh, hosts = Mesh(), [ANN, *(f"{label}.{ANN}" for label in ("www", "old", "web1"))]
    for host in reversed(hosts):
        mesh.crawl(host)
        mesh.grow(host)
        mesh.wait()
    assert {host for host, _ in mesh.judged} == set(hosts) - {ANN}
    leads = dict(mesh.judged)
    for host in hosts:
        while host in leads:
            host = leads[host]
        assert host == ANN


@pytest.mark.parametrize(
    "text_of",
    [
        lambda host, path: f"{host} {path}",  # they have an address in common, at most
        lambda host, path: "this name is for sale",
        lambda host, path: "choose your language" if path == "/" else f"{host} {path}",
        lambda host, path: f"manual {path}" if len(path) < 3 else f"{host} {path}",  # ten of forty pages
        lambda host, path: f"{host} {path}" if path == "/39" else "It works!",
    ],
    ids=["address", "parked", "splash", "boilerplate", "default"],
)
def test_hosts_that_only_look_like_one_site_are_two(text_of: Callable[[str, str], str]) -> None:
    mesh, hosts = Mesh(), (ANN, f"www.{ANN}", BOB)
    for host in hosts:
        mesh.crawl(host, text_of)
    mesh.grow(*hosts)
    mesh.wait()
    mesh.grow(*hosts)
    mesh.wait()
    assert mesh.judged == []


def test_what_the_other_has_not_been_asked_for_is_visited_there_and_then_compared() -> None:
    mesh, host = Mesh(), f"www.{ANN}"
    mesh.crawl(host)
    mesh.crawl(ANN, paths=range(6))
    mesh.grow(host)
    mesh.wait(10.0)
    assert mesh.judged == []
    assert mesh.wanted
    assert all(url.startswith(f"http://{ANN}/") for url in mesh.wanted)
    for url in mesh.wanted:
        mesh.put(url, text_of_one(ANN, url.removeprefix(f"http://{ANN}")))
    mesh.wait()
    assert mesh.judged == [(host, ANN)]


def test_a_host_that_has_more_than_another_is_no_alias_of_it() -> None:
    mesh, host = Mesh(), f"www.{ANN}"
    mesh.crawl(host)
    mesh.crawl(ANN, paths=range(6))
    mesh.grow(host)
    mesh.wait(10.0)
    for url in mesh.wanted:
        mesh.put(url, "", outcome="F404")
    mesh.wait()
    assert mesh.judged == []


def test_nothing_is_visited_for_it_where_no_page_agrees() -> None:
    mesh, host = Mesh(), f"www.{ANN}"
    mesh.crawl(host)
    mesh.grow(host)
    mesh.wait()
    assert mesh.wanted == []


def test_a_host_that_has_become_a_site_of_its_own_is_no_alias_any_more() -> None:
    mesh, host = Mesh(), f"www.{ANN}"
    mesh.crawl(ANN)
    mesh.crawl(host)
    mesh.call(host, ANN)
    mesh.grow(host)
    mesh.wait()
    assert mesh.judged == [], "as long as it is none"
    for number in range(20, 36):
        mesh.put(f"http://{host}/{number}", f"news {number}", visited_s=9.0)
    mesh.grow(host)
    mesh.wait()
    assert mesh.judged == [(host, "")]


def test_a_host_whose_first_name_does_not_answer_any_more_is_no_alias() -> None:
    mesh, host = Mesh(), f"www.{ANN}"
    mesh.crawl(ANN)
    mesh.crawl(host)
    mesh.call(host, ANN)
    mesh.call(ANN, "", given_up=True)
    mesh.grow(host)
    mesh.wait()
    assert mesh.judged == [(host, "")]


# --- What others say ---


def test_a_member_makes_no_host_of_others_an_alias() -> None:
    """Only who owns a host's slot is asked of it, told of it, and believed, once for each question."""
    mesh, host = Mesh(), f"www.{ANN}"
    mesh.crawl(host)
    peer, liar = owner_of(host), next(each for each in PEERS if each not in (owner_of(host), "ann"))
    mesh.actors[peer].receive(Address(peer, "controller"), HostGrown(host), mesh.now)
    (question,) = [
        send.message
        for send in mesh.actors[peer].wake(mesh.now + aliases.LOOK_S)
        if isinstance(send.message, MarksWanted)
    ]
    paths = [url.removeprefix(f"http://{ANN}") for url in question.urls]
    marks = tuple(xxh3_64_intdigest(text_of_one(host, path).encode()) & 0xFFFFFFFF for path in paths)
    told = MarksTold(question.number, marks)
    assert mesh.say(peer, liar, told) == []
    assert mesh.say(peer, "ann", MarksTold(question.number + 1, marks)) == []
    assert mesh.say(peer, "ann", MarksTold(question.number, marks[1:])) == []
    assert [send.message for send in mesh.say(peer, "ann", told)] == [CallAlias(host, ANN)]
    assert mesh.say(peer, "ann", told) == [], "it was answered"


def test_home_pages_are_told_by_who_crawls_them_to_who_owns_their_slot() -> None:
    mesh = Mesh()
    mark = next(n for n in range(1, 10_000) if OWNERSHIP.owner_of(n % OWNERSHIP.table.slot_count) == "cid")
    assert mesh.say("cid", "bob", HomeTold(ANN, mark)) == [], "which is ann's"
    assert mesh.say("bob", "ann", HomeTold(ANN, mark)) == [], "which is for cid"
    assert mesh.say("cid", "ann", HomeTold(ANN, mark)) == []
    sends = mesh.say("cid", "bob", HomeTold(BOB, mark))
    assert sends == [Send(Address("bob", "aliases"), HomesTold(BOB, mark, (ANN,)))]


def test_who_asks_nothing_is_told_nothing_of_hosts_with_its_home_page() -> None:
    mesh = Mesh()
    mesh.crawl(BOB)
    assert mesh.say("bob", "cid", HomesTold(BOB, 7, (ANN,))) == []
    assert mesh.actors["bob"].observe().comparing == 0


def test_marks_are_told_of_pages_that_are_crawled_here_only() -> None:
    mesh = Mesh()
    mesh.crawl(ANN, paths=range(3))
    mesh.put(f"http://{ANN}/gone", "", outcome="F404")
    urls = f"http://{ANN}/1", f"http://{ANN}/gone", f"http://{ANN}/nowhere"
    (send,) = mesh.say("ann", "bob", MarksWanted(5, urls))
    assert isinstance(send.message, MarksTold)
    assert send.message.marks[1:] == (NO_PAGE, 0)
    assert send.message.marks[0] not in (0, NO_PAGE)
    assert mesh.say("bob", "ann", MarksWanted(5, urls)) == []
    assert mesh.say("ann", "bob", MarksWanted(5, ("no URL",))) == []


def test_how_many_hosts_are_compared_at_a_time_is_bounded() -> None:
    mesh = Mesh()
    hosts = [
        f"h{n}.test" for n in range(3 * aliases.LOOKS_MAX * len(PEERS)) if owner_of(f"h{n}.test") == "ann"
    ]
    mesh.grow(*hosts)
    assert mesh.actors["ann"].observe().comparing == aliases.LOOKS_MAX < len(hosts)
    mesh.wait()
    assert mesh.actors["ann"].observe().comparing == 0
