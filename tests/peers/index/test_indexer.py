"""The indexer by its inputs and outputs: what goes into a commit, and who is answered what."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isfinite, nan

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mesh.actors.actor import Address, Message, Send
from mesh.actors.codec import encode
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.membership.model.wire_messages import Ping
from mesh.slot_set import SlotMask, encode_slot_list
from mesh.slots import SlotTable
from mesh.stamp import Stamp
from mesh.urls import host_of
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.pages.past import TimeSpan
from peers.engine.queries.query import Literal, LiteralKind, Mode, Query, Sort
from peers.engine.queries.query_parser import parse_query
from peers.handover.messages import ForgetSlots, SlotsComplete
from peers.index.answerer import Answerer, IndexView, query_of
from peers.index.counting_index import CountingIndex
from peers.index.index_reader import IndexReader
from peers.index.indexer import ABSENT_KEPT, WAITING_MAX, Indexer, IndexerSettings
from peers.index.messages import (
    AnswerQuestion,
    CommitDocuments,
    DocumentsCommitted,
    GiveUpSegment,
    IndexAnchors,
    IndexPage,
    PagesCommitted,
    PagesIndexed,
    RemovePage,
    SlotsDamaged,
    SlotsIndexed,
    SlotsRepaired,
)
from peers.index.segments_twin import SegmentsTwin
from peers.index.wire_messages import (
    CountTerms,
    ExcerptsRead,
    HitsFound,
    ReadExcerpts,
    SearchSlots,
    TermsCounted,
)
from tests.frames import decode
from tests.helpers import seen
from tests.peers.engine.plain_terms import plain_terms


@pytest.fixture(scope="module", autouse=True)
def _plain_terms() -> Iterator[None]:
    with plain_terms():
        yield


ME, OTHER = "a", "b"
SLOTS = 16
QUESTIONS = Address(ME, "questions")
CELL, SEGMENTS, GATEWAY = Address(ME, "cell"), Address(ME, "segments"), Address(OTHER, "searcher")
COPIES = Address(ME, "copies")


class Driven:
    """An indexer, its port "questions", and a clock."""

    def __init__(self, index: IndexView | None = None, settings: IndexerSettings | None = None) -> None:
        self.indexer = Indexer(ME, index or CountingIndex(), settings)
        self.answerer = Answerer(index or CountingIndex(), SLOTS)
        self.now = 100.0
        self.committed: list[tuple[int, str, Stamp, Document | None]] = []  # as copies heard it

    def tell(self, message: Message, source: Address = CELL) -> list[Send]:
        sends: list[Send] = []
        for send in self.indexer.receive(source, message, self.now):
            if send.target == QUESTIONS:
                assert isinstance(send.message, AnswerQuestion)
                sends += self.tell(self.answerer.answer(send.message).message, QUESTIONS)
            elif isinstance(send.message, PagesCommitted):
                assert send.target == COPIES
                self.committed += send.message.pages
            else:
                sends.append(send)
        return sends

    def wake(self, after: float) -> list[Send]:
        self.now += after
        return self.indexer.wake(self.now) if self.indexer.wake_at() <= self.now else []


def page(n: int, fetched_at: float = 1.0, text: str = "x", anchors: tuple[str, ...] = ()) -> Document:
    return Document(
        f"http://host.example/{n}", title=f"t{n}", text=text, anchors=anchors, fetched_at=fetched_at
    )


def commit(
    batch: int, *documents: Document, anchors: tuple[tuple[int, str, tuple[str, ...]], ...] = ()
) -> Send:
    return Send(SEGMENTS, CommitDocuments(batch, tuple((3, document) for document in documents), anchors))


def indexed(*pages: Document, anchors: tuple[tuple[str, tuple[str, ...]], ...] = ()) -> Send:
    return Send(CELL, PagesIndexed(tuple((each.url, each.stamp) for each in pages), anchors))


# --- Gathering and committing ----------------------------------------------------------------


def test_batch_is_committed_half_a_second_after_its_last_page() -> None:
    driven = Driven()
    assert driven.indexer.wake_at() == inf
    assert driven.tell(IndexPage(3, page(1))) == []
    assert driven.wake(0.4) == []
    assert driven.tell(IndexPage(3, page(2))) == []
    assert driven.wake(0.4) == []
    assert driven.wake(0.1) == [commit(1, page(1), page(2))]
    assert driven.indexer.wake_at() == inf


def test_pages_that_keep_coming_wait_for_two_and_a_half_seconds_at_most() -> None:
    driven = Driven()
    pages = [page(n) for n in range(10)]
    for each in pages:
        assert driven.tell(IndexPage(3, each)) == []
        assert driven.wake(0.25) == ([] if each is not pages[-1] else [commit(1, *pages)])


def test_pages_that_come_one_after_the_other_are_committed_together_but_no_link_text_waits_so_long() -> None:
    driven = Driven()
    driven.tell(IndexPage(3, page(1)))
    assert driven.wake(0.5) == [commit(1, page(1))]
    driven.tell(DocumentsCommitted(1, 1), SEGMENTS)
    for n in (2, 3):
        driven.tell(IndexPage(3, page(n)))
        assert driven.wake(1.0) == []
    assert driven.wake(0.5) == [commit(2, page(2), page(3))]
    driven.tell(DocumentsCommitted(2, 2), SEGMENTS)
    driven.tell(IndexPage(3, page(4)))
    driven.tell(IndexAnchors(page(1).url, 3, ("a",)))
    assert len(driven.wake(0.5)) == 1


def test_cell_is_told_what_was_committed_once() -> None:
    driven = Driven()
    driven.tell(IndexPage(3, page(1)))
    driven.wake(0.5)
    assert driven.tell(DocumentsCommitted(7, 1), SEGMENTS) == []
    assert driven.committed == []
    assert driven.tell(DocumentsCommitted(1, 1), SEGMENTS) == [indexed(page(1))]
    assert driven.tell(DocumentsCommitted(1, 1), SEGMENTS) == []
    assert driven.committed == [(3, page(1).url, page(1).stamp, page(1))]
    observed = driven.indexer.observe()
    assert (observed.committed, observed.batches, observed.generation, observed.waiting) == (1, 1, 1, 0)


@pytest.mark.parametrize(
    "settings", [IndexerSettings(documents_max=2), IndexerSettings(text_chars_max=10)], ids=["pages", "text"]
)
def test_full_batch_is_committed_at_once(settings: IndexerSettings) -> None:
    driven = Driven(settings=settings)
    first, second = page(1, text="x" * 6), page(2, text="x" * 4)
    assert driven.tell(IndexPage(3, first)) == []
    assert driven.tell(IndexPage(3, second)) == [commit(1, first, second)]


def test_one_batch_is_under_way_and_the_next_one_collects() -> None:
    driven = Driven(settings=IndexerSettings(documents_max=2))
    for n in (1, 2, 3, 4, 5):
        driven.tell(IndexPage(3, page(n)))
    assert driven.wake(10.0) == []
    assert driven.tell(DocumentsCommitted(1, 1), SEGMENTS) == [
        indexed(page(1), page(2)),
        commit(2, page(3), page(4)),
    ]
    assert driven.tell(DocumentsCommitted(2, 2), SEGMENTS) == [indexed(page(3), page(4)), commit(3, page(5))]


def test_of_a_page_the_newest_version_goes_in_and_all_count_as_indexed() -> None:
    driven = Driven()
    for fetched_at in (1.0, 3.0, 2.0):
        driven.tell(IndexPage(3, page(1, fetched_at)))
    assert driven.wake(0.5) == [commit(1, page(1, 3.0))]
    done = indexed(page(1, 1.0), page(1, 3.0), page(1, 2.0))
    assert driven.tell(DocumentsCommitted(1, 1), SEGMENTS) == [done]


def test_link_texts_join_the_page_that_waits() -> None:
    driven = Driven()
    driven.tell(IndexPage(3, page(1)))
    driven.tell(IndexAnchors(page(1).url, 3, ("a",)))
    assert driven.wake(0.5) == [commit(1, page(1, anchors=("a",)))]
    done = indexed(page(1), anchors=((page(1).url, ("a",)),))
    assert driven.tell(DocumentsCommitted(1, 1), SEGMENTS) == [done]


def test_link_texts_of_a_page_in_the_index_go_alone_and_the_last_ones_count() -> None:
    driven = Driven()
    driven.tell(IndexAnchors(page(1).url, 3, ("a",)))
    driven.tell(IndexAnchors(page(1).url, 3, ("a", "b")))
    assert driven.wake(0.5) == [commit(1, anchors=((3, page(1).url, ("a", "b")),))]
    assert driven.tell(DocumentsCommitted(1, 1), SEGMENTS) == [indexed(anchors=((page(1).url, ("a", "b")),))]


def test_newer_version_of_a_page_brings_its_own_link_texts() -> None:
    driven = Driven()
    driven.tell(IndexAnchors(page(1).url, 3, ("old",)))
    driven.tell(IndexPage(3, page(1, anchors=("new",))))
    assert driven.wake(0.5) == [commit(1, page(1, anchors=("new",)))]


def test_link_texts_are_in_every_batch_up_to_a_limit_of_their_own() -> None:
    driven = Driven(settings=IndexerSettings(documents_max=4, links_max=6))
    driven.tell(IndexPage(3, page(0)))
    driven.wake(0.5)
    for n in range(1, 9):
        driven.tell(IndexPage(3, page(n)))
        driven.tell(IndexAnchors(page(100 + n).url, 3, ("a",)))
    sent = driven.tell(DocumentsCommitted(1, 1), SEGMENTS)[-1].message
    assert isinstance(sent, CommitDocuments)
    assert (len(sent.documents), len(sent.anchors)) == (4, 6)


def test_forgotten_slots_are_deleted_at_once_and_what_waits_of_them_is_dropped() -> None:
    driven = Driven()
    driven.tell(IndexPage(3, page(1)))
    driven.wake(0.5)
    driven.tell(IndexPage(3, page(2)))
    driven.tell(IndexPage(4, page(3)))
    driven.tell(IndexAnchors(page(1).url, 3, ("a",)))
    deletes = Send(SEGMENTS, CommitDocuments(0, (), (), forgotten=(3, 5)))
    assert driven.tell(ForgetSlots(slot_list(3, 5))) == [deletes]
    assert driven.tell(DocumentsCommitted(0, 2), SEGMENTS) == []
    assert driven.tell(DocumentsCommitted(1, 1), SEGMENTS) == [indexed(page(1))]
    assert driven.wake(2.5) == [Send(SEGMENTS, CommitDocuments(2, ((4, page(3)),), ()))]


def removal(n: int, fetched_at: float) -> RemovePage:
    return RemovePage(3, page(n).url, seen(fetched_at))


def test_page_that_is_removed_goes_with_the_next_batch_and_all_its_versions_count_as_indexed() -> None:
    driven = Driven()
    driven.tell(IndexPage(3, page(1, 1.0)))
    driven.tell(IndexAnchors(page(1).url, 3, ("a",)))
    driven.tell(removal(1, 2.0))
    assert driven.wake(0.5) == [
        Send(SEGMENTS, CommitDocuments(1, (), (), removed=((page(1).url, seen(2.0)),)))
    ]
    done = indexed(page(1, 1.0), page(1, 2.0), anchors=((page(1).url, ("a",)),))
    assert driven.tell(DocumentsCommitted(1, 1), SEGMENTS) == [done]


def test_newer_version_brings_a_removed_page_back_and_an_older_one_does_not() -> None:
    driven = Driven()
    driven.tell(removal(1, 2.0))
    driven.tell(IndexPage(3, page(1, 1.0)))
    driven.tell(removal(2, 2.0))
    driven.tell(IndexPage(3, page(2, 3.0)))
    driven.tell(removal(2, 1.0))
    removed = ((page(1).url, seen(2.0)),)
    assert driven.wake(0.5) == [Send(SEGMENTS, CommitDocuments(1, ((3, page(2, 3.0)),), (), removed=removed))]
    done = indexed(page(1, 2.0), page(1, 1.0), page(2, 2.0), page(2, 3.0), page(2, 1.0))
    assert driven.tell(DocumentsCommitted(1, 1), SEGMENTS) == [done]


def test_older_version_that_was_under_way_when_the_page_was_removed_is_told_and_not_indexed() -> None:
    driven = Driven()
    driven.tell(removal(1, 2.0))
    driven.wake(0.5)
    driven.tell(DocumentsCommitted(1, 1), SEGMENTS)
    driven.tell(IndexPage(3, page(1, 1.0)))
    assert driven.wake(2.5) == [
        Send(SEGMENTS, CommitDocuments(2, (), (), removed=((page(1).url, seen(2.0)),)))
    ]
    assert driven.tell(DocumentsCommitted(2, 1), SEGMENTS) == [indexed(page(1, 1.0))]
    driven.tell(IndexPage(3, page(1, 3.0)))
    driven.tell(IndexPage(3, page(1, 2.0)))
    assert driven.wake(2.5) == [commit(3, page(1, 3.0))]


def test_removals_are_not_remembered_without_end() -> None:
    driven = Driven(settings=IndexerSettings(removed_kept=3))
    for n in (1, 2, 3, 1, 4):
        driven.tell(removal(n, 2.0))
    assert list(driven.indexer._removed) == [page(n).url for n in (3, 1, 4)]


def test_link_texts_of_a_page_that_is_being_removed_do_not_bring_it_back() -> None:
    driven = Driven()
    driven.tell(removal(1, 2.0))
    driven.tell(IndexAnchors(page(1).url, 3, ("a",)))
    assert driven.wake(0.5) == [
        Send(SEGMENTS, CommitDocuments(1, (), (), removed=((page(1).url, seen(2.0)),)))
    ]


def test_pages_to_be_removed_wait_for_their_turn_as_others_do() -> None:
    driven = Driven(settings=IndexerSettings(documents_max=2))
    for n in range(3):
        driven.tell(removal(n, 2.0))
    assert (driven.indexer.observe().waiting, driven.indexer.observe().committing) == (1, 2)
    driven.tell(ForgetSlots(slot_list(3)))
    assert driven.indexer.observe().waiting == 0


def test_message_that_is_not_for_the_indexer_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        Driven().tell(Ping(1))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("pac"), st.integers(0, 4), st.integers(0, 9)), max_size=60))
def test_everything_taken_is_committed_and_told(events: list[tuple[str, int, int]]) -> None:
    driven = Driven(settings=IndexerSettings(documents_max=3))
    index = SegmentsTwin(Index(MemoryStorage()), SLOTS)
    pages: set[tuple[str, Stamp]] = set()
    newest: dict[str, float] = {}
    told: set[tuple[str, Stamp]] = set()
    outgoing: list[Send] = []
    for kind, n, value in [*events, *[("c", 0, 0)] * 40]:
        if kind == "p":
            # The cell gives an older version only while the newer one waits, never after it.
            document = page(n, max(float(value), newest.get(page(n).url, 0.0)))
            newest[document.url] = document.fetched_at
            pages.add((document.url, document.stamp))
            outgoing += driven.tell(IndexPage(3, document))
        elif kind == "a":
            outgoing += driven.tell(IndexAnchors(page(n).url, 3, (f"text {value}",)))
        else:
            outgoing += driven.wake(0.5)
            sent, outgoing = outgoing, []
            for _, message in sent:
                if isinstance(message, PagesIndexed):
                    told |= set(message.pages)
                else:
                    for _, answer in index.receive(message):
                        outgoing += driven.tell(answer, SEGMENTS)
    assert told == pages
    observed = driven.indexer.observe()
    assert (observed.waiting, observed.committing) == (0, 0)
    view = index._index.snapshot().everything()
    stored = [view.stored(url) for url in newest]
    assert {document.url: document.fetched_at for document in stored if document} == newest


# --- Answering -------------------------------------------------------------------------------


def mine_and_others(alive: tuple[str, ...] = (ME, OTHER)) -> Ownership:
    return Ownership(ME, SlotTable(dict.fromkeys(alive, 100), SLOTS, 2), alive)


def slot_list(*slots: int) -> bytes:
    return encode_slot_list(slots, SLOTS)


ALL_SLOTS = slot_list(*range(SLOTS))


@pytest.fixture
def index() -> Index:
    """One page in every slot: "common" in all, "rare" in slot 5 alone."""
    index = Index(MemoryStorage())
    documents = [
        Document(
            f"http://host{slot}.example/", title="a common title", text="rare words" if slot == 5 else "words"
        )
        for slot in range(SLOTS)
    ]
    index.add(list(enumerate(documents)))
    index.commit()
    return index


@pytest.fixture
def driven(index: Index) -> Driven:
    """An indexer that has all of every slot, but does not know yet who answers for them."""
    driven = Driven(IndexReader(index))
    driven.tell(SlotsComplete(ALL_SLOTS))
    return driven


def answer(driven: Driven, question: Message) -> Message:
    """Ask over the wire, as a gateway does; the answer has to survive the wire as well."""
    asked = decode(encode("searcher", "indexer", question)).message
    ((target, message),) = driven.tell(asked, GATEWAY)
    assert target == GATEWAY
    return decode(encode("indexer", "searcher", message)).message


def search_for(text: str, k: int = 10) -> SearchSlots:
    query = parse_query(text)
    freqs = tuple(1 for _ in query.terms)
    return SearchSlots(9, msgspec.msgpack.encode(query), SLOTS, (48, 0, 0, 24, 48), query.terms, freqs, k)


def test_nothing_is_answered_before_the_slots_are_known(driven: Driven) -> None:
    for question in (CountTerms(1, ("common",)), search_for("common")):
        assert driven.tell(question, GATEWAY) == []
    assert driven.indexer.observe().queries_refused == 2


def test_statistics_are_those_of_the_slots_this_peer_answers_for(driven: Driven, index: Index) -> None:
    ownership = mine_and_others()
    driven.tell(OwnershipChanged(ownership))
    counted = answer(driven, CountTerms(1, ("common", "nowhere")))
    assert isinstance(counted, TermsCounted)
    n_mine = int(ownership.answers.sum())
    assert 0 < n_mine < SLOTS
    assert (counted.request, counted.epoch, counted.generation) == (
        1,
        ownership.serving_epoch,
        index.generation,
    )
    assert (counted.document_count, counted.doc_freqs) == (n_mine, (n_mine, 0))
    assert counted.field_lengths[0] == 3 * n_mine


@pytest.mark.parametrize("floor", [nan, inf, -inf])
def test_a_score_to_beat_that_is_no_number_is_none(driven: Driven, floor: float) -> None:
    driven.tell(OwnershipChanged(mine_and_others()))
    question = search_for("common")
    assert answer(driven, msgspec.structs.replace(question, floor=floor)) == answer(driven, question)


def test_hits_are_from_the_slots_this_peer_answers_for(driven: Driven) -> None:
    ownership = mine_and_others()
    driven.tell(OwnershipChanged(ownership))
    found = answer(driven, search_for("common"))
    assert isinstance(found, HitsFound)
    mine = sorted(f"http://host{slot}.example/" for slot in np.flatnonzero(ownership.answers))
    assert sorted(hit.url for hit in found.hits) == mine
    assert [hit.url for hit in found.hits] == sorted(mine), "equal scores: by URL"
    assert (found.total, found.epoch) == (len(mine), ownership.serving_epoch)


def test_standby_answers_for_the_dead(driven: Driven) -> None:
    driven.tell(OwnershipChanged(mine_and_others(alive=(ME,))))
    found = answer(driven, search_for("common", k=3))
    assert isinstance(found, HitsFound)
    assert (found.total, len(found.hits)) == (SLOTS, 3)


def test_slots_that_are_not_complete_are_left_out_and_counted(driven: Driven) -> None:
    ownership = mine_and_others()
    mine = np.flatnonzero(ownership.answers).tolist()
    driven.tell(SlotsComplete(slot_list(*mine[1:], *np.flatnonzero(~ownership.answers).tolist())))
    driven.tell(OwnershipChanged(ownership))
    counted, found = answer(driven, CountTerms(1, ("common",))), answer(driven, search_for("common"))
    assert isinstance(counted, TermsCounted)
    assert isinstance(found, HitsFound)
    assert (counted.document_count, counted.doc_freqs) == (len(mine) - 1, (len(mine) - 1,))
    assert (found.total, found.missing, counted.missing) == (len(mine) - 1, 1, 1)
    assert f"http://host{mine[0]}.example/" not in {hit.url for hit in found.hits}
    assert driven.indexer.observe().slots_missing == 1


def test_nothing_is_complete_before_the_handover_says_so(index: Index) -> None:
    driven = Driven(IndexReader(index))
    driven.tell(OwnershipChanged(mine_and_others(alive=(ME,))))
    found = answer(driven, search_for("common"))
    assert isinstance(found, HitsFound)
    assert (found.total, found.missing) == (0, SLOTS)
    driven.tell(SlotsComplete(ALL_SLOTS))
    found = answer(driven, search_for("common"))
    assert isinstance(found, HitsFound)
    assert (found.total, found.missing) == (SLOTS, 0)


def test_slots_of_the_absent_are_answered_by_the_next_best(driven: Driven) -> None:
    ownership = mine_and_others()
    driven.tell(OwnershipChanged(ownership))
    others = sorted(f"http://host{slot}.example/" for slot in np.flatnonzero(~ownership.answers))
    question = msgspec.structs.replace(search_for("common", k=SLOTS), absent=(OTHER,))
    found = answer(driven, question)
    counted = answer(driven, CountTerms(1, ("common",), absent=(OTHER,)))
    assert isinstance(found, HitsFound)
    assert isinstance(counted, TermsCounted)
    assert [hit.url for hit in found.hits] == others
    assert (found.missing, counted.missing, counted.document_count) == (0, 0, len(others))


def test_slots_of_the_absent_that_are_not_complete_are_counted(driven: Driven) -> None:
    ownership = mine_and_others()
    driven.tell(OwnershipChanged(ownership))
    driven.tell(SlotsComplete(slot_list(*np.flatnonzero(ownership.answers).tolist())))
    found = answer(driven, msgspec.structs.replace(search_for("common"), absent=(OTHER,)))
    assert isinstance(found, HitsFound)
    assert (found.total, found.missing) == (0, int((~ownership.answers).sum()))


@pytest.mark.parametrize("absent", [("nobody",), ("nobody", OTHER), (ME,), (ME, OTHER)])
def test_names_that_do_not_answer_are_harmless(driven: Driven, absent: tuple[str, ...]) -> None:
    ownership = mine_and_others()
    driven.tell(OwnershipChanged(ownership))
    found = answer(driven, msgspec.structs.replace(search_for("common", k=SLOTS), absent=absent))
    assert isinstance(found, HitsFound)
    expected = int((~ownership.answers).sum()) if absent == ("nobody", OTHER) else 0
    assert (found.total, found.missing) == (expected, 0)


def test_answers_for_several_sets_of_absent_peers_make_each_view_once() -> None:
    names = (ME, "b", "c", "d")
    ownership = Ownership(ME, SlotTable(dict.fromkeys(names, 100), SLOTS, 4), names)
    views = CountedViews()
    driven = Driven(views)
    driven.tell(OwnershipChanged(ownership))
    driven.tell(SlotsComplete(ALL_SLOTS))
    for _ in range(10):
        for absent in ((), ("b",), ("c",), ("c", "b"), ("b", "c", "nobody")):
            answer(driven, CountTerms(1, ("common",), absent=absent))
    assert len(views.masks) == len({mask.tobytes() for mask in views.masks.values()}) == 4


class CountedViews(CountingIndex):
    """An index that keeps the masks it was asked over, by identity."""

    def __init__(self) -> None:
        super().__init__()
        self.masks: dict[int, SlotMask] = {}

    def over(self, slots: SlotMask, span: TimeSpan | None = None) -> CountingIndex:
        self.masks[id(slots)] = slots
        return self


def test_no_question_makes_memory_grow(driven: Driven) -> None:
    names = tuple(f"peer{n}" for n in range(40))
    ownership = Ownership(ME, SlotTable(dict.fromkeys((ME, *names), 100), SLOTS, 2), (ME, *names))
    driven.tell(OwnershipChanged(ownership))
    for name in names:
        answer(driven, CountTerms(1, ("common",), absent=(name,)))
    assert len(driven.indexer._answered) <= 1 + ABSENT_KEPT


def test_excerpts_are_read_of_slots_that_others_answer_for(driven: Driven) -> None:
    ownership = mine_and_others()
    driven.tell(SlotsComplete(slot_list()))
    driven.tell(OwnershipChanged(ownership))
    urls = tuple(f"http://host{slot}.example/" for slot in range(SLOTS))
    read = answer(driven, ReadExcerpts(4, msgspec.msgpack.encode(parse_query("common")), urls))
    assert isinstance(read, ExcerptsRead)
    assert tuple(excerpt.url for excerpt in read.excerpts) == urls


def test_of_what_is_not_here_it_says_whether_it_may_be_in_the_mesh(driven: Driven) -> None:
    ownership = mine_and_others()
    driven.tell(OwnershipChanged(ownership))

    def lacking() -> dict[int, str]:
        """A page by slot that is not in the index."""
        urls = (f"http://other{n}.example/" for n in range(1_000))
        return {ownership.slot_of(host_of(url)): url for url in urls}

    def unsettled(*urls: str) -> tuple[str, ...]:
        read = answer(driven, ReadExcerpts(4, msgspec.msgpack.encode(parse_query("common")), urls))
        assert isinstance(read, ExcerptsRead)
        assert read.excerpts == ()
        return read.unsettled

    a, b = lacking()[0], lacking()[1]
    assert unsettled(a, b, "no URL", "http://") == ()
    driven.tell(SlotsComplete(slot_list(*range(1, SLOTS))))  # slot 0 is on its way
    assert unsettled(a, b) == (a,)
    driven.tell(SlotsComplete(ALL_SLOTS))
    driven.tell(SlotsDamaged(slot_list(1)))
    assert unsettled(a, b) == (b,)
    driven.tell(SlotsRepaired(slot_list(1)))
    document = msgspec.structs.replace(page(1), url=a)
    driven.tell(IndexPage(0, document))  # it waits for a commit
    assert unsettled(a, b) == (a,)
    assert driven.wake(IndexerSettings().pause_s) == [
        Send(SEGMENTS, CommitDocuments(1, ((0, document),), ())),
    ]
    assert unsettled(a, b) == (a,)
    driven.tell(DocumentsCommitted(1, 2), SEGMENTS)  # and has been deleted by the time it is asked for
    assert unsettled(a, b) == ()


def test_who_is_far_behind_does_not_say_that_pages_are_not_in_the_mesh() -> None:
    driven = Driven(settings=IndexerSettings(documents_max=2 * WAITING_MAX, text_chars_max=1 << 40))
    driven.tell(OwnershipChanged(mine_and_others()))
    driven.tell(SlotsComplete(ALL_SLOTS))
    asked = ReadExcerpts(4, b"", ("http://other.example/",))
    for n in range(WAITING_MAX):
        [(_, message)] = driven.indexer.receive(GATEWAY, asked, driven.now)
        assert isinstance(message, AnswerQuestion)
        assert message.unsettled == ()
        driven.tell(IndexPage(3, page(n)))
    [(_, message)] = driven.indexer.receive(GATEWAY, asked, driven.now)
    assert isinstance(message, AnswerQuestion)
    assert message.unsettled == asked.urls


# --- Damage ----------------------------------------------------------------------------------


class DamagedIndex:
    """A peer's index of two segments, slots 0 to 7 and 8 to 15, with the first one damaged in a section."""

    def __init__(self, section: str) -> None:
        storage = MemoryStorage()
        index = Index(storage)
        for slots in (range(8), range(8, SLOTS)):
            text = "common words"
            index.add([(n, Document(f"http://host{n}.example/", title=text, text=text)) for n in slots])
            index.commit()
        segment = index.snapshot().segments[0].segment
        content = bytearray(storage.files[segment.name])
        content[segment.place_of(section)[0]] ^= 1
        storage.files[segment.name] = bytes(content)
        self.segment = segment.name
        self.twin = SegmentsTwin(Index(storage), SLOTS)
        self.driven = Driven(IndexReader(self.twin._index))
        self.driven.tell(OwnershipChanged(mine_and_others(alive=(ME,))))
        self.driven.tell(SlotsComplete(ALL_SLOTS))


