"""Topics at a gateway: the list, the series as page, JSON and CSV, and the counts that make them."""

from __future__ import annotations

import csv
import json
from math import inf

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.keys.decree import TOPICS, Decree
from mesh.slots import SlotTable
from peers.gateway.model.messages import CountsSummed, CountTopic, RequestRefused
from peers.gateway.routes import application
from peers.gateway.site.texts import TEXTS
from peers.gateway.topics.counts_lookup import COUNT_S_MAX, ROUND_S_MAX, CountsLookup
from peers.topics.topic_list import FORMAT, CountedTopic, TopicList, TopicsInForce, list_body, topics_of
from peers.topics.wire_messages import ContentCounts, CountsTold, CountsWanted, SliceCounts
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.gateway.fake_backend import FakeBackend

DAY = 86_400
EVIL = "<script>alert(1)</script>"
TOPIC = CountedTopic("congress", EVIL, ("代表大会", "party congress"), ("delegates",), ("news.test",), 30)
LIST = TopicList(FORMAT, (TOPIC,), DAY, 22 * 3_600)
HTML = {"accept": "text/html"}
SLICES = (
    *(SliceCounts(20_000 + n, 100 + n, 20 + n, 10 + n, 50, 10, 5 + n) for n in range(4)),
    SliceCounts(20_004, 9, 1, 1, 9, 1, 1),
    *(SliceCounts(20_000 + n, 100 + n, 20 + n, 10 + n, 50, 10, 5 + n) for n in range(5, 9)),
)


def in_force() -> TopicsInForce | None:
    return topics_of([Decree(TOPICS, "", 3, 0.0, inf, list_body(LIST), b"", b"")], None)


def counted(order: Message, slices: tuple[SliceCounts, ...] = SLICES, left_s: float = 500.0) -> Message:
    assert isinstance(order, CountTopic)
    return CountsSummed(order.ticket, 20_009, slices, ContentCounts(300, 60, 40), left_s)


def backend_of(slices: tuple[SliceCounts, ...] = SLICES) -> FakeBackend:
    backend = FakeBackend(lambda order: counted(order, slices))
    backend.topics = in_force()
    return backend


async def told(backend: FakeBackend, path: str) -> Reply:
    return await ask(application(backend), path)


async def test_the_strength_of_a_topic_is_told_slice_by_slice_with_lost_ones_mended() -> None:
    backend = backend_of()
    found = json.loads((await told(backend, "/api/topic/congress")).body)
    assert backend.orders == [CountTopic(7, LIST.key_of(TOPIC), DAY, 22 * 3_600, 30)]
    assert (found["topic"]["name"], found["topic"]["kept"]) == ("congress", 30)
    assert found["open_until"] == LIST.start_of(20_010)
    assert found["slices"][0]["begins_at"] == 20_000 * DAY + 22 * 3_600
    assert [each["is_lost"] for each in found["slices"]] == [n == 4 for n in range(9)]
    assert found["slices"][4]["topic"] == 1, "as it was counted"
    assert found["pages"]["absolute"]["values"][4] == pytest.approx(14.0)
    assert found["contents"]["absolute"]["total"] == 40
    assert found["related_contents"]["share"]["total"] == pytest.approx(0.2)


async def test_csv_has_a_line_for_each_slice_with_counts_and_series() -> None:
    reply = await told(backend_of(), "/api/topic/congress?format=csv")
    assert reply.headers["content-type"].startswith("text/csv")
    lines = list(csv.DictReader(reply.body.decode().splitlines()))
    assert len(lines) == len(SLICES)
    assert lines[4]["slice"] == "2024-10-08T22:00:00Z"
    assert (lines[4]["topic"], lines[4]["is_lost"], lines[4]["topic_pages_number"]) == ("1", "1", "14")
    assert float(lines[0]["topic_pages_share"]) == pytest.approx(0.1)


@pytest.mark.parametrize("language", list(TEXTS))
async def test_the_page_draws_eight_series_with_mended_values_hollow(language: str) -> None:
    reply = await ask(application(backend_of()), f"/topic/congress?lang={language}", headers=HTML)
    assert reply.status == 200
    assert reply.text.count("<svg viewBox") == reply.text.count('class="hollow"') == 8
    assert EVIL not in reply.text
    assert "&lt;script&gt;alert(1)" in reply.text
    assert "代表大会; party congress" in reply.text
    assert reply.text.count('<tr><th scope="row">') == len(SLICES)
    listed = await ask(application(backend_of()), f"/topics?lang={language}", headers=HTML)
    assert f'href="/topic/congress?lang={language}"' in listed.text


