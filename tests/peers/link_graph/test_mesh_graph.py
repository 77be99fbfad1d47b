"""The link graph as an actor: what it tells, takes and refuses, and that it does nothing while it is off."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import pytest
from msgspec.msgpack import encode

from mesh.actors.actor import Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.actors.port import BACKGROUND, CarriedOut, CarryOut
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.slot_set import encode_slot_list
from mesh.slots import SlotTable
from mesh.stamp import Stamp
from mesh.tables.memory_table import MemoryTable
from mesh.tables.table import Table
from mesh.urls import fingerprint, host_of
from peers.crawler.model.messages import PageLinked, PagesLinked
from peers.crawler.model.wire_messages import FoundLink
from peers.handover.item_store import VALUE_BYTES_MAX, Item
from peers.handover.messages import SlotsSynchronised, SynchroniseSlots, UseStore
from peers.handover.wire_messages import ItemsChanged, ItemsKept
from peers.link_graph.link_graph import LinkGraphStatistics, MeshGraph
from peers.link_graph.source_row import (
    GoneLink,
    SourceRow,
    TargetLink,
    name_of_source,
    row_after,
    source_row_bytes,
    source_row_in,
    told_row,
)
from peers.link_graph.target_row import (
    DOMAINS_MAX,
    GONE_S,
    SOURCES_MAX,
    SourceLink,
    TargetRow,
    domain_of,
    name_of_target,
    target_row_bytes,
)
from peers.link_graph.wire_messages import (
    LISTED_MAX,
    NEIGHBOUR_BYTES_MAX,
    NEIGHBOUR_DOMAINS_MAX,
    SOURCES_LISTED_MAX,
    TARGETS_LISTED_MAX,
    BacklinksListed,
    GraphNoted,
    GraphTold,
    LinkingPage,
    ListBacklinks,
    ListNeighbours,
    MarkedPage,
    NeighboursListed,
    PageNeighbours,
)
from peers.policy.graph_rules import LINKS_OF_PAGE_MAX, LinkGraphRules
from peers.policy.rules import DAY_S, EVERYTHING, Action, Policy, Rule, policy_bytes

SLOTS = 64
ALONE = Ownership("ann", SlotTable({"ann": 100}, SLOTS, 1), ("ann",))
BOTH = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, SLOTS, 2), ("ann", "bob"))
KEPT = LinkGraphRules()
NOW = 1_000.0
BOB, CONTROLLER = Address("bob", "link_graph"), Address("ann", "controller")
TARGET = "http://target.test/"


def graph_of(
    rules: LinkGraphRules | None = KEPT, view: Ownership = ALONE, table: Table | None = None, life: int = 1
) -> MeshGraph:
    graph = MeshGraph("ann", MemoryTable() if table is None else table, life)
    graph.receive(Address("ann", "membership"), OwnershipChanged(view), NOW)
    hear(graph, rules)
    return graph


def hear(graph: MeshGraph, rules: LinkGraphRules | None, *first: Rule) -> list[Send]:
    body = policy_bytes(Policy(rules=(*first, *EVERYTHING.rules), link_graph=rules))
    decrees = DecreesInForce(POLICY, (Decree(POLICY, "", 1, 0.0, inf, body, b"", b""),))
    return graph.receive(Address("ann", "membership"), decrees, NOW)


def linked(url: str, *targets: str, visit: int = 1, view: Ownership = ALONE) -> PagesLinked:
    links = tuple(FoundLink(target, "text") for target in targets)
    return PagesLinked((PageLinked(url, view.slot_of(host_of(url)), Stamp(visit, NOW), "title", links),))


def turn(graph: MeshGraph, source: Address, message: Message, now: float = NOW) -> list[Send]:
    """Let an actor have a message, and its own answers to itself, until it is at rest."""
    waiting, sends = [(source, message)], list[Send]()
    while waiting:
        came_from, each = waiting.pop(0)
        for send in _sends(graph, came_from, each, now):
            if send.target == Address("ann", "link_graph"):
                waiting.append((Address("ann", "link_graph"), send.message))
            else:
                sends.append(send)
    return sends


def _sends(graph: MeshGraph, source: Address, message: Message, now: float) -> list[Send]:
    sends = graph.receive(source, message, now)
    return sends if graph.is_dormant else sends + graph.before_commit(now)


def listed(graph: MeshGraph, url: str = TARGET, start: int = 0) -> BacklinksListed:
    sends = graph.receive(Address("bob", "searcher"), ListBacklinks(7, url, start), NOW)
    [answer] = [
        send
        for send in (*sends, *carried_out(graph, sends))
        if isinstance(send.message, BacklinksListed) and send.target == Address("bob", "searcher")
    ]
    assert isinstance(answer.message, BacklinksListed)
    return answer.message


def carried_out(graph: MeshGraph, sends: list[Send]) -> list[Send]:
    """Carry out the work that was given to the background; return what follows from it."""
    followed = []
    for send in sends:
        if isinstance(send.message, CarryOut):
            assert send.target == Address("ann", BACKGROUND)
            done = CarriedOut(send.message.ticket, send.message.work())
            followed += graph.receive(send.target, done, NOW)
    return followed


def seen(graph: MeshGraph) -> LinkGraphStatistics:
    statistics = graph.observe()
    assert isinstance(statistics, LinkGraphStatistics)
    return statistics


def told(sends: list[Send]) -> list[GraphTold]:
    return [send.message for send in sends if isinstance(send.message, GraphTold)]


class CountingTable(MemoryTable):
    """A table that counts the rows that are read in scans."""

    rows_scanned = 0

    def scan(
        self, start: bytes, stop: bytes | None = None, *, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        for row in super().scan(start, stop, limit=limit):
            self.rows_scanned += 1
            yield row


def hosts_of(owner: str, view: Ownership = BOTH) -> list[str]:
    """Hosts in slots that a member owns."""
    return [host for n in range(40) if view.owner_of(view.slot_of(host := f"h{n}.test")) == owner]


def test_links_of_pages_are_listed_at_their_targets_and_go_with_them() -> None:
    graph = graph_of()
    turn(graph, CONTROLLER, linked("http://a.test/", TARGET, "http://b.test/"))
    turn(graph, CONTROLLER, linked("http://target.test/x", TARGET))
    found = listed(graph)
    assert (found.n_links, found.n_domains, found.is_exact, found.n_kept) == (2, 2, True, 2)
    assert [(each.url, each.title, each.text) for each in found.links] == [
        ("http://a.test/", "title", "text"),
        ("http://target.test/x", "title", "text"),
    ]
    turn(graph, CONTROLLER, linked("http://a.test/", "http://b.test/", visit=2))
    assert [each.url for each in listed(graph).links] == ["http://target.test/x"]
    assert listed(graph, "http://b.test/").n_links == 1
    turn(graph, CONTROLLER, linked("http://a.test/", TARGET, visit=1))
    assert listed(graph).n_links == 1, "an older version"
    assert seen(graph).untold == 0


def test_a_page_with_links_as_they_were_tells_nothing() -> None:
    graph = graph_of()
    turn(graph, CONTROLLER, linked("http://a.test/", TARGET))
    before = seen(graph)
    turn(graph, CONTROLLER, linked("http://a.test/", TARGET, visit=2))
    after = seen(graph)
    assert (after.told, after.taken, after.untold) == (before.told, before.taken, 0)
    turn(graph, CONTROLLER, linked("http://a.test/", "http://b.test/", visit=1))
    assert listed(graph, "http://b.test/").n_links == 0, "older than a version that has changed nothing"


def test_as_many_links_of_a_page_are_kept_as_the_policy_says() -> None:
    graph = graph_of(LinkGraphRules(links_per_page=2))
    turn(graph, CONTROLLER, linked("http://a.test/", "http://b.test/", "http://c.test/", TARGET))
    assert [listed(graph, url).n_links for url in ("http://b.test/", "http://c.test/", TARGET)] == [1, 1, 0]


def test_links_are_told_until_they_are_noted_and_by_the_next_life_too() -> None:
    table, source, target = MemoryTable(), f"http://{hosts_of('ann')[0]}/", f"http://{hosts_of('bob')[0]}/"
    graph = graph_of(view=BOTH, table=table)
    [first] = told(turn(graph, CONTROLLER, linked(source, target, view=BOTH)))
    assert (first.url, first.links) == (source, (TargetLink(target, "text"),))
    assert told(graph.wake(NOW + 10.0)) == [first]
    again = graph_of(view=BOTH, table=table, life=2)
    [second] = told(again.wake(NOW))
    assert (second.url, second.links) == (first.url, first.links)
    assert second.batch != first.batch
    assert seen(again).untold == 1
    again.receive(BOB, GraphNoted(first.batch), NOW)
    assert seen(again).untold == 1, "that was another life"
    again.receive(BOB, GraphNoted(second.batch), NOW)
    assert seen(again).untold == 0
    assert told(graph_of(view=BOTH, table=table, life=3).wake(NOW)) == []


def test_an_answer_is_given_when_the_team_has_the_links() -> None:
    graph = graph_of(view=BOTH)
    source, target = f"http://{hosts_of('bob')[0]}/", f"http://{hosts_of('ann')[0]}/"
    sends = turn(graph, BOB, GraphTold(9, source, 1, NOW, "t", (TargetLink(target),)))
    [shipped] = [send.message for send in sends if isinstance(send.message, ItemsChanged)]
    assert GraphNoted(9) not in [send.message for send in sends]
    assert GraphNoted(9) in [send.message for send in graph.receive(BOB, ItemsKept(shipped.batch), NOW)]
    assert listed(graph, target).n_links == 1


def test_links_for_another_owner_wait_until_the_sender_knows_it() -> None:
    graph = graph_of(view=BOTH)
    theirs = f"http://{hosts_of('bob')[1]}/"
    sends = turn(graph, BOB, GraphTold(9, f"http://{hosts_of('bob')[0]}/", 1, NOW, "", (TargetLink(theirs),)))
    assert sends == []
    assert graph_of(None).receive(BOB, GraphTold(9, theirs, 1, NOW, ""), NOW) == []


def test_links_of_a_page_that_the_sender_keeps_since_a_moment_wait_until_we_know_it() -> None:
    before = Ownership("ann", SlotTable({"ann": 100, "cyd": 100}, SLOTS, 1), ("ann", "bob", "cyd"))
    after = Ownership("ann", SlotTable({"ann": 100, "bob": 100, "cyd": 100}, SLOTS, 1), before.alive)
    [source, *_] = hosts_of("bob", after)
    target = next(f"http://{host}/" for host in hosts_of("ann", after) if host in hosts_of("ann", before))
    graph, letter = (
        graph_of(view=before),
        GraphTold(9, f"http://{source}/", 1, NOW, "", (TargetLink(target),)),
    )
    assert turn(graph, BOB, letter) == []
    graph.receive(Address("ann", "membership"), OwnershipChanged(after), NOW)
    assert GraphNoted(9) in [send.message for send in turn(graph, BOB, letter)]
    assert listed(graph, target).n_links == 1


OURS = f"http://{hosts_of('ann')[0]}/"


@pytest.mark.parametrize(
    "hostile",
    [
        GraphTold(9, "http://A.test/", 1, NOW, "", (TargetLink(TARGET),)),
        GraphTold(9, "http://a.test/", 1, NOW + 2 * DAY_S, "", (TargetLink(TARGET),)),
        GraphTold(9, "http://a.test/", 1, float("nan"), "", (TargetLink(TARGET),)),
        GraphTold(9, "http://a.test/", 1, NOW, "", (TargetLink("http://target.test"),)),
        GraphTold(9, TARGET, 1, NOW, "", (TargetLink(TARGET),)),
        GraphTold(9, "http://hidden.test/", 1, NOW, "", (TargetLink(TARGET),)),
        GraphTold(9, "http://a.test/", 1, NOW, "", (TargetLink("http://hidden.test/"),)),
        GraphTold(9, "http://a.test/", 1, NOW + 2 * DAY_S, gone=(GoneLink(1, b"m" * 16),)),
        GraphTold(9, "http://a.test/", 1, NOW, gone=(GoneLink(SLOTS, b"m" * 16),)),
    ],
)
def test_links_that_cannot_be_are_left_out(hostile: GraphTold) -> None:
    graph = graph_of()
    hear(graph, KEPT, Rule(action=Action.TAKE_DOWN, domains=("hidden.test",)))
    sends = turn(graph, Address("ann", "link_graph"), hostile)
    assert [send.message for send in sends if isinstance(send.message, GraphNoted)] in ([], [GraphNoted(9)])
    assert graph._store.items_after(b"", 10) == []


def test_nobody_speaks_for_pages_that_it_does_not_keep() -> None:
    view = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, SLOTS, 1), ("ann", "bob"))
    graph = graph_of(view=view)
    ours, theirs = (f"http://{hosts_of(peer, view)[0]}/" for peer in ("ann", "bob"))
    target = f"http://{hosts_of('ann', view)[1]}/"
    turn(graph, BOB, GraphTold(8, ours, 1, NOW, "", (TargetLink(target),)))
    assert listed(graph, target).n_links == 0
    turn(graph, BOB, GraphTold(9, theirs, 1, NOW, "", (TargetLink(target),)))
    assert listed(graph, target).n_links == 1
    gone = GoneLink(view.slot_of(host_of(target)), fingerprint(target))
    turn(graph, CONTROLLER, linked(ours, target, view=view))
    turn(graph, BOB, GraphTold(10, ours, 9, NOW, gone=(gone,)))
    assert {each.url for each in listed(graph, target).links} == {ours, theirs}


@pytest.mark.parametrize("is_first", [True, False])
def test_links_of_a_visit_that_nobody_knew_of_go_when_it_turns_out_to_be_the_older(is_first: bool) -> None:
    graph = graph_of(view=BOTH)
    source, target = (f"http://{host}/" for host in hosts_of("ann")[:2])
    slot, name = BOTH.slot_of(host_of(source)), name_of_source(fingerprint(source))
    links = [TargetLink(target, "text")]
    older = row_after(None, source, Stamp(1, NOW), "t", links, BOTH.slot_of)
    assert older is not None
    late = ItemsChanged(1, NOW, encode([Item(slot, name, source_row_bytes(told_row(older)))]))
    turn(graph, BOB, GraphTold(5, source, 1, NOW, "t", (TargetLink(target),)))
    if is_first:
        turn(graph, BOB, late)
    turn(graph, CONTROLLER, linked(source, f"http://{hosts_of('ann')[2]}/", visit=2, view=BOTH))
    turn(graph, BOB, late)
    assert listed(graph, target).n_links == 0
    value = graph._store.get(slot, name)
    assert value is not None
    assert source_row_in(value).visit == 2


def test_rows_of_others_that_cannot_be_are_refused() -> None:
    graph = graph_of(view=BOTH)
    hear(graph, KEPT, Rule(action=Action.TAKE_DOWN, domains=("hidden.test",)))
    slot, link = BOTH.slot_of("target.test"), SourceLink("http://a.test/", 1, NOW)
    name = name_of_target(fingerprint(TARGET), domain_of(link.url))
    page = name_of_source(fingerprint(TARGET))
    hidden = SourceLink("http://hidden.test/", 1, NOW)
    late = SourceLink("http://a.test/", 1, NOW + 2 * DAY_S)
    items = [
        Item(slot, b"x", b""),
        Item(slot, name, b"\xc1"),
        Item((slot + 1) % SLOTS, name, target_row_bytes(TargetRow(TARGET, (link,)))),
        Item(slot, name, target_row_bytes(TargetRow(TARGET, (late,)))),
        Item(
            slot,
            name_of_target(fingerprint(TARGET), domain_of(hidden.url)),
            target_row_bytes(TargetRow(TARGET, (hidden,))),
        ),
        Item(slot, page, source_row_bytes(SourceRow(TARGET, 1, NOW + 2 * DAY_S, True))),
        Item(slot, page, source_row_bytes(SourceRow("http://a.test/", 1, NOW, True))),
    ]
    graph.receive(BOB, ItemsChanged(1, NOW, encode(items)), NOW)
    assert graph._store.items_after(b"", 10) == []
    assert seen(graph).store.items_refused == len(items)
    good = Item(slot, name, target_row_bytes(TargetRow(TARGET, (link,))))
    graph.receive(BOB, ItemsChanged(2, NOW, encode([good])), NOW)
    assert listed(graph).links == (link,)


@pytest.mark.parametrize("is_told", [True, False])
def test_a_row_with_links_to_slots_that_the_mesh_has_not_is_refused(is_told: bool) -> None:
    graph, source = graph_of(view=BOTH), f"http://{hosts_of('ann')[0]}/"
    slot, name = BOTH.slot_of(host_of(source)), name_of_source(fingerprint(source))
    beyond = SLOTS.to_bytes(2, "big") + b"m" * 16 + bytes(4)
    links: dict[str, Any] = {"targets": beyond} if is_told else {"gone": (GoneLink(SLOTS, b"m" * 16),)}
    hostile = Item(slot, name, source_row_bytes(SourceRow(source, 1, NOW, is_told, **links)))
    turn(graph, BOB, ItemsChanged(1, NOW, encode([hostile])))
    turn(graph, CONTROLLER, linked(source, TARGET, visit=2, view=BOTH))
    assert seen(graph).store.items_refused == 1


def test_no_row_grows_beyond_what_others_take() -> None:
    graph, source = graph_of(view=BOTH), f"http://{hosts_of('ann')[0]}/"
    slot, name = BOTH.slot_of(host_of(source)), name_of_source(fingerprint(source))
    marks = (slot.to_bytes(2, "big") + n.to_bytes(16, "big") + bytes(4) for n in range(LINKS_OF_PAGE_MAX))
    many = SourceRow(source, 1, NOW, True, b"".join(marks))
    texts = tuple(TargetLink(f"http://a.test/{n}/{'x' * 2_000}") for n in range(515))
    long = SourceRow(source, 2, NOW, False, untold=texts)
    for batch, row in enumerate((many, long), 1):
        value = source_row_bytes(row)
        assert len(value) <= VALUE_BYTES_MAX
        turn(graph, BOB, ItemsChanged(batch, NOW, encode([Item(slot, name, value)])))
    kept = graph._store.get(slot, name)
    assert kept is not None
    assert len(kept) <= VALUE_BYTES_MAX


def test_of_more_domains_than_are_kept_those_with_the_smallest_digests_stay_in_any_order() -> None:
    urls = [f"http://site{number}.test/" for number in range(DOMAINS_MAX + 40)]
    kept: list[set[str]] = []
    for order in (urls, urls[::-1]):
        graph = graph_of()
        for url in order:
            turn(graph, CONTROLLER, linked(url, TARGET))
        answers = [listed(graph, start=start) for start in range(0, DOMAINS_MAX, LISTED_MAX)]
        assert {answer.n_kept for answer in answers} == {DOMAINS_MAX}
        assert not answers[0].is_exact
        kept.append({link.url for answer in answers for link in answer.links})
    assert kept[0] == kept[1]
    assert kept[0] == set(sorted(urls, key=domain_of)[:DOMAINS_MAX])


def test_pages_that_are_taken_down_are_shown_no_more_and_their_rows_go() -> None:
    graph = graph_of()
    turn(graph, CONTROLLER, linked("http://a.test/", TARGET, "http://b.test/"))
    turn(graph, CONTROLLER, linked("http://a.test/2", TARGET))
    hear(graph, KEPT, Rule(action=Action.TAKE_DOWN, urls=("http://a.test/2", "http://b.test/")))
    assert [each.url for each in listed(graph).links] == ["http://a.test/"]
    assert listed(graph, "http://b.test/") == BacklinksListed(7, "http://b.test/", is_on=True)
    graph.wake(NOW)
    names = {item.name for item in graph._store.items_after(b"", 10)}
    domain = domain_of("http://a.test/")
    assert names == {
        name_of_source(fingerprint("http://a.test/")),
        name_of_target(fingerprint(TARGET), domain),
    }


def test_a_look_for_pages_to_be_told_passes_over_the_rows_of_targets() -> None:
    graph = graph_of(table=(table := CountingTable()), view=BOTH)
    sources = [f"http://{host}/" for host in hosts_of("ann")[:3]]
    target = f"http://{hosts_of('ann')[0]}/x"
    for n in range(300):
        turn(graph, BOB, GraphTold(n, f"http://{hosts_of('bob')[0]}/{n}", 1, NOW, "", (TargetLink(target),)))
        turn(graph, BOB, GraphTold(n, f"http://s{n}.test/", 1, NOW, "", (TargetLink(target),)))
    theirs = f"http://{hosts_of('bob')[0]}/"
    for source in sources:
        turn(graph, CONTROLLER, linked(source, theirs, view=BOTH))
    while graph.wake_at() <= NOW:
        graph.wake(NOW)
    graph.receive(Address("ann", "membership"), OwnershipChanged(BOTH), NOW + 1.0)
    assert seen(graph).untold == 0
    before = table.rows_scanned
    assert {each.url for each in told(graph.wake(NOW + 1.0))} == set(sources)
    assert seen(graph).untold == 3
    assert table.rows_scanned - before < 200


def test_links_that_have_gone_are_forgotten_by_a_pass_a_month_later() -> None:
    graph = graph_of()
    turn(graph, CONTROLLER, linked("http://a.test/", TARGET))
    turn(graph, CONTROLLER, linked("http://a.test/", visit=2))
    name = name_of_target(fingerprint(TARGET), domain_of("http://a.test/"))
    slot = ALONE.slot_of("target.test")
    for day in range(40):
        now = NOW + day * DAY_S
        if graph.wake_at() <= now:
            graph.wake(now)
        assert (graph._store.get(slot, name) is not None) == (now < NOW + GONE_S), day


def test_it_is_dormant_without_a_graph_and_what_was_kept_goes_when_it_ends() -> None:
    off = graph_of(None)
    assert off.is_dormant
    assert turn(off, CONTROLLER, linked("http://a.test/", TARGET)) == []
    assert off.observe() == Statistics()
    assert not listed(off).is_on
    tasks = SynchroniseSlots(3, "bob", encode_slot_list([1], SLOTS), inf)
    [answer] = off.receive(Address("ann", "handover"), tasks, NOW)
    assert isinstance(answer.message, SlotsSynchronised)
    table = MemoryTable()
    graph = graph_of(table=table)
    assert [send.message for send in hear(graph_of(None), KEPT)][:1] == [UseStore()]
    turn(graph, CONTROLLER, linked("http://a.test/", TARGET))
    hear(graph, None)
    graph.wake(NOW)
    assert list(table.scan(b"")) == []
    turn(graph, CONTROLLER, linked("http://b.test/", TARGET))
    assert list(table.scan(b"")) == []


def test_what_an_earlier_life_kept_goes_when_the_graph_has_ended_meanwhile() -> None:
    table = MemoryTable()
    turn(graph_of(table=table), CONTROLLER, linked("http://a.test/", TARGET))
    assert list(table.scan(b""))
    graph_of(None, table=table, life=2).wake(NOW)
    assert list(table.scan(b"")) == []


def neighbours(graph: MeshGraph, *urls: str, marks: tuple[MarkedPage, ...] = ()) -> NeighboursListed:
    sends = graph.receive(Address("bob", "searcher"), ListNeighbours(7, urls, marks), NOW)
    [answer] = [
        each for each in (*sends, *carried_out(graph, sends)) if isinstance(each.message, NeighboursListed)
    ]
    assert answer.target == Address("bob", "searcher")
    assert isinstance(answer.message, NeighboursListed)
    return answer.message


def marked(url: str) -> MarkedPage:
    return MarkedPage(ALONE.slot_of(host_of(url)), fingerprint(url))


def test_what_links_to_pages_and_what_they_link_to_is_told_in_the_background() -> None:
    graph = graph_of()
    turn(graph, CONTROLLER, linked("http://a.test/", TARGET, "http://b.test/"))
    turn(graph, CONTROLLER, linked(TARGET, "http://b.test/"))
    found = neighbours(
        graph, TARGET, "http://nobody.test/", marks=(marked("http://b.test/"), marked("http://no.test/"))
    )
    assert found.pages == (
        PageNeighbours(TARGET, (LinkingPage("http://a.test/", "title"),), (marked("http://b.test/"),)),
    )
    assert (found.is_on, found.named) == (True, ("http://b.test/",))
    assert not neighbours(graph_of(None), TARGET).is_on
    hear(graph, KEPT, Rule(action=Action.TAKE_DOWN, domains=("a.test", "b.test")))
    hidden = neighbours(graph, TARGET, "http://a.test/", marks=(marked("http://b.test/"),))
    assert [(each.url, each.sources) for each in hidden.pages] == [(TARGET, ())]
    assert hidden.named == ()


def test_neighbours_of_a_page_with_many_links_are_bounded() -> None:
    graph = graph_of()
    for number in range(40):
        turn(graph, CONTROLLER, linked(f"http://h{number}.test/", TARGET))
        turn(graph, CONTROLLER, linked(f"http://farm.test/{number}", TARGET))
    turn(graph, CONTROLLER, linked(TARGET, *(f"http://to{number}.test/" for number in range(150))))
    [page] = neighbours(graph, TARGET).pages
    assert len(page.sources) == SOURCES_LISTED_MAX
    assert len({host_of(each.url) for each in page.sources}) <= NEIGHBOUR_DOMAINS_MAX
    assert len(page.targets) == TARGETS_LISTED_MAX


def test_rows_of_neighbours_that_hostile_domains_have_filled_are_read_in_part() -> None:
    graph, path = graph_of(), "x" * 1_900
    for domain in range(20):
        for number in range(SOURCES_MAX):
            turn(graph, CONTROLLER, linked(f"http://h{domain}.test/{number}{path}", TARGET))
    store, slot = graph._store, ALONE.slot_of(host_of(TARGET))
    rows = store.items_below(slot, name_of_target(fingerprint(TARGET), b""), NEIGHBOUR_DOMAINS_MAX)
    assert sum(len(each.value) for each in rows) > 2 * NEIGHBOUR_BYTES_MAX
    [page] = neighbours(graph, TARGET).pages
    domains = {host_of(each.url) for each in page.sources}
    assert 1 < len(domains) < 20