DAMAGED_SLOTS = slot_list(*range(8))


@pytest.mark.parametrize(
    ("section", "query"),
    [("postings", "common"), ("postings", "common site:example"), ("positions", '"common words"')],
)
def test_damage_met_by_a_query_costs_its_slots_and_nothing_else(section: str, query: str) -> None:
    damaged = DamagedIndex(section)
    give_up, told = damaged.driven.tell(search_for(query, k=SLOTS), GATEWAY)
    assert give_up == Send(SEGMENTS, GiveUpSegment(damaged.segment))
    found = told.message
    assert isinstance(found, HitsFound)
    assert {hit.url for hit in found.hits} == {f"http://host{n}.example/" for n in range(8, SLOTS)}
    assert (found.total, found.missing) == (8, 8)
    ((_, again),) = damaged.driven.tell(search_for(query, k=SLOTS), GATEWAY)
    assert again == found


def test_damage_met_by_statistics_leaves_the_slots_out() -> None:
    damaged = DamagedIndex("postings")
    damaged.driven.tell(SlotsComplete(slot_list(*range(1, SLOTS))))  # else the counts are in the dictionary
    give_up, told = damaged.driven.tell(CountTerms(1, ("common",)), GATEWAY)
    assert give_up == Send(SEGMENTS, GiveUpSegment(damaged.segment))
    counted = told.message
    assert isinstance(counted, TermsCounted)
    assert (counted.document_count, counted.doc_freqs, counted.missing) == (8, (8,), 8)


