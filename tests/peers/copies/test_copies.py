"""The actor: what it tells, to whom, and whom it believes. Whole meshes are in tests/simulations."""

from __future__ import annotations

from collections import deque

import msgspec
import pytest

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.slot_set import encode_slot_list
from mesh.slots import SlotTable
from mesh.stamp import Stamp
from mesh.tables.memory_table import MemoryTable
from mesh.urls import fingerprint, host_of
from peers.copies.content_row import VERSION_BYTES, row_after, row_in
from peers.copies.copies import Copies
from peers.copies.groups import FOLDED_MAX
from peers.copies.wire_messages import (
    ContentsNoted,
    ContentsTold,
    PageRole,
    RolesNoted,
    RolesTold,
    ToldContent,
)
from peers.engine.merging.copies import CopyMark
from peers.engine.pages.document import Document, content_digest
from peers.engine.segments.live_segment import COPY, FOLDED
from peers.handover.item_store import Item
from peers.handover.messages import SlotsComplete
from peers.index.messages import CopiesMarked, MarkCopies, PagesCommitted

SLOTS = 64
PEERS = ("ann", "bob", "cyd")
TABLE = SlotTable(dict.fromkeys(PEERS, 100), SLOTS, 2)


def ownership_of(peer: str, table: SlotTable = TABLE) -> Ownership:
    return Ownership(peer, table, frozenset(table.peers))


VIEW = ownership_of("ann")


def document(number: int, text: str, domain: str = "site.test") -> Document:
    return Document(f"http://host{number}.{domain}/", "t", text=text, fetched_at=1.0)


def slot_of(page: Document) -> int:
    return VIEW.slot_of(host_of(page.url))


class Mesh:
    """Actors that tell each other things, and what their indexes are told."""

    def __init__(self, *pages: Document) -> None:
        self.urls = {(slot_of(page), fingerprint(page.url)): page.url for page in pages}
        self.tables = {peer: MemoryTable() for peer in PEERS}
        self.actors = {peer: self._start(peer, 1) for peer in PEERS}
        self.marks: dict[str, dict[str, CopyMark]] = {peer: {} for peer in PEERS}
        self.n_sent = 0  # messages between the actors
        self.told: list[tuple[str, Address, ContentsTold]] = []  # to whom, by whom
        self.now = 100.0
        for peer in PEERS:
            self._begin(peer)
        self.rest()

    def _start(self, peer: str, life: int) -> Copies:
        return Copies(peer, self.tables[peer], lambda slot, page: self.urls.get((slot, page)), life)

    def _begin(self, peer: str) -> None:
        self.tell(peer, OwnershipChanged(ownership_of(peer)))
        self.tell(peer, SlotsComplete(encode_slot_list(range(SLOTS), SLOTS)))

    def restart(self, peer: str) -> None:
        self.actors[peer] = self._start(peer, 2)
        self._begin(peer)

    def commit(self, page: Document, stamp: float, *, is_found: bool = True) -> None:
        """Have it in the index of its team."""
        told = (slot_of(page), page.url, Stamp(1, stamp), page if is_found else None)
        for peer in VIEW.team_of(slot_of(page)):
            self.tell(peer, PagesCommitted((told,)))

    def tell(self, peer: str, message: Message) -> None:
        self._carry(peer, self.actors[peer].receive(Address(peer, "somebody"), message, self.now))

    def _carry(self, peer: str, sends: list[Send]) -> None:
        queue = deque((peer, send) for send in sends)
        while queue:
            peer, (target, message) = queue.popleft()
            if isinstance(message, MarkCopies):
                self.marks[peer].update(message.pages)
                source, receiver, message = target, peer, CopiesMarked(message.ticket)
            elif target.actor == "copies":
                self.n_sent += 1
                source, receiver = Address(peer, "copies"), target.peer
                if isinstance(message, ContentsTold):
                    self.told.append((receiver, source, message))
            else:
                continue
            answers = self.actors[receiver].receive(source, message, self.now)
            queue.extend((receiver, send) for send in answers)

    def rest(self) -> None:
        for _ in range(40):
            self.now += 0.6
            for peer, actor in self.actors.items():
                self.wake(peer, actor)

    def wake(self, peer: str, actor: Copies) -> None:
        """Have an actor do what is due, and commit."""
        if actor.wake_at() <= self.now:
            self._carry(peer, actor.wake(self.now))
        self._carry(peer, actor.before_commit(self.now))

    def named(self, url: str) -> int:
        """As what all of its team take a page that was marked."""
        known = {self.marks[peer][url].n_copies for peer in VIEW.team_of(VIEW.slot_of(host_of(url)))}
        (n_copies,) = known
        return n_copies

    def shown(self, *pages: Document) -> list[str]:
        """Pages that the index of whoever keeps them does not take for copies; all of their team agree."""
        found = []
        for page in pages:
            known = {self.marks[peer].get(page.url) for peer in VIEW.team_of(slot_of(page))}
            assert len(known) == 1
            (mark,) = known
            if mark is None or mark.content != content_digest(page) or mark.n_copies != COPY:
                found.append(page.url)
        return found


