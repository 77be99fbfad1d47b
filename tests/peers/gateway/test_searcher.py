"""The searcher, by what goes in and what comes out."""

from __future__ import annotations

import gc
from math import inf, nan

import msgspec
import pytest

from mesh.actors.actor import Address, Message, Send
from mesh.actors.conduct import Misbehaved, Offence
from mesh.actors.ownership import Ownership
from mesh.errors import LocalProtocolError
from mesh.membership.model.members import State
from mesh.membership.model.wire_messages import MemberRecord, MembersTold, MembersWanted, Ping, Rumour
from mesh.slots import SlotTable
from mesh.urls import host_of
from peers.crawler.model.wire_messages import LinksAccepted, LinksFound
from peers.engine.queries.query import Mode
from peers.engine.queries.query_language import Oddity, Remark
from peers.engine.queries.query_parser import parse_query
from peers.engine.rescoring.model import MODEL_DEPTH
from peers.gateway.errands.page_lookup import CHECK_S_MAX, LOOKUP_S_MAX
from peers.gateway.errands.round import FOREIGN_RETRY_S, REPEAT_AFTER_S
from peers.gateway.errands.seed_errand import REPEAT_S, SEEDING_S_MAX
from peers.gateway.model.messages import (
    AddSeeds,
    CheckLinks,
    CheckReadiness,
    Coverage,
    FindPage,
    GatherHistory,
    GatherNotices,
    GatherStatus,
    HistoryGathered,
    LinksChecked,
    MeterRead,
    NoticesGathered,
    PageFound,
    PagesFound,
    ReadMeter,
    Relaxed,
    RequestRefused,
    SearchPages,
    SeedsAdded,
    StatusGathered,
)
from peers.gateway.model.status import PeerStatus, encode
from peers.gateway.model.wire_messages import StatusTold, StatusWanted
from peers.gateway.search.punctuality import HEDGE_S_MAX
from peers.gateway.search.relaxation import ENOUGH
from peers.gateway.search.search_task import YOUNG_S
from peers.gateway.search.stage import COUNTING_S_MAX, READING_S_MAX, SEARCHING_S_MAX
from peers.gateway.searcher import EARLY_S, ERRANDS_MAX, METER_READERS_MAX, STARTING, Searcher
from peers.history.event import Event
from peers.history.wire_messages import HistoryTold, HistoryWanted
from peers.index.answerer import COUNT_MAX, query_of
from peers.index.wire_messages import (
    HITS_MAX,
    CountTerms,
    Excerpt,
    ExcerptsRead,
    FurtherHits,
    Hit,
    HitsFound,
    ReadExcerpts,
    SearchSlots,
    TermsCounted,
)
from peers.storage.wire_messages import PAGES_CHECKED_MAX, CheckPages, PageRead, PagesChecked, ReadPage
from peers.watch.wire_messages import Notice, NoticesTold, NoticesWanted
from tests.peers.gateway.mesh_of_three import (
    EVERY_INDEXER,
    PEERS,
    SLOT_COUNT,
    Conversation,
    ownership,
    url_of,
)

HTTP = Address("ann", "http")


def only(sends: list[Send]) -> Message:
    [send] = sends
    return send.message


def only_target(sends: list[Send]) -> Address:
    [send] = sends
    return send.target


def searching(
    doc_freqs: tuple[int, ...] = (1,),
    text: str = "crawler",
    replicas: int = 2,
    *,
    is_verbatim: bool = False,
    **order: int,
) -> Conversation:
    """A search whose terms have been counted by all: the hits are awaited."""
    talk = Conversation(ownership(replicas=replicas))
    talk.search(text, is_verbatim=is_verbatim, **order)
    talk.all_counted(*doc_freqs)
    return talk


# --- The three rounds ----------------------------------------------------------------------------


def test_search_counts_searches_reads_and_answers() -> None:
    talk = Conversation()
    ann, bob = url_of("ann"), url_of("bob", witness="cyd")
    [counting] = talk.search("web crawler")
    assert counting.target == EVERY_INDEXER
    assert isinstance(counting.message, CountTerms)
    assert counting.message.terms == ("web", "crawler")
    [asking] = talk.all_counted(20, 30)
    assert asking.target == EVERY_INDEXER
    assert isinstance(asking.message, SearchSlots)
    assert asking.message.document_count == 300
    assert asking.message.field_lengths == (300, 30, 300, 3_000, 300)
    assert asking.message.doc_freqs == (60, 90)
    assert asking.message.k == MODEL_DEPTH + 1
    assert talk.found("ann", (ann, 1.5)) == []
    assert talk.found("bob", (bob, 2.5), total=40) == []
    reading = talk.found("cyd")
    assert {send.target for send in reading} == {Address("ann", "indexer"), Address("cyd", "indexer")}
    assert {send.message.urls for send in reading if isinstance(send.message, ReadExcerpts)} == {
        (ann,),
        (bob,),
    }
    talk.read(ann)
    talk.read(bob)
    answer = talk.answer()
    assert [(hit.url, hit.score, hit.peer) for hit in answer.hits] == [(bob, 2.5, "bob"), (ann, 1.5, "ann")]
    assert answer.hits[0].title == f"title of {bob}"
    assert answer.hits[0].highlights == ((4, 11),)
    assert answer.hits[0].host == host_of(bob)
    assert answer.hits[0].fetched_at == 7.0
    assert answer.total == 41
    assert answer.terms == ("web", "crawler")
    assert answer.coverage == Coverage(SLOT_COUNT, SLOT_COUNT, 0)
    assert not answer.relaxed.is_any
    assert talk.searcher.wake_at() == inf


def test_a_search_that_is_over_leaves_nothing_to_the_garbage_collector() -> None:
    talk = Conversation()
    urls = {peer: url_of(peer) for peer in PEERS}
    while gc.collect():  # finalizers of what was before may leave more
        pass
    gc.disable()
    try:
        talk.search("crawler")
        talk.all_counted(1)
        for peer, url in urls.items():
            talk.found(peer, (url, 1.5))
        talk.read(*urls.values())
        assert len(talk.answer().hits) == len(PEERS)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_statistics_are_asked_once_per_term() -> None:
    talk = searching((1,))
    for peer in PEERS:
        talk.found(peer)
    [asking] = talk.search("crawler", k=5, ticket=2)  # not the page that was shown
    assert isinstance(asking.message, SearchSlots)
    for peer in PEERS:
        talk.found(peer)
    assert talk.answer().ticket == 2