def test_damaged_page_has_no_excerpt() -> None:
    damaged = DamagedIndex("stored")
    urls = ("http://host3.example/", "http://host9.example/")
    question = ReadExcerpts(4, msgspec.msgpack.encode(parse_query("common")), urls)
    give_up, told = damaged.driven.tell(question, GATEWAY)
    assert give_up == Send(SEGMENTS, GiveUpSegment(damaged.segment))
    assert isinstance(told.message, ExcerptsRead)
    assert [excerpt.url for excerpt in told.message.excerpts] == [urls[1]]


def test_slots_with_damage_are_missing_until_they_are_repaired() -> None:
    damaged = DamagedIndex("postings")
    driven = damaged.driven
    (_, give_up), _ = driven.tell(search_for("common"), GATEWAY)
    said = damaged.twin.receive(give_up)
    assert said == [("indexer", SlotsDamaged(DAMAGED_SLOTS)), ("cell", SlotsDamaged(DAMAGED_SLOTS))]
    driven.tell(SlotsDamaged(DAMAGED_SLOTS), SEGMENTS)
    driven.tell(SlotsComplete(ALL_SLOTS))
    found = answer(driven, search_for("common"))
    assert isinstance(found, HitsFound)
    assert (found.total, found.missing) == (8, 8)
    documents = [(n, Document(f"http://host{n}.example/", title="common")) for n in range(8)]
    damaged.twin.receive(CommitDocuments(1, tuple(documents), ()))
    repaired = SlotsRepaired(DAMAGED_SLOTS)
    assert driven.tell(repaired) == [Send(SEGMENTS, repaired)]
    assert damaged.twin.receive(repaired) == []
    assert damaged.twin.begin() == [("cell", SlotsIndexed(ALL_SLOTS))]
    found = answer(driven, search_for("common"))
    assert isinstance(found, HitsFound)
    assert (found.total, found.missing) == (SLOTS, 0)
    assert driven.indexer.observe().slots_damaged == 0