SAME = [document(number, "the same") for number in range(6)]
OTHER = document(9, "another")


def test_one_of_a_group_is_shown_on_all_of_its_team_and_a_page_alone_costs_one_message_and_its_answer() -> (
    None
):
    mesh = Mesh(*SAME, OTHER)
    mesh.commit(OTHER, 1.0)
    mesh.rest()
    assert mesh.n_sent == 2
    for page in SAME:
        mesh.commit(page, 1.0)
    mesh.rest()
    (url,) = mesh.shown(*SAME)
    slot = slot_of(next(page for page in SAME if page.url == url))
    assert mesh.marks[VIEW.team_of(slot)[0]][url].n_copies == len(SAME) - 1
    assert mesh.shown(OTHER) == [OTHER.url]
    assert not mesh.actors["ann"].observe().waiting


def test_pages_that_are_new_within_seconds_are_told_together_and_one_that_has_changed_as_it_is_then() -> None:
    pages = [document(number, f"text {number}") for number in range(40)]
    mesh = Mesh(*pages)
    mesh.commit(pages[0], 1.0)
    for page in pages[1:]:
        mesh.now += 0.1
        mesh.commit(page, 1.0)
    changed = msgspec.structs.replace(pages[39], text="another text")
    mesh.commit(changed, 2.0)
    assert sum(len(message.pages) for _, _, message in mesh.told) < 8
    mesh.rest()
    told = [each for _, _, message in mesh.told for each in message.pages if each.is_there]
    assert content_digest(pages[39]) not in {each.content for each in told}
    assert len(mesh.told) < 16
    assert not any(actor.observe().untold for actor in mesh.actors.values())


def test_pages_that_change_at_once_cost_a_message_for_each_receiver() -> None:
    pages = [document(number, f"text {number}") for number in range(40)]
    mesh = Mesh(*pages)
    for stamp, text in ((1.0, "text"), (2.0, "another text")):
        mesh.told.clear()
        changed = [msgspec.structs.replace(page, text=f"{text} of {page.url}") for page in pages]
        for peer in PEERS:
            ours = [page for page in changed if peer in VIEW.team_of(slot_of(page))]
            news = [(slot_of(page), page.url, Stamp(1, stamp), page) for page in ours]
            mesh.tell(peer, PagesCommitted(tuple(news)))
        mesh.rest()
    gone = [message for _, _, message in mesh.told if not all(page.is_there for page in message.pages)]
    assert sum(not page.is_there for message in gone for page in message.pages) == len(pages)
    assert len(gone) <= len(PEERS) ** 2