def test_merge_ties_go_by_url() -> None:
    talk = searching()
    urls = sorted([url_of("ann"), url_of("bob"), url_of("cyd")])
    for peer in PEERS:
        talk.found(peer, (url_of(peer), 1.0))
    talk.read(*urls)
    assert [hit.url for hit in talk.answer().hits] == urls


def test_offset_pages_through_the_merged_hits() -> None:
    talk = Conversation()
    talk.search("crawler", k=2, offset=2)
    asking = only(talk.all_counted(1))
    assert isinstance(asking, SearchSlots)
    assert asking.k == MODEL_DEPTH + 1
    hits = {peer: [(url_of(peer, i), 1.0 - i / 10) for i in range(3)] for peer in PEERS}
    merged = sorted((hit for of_peer in hits.values() for hit in of_peer), key=lambda hit: (-hit[1], hit[0]))
    for peer in PEERS:
        talk.found(peer, *hits[peer])
    for _, message in talk.sent:
        assert isinstance(message, ReadExcerpts)
        talk.read(*message.urls)
    assert [(hit.url, hit.score) for hit in talk.answer().hits] == merged[2:4]
    assert talk.answer().total == 9


def test_depth_asked_of_peers_is_bounded() -> None:
    talk = Conversation()
    talk.search("crawler", k=100, offset=HITS_MAX - 10)
    asking = only(talk.all_counted(1))
    assert isinstance(asking, SearchSlots)
    assert asking.k == HITS_MAX


def test_query_without_a_word_is_answered_at_once() -> None:
    talk = Conversation()
    talk.search("?! ...")
    coverage, remarks = Coverage(SLOT_COUNT, SLOT_COUNT, 0), (Remark(Oddity.NO_WORDS),)
    assert talk.answer() == PagesFound(1, (), 0, 0.0, coverage, (), remarks=remarks)


def test_peer_alone_asks_only_itself() -> None:
    alone = ownership(alive=("ann",))
    talk = Conversation(alone)
    assert talk.search("crawler") == [
        Send(Address("ann", "indexer"), CountTerms(talk.request, ("crawler",))),
    ]
    [asking] = talk.counted("ann", (1,))
    assert asking.target == Address("ann", "indexer")
    url = url_of("ann", view=alone)
    talk.found("ann", (url, 1.0))
    talk.read(url)
    assert talk.answer().coverage == Coverage(SLOT_COUNT, SLOT_COUNT, 0)


# --- All words, or any ---------------------------------------------------------------------------


def mode_of(send: Message) -> Mode:
    assert isinstance(send, SearchSlots)
    query = query_of(send.query)
    assert query is not None
    return query.mode


def test_when_few_pages_have_all_words_those_with_any_are_searched() -> None:
    talk = Conversation()
    talk.search("web crawler")
    assert mode_of(only(talk.all_counted(7, 70))) is Mode.AND
    talk.found("ann", total=ENOUGH - 1)
    talk.found("bob")
    assert mode_of(only(talk.found("cyd"))) is Mode.OR
    talk.found("ann", (url_of("ann"), 1.0))
    talk.found("bob")
    talk.found("cyd")
    talk.read(url_of("ann"))
    assert talk.answer().relaxed.is_any
    assert talk.answer().total == 1
    assert talk.answer().relaxed == Relaxed((), True, ENOUGH - 1)


def test_pages_with_any_word_come_with_the_few_that_have_all() -> None:
    talk = searching((7, 70), "web crawler")
    [(_, asked)] = talk.sent
    assert isinstance(asked, SearchSlots)
    assert asked.further_below == ENOUGH // 2  # of three shares half as many more than a third
    further = query_of(asked.further)
    assert further is not None
    assert (further.mode, mode_of(asked)) == (Mode.OR, Mode.AND)
    url = url_of("ann")
    talk.found("ann", total=ENOUGH - 1, further=FurtherHits(30, (Hit(url, 1.0),)))
    talk.found("bob", further=FurtherHits(2, ()))
    reading = talk.found("cyd", further=FurtherHits(3, (), is_exact=False))
    assert {type(send.message) for send in reading} == {ReadExcerpts}
    talk.read(url)
    answer = talk.answer()
    assert ([hit.url for hit in answer.hits], answer.total, answer.is_exact) == ([url], 35, False)
    assert answer.relaxed == Relaxed((), True, ENOUGH - 1)


@pytest.mark.parametrize("missing", [0, 3])
def test_pages_with_any_word_are_asked_for_where_one_has_not_told_them_or_lacks_slots(missing: int) -> None:
    talk = searching((7, 70), "web crawler")
    further = FurtherHits(1, ())
    talk.found("ann", further=further)
    talk.found("bob", further=further, missing=missing)
    sends = talk.found("cyd", further=further if missing else None)
    if missing:  # others stand in for those slots first
        assert {type(send.message) for send in sends} <= {CountTerms, SearchSlots}
    else:
        assert mode_of(only(sends)) is Mode.OR


def test_when_enough_pages_have_all_words_only_those_are_shown() -> None:
    talk = searching((7, 70), "web crawler")
    talk.found("ann", total=ENOUGH)
    talk.found("bob")
    talk.found("cyd")
    assert not talk.answer().relaxed.is_any
    assert talk.answer().total == ENOUGH


@pytest.mark.parametrize(
    ("query", "oddity"),
    [
        ('"web crawler"', Oddity.NO_SUCH_PHRASE),
        ('define:"web crawler"', Oddity.NO_DEFINITION),
        ('define:web "crawler"', Oddity.NO_SUCH_PHRASE),
    ],
)
def test_when_no_page_has_a_phrase_its_words_are_searched_and_the_answer_says_so(
    query: str, oddity: Oddity
) -> None:
    talk = searching((70, 70), query)
    talk.found("ann")
    talk.found("bob")
    again = only(talk.found("cyd"))
    assert isinstance(again, SearchSlots)
    assert query_of(again.query) == parse_query("web crawler")
    talk.found("ann", (url_of("ann"), 0.01), total=ENOUGH)
    talk.found("bob")
    talk.found("cyd")
    talk.read(url_of("ann"))
    assert talk.answer().remarks == (Remark(oddity),)
    assert talk.answer().relaxed == Relaxed()