def test_slots_of_a_segment_that_was_merged_meanwhile_are_answered_again() -> None:
    damaged = DamagedIndex("postings")
    damaged.driven.tell(search_for("common"), GATEWAY)
    nothing = damaged.twin.receive(GiveUpSegment("segment-0000000099"))
    assert nothing == [("indexer", SlotsDamaged(slot_list()))]
    damaged.driven.tell(SlotsDamaged(slot_list()), SEGMENTS)
    assert damaged.driven.indexer.observe().slots_missing == 0


def test_damage_of_an_earlier_run_is_told_at_the_start() -> None:
    damaged = DamagedIndex("postings")
    damaged.twin.receive(GiveUpSegment(damaged.segment))
    again = SegmentsTwin(damaged.twin._index, SLOTS)
    told = SlotsDamaged(DAMAGED_SLOTS)
    # Those that the damage took stand for documents, too: they are read back because of the damage.
    assert again.begin() == [("indexer", told), ("cell", told), ("cell", SlotsIndexed(ALL_SLOTS))]


# --- Excerpts --------------------------------------------------------------------------------


def test_excerpts_come_in_the_order_asked_without_pages_that_are_gone(driven: Driven) -> None:
    driven.tell(OwnershipChanged(mine_and_others(alive=(ME,))))
    urls = ("http://host5.example/", "http://gone.example/", "http://host2.example/")
    read = answer(driven, ReadExcerpts(4, msgspec.msgpack.encode(parse_query("rare common")), urls))
    assert isinstance(read, ExcerptsRead)
    assert [excerpt.url for excerpt in read.excerpts] == [urls[0], urls[2]]
    first = read.excerpts[0]
    assert (first.snippet, first.highlights) == ("rare words", ((0, 4),))
    assert (first.title, first.title_highlights) == ("a common title", ((2, 8),))