@pytest.mark.parametrize("n", [0, 1, 2])
async def test_the_first_slices_of_a_topic_make_a_page_too(n: int) -> None:
    reply = await ask(application(backend_of(SLICES[:n])), "/topic/congress", headers=HTML)
    assert reply.status == 200
    assert reply.text.count("<svg viewBox") == (8 if n else 0)
    assert (await told(backend_of(SLICES[:n]), "/api/topic/congress?format=csv")).status == 200


async def test_unknown_topics_and_formats_are_refused_and_without_topics_the_list_is_empty() -> None:
    backend = backend_of()
    assert (await told(backend, "/api/topic/other")).status == 404
    assert (await told(backend, "/api/topic/congress?format=xml")).status == 400
    assert (await ask(application(backend), "/topic/other", headers=HTML)).status == 404
    assert json.loads((await told(backend, "/api/topics")).body)["number"] == 3
    backend.topics = None
    assert json.loads((await told(backend, "/api/topics")).body) == {"number": 0, "topics": []}
    assert (await told(backend, "/api/topic/congress")).status == 404
    assert backend.orders == [], "nobody is asked for it"


async def test_counts_are_asked_for_again_once_another_slice_is_over() -> None:
    backend = FakeBackend(lambda order: counted(order, left_s=-1.0))
    backend.topics = in_force()
    gateway = application(backend)
    for _ in range(3):
        assert (await ask(gateway, "/api/topic/congress")).status == 200
    assert len(backend.orders) == 3


async def test_counts_are_asked_for_once_a_minute() -> None:
    backend = backend_of()
    gateway = application(backend)
    for path in ("/api/topic/congress", "/topic/congress", "/api/topic/congress?format=csv"):
        assert (await ask(gateway, path)).status == 200
    assert len(backend.orders) == 1


# --- The counts of all peers

PEERS = ("ann", "bob", "eve")
NOW = 20_009 * DAY + 23 * 3_600.0
VIEW = Ownership("ann", SlotTable(dict.fromkeys(PEERS, 100), 64, 2), PEERS)
FEWER = Ownership("ann", SlotTable(dict.fromkeys(PEERS[:2], 100), 64, 2), PEERS[:2])


class Lookup:
    """A lookup that has begun."""

    def __init__(self) -> None:
        self.view = VIEW
        order = CountTopic(4, b"akey", DAY, 22 * 3_600, 30)
        self.errand = CountsLookup(1, "ann", order, lambda: self.view)
        self.asked = self.questions(self.errand.start(NOW))

    def questions(self, sends: list[Send]) -> dict[str, CountsWanted]:
        found = {}
        for send in sends:
            assert isinstance(send.message, CountsWanted)
            found[send.target.peer] = send.message
        return found

    def hear(self, peer: str, *slices: SliceCounts, following: bytes = b"", epoch: bytes = b"") -> list[Send]:
        answer = CountsTold(
            self.asked[peer].request,
            epoch or self.view.serving_epoch,
            slices,
            ContentCounts(1, 1, 0),
            following,
        )
        return self.errand.receive(Address(peer, "topics"), answer, NOW) or []


def test_each_peer_is_asked_until_it_has_told_all_and_the_sums_are_those_of_all() -> None:
    lookup = Lookup()
    assert set(lookup.asked) == set(PEERS)
    assert {(each.first, each.end, each.after) for each in lookup.asked.values()} == {(19_979, 20_009, b"")}
    lookup.hear("ann", SliceCounts(20_000, 1, 1, 1, 1, 1, 1))
    lookup.hear("bob", SliceCounts(20_001, 5), following=b"further")
    again = lookup.questions(lookup.hear("eve", SliceCounts(20_000, 2, 0, 0, 2, 0, 0)))
    assert {peer: each.after for peer, each in again.items()} == {"bob": b"further"}
    lookup.asked = again
    (send,) = lookup.hear("bob", SliceCounts(20_001, 1))
    slices = (SliceCounts(20_000, 3, 1, 1, 3, 1, 1), SliceCounts(20_001, 6))
    assert send.message == CountsSummed(4, 20_009, slices, ContentCounts(4, 4, 0), DAY - 3_600.0)
    assert lookup.errand.is_done


def test_other_owners_let_it_begin_anew_and_whoever_goes_by_others_is_asked_again() -> None:
    lookup = Lookup()
    lookup.hear("ann", SliceCounts(20_000, 1))
    assert lookup.hear("bob", SliceCounts(20_000, 1), epoch=b"older") == []
    later = lookup.errand.wake_at()
    assert "bob" in lookup.questions(lookup.errand.wake(later))
    lookup.view = FEWER
    lookup.asked = lookup.questions(lookup.errand.ownership_changed(NOW))
    assert set(lookup.asked) == {"ann", "bob"}
    lookup.hear("ann", SliceCounts(20_000, 2))
    (send,) = lookup.hear("bob", SliceCounts(20_000, 3))
    assert isinstance(send.message, CountsSummed)
    assert send.message.slices == (SliceCounts(20_000, 5),)