def test_a_phrase_that_one_page_has_is_kept() -> None:
    talk = searching((70, 70), '"web crawler"')
    talk.found("ann", (url_of("ann"), 0.01), total=1)
    talk.found("bob")
    talk.found("cyd")
    talk.read(url_of("ann"))
    assert (talk.answer().total, talk.answer().remarks) == (1, ())


def test_when_a_word_is_rare_pages_with_any_word_are_searched_at_once() -> None:
    talk = Conversation()
    talk.search("web crawler")
    assert mode_of(only(talk.all_counted(6, 70))) is Mode.OR


def test_words_that_are_nowhere_are_left_out_and_named() -> None:
    talk = Conversation()
    talk.search("web crawler nosuchword", is_verbatim=True)
    asking = only(talk.all_counted(60, 70, 0))
    assert isinstance(asking, SearchSlots)
    query = query_of(asking.query)
    assert query is not None
    assert (query.required, query.mode) == (("web", "crawler"), Mode.AND)
    for peer in PEERS:
        talk.found(peer, total=50)
    assert talk.answer().relaxed == Relaxed(("nosuchword",))
    assert not talk.answer().relaxed.is_any


def test_one_word_has_nothing_to_fall_back_to() -> None:
    talk = searching()
    for peer in PEERS:
        talk.found(peer)
    assert not talk.answer().relaxed.is_any


def test_fallback_that_finds_nothing_ends() -> None:
    talk = searching((30, 30), "web crawler")
    for peer in PEERS * 2:
        talk.found(peer)
    assert talk.answer().total == 0


def test_words_of_which_none_is_anywhere_are_searched_once() -> None:
    talk = searching((0, 0), "web crawler", is_verbatim=True)
    for peer in PEERS:
        talk.found(peer)
    assert talk.answer().total == 0
    assert talk.answer().relaxed == Relaxed(("web", "crawler"))


# --- What gets lost or comes late ----------------------------------------------------------------


def test_peer_that_has_not_answered_is_asked_again_directly() -> None:
    talk = searching(replicas=1)
    talk.found("ann")
    assert talk.wait(HEDGE_S_MAX) == []  # nobody can answer instead
    [again] = talk.wait(REPEAT_AFTER_S - HEDGE_S_MAX)[:1]
    assert [send.target for send in talk.sent] == [Address("bob", "indexer"), Address("cyd", "indexer")]
    assert isinstance(again.message, SearchSlots)
    talk.found("bob")
    talk.found("cyd")
    assert talk.answer().coverage.missing == 0


def test_peer_that_never_answers_is_said_to_be_missing() -> None:
    talk = searching(replicas=1)
    talk.found("ann")
    talk.found("bob")
    talk.wait(REPEAT_AFTER_S)
    talk.wait(SEARCHING_S_MAX)
    missing = talk.view.slots_answered["cyd"]
    assert talk.answer().coverage == Coverage(SLOT_COUNT, SLOT_COUNT - missing, missing)


def test_nobody_waits_twice_for_a_silent_peer() -> None:
    talk = Conversation(ownership(replicas=1))
    talk.search("crawler")
    talk.counted("ann", (1,))
    talk.counted("bob", (1,))
    talk.wait(REPEAT_AFTER_S)
    [asking] = talk.wait(COUNTING_S_MAX)
    assert isinstance(asking.message, SearchSlots)
    assert asking.message.document_count == 200
    talk.found("ann")
    talk.found("bob")
    assert talk.wait(HEDGE_S_MAX) == []
    talk.wait(REPEAT_AFTER_S - HEDGE_S_MAX)
    assert talk.answer().coverage.missing > 0


def test_silent_peer_that_answers_is_waited_for_again() -> None:
    talk = searching(replicas=1)
    talk.found("ann")
    talk.found("bob")
    talk.wait(REPEAT_AFTER_S)
    talk.wait(SEARCHING_S_MAX)
    assert talk.searcher.observe().silent_peers == 1
    talk.found("cyd")  # too late for its search
    assert talk.searcher.observe().silent_peers == 0
    assert talk.searcher.observe().ignored == 1


def test_statistics_that_came_too_late_make_the_search_start_again() -> None:
    talk = Conversation(ownership(replicas=1))
    talk.search("crawler")
    talk.counted("ann", (1,))
    talk.counted("bob", (1,))
    talk.wait(COUNTING_S_MAX)
    talk.found("cyd")
    talk.found("ann")
    counting = talk.found("bob")
    assert counting[0].target == Address("cyd", "indexer")
    asking = only(talk.counted("cyd", (1,)))
    assert isinstance(asking, SearchSlots)
    assert asking.document_count == 300


def test_excerpts_that_do_not_come_leave_the_url() -> None:
    talk = searching()
    talk.found("ann", (url_of("ann"), 2.0))
    talk.found("bob", (url_of("bob"), 1.0))
    talk.found("cyd")
    talk.read(url_of("ann"))
    talk.wait(REPEAT_AFTER_S)
    talk.wait(READING_S_MAX)
    assert [(hit.url, hit.title) for hit in talk.answer().hits] == [
        (url_of("ann"), f"title of {url_of('ann')}"),
        (url_of("bob"), ""),
    ]
    assert talk.answer().coverage.missing == 0


def test_answer_that_comes_twice_counts_once() -> None:
    talk = searching()
    talk.found("ann", total=5)
    talk.found("ann", total=5)
    talk.found("bob")
    talk.found("cyd")
    assert talk.answer().total == 5


# --- Exactness: generations and epochs -----------------------------------------------------------


def test_newer_index_than_was_counted_starts_the_search_again() -> None:
    talk = searching()
    talk.found("ann")
    talk.found("bob", generation=2)
    [counting] = talk.found("cyd")
    assert counting.target == Address("bob", "indexer")
    assert isinstance(counting.message, CountTerms)
    asking = only(talk.counted("bob", (7,), generation=2))
    assert isinstance(asking, SearchSlots)
    assert asking.doc_freqs == (9,)
    talk.found("ann")
    talk.found("bob", generation=2)
    talk.found("cyd")
    assert talk.answer().total == 0
    assert talk.searcher.observe().restarts == 1