def test_excerpt_of_the_longest_title_crosses_the_wire() -> None:
    index = Index(MemoryStorage())
    index.add([(0, Document("http://host.example/", title="标" * 5_000, text="题 " * 50_000))])
    index.commit()
    driven = Driven(IndexReader(index))
    driven.tell(OwnershipChanged(mine_and_others(alive=(ME,))))
    driven.tell(SlotsComplete(ALL_SLOTS))
    query = msgspec.msgpack.encode(parse_query("标 题"))
    read = answer(driven, ReadExcerpts(1, query, ("http://host.example/",)))
    assert isinstance(read, ExcerptsRead)
    assert len(read.excerpts) == 1


@pytest.mark.parametrize(
    "query",
    [
        b"",
        b"\xc1",
        b"\x93\x00\x00\x00",
        b"\x91" * 70_000,
        msgspec.msgpack.encode([[str(n) for n in range(65)]]),
        msgspec.msgpack.encode([["a", "a"]]),
        msgspec.msgpack.encode([[], [[]]]),
        msgspec.msgpack.encode([[], [], [], [["x"] * 65]]),
        msgspec.msgpack.encode([[], [], [], [], ["a.example"] * 17]),
    ],
    ids=["nothing", "garbage", "types", "long", "terms", "twice", "empty phrase", "long phrase", "sites"],
)
def test_query_that_no_gateway_sends_is_counted_and_dropped(driven: Driven, query: bytes) -> None:
    driven.tell(OwnershipChanged(mine_and_others()))
    assert query_of(query) is None
    assert driven.tell(SearchSlots(1, query, 1, (1,) * 5, (), (), 10), GATEWAY) == []
    assert driven.tell(ReadExcerpts(1, query, ("http://host5.example/",)), GATEWAY) == []
    assert driven.indexer.observe().queries_refused == 2