def test_an_english_page_under_ko_gives_way_to_its_twin_under_en() -> None:
    twins = [
        Document(f"http://site.test/{tag}/guide", "t", text="the same", fetched_at=1.0, language="en")
        for tag in ("de", "en", "ko")
    ]
    mesh = Mesh(*twins)
    for page in twins:
        mesh.commit(page, 1.0)
        mesh.rest()
    assert mesh.shown(*twins) == ["http://site.test/en/guide"]


def test_pages_of_other_domains_are_not_hidden_but_a_few_fold_and_the_rest_are() -> None:
    elsewhere = [document(number, "the same", f"domain{number}.test") for number in range(6)]
    mesh = Mesh(*SAME, *elsewhere)
    for page in SAME:
        mesh.commit(page, 1.0)
    mesh.rest()
    for page in elsewhere:
        mesh.commit(page, 9.0)
    mesh.rest()
    (shown,) = mesh.shown(*SAME)
    assert mesh.named(shown) == len(SAME) + len(elsewhere) - 1
    found = mesh.shown(*elsewhere)
    assert len(found) == FOLDED_MAX
    assert {mesh.named(url) for url in found} == {FOLDED}
    gone = next(page for page in elsewhere if page.url == found[0])
    mesh.commit(gone, 10.0, is_found=False)
    mesh.rest()
    elsewhere.remove(gone)
    assert len(mesh.shown(*elsewhere)) == FOLDED_MAX, "another one comes in its place"


def test_a_page_that_folds_is_told_when_all_others_are_gone() -> None:
    pages = [document(1, "the same", "a.test"), document(2, "the same", "b.test")]
    mesh = Mesh(*pages)
    for page in pages:
        mesh.commit(page, 1.0)
    mesh.rest()
    [folded] = [page for page in pages if mesh.named(page.url) == FOLDED]
    [other] = [page for page in pages if page is not folded]
    mesh.commit(other, 2.0, is_found=False)
    mesh.rest()
    assert mesh.named(folded.url) == 0


def test_who_takes_over_a_content_names_another_when_the_shown_page_is_gone() -> None:
    mesh = Mesh(*SAME)
    for page in SAME:
        mesh.commit(page, 1.0)
    mesh.rest()
    pages = list(SAME)
    while len(pages) > 1:
        (url,) = mesh.shown(*pages)
        gone = next(page for page in pages if page.url == url)
        pages.remove(gone)
        mesh.commit(gone, 2.0, is_found=False)
        mesh.rest()
        assert len(mesh.shown(*pages)) == 1


def test_a_restart_loses_nothing_and_tells_what_was_told_again() -> None:
    mesh = Mesh(*SAME)
    for page in SAME:
        mesh.commit(page, 1.0)
    mesh.rest()
    shown = mesh.shown(*SAME)
    for peer in PEERS:
        mesh.marks[peer].clear()
        mesh.restart(peer)
    mesh.rest()
    assert mesh.shown(*SAME) == shown


def test_documents_of_slots_that_were_brought_here_are_marked_when_all_is_here() -> None:
    mesh = Mesh(*SAME)
    for page in SAME:
        mesh.commit(page, 1.0)
    mesh.rest()
    (shown,) = mesh.shown(*SAME)
    hidden = next(page for page in SAME if page.url != shown)
    peer = VIEW.team_of(slot_of(hidden))[1]
    mesh.marks[peer].clear()
    for slots in ([], [slot_of(hidden)], [slot_of(hidden)]):
        mesh.tell(peer, SlotsComplete(encode_slot_list(slots, SLOTS)))
        mesh.rest()
    assert mesh.marks[peer][hidden.url] == CopyMark(content_digest(hidden), COPY)


def test_what_is_told_by_who_does_not_keep_the_page_or_of_anothers_content_is_not_noted() -> None:
    mesh = Mesh(*SAME)
    page = SAME[0]
    content = content_digest(page)
    told = ToldContent(slot_of(page), fingerprint(page.url), content, bytes(18), True)
    receiver = VIEW.answerer_of(content % SLOTS)
    assert receiver is not None
    for peer in PEERS:
        for sender in PEERS:
            answers = mesh.actors[peer].receive(Address(sender, "copies"), ContentsTold(7, (told,)), 100.0)
            is_right = peer == receiver and sender in VIEW.team_of(slot_of(page))
            is_noted = [send.message for send in answers] == [ContentsNoted(7)]
            assert is_noted == is_right