def test_counts_that_another_search_finds_out_to_be_old_are_asked_for_again() -> None:
    """They were known when the search began, so nobody was asked for them: its slots were then missing."""
    talk = searching((1, 1), "crawler index")
    talk.search("page", ticket=2)
    other = talk.request
    talk.counted("cyd", (1,), generation=2)
    [counting] = talk.search("crawler", ticket=3)
    assert counting.target == Address("cyd", "indexer")
    mine = talk.request
    talk.counted("bob", (1,), generation=2, request=other)
    [again] = talk.counted("cyd", (1,), generation=2, request=mine)
    assert again == Send(Address("bob", "indexer"), CountTerms(talk.request, ("crawler",)))
    asking = only(talk.counted("bob", (7,), generation=2))
    assert isinstance(asking, SearchSlots)
    assert asking.doc_freqs == (9,)


def test_counts_that_are_forgotten_while_a_word_may_be_mistyped_are_asked_for_again() -> None:
    talk = Conversation()
    talk.search("page", ticket=2)
    other = talk.request
    talk.search("crawlr")
    talk.all_counted(0)
    mine = talk.request
    for peer in ("ann", "bob"):
        talk.from_peer(peer, alike(mine, talk))
    talk.counted("bob", (1,), generation=2, request=other)
    [again] = talk.from_peer("cyd", alike(mine, talk))
    assert again == Send(Address("bob", "indexer"), CountTerms(talk.request, ("crawlr",)))


def alike(request: int, talk: Conversation) -> TermsCounted:
    """The answer of an index that has no word like a typed one."""
    return TermsCounted(request, talk.epoch(None), 1, 100, (100, 10, 100, 1_000, 100), (), similar=((),))


def test_index_that_changes_all_the_time_is_not_chased() -> None:
    talk = searching()
    for generation in (2, 3, 4):
        talk.found("ann")
        talk.found("bob", generation=generation)
        talk.found("cyd")
        if talk.sent[0].target != HTTP:
            talk.counted("bob", (1,), generation=generation)
    assert talk.answer().coverage.missing == 0


def test_index_that_changes_all_the_time_is_in_the_statistics_of_every_step() -> None:
    talk = searching((100, 100), text="crawler index")
    for generation in (2, 3, 4):
        talk.found("ann", total=ENOUGH - 1)
        talk.found("bob", generation=generation)
        talk.found("cyd")
        if any(isinstance(send.message, CountTerms) for send in talk.sent):
            talk.counted("bob", (100, 100), generation=generation)
    [asking] = [send.message for send in talk.sent]
    assert isinstance(asking, SearchSlots)
    query = query_of(asking.query)
    assert query is not None
    assert query.mode is Mode.OR
    assert asking.document_count == 300


def test_hits_of_a_peer_whose_terms_are_not_counted_are_said_to_be_missing() -> None:
    talk = Conversation(ownership(replicas=1))
    talk.search("crawler")
    talk.counted("ann", (1,))
    talk.counted("bob", (1,))
    talk.wait(COUNTING_S_MAX)
    talk.wait(YOUNG_S - COUNTING_S_MAX)
    urls = [url_of(peer, view=talk.view) for peer in PEERS]
    for peer, url in zip(reversed(PEERS), reversed(urls), strict=True):  # from then on cyd is waited for
        talk.found(peer, (url, 1.0))
    talk.read(*urls)
    assert [hit.url for hit in talk.answer().hits] == sorted(urls)
    missing = talk.view.slots_answered["cyd"]
    assert talk.answer().coverage == Coverage(SLOT_COUNT, SLOT_COUNT - missing, missing)


def test_hits_of_another_epoch_are_asked_for_again_until_both_agree() -> None:
    talk = searching(replicas=1)
    talk.found("ann")
    talk.found("bob")
    for _ in range(3):
        assert talk.found("cyd", epoch=b"other") == []
        [again] = talk.wait(FOREIGN_RETRY_S)
        assert again.target == Address("cyd", "indexer")
    talk.found("cyd")
    assert talk.answer().coverage.missing == 0


def test_slots_of_a_peer_that_stays_in_another_epoch_are_missing() -> None:
    talk = searching(replicas=1)
    talk.found("ann")
    talk.found("bob")
    talk.found("cyd", epoch=b"other")
    talk.wait(SEARCHING_S_MAX)
    missing = talk.view.slots_answered["cyd"]
    assert talk.answer().coverage == Coverage(SLOT_COUNT, SLOT_COUNT - missing, missing)


def test_statistics_of_another_epoch_are_not_added() -> None:
    talk = Conversation(ownership(replicas=1))
    talk.search("crawler")
    talk.counted("ann", (1,))
    talk.counted("bob", (1,))
    assert talk.counted("cyd", (1,), epoch=b"other") == []
    asking = only(talk.wait(COUNTING_S_MAX))
    assert isinstance(asking, SearchSlots)
    assert asking.document_count == 200


def test_change_of_members_starts_the_search_again_under_the_new_epoch() -> None:
    talk = searching()
    talk.found("ann", (url_of("ann"), 1.0))
    [counting] = talk.change_ownership(ownership(alive=("ann", "bob")))
    assert isinstance(counting.message, CountTerms)
    talk.counted("ann", (1,))
    talk.counted("bob", (1,))
    talk.found("ann")
    talk.found("bob")
    assert talk.answer().coverage == Coverage(SLOT_COUNT, SLOT_COUNT, 0)
    assert talk.answer().total == 0


def test_newcomer_that_serves_nothing_yet_disturbs_no_search() -> None:
    talk = searching()
    old = talk.view.serving
    newcomers = SlotTable(dict.fromkeys((*PEERS, "dan"), 100), SLOT_COUNT, 2)
    serving = old.with_peer("dan", 0)
    assert talk.change_ownership(Ownership("ann", newcomers, (*PEERS, "dan"), serving=serving)) == []
    for peer in PEERS:
        talk.found(peer)
    assert talk.answer().coverage == Coverage(SLOT_COUNT, SLOT_COUNT, 0)
    assert talk.searcher.observe().restarts == 0


def test_members_that_change_one_after_the_other_do_not_exhaust_a_search() -> None:
    talk = searching()
    for alive in [("ann", "bob"), PEERS] * 4:
        talk.change_ownership(ownership(alive=alive))
    talk.all_counted(1)
    for peer in PEERS:
        talk.found(peer)
    assert talk.answer().coverage == Coverage(SLOT_COUNT, SLOT_COUNT, 0)