@pytest.mark.parametrize(
    "statistics",
    [
        {"field_lengths": (1,)},
        {"doc_freqs": ()},
        {"document_count": 1 << 60},
        {"doc_freqs": (1 << 63,)},
        {"field_lengths": (1 << 60, 0, 0, 0, 0)},
    ],
)
def test_statistics_that_are_none_are_counted_and_dropped(
    driven: Driven, statistics: dict[str, object]
) -> None:
    driven.tell(OwnershipChanged(mine_and_others()))
    question = msgspec.structs.replace(search_for("common"), **statistics)
    assert driven.tell(question, GATEWAY) == []


@pytest.mark.parametrize(
    "statistics",
    [
        {"document_count": 0},
        {"field_lengths": (0, 0, 0, 0, 0)},
        {"doc_freqs": (0,)},
        {"doc_freqs": (1 << 50,), "field_lengths": (1 << 50,) * 5},
        {"terms": ("other",)},
    ],
)
def test_wrong_statistics_give_an_answer_and_do_no_harm(
    driven: Driven, statistics: dict[str, object]
) -> None:
    driven.tell(OwnershipChanged(mine_and_others()))
    found = answer(driven, msgspec.structs.replace(search_for("common"), **statistics))
    assert isinstance(found, HitsFound)
    assert found.total > 0