def test_a_page_is_hidden_by_nobody_but_who_answers_for_its_content() -> None:
    page = SAME[0]
    mesh = Mesh(page)
    mesh.commit(page, 1.0)
    mesh.rest()
    content = content_digest(page)
    keeper, owner = VIEW.answerer_of(content % SLOTS), VIEW.answerer_of(slot_of(page))
    assert keeper is not None
    assert owner is not None
    naming = PageRole(slot_of(page), fingerprint(page.url), content, COPY)
    for liar in set(PEERS) - {keeper}:
        mesh.actors[owner].receive(Address(liar, "copies"), RolesTold(1, (naming,)), mesh.now)
        mesh.rest()
        assert mesh.shown(page) == [page.url]
    other = PageRole(slot_of(page), fingerprint(page.url), content + 1, COPY)
    actor = mesh.actors[owner]
    right = VIEW.answerer_of((content + 1) % SLOTS)
    assert right is not None
    sends = actor.receive(Address(right, "copies"), RolesTold(2, (other,)), mesh.now)
    sends += actor.wake(mesh.now + 1.0)
    assert Send(Address(right, "copies"), RolesNoted(2, (0,))) in sends
    assert mesh.shown(page) == [page.url]


def test_who_has_not_all_of_a_slot_does_not_say_that_a_page_of_it_is_not_there() -> None:
    """The page left its group by that, and stayed hidden: who had it all the time did not tell it again."""
    page = SAME[0]
    mesh = Mesh(page)
    content = content_digest(page)
    keeper, owner = VIEW.answerer_of(content % SLOTS), VIEW.answerer_of(slot_of(page))
    assert keeper is not None
    assert owner is not None
    naming = PageRole(slot_of(page), fingerprint(page.url), content, COPY)
    for number, complete in ((1, []), (2, [slot_of(page)])):
        mesh.tell(owner, SlotsComplete(encode_slot_list(complete, SLOTS)))
        actor, told = mesh.actors[owner], RolesTold(number, (naming,))
        sends = actor.receive(Address(keeper, "copies"), told, mesh.now) + actor.wake(mesh.now + 1.0)
        answers = [each.message for each in sends if isinstance(each.message, RolesNoted)]
        assert answers == ([RolesNoted(number, (0,))] if complete else [])


def test_a_page_that_a_standby_says_has_left_is_asked_for_where_it_is_answered_for() -> None:
    mesh, shown, hidden = mesh_with_a_copy()
    receiver, _, message = next(
        each for each in mesh.told if each[2].pages[0].page == fingerprint(hidden.url)
    )
    gone = msgspec.structs.replace(message.pages[0], version=b"\xff" * VERSION_BYTES, is_there=False)
    standby = Address(VIEW.team_of(slot_of(hidden))[1], "copies")
    mesh.actors[receiver].receive(standby, ContentsTold(99, (gone,)), mesh.now)
    mesh.rest()
    assert mesh.shown(*SAME[:2]) == [shown]
    mesh.commit(next(page for page in SAME[:2] if page.url == shown), 2.0, is_found=False)
    mesh.rest()
    assert mesh.shown(hidden) == [hidden.url], "it is still of the group"


def mesh_with_a_copy() -> tuple[Mesh, str, Document]:
    """Return a mesh with two pages of one content: the URL of the one that is shown, and the other."""
    mesh = Mesh(*SAME[:2])
    for page in SAME[:2]:
        mesh.commit(page, 1.0)
    mesh.rest()
    (shown,) = mesh.shown(*SAME[:2])
    [hidden] = [page for page in SAME[:2] if page.url != shown]
    return mesh, shown, hidden