def test_slots_that_nobody_serves_are_missing() -> None:
    weights = dict.fromkeys(PEERS, 100)
    table, nobody = SlotTable(weights, SLOT_COUNT, 2), SlotTable(dict.fromkeys(PEERS, 0), SLOT_COUNT, 2)
    talk = Conversation(Ownership("ann", table, PEERS, serving=nobody))
    talk.search("crawler")
    assert talk.answer().coverage == Coverage(SLOT_COUNT, 0, SLOT_COUNT)


def test_same_ownership_told_twice_changes_nothing() -> None:
    talk = searching()
    assert talk.change_ownership(ownership()) == []
    assert talk.searcher.observe().terms_cached == 3


# --- Peers that lie ------------------------------------------------------------------------------


def test_answers_count_only_from_those_asked() -> None:
    talk = searching()
    talk.found("ann")
    talk.found("bob")
    assert talk.found("eve", (url_of("cyd"), 9.0)) == []
    message = HitsFound(talk.request, talk.view.serving_epoch, 1, 0, ())
    assert talk.from_peer("cyd", message, actor="searcher") == []
    talk.found("cyd")
    assert talk.answer().total == 0


def test_answers_count_only_if_they_fit_the_question() -> None:
    talk = Conversation()
    talk.search("crawler")
    assert talk.found("bob", (url_of("bob"), 9.0)) == []  # to a question for statistics
    excerpts = ExcerptsRead(talk.request, (Excerpt(url_of("bob"), "", "", (), (), 0.0),))
    assert talk.from_peer("bob", excerpts) == []
    talk.all_counted(1)
    assert talk.counted("bob", (9,)) == []
    assert talk.from_peer("bob", msgspec.structs.replace(excerpts, request=talk.request)) == []
    talk.found("ann", (url_of("ann"), 1.0))
    talk.found("bob")
    talk.found("cyd")
    assert talk.found("ann", (url_of("ann"), 9.0)) == []
    assert talk.counted("ann", (9,)) == []
    talk.read(url_of("ann"))
    assert [hit.score for hit in talk.answer().hits] == [1.0]


@pytest.mark.parametrize("score", [nan, inf, -inf])
def test_scores_that_are_no_numbers_are_dropped(score: float) -> None:
    talk = searching()
    talk.found("ann", (url_of("ann"), score))
    talk.found("bob")
    talk.found("cyd")
    assert talk.answer().hits == ()


@pytest.mark.parametrize("url", ["javascript:alert(1)", "http://", "http:///", "ftp://x/", "http://no-path"])
def test_hits_that_are_no_canonical_url_are_dropped(url: str) -> None:
    talk = searching()
    talk.found("ann", (url, 1.0))
    talk.found("bob", (url, 1.0))
    talk.found("cyd", ("x", 1.0))
    for _, message in talk.sent:
        if isinstance(message, ReadExcerpts):
            talk.read(*message.urls)
    assert all(hit.url.startswith("http://") and hit.host for hit in talk.answer().hits)


def test_hits_for_slots_of_others_are_dropped() -> None:
    talk = searching()
    talk.found("ann", (url_of("bob"), 9.0), (url_of("ann"), 1.0))
    talk.found("bob")
    talk.found("cyd")
    talk.read(url_of("ann"))
    assert [hit.url for hit in talk.answer().hits] == [url_of("ann")]
    assert talk.searcher.observe().hits_refused == 1


def test_titles_and_snippets_neither_turn_what_follows_nor_steer_a_terminal() -> None:
    talk = searching()
    for peer in ("ann", "bob", "cyd"):
        talk.found(peer, *([(url_of(peer), 1.0)] if peer == "bob" else []))
    text = "\u202egnp.exe\u2066 \x1b[2J\x9b שלום"
    excerpt = Excerpt(url_of("bob"), text, text, ((0, 3),), (), 0.0)
    talk.from_peer(talk.asked_for[excerpt.url], ExcerptsRead(talk.request, (excerpt,)))
    (hit,) = talk.answer().hits
    assert hit.title == hit.snippet == "\u2060gnp.exe\u2060  [2J  שלום"
    assert hit.highlights == ((0, 3),)


def test_who_gives_hits_for_slots_of_others_is_reported() -> None:
    talk = searching()
    reports: set[Message] = set()
    for peer, others in (("ann", "ann"), ("bob", "cyd"), ("cyd", "cyd")):
        talk.found(peer, (url_of(others), 1.5), (url_of(peer), 1.0))
        reports.update(message for _, message in talk.sent if isinstance(message, Misbehaved))
    assert reports == {Misbehaved("bob", Offence.FOREIGN_HITS)}


def test_hits_with_scores_that_no_page_can_have_are_refused_and_reported() -> None:
    talk = searching()
    reports: set[Message] = set()
    for peer, score in (("ann", 1.0), ("bob", 1e9), ("cyd", 1.5)):
        talk.found(peer, (url_of(peer), score))
        reports.update(message for _, message in talk.sent if isinstance(message, Misbehaved))
    assert reports == {Misbehaved("bob", Offence.IMPOSSIBLE_SCORES)}
    assert talk.searcher.observe().hits_refused == 1


def test_order_does_not_depend_on_who_answers_first_and_how() -> None:
    shown = []
    for peers in (("ann", "bob", "cyd"), ("cyd", "bob", "ann")):
        talk = searching()
        for peer in peers:
            hits = [(url_of(peer, n), float(n % 3)) for n in range(5)]
            talk.found(peer, *(hits if peer == "bob" else reversed(hits)))
        for _, message in talk.sent:
            assert isinstance(message, ReadExcerpts)
            talk.read(*message.urls)
        shown.append([(hit.url, hit.score) for hit in talk.answer().hits])
    assert shown[0] == shown[1] == sorted(shown[0], key=lambda hit: (-hit[1], hit[0]))
    assert len(shown[0]) == 10


def test_counts_beyond_all_measure_do_not_break_the_sum() -> None:
    talk = Conversation()
    talk.search("crawler")
    asking = only(talk.all_counted((1 << 64) - 1))
    assert isinstance(asking, SearchSlots)
    assert asking.doc_freqs == (COUNT_MAX,)