def test_longest_query_that_can_be_typed_is_within_the_limits() -> None:
    for text in (
        "龘" * 1_000,
        '"' + "中国" * 400 + '"',
        "-a " * 300,
        "site:a.example " * 60,
        "\U0002070e" * 1_000,
    ):
        assert query_of(msgspec.msgpack.encode(parse_query(text))) is not None


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_raise(encoded: bytes) -> None:
    query_of(encoded)


ODD_TERMS = st.sampled_from(["common", "rare", "\0", "(", "[a", "\\", "天网", "\U0002070e", "x" * 256, " "])
ODD_ENTRIES = st.lists(ODD_TERMS, min_size=1, max_size=3).map(tuple)
ODD_LITERALS = st.builds(
    Literal,
    kind=st.sampled_from([kind for kind in LiteralKind if kind is not LiteralKind.PHRASE]),
    entries=ODD_ENTRIES,
    negated=st.booleans(),
    low=st.floats(allow_nan=False),
    high=st.floats(allow_nan=False),
) | ODD_ENTRIES.flatmap(
    lambda entries: st.builds(
        Literal,
        kind=st.just(LiteralKind.PHRASE),
        entries=st.just(entries),
        distances=st.lists(st.integers(0, 1000), min_size=len(entries), max_size=len(entries)).map(tuple),
        fields=st.integers(0, 31),
        negated=st.booleans(),
    )
)
ODD_QUERIES = st.builds(
    Query,
    required=st.lists(ODD_TERMS, max_size=3, unique=True).map(tuple),
    scoring=st.just(("common", "\0")),
    weights=st.just((0.5, 100.0)),
    clauses=st.lists(st.lists(ODD_LITERALS, min_size=1, max_size=3).map(tuple), max_size=3).map(tuple),
    mode=st.sampled_from(Mode),
    order=st.sampled_from(Sort),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ODD_QUERIES, st.integers(0, 1 << 50))