@pytest.mark.parametrize("number", [0, 19_978, 20_009, (1 << 32) - 1])
def test_a_peer_that_tells_of_other_slices_than_were_asked_for_is_not_believed(number: int) -> None:
    """One had all counts of a topic refused: those of the others are told, and that its are missing."""
    lookup = Lookup()
    lookup.hear("ann", SliceCounts(20_000, 1), following=b"further")
    lookup.asked |= lookup.questions(lookup.hear("bob", SliceCounts(20_000, 2)))
    lookup.asked |= lookup.questions(lookup.hear("eve", SliceCounts(20_000, 100), following=b"further"))
    lookup.hear("ann", SliceCounts(20_001, 1))
    (send,) = lookup.hear("eve", SliceCounts(number, 1))
    assert isinstance(send.message, CountsSummed)
    assert send.message.slices == (SliceCounts(20_000, 3), SliceCounts(20_001, 1))
    assert (send.message.together, send.message.left_out) == (ContentCounts(3, 3, 0), ("eve",))


async def test_counts_without_those_of_a_peer_that_lies_say_so_and_are_no_table() -> None:
    backend = FakeBackend(lambda order: replace(counted(order), left_out=("eve",)))
    backend.topics = in_force()
    assert json.loads((await told(backend, "/api/topic/congress")).body)["left_out"] == ["eve"]
    assert (
        "peers that tell what they were not asked for: eve." in (await told(backend, "/topic/congress")).text
    )
    table = await told(backend, "/api/topic/congress?format=csv")
    assert (table.status, "eve" in table.json["error"]) == (503, True)


async def test_counts_without_those_of_a_silent_peer_say_how_much_is_missing() -> None:
    backend = FakeBackend(lambda order: replace(counted(order), silent=("eve",), missing_share=0.25))
    backend.topics = in_force()
    answer = json.loads((await told(backend, "/api/topic/congress")).body)
    assert (answer["silent"], answer["missing_share"]) == (["eve"], 0.25)
    page = (await told(backend, "/topic/congress")).text
    assert "have not answered: eve. About 25.0% of all pages are missing" in page
    assert (await told(backend, "/api/topic/congress?format=csv")).status == 503


def test_where_all_lie_there_are_no_counts() -> None:
    lookup = Lookup()
    for peer in PEERS[:-1]:
        assert lookup.hear(peer, SliceCounts(0, 1)) == []
    (send,) = lookup.hear(PEERS[-1], SliceCounts(0, 1))
    assert isinstance(send.message, RequestRefused)
    assert PEERS[-1] in send.message.reason


def test_a_silent_peer_is_named_and_the_counts_of_the_others_are_told_with_the_share_that_is_missing() -> (
    None
):
    """They were refused as a whole."""
    lookup = Lookup()
    lookup.hear("ann", SliceCounts(20_000, 2))
    lookup.hear("bob", SliceCounts(20_000, 3), following=b"further")
    lookup.asked = lookup.questions(lookup.errand.wake(NOW + ROUND_S_MAX))
    assert set(lookup.asked) == {"bob"}, "eve is asked no more"
    (send,) = lookup.hear("bob", SliceCounts(20_001, 1))
    assert isinstance(send.message, CountsSummed)
    assert send.message.slices == (SliceCounts(20_000, 5), SliceCounts(20_001, 1))
    assert (send.message.silent, send.message.left_out) == (("eve",), ())
    assert send.message.missing_share == VIEW.slots_answered["eve"] / 64


def test_where_one_never_ends_the_counts_of_those_that_have_told_all_are_told() -> None:
    lookup = Lookup()
    lookup.hear("ann", SliceCounts(20_000, 2))
    lookup.hear("bob", SliceCounts(20_000, 3), following=b"more")
    lookup.hear("eve", SliceCounts(20_000, 4))
    (send,) = lookup.errand.wake(NOW + COUNT_S_MAX)
    assert isinstance(send.message, CountsSummed)
    assert (send.message.slices, send.message.silent) == ((SliceCounts(20_000, 6),), ("bob",))


def test_where_nobody_tells_all_the_counts_are_refused_by_name() -> None:
    (send,) = Lookup().errand.wake(NOW + ROUND_S_MAX)
    assert isinstance(send.message, RequestRefused)
    assert "ann, bob, eve" in send.message.reason
    endless = Lookup()
    for peer in PEERS:
        asked = endless.hear(peer, following=b"more")
    assert set(endless.questions(asked)) == set(PEERS)
    (send,) = endless.errand.wake(NOW + COUNT_S_MAX)
    assert isinstance(send.message, RequestRefused)