def test_statistics_of_the_wrong_shape_are_not_added() -> None:
    talk = Conversation(ownership(replicas=1))
    talk.search("crawler")
    talk.counted("ann", (1,))
    talk.counted("bob", (1,))
    assert talk.counted("cyd", (1, 2)) == []
    assert talk.counted("cyd", ()) == []
    asking = only(talk.wait(COUNTING_S_MAX))
    assert isinstance(asking, SearchSlots)
    assert asking.document_count == 200


# --- Limits --------------------------------------------------------------------------------------


EARLY = (SearchPages(1, "x"), FindPage(2, "http://a/"), GatherStatus(3), AddSeeds(4, ()))


def test_orders_before_the_first_ownership_wait_for_it() -> None:
    talk = Conversation()
    talk.searcher = Searcher("ann")
    assert [talk.searcher.receive(HTTP, order, 0.0) for order in EARLY] == [[]] * len(EARLY)
    assert talk.searcher.observe().in_flight == len(EARLY)
    sends = talk.change_ownership(ownership())
    assert {type(send.message) for send in sends} >= {CountTerms, ReadPage, MembersWanted}
    assert talk.searcher.observe().refused == 0


def test_orders_before_the_first_ownership_are_refused_when_it_does_not_come() -> None:
    searcher = Searcher("ann")
    for number, order in enumerate(EARLY):
        searcher.receive(HTTP, order, number / 10)
    assert searcher.wake_at() == EARLY_S
    refused = [send.message for send in searcher.wake(EARLY_S + 0.1)]
    assert refused == [RequestRefused(ticket, STARTING) for ticket in (1, 2)]
    assert searcher.wake_at() == EARLY_S + 0.2


def test_question_whether_a_starting_peer_is_ready_is_answered_at_once() -> None:
    assert isinstance(only(Searcher("ann").receive(HTTP, CheckReadiness(1), 0.0)), RequestRefused)


def test_over_the_limit_the_oldest_order_is_refused() -> None:
    talk = Conversation()
    for ticket in range(ERRANDS_MAX):
        talk.search("crawler", ticket=ticket)
    refusal = talk.search("crawler", ticket=ERRANDS_MAX)[0]
    assert refusal.target == HTTP
    assert isinstance(refusal.message, RequestRefused)
    assert refusal.message.ticket == 0
    assert talk.searcher.observe().in_flight == ERRANDS_MAX


def test_message_that_is_not_for_it_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        Conversation().from_peer("bob", Ping(1))


def test_errand_numbers_of_a_former_life_do_not_meet_those_of_this_one() -> None:
    searcher = Searcher("ann", life=2)
    old, new = Conversation(), Conversation()
    new.searcher = searcher
    new.change_ownership(ownership())
    old.search("crawler")
    new.search("crawler")
    assert new.request > old.request
    assert new.request < 1 << 63


# --- Stored copies -------------------------------------------------------------------------------


def test_page_is_asked_of_its_owner() -> None:
    talk = Conversation()
    url = url_of("bob")
    assert talk.order(FindPage(3, url)) == [Send(Address("bob", "cell"), ReadPage(talk.request, url))]
    answer = talk.from_peer("bob", PageRead(talk.request, url, 5.0, b"records"), "cell")
    assert answer == [Send(HTTP, PageFound(3, url, 5.0, b"records"))]


def test_copy_of_a_page_that_is_gone_comes_with_when_that_was_seen() -> None:
    talk = Conversation()
    url = url_of("bob")
    talk.order(FindPage(3, url))
    answer = talk.from_peer("bob", PageRead(talk.request, url, 5.0, b"records", gone_at=9.0), "cell")
    assert answer == [Send(HTTP, PageFound(3, url, 5.0, b"records", gone_at=9.0))]


def test_page_its_owner_does_not_have_is_asked_of_the_standby() -> None:
    talk = Conversation()
    url = url_of("bob")
    standby = talk.view.team_of(talk.view.slot_of(host_of(url)))[1]
    talk.order(FindPage(3, url))
    [again] = talk.from_peer("bob", PageRead(talk.request, url, 0.0, b""), "cell")
    assert again.target == Address(standby, "cell")
    assert only(talk.from_peer(standby, PageRead(talk.request, url, 0.0, b""), "cell")) == PageFound(
        3, url, 0.0, b""
    )


def test_page_of_an_owner_that_does_not_answer_comes_from_the_standby() -> None:
    talk = Conversation()
    url = url_of("bob")
    standby = talk.view.team_of(talk.view.slot_of(host_of(url)))[1]
    talk.order(FindPage(3, url))
    assert talk.wait(REPEAT_AFTER_S)[0].target == Address(standby, "cell")
    found = only(talk.from_peer(standby, PageRead(talk.request, url, 5.0, b"r"), "cell"))
    assert found == PageFound(3, url, 5.0, b"r")


def test_links_are_asked_of_their_owners_once_each() -> None:
    talk = Conversation()
    ann, bob = url_of("ann"), url_of("bob")
    more = f"{bob}more"
    page = url_of("cyd")
    asked = {send.target: send.message for send in talk.order(CheckLinks(3, page, (bob, ann, more, "x")))}
    assert asked == {
        Address("bob", "cell"): CheckPages(talk.request, (bob, more)),
        Address("ann", "cell"): CheckPages(talk.request, (ann,)),
    }
    assert talk.from_peer("ann", PagesChecked(talk.request, (True,)), "cell") == []
    told = only(talk.from_peer("bob", PagesChecked(talk.request, (False, True)), "cell"))
    assert told == LinksChecked(3, frozenset((ann, more)))


def test_links_whose_owners_do_not_answer_or_answer_something_else_are_not_stored() -> None:
    talk = Conversation()
    ann, bob = url_of("ann"), url_of("bob")
    talk.order(CheckLinks(3, ann, (bob, ann)))
    assert talk.from_peer("cyd", PagesChecked(talk.request, (True,)), "cell") == [], "it was not asked"
    assert talk.from_peer("ann", PagesChecked(talk.request, (True, True)), "cell") == []
    assert [send.target.peer for send in talk.wait(REPEAT_AFTER_S)] == ["bob"]
    assert only(talk.wait(CHECK_S_MAX)) == LinksChecked(3, frozenset())