def test_odd_queries_of_hostile_gateways_are_answered(driven: Driven, query: Query, count: int) -> None:
    driven.tell(OwnershipChanged(mine_and_others()))
    encoded = msgspec.msgpack.encode(query)
    freqs = (count,) * len(query.terms)
    found = answer(driven, SearchSlots(1, encoded, count, (count,) * 5, query.terms, freqs, 10))
    assert isinstance(found, HitsFound)
    assert all(isfinite(hit.score) for hit in found.hits)
    assert isinstance(answer(driven, ReadExcerpts(1, encoded, ("http://host5.example/",))), ExcerptsRead)


def test_excerpts_name_the_section_that_they_are_from() -> None:
    index = Index(MemoryStorage())
    text = "Manual\nabout\nOptions\nthe rare one\nNotes"
    page = Document("http://a.test/", headings="Manual\nOptions\nNotes", heading_ids="\nopt", text=text)
    long = Document("http://b.test/", headings="Manual\nOptions", heading_ids=f"\n{'o' * 999}", text=text)
    hushed = msgspec.structs.replace(page, url="http://c.test/", is_quotable=False)
    index.add([(0, page), (0, long), (0, hushed)])
    index.commit()
    driven = Driven(IndexReader(index))
    driven.tell(OwnershipChanged(mine_and_others(alive=(ME,))))
    driven.tell(SlotsComplete(ALL_SLOTS))
    urls = (page.url, long.url, hushed.url)
    read = answer(driven, ReadExcerpts(1, msgspec.msgpack.encode(parse_query("rare")), urls))
    assert isinstance(read, ExcerptsRead)
    assert [(each.section, each.section_id) for each in read.excerpts] == [
        ("Options", "opt"),
        ("Options", ""),
        ("", ""),
    ]


def test_excerpts_say_how_that_is_called_what_the_question_names() -> None:
    index = Index(MemoryStorage())
    text = "ls\nSynopsis\nls [-a]\nNotes"
    index.add([(0, Document("http://a.test/", title="ls(1)", headings="ls\nSynopsis\nNotes", text=text))])
    index.commit()
    driven = Driven(IndexReader(index))
    driven.tell(OwnershipChanged(mine_and_others(alive=(ME,))))
    driven.tell(SlotsComplete(ALL_SLOTS))
    query = msgspec.msgpack.encode(parse_query("ls"))
    for name, synopsis in (("ls", "ls [-a]"), ("", ""), ("rm", "")):
        read = answer(driven, ReadExcerpts(1, query, ("http://a.test/",), name=name))
        assert isinstance(read, ExcerptsRead)
        assert [each.synopsis for each in read.excerpts] == [synopsis]