def test_a_copy_is_shown_when_it_is_alone_though_what_it_told_before_comes_late() -> None:
    mesh, shown, hidden = mesh_with_a_copy()
    receiver, source, late = next(
        each for each in mesh.told if each[2].pages[0].page == fingerprint(hidden.url)
    )
    mesh.commit(next(page for page in SAME[:2] if page.url == shown), 2.0, is_found=False)
    mesh.actors[receiver].receive(source, late, mesh.now)
    mesh.rest()
    assert mesh.shown(hidden) == [hidden.url]


def test_what_others_named_a_page_while_its_answerer_was_cut_off_is_named_anew() -> None:
    mesh = Mesh(OTHER)
    mesh.commit(OTHER, 1.0)
    mesh.rest()
    slot, name = slot_of(OTHER), fingerprint(OTHER.url)
    peer = VIEW.team_of(slot)[0]
    store = mesh.actors[peer]._store
    value = store.get(slot, name)
    assert value is not None
    named = Item(slot, name, row_in(value).named(COPY).encode())
    assert store.merge_changes("other", msgspec.msgpack.encode([named]), lambda _: True, 0.0) == 1
    mesh.tell(peer, PagesCommitted(()))
    mesh.rest()
    assert mesh.shown(OTHER) == [OTHER.url]


def test_a_page_whose_version_others_have_with_another_text_is_no_copy_for_the_text_that_is_here() -> None:
    mesh, _, hidden = mesh_with_a_copy()
    slot, name = slot_of(hidden), fingerprint(hidden.url)
    peer = VIEW.team_of(slot)[0]
    store = mesh.actors[peer]._store
    value = store.get(slot, name)
    assert value is not None
    row = row_in(value)
    assert row.n_copies == COPY
    other = row_after(row, row.stamp, msgspec.structs.replace(hidden, text="as others have it"))
    assert other is not None
    told = msgspec.msgpack.encode([Item(slot, name, other.encode())])
    assert store.merge_changes("other", told, lambda _: True, 0.0) == 1
    mesh.rest()
    assert mesh.marks[peer][hidden.url] == CopyMark(other.content, 0)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_mark_that_a_peer_was_about_to_take_back_is_taken_back_by_its_next_life(rank: int) -> None:
    mesh, shown, hidden = mesh_with_a_copy()
    peer = VIEW.team_of(next(slot_of(page) for page in SAME[:2] if page.url == shown))[rank]
    assert mesh.marks[peer][shown].n_copies == 1
    mesh.commit(hidden, 2.0, is_found=False)
    while not mesh.actors[peer].observe().unmarked:
        mesh.now += 0.1
        for each, actor in mesh.actors.items():
            if not mesh.actors[peer].observe().unmarked:
                mesh.wake(each, actor)
    mesh.restart(peer)
    mesh.rest()
    assert mesh.marks[peer][shown].n_copies == 0


def test_what_was_named_before_a_page_changed_is_not_answered_after_that() -> None:
    mesh, _, hidden = mesh_with_a_copy()
    peer = VIEW.team_of(slot_of(hidden))[0]
    content = content_digest(hidden)
    answerer = VIEW.answerer_of(content % VIEW.table.slot_count)
    assert answerer is not None
    naming = PageRole(slot_of(hidden), fingerprint(hidden.url), content, COPY)
    actor = mesh.actors[peer]
    assert not actor.receive(Address(answerer, "copies"), RolesTold(99, (naming,)), mesh.now)
    mesh.commit(hidden, 2.0, is_found=False)
    sends = [send for _ in range(3) for send in actor.wake(mesh.now + 2.0)]
    ticket = next(send.message.ticket for send in sends if isinstance(send.message, MarkCopies))
    sends += actor.receive(Address(peer, "indexer"), CopiesMarked(ticket), mesh.now + 2.0)
    assert not any(isinstance(send.message, RolesNoted) for send in sends), "it has that content no more"