def test_of_a_page_without_links_nobody_is_asked_and_of_too_many_not_all() -> None:
    assert only(Conversation().order(CheckLinks(3, url_of("ann"), ()))) == LinksChecked(3, frozenset())
    bob = url_of("bob")
    links = tuple(f"{bob}{n}" for n in range(PAGES_CHECKED_MAX + 9))
    question = only(Conversation().order(CheckLinks(3, bob, links)))
    assert isinstance(question, CheckPages)
    assert question.urls == links[:PAGES_CHECKED_MAX]


def test_links_that_are_not_shown_to_a_client_are_not_asked_for() -> None:
    bob = url_of("bob")
    order = CheckLinks(3, bob, (bob,), hidden=(host_of(bob),))
    assert only(Conversation().order(order)) == LinksChecked(3, frozenset())


def test_page_that_nobody_sends_is_not_found_in_the_end() -> None:
    talk = Conversation()
    talk.order(FindPage(3, url_of("bob")))
    talk.wait(REPEAT_AFTER_S)
    assert [send.target.actor for send in talk.wait(REPEAT_AFTER_S)] == ["cell", "cell"]
    assert only(talk.wait(LOOKUP_S_MAX)) == PageFound(3, url_of("bob"), 0.0, b"")


def test_page_from_a_peer_that_was_not_asked_is_ignored() -> None:
    talk = Conversation()
    url = url_of("bob")
    talk.order(FindPage(3, url))
    assert talk.from_peer("eve", PageRead(talk.request, url, 5.0, b"forged"), "cell") == []
    assert talk.from_peer("bob", PageRead(talk.request, "http://other/", 5.0, b"x"), "cell") == []


def test_page_is_asked_of_those_who_still_answer_for_a_slot_that_moved() -> None:
    newcomers = SlotTable({"bob": 100, "cyd": 100}, SLOT_COUNT, 2)
    serving = SlotTable({"ann": 100, "bob": 0, "cyd": 0}, SLOT_COUNT, 2)
    talk = Conversation(Ownership("ann", newcomers, PEERS, serving=serving))
    url = "http://a.test/"
    owner, standby = newcomers.team_of(talk.view.slot_of(host_of(url)))
    asked = [only_target(talk.order(FindPage(3, url)))]
    for _ in range(2):
        asked.append(
            only_target(talk.from_peer(asked[-1].peer, PageRead(talk.request, url, 0.0, b""), "cell"))
        )
    assert asked == [Address(peer, "cell") for peer in (owner, standby, "ann")]
    found = only(talk.from_peer("ann", PageRead(talk.request, url, 5.0, b"r"), "cell"))
    assert found == PageFound(3, url, 5.0, b"r")


# --- Status --------------------------------------------------------------------------------------


def test_status_is_gathered_from_all_live_peers() -> None:
    talk = Conversation()
    [wanted] = gather(talk)
    assert wanted == Send(Address("*", "searcher"), StatusWanted(talk.request))
    told = {peer: encode(PeerStatus(id=peer)) for peer in PEERS}
    for peer in ("cyd", "ann"):
        assert talk.from_peer(peer, StatusTold(talk.request, told[peer]), "searcher") == []
    gathered = only(talk.from_peer("bob", StatusTold(talk.request, told["bob"]), "searcher"))
    assert gathered == StatusGathered(4, tuple(told[peer] for peer in PEERS), MEMBERS)


def gather(talk: Conversation, members: tuple[Rumour, ...] | None = None) -> list[Send]:
    """Order the status, and have our membership tell who is a member."""
    assert talk.order(GatherStatus(4)) == [Send(Address("ann", "membership"), MembersWanted(()))]
    return talk.from_peer("ann", MembersTold(MEMBERS if members is None else members), "membership")


def member(peer: str, state: State = State.ALIVE, gateway: str = "http://a:1") -> Rumour:
    return Rumour(MemberRecord(peer, "", "", "", gateway, b"", b"", b"", 1, 100), state)


MEMBERS = tuple(map(member, PEERS))


def test_who_has_no_gateway_is_not_asked_for_a_status_and_those_that_are_down_are_told() -> None:
    talk = Conversation()
    down, door = member("cyd", State.DEAD), member("door", gateway="")
    talk.change_ownership(ownership(alive=("ann", "bob")))
    talk.wait(3.0)
    gather(talk, (*MEMBERS[:2], down, door, member("eve", State.LEFT)))
    told = {peer: encode(PeerStatus(id=peer)) for peer in ("ann", "bob")}
    talk.from_peer("ann", StatusTold(talk.request, told["ann"]), "searcher")
    gathered = only(talk.from_peer("bob", StatusTold(talk.request, told["bob"]), "searcher"))
    assert gathered == StatusGathered(4, tuple(told.values()), (*MEMBERS[:2], down, door), (("cyd", 3.0),))


def test_status_of_a_peer_that_does_not_answer_is_left_out() -> None:
    talk = Conversation()
    gather(talk)
    told = encode(PeerStatus(id="ann"))
    talk.from_peer("ann", StatusTold(talk.request, told), "searcher")
    assert [send.target.peer for send in talk.wait(REPEAT_AFTER_S)] == ["bob", "cyd"]
    assert only(talk.wait(1.0)) == StatusGathered(4, (told,), MEMBERS)


def test_status_that_is_forged_or_garbage_is_left_out() -> None:
    talk = Conversation(ownership(alive=("ann", "bob")))
    gather(talk, MEMBERS[:2])
    talk.from_peer("ann", StatusTold(talk.request, encode(PeerStatus(id="bob"))), "searcher")
    gathered = only(talk.from_peer("bob", StatusTold(talk.request, b"\xff"), "searcher"))
    assert gathered == StatusGathered(4, (), MEMBERS[:2])


def test_history_is_gathered_from_all_live_peers_and_who_does_not_answer_is_named() -> None:
    talk = Conversation()
    assert talk.order(GatherHistory(4, 60.0)) == [Send(Address("ann", "membership"), MembersWanted(()))]
    [wanted] = talk.from_peer("ann", MembersTold(MEMBERS), "membership")
    assert wanted == Send(Address("*", "historian"), HistoryWanted(talk.request, 60.0))
    told = HistoryTold(talk.request, (), (Event(1.0, "joined"),))
    for peer in ("bob", "ann", "eve"):
        assert talk.from_peer(peer, told, "historian") == []
    assert talk.searcher.observe().ignored == 1  # eve was not asked
    assert [send.target for send in talk.wait(REPEAT_AFTER_S)] == [Address("cyd", "historian")]
    gathered = only(talk.wait(1.0))
    assert isinstance(gathered, HistoryGathered)
    assert (gathered.span_s, gathered.silent) == (60.0, ("cyd",))
    assert gathered.told == (("ann", told), ("bob", told))


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//a.test/", "http://A.test"])
def test_notices_of_what_is_no_page_are_believed_of_nobody(url: str) -> None:
    talk = Conversation()
    talk.order(GatherNotices(4))
    talk.from_peer("ann", MembersTold(MEMBERS), "membership")
    notice = Notice(1, "http://a.test/", b"m", "glass", 1, 1.0, "title", 1, 1)
    hostile = NoticesTold(talk.request, (notice, msgspec.structs.replace(notice, place=2, url=url)), 2)
    talk.from_peer("bob", hostile, "watch")
    for peer in ("ann", "cyd"):
        sends = talk.from_peer(peer, NoticesTold(talk.request, (notice,), 1), "watch")
    gathered = only(sends)
    assert isinstance(gathered, NoticesGathered)
    assert [peer for peer, _ in gathered.told] == ["ann", "cyd"]
    assert gathered.silent == ("bob",)


def test_notices_are_gathered_from_all_live_peers_from_each_behind_where_the_reader_was() -> None:
    talk = Conversation()
    talk.order(GatherNotices(4, (("bob", 6), ("eve", 9)), most=9, is_from_oldest=True))
    asked = talk.from_peer("ann", MembersTold(MEMBERS), "membership")
    assert {(send.target.peer, send.target.actor) for send in asked} == {
        ("ann", "watch"),
        ("bob", "watch"),
        ("cyd", "watch"),
    }
    places = {send.target.peer: send.message for send in asked}
    assert places["bob"] == NoticesWanted(talk.request, 6, 9)
    assert places["ann"] == places["cyd"] == NoticesWanted(talk.request, 1, 9)
    told = NoticesTold(talk.request, (), 7)
    for peer in ("bob", "ann", "eve"):
        assert talk.from_peer(peer, told, "watch") == []
    talk.wait(REPEAT_AFTER_S)
    gathered = only(talk.wait(1.0))
    assert isinstance(gathered, NoticesGathered)
    assert (gathered.told, gathered.silent) == ((("ann", told), ("bob", told)), ("cyd",))


def test_gateway_that_asks_is_told_what_the_meter_reads() -> None:
    talk = Conversation()
    [reading] = talk.from_peer("bob", StatusWanted(77), "searcher")
    assert reading.target == Address("ann", "meter")
    assert isinstance(reading.message, ReadMeter)
    told = talk.from_peer("ann", MeterRead(reading.message.request, b"status"), "meter")
    assert told == [Send(Address("bob", "searcher"), StatusTold(77, b"status"))]
    assert talk.from_peer("ann", MeterRead(reading.message.request, b"status"), "meter") == []


def test_meter_readers_are_bounded() -> None:
    talk = Conversation()
    first = only(talk.from_peer("bob", StatusWanted(1), "searcher"))
    for request in range(METER_READERS_MAX):
        talk.from_peer("bob", StatusWanted(request), "searcher")
    assert isinstance(first, ReadMeter)
    assert talk.from_peer("ann", MeterRead(first.request, b"status"), "meter") == []


# --- Seeds ---------------------------------------------------------------------------------------


def batch_of(send: Send) -> int:
    assert isinstance(send.message, LinksFound)
    return send.message.batch


def test_seeds_go_to_the_owners_of_their_hosts_once_accepted_all_are_counted() -> None:
    talk = Conversation()
    urls = (url_of("bob"), url_of("cyd"), url_of("bob") + "x", url_of("bob"))
    to_bob, to_cyd = talk.order(AddSeeds(5, urls))
    assert to_bob.target == Address("bob", "controller")
    assert isinstance(to_bob.message, LinksFound)
    assert [link.url for link in to_bob.message.links] == [urls[0], urls[2]]
    assert all(link.depth == 0 for link in to_bob.message.links)
    assert talk.from_peer("bob", LinksAccepted(batch_of(to_bob)), "controller") == []
    done = talk.from_peer("cyd", LinksAccepted(batch_of(to_cyd)), "controller")
    assert done == [Send(HTTP, SeedsAdded(5, 3))]


def test_seeds_are_repeated_until_accepted() -> None:
    talk = Conversation()
    [first] = talk.order(AddSeeds(5, (url_of("bob"),)))
    assert talk.wait(REPEAT_S) == [first]
    assert talk.from_peer("cyd", LinksAccepted(batch_of(first)), "controller") == []
    assert talk.from_peer("bob", LinksAccepted(batch_of(first)), "controller") == [
        Send(HTTP, SeedsAdded(5, 1))
    ]


def test_seeds_of_an_owner_that_is_down_are_left_with_our_own_controller() -> None:
    talk = Conversation()
    url = url_of("bob")
    [first] = talk.order(AddSeeds(5, (url,)))
    talk.change_ownership(ownership(alive=("ann", "cyd")))
    [second] = talk.wait(REPEAT_S)
    assert second == Send(Address("ann", "controller"), first.message)
    assert only(talk.from_peer("ann", LinksAccepted(batch_of(first)), "controller")) == SeedsAdded(5, 1)


def test_seeds_that_nobody_accepts_are_not_counted() -> None:
    talk = Conversation()
    talk.order(AddSeeds(5, (url_of("bob"),)))
    assert only(talk.wait(SEEDING_S_MAX)) == SeedsAdded(5, 0)


def test_no_seeds_are_added_at_once() -> None:
    assert only(Conversation().order(AddSeeds(5, ()))) == SeedsAdded(5, 0)


def test_others_are_asked_for_excerpts_before_this_peer() -> None:
    talk = searching()
    talk.found("ann", (url_of("ann"), 1.0))
    talk.found("bob", (url_of("bob", witness="cyd"), 1.0))
    talk.found("cyd", (url_of("cyd", witness="bob"), 1.0))
    assert [send.target.peer for send in talk.sent] == ["bob", "cyd", "ann"]
