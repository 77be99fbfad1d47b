"""Entities at a gateway: sealed rows come and go for their owners, and feeds by secret addresses."""

from __future__ import annotations

import json
from base64 import b64encode
from xml.etree import ElementTree

import pytest

from mesh.actors.actor import Address, Message
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.slots import SlotTable
from peers.entities.feed import Feed, FeedEntry, feed_bytes, secret_of
from peers.entities.seal import RowKey
from peers.entities.sealed_row import KEY_BYTES, SealedRow, slot_of_key
from peers.entities.wire_messages import (
    ELSEWHERE,
    FULL,
    OUTDATED,
    UNTRUE,
    KeepSealed,
    ReadSealed,
    SealedKept,
    SealedTold,
)
from peers.gateway.model.messages import FindRow, KeepRow, RequestRefused, RowAnswered, RowFound
from peers.gateway.routes import application
from peers.gateway.searcher import Searcher
from peers.policy.entity_rules import EntityRules
from peers.policy.rules import OF_SEEDS, Policy
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import FakeBackend

SECRET = b"s" * KEY_BYTES
KEY = RowKey(SECRET)
RULES = EntityRules()
PATH = f"/api/entities/{KEY.public.hex()}"


def row(content: bytes = b"fields", number: int = 1) -> SealedRow:
    return KEY.seal(number, 400, content, bytes(12))


def body(of: SealedRow) -> bytes:
    told = {"sealed": b64encode(of.sealed).decode(), "signature": b64encode(of.signature).decode()}
    return json.dumps({"number": of.number, "until_day": of.until_day, **told}).encode()


def backend_of(
    found: SealedRow | None = None, refusal: str = "", rules: EntityRules | None = RULES
) -> FakeBackend:
    def answer(order: Message) -> Message:
        if isinstance(order, KeepRow):
            return RowAnswered(7, refusal)
        assert isinstance(order, FindRow)
        return RowFound(7, True, found)

    backend = FakeBackend(answer)
    backend.policy = Policy(rules=OF_SEEDS.rules, entities=rules)
    return backend


async def test_it_is_off_unless_the_policy_has_it() -> None:
    backend = backend_of(rules=None)
    gateway = application(backend)
    for path, method, posted in (
        ("/api/entities", "GET", b""),
        (PATH, "GET", b""),
        (PATH, "POST", body(row())),
    ):
        reply = await ask(gateway, path, method, {}, posted)
        assert reply.status == 404
        assert "[entities]" in reply.json["error"]
    assert (await ask(gateway, f"/feed/{secret_of(KEY)}")).status == 404
    assert backend.orders == []


async def test_a_row_of_its_owner_is_kept_and_read_back() -> None:
    backend = backend_of(row())
    gateway = application(backend)
    assert (await ask(gateway, "/api/entities")).json == {"days": 365}
    assert (await ask(gateway, PATH, "POST", {}, body(row()))).json == {"number": 1}
    assert backend.orders == [KeepRow(7, KEY.public, row())]
    assert backend.submissions_taken == [("127.0.0.1 entities", 200)]
    assert json.dumps((await ask(gateway, PATH)).json).encode() != b""
    assert (await ask(gateway, PATH)).json == json.loads(body(row()))
    assert (await ask(application(backend_of()), PATH)).status == 404


@pytest.mark.parametrize(
    ("refusal", "status"), [(UNTRUE, 400), (OUTDATED, 409), (FULL, 503), ("what no peer says", 503)]
)
async def test_refusals_of_the_mesh_are_told(refusal: str, status: int) -> None:
    reply = await ask(application(backend_of(refusal=refusal)), PATH, "POST", {}, body(row()))
    assert reply.status == status


async def test_what_is_no_row_of_its_owner_reaches_no_peer_and_counts_for_nothing() -> None:
    backend = backend_of()
    gateway = application(backend)
    other = RowKey(b"o" * KEY_BYTES).seal(1, 400, b"", bytes(12))
    for posted in (
        body(other),
        b"",
        b"{}",
        b"\xff",
        b"[" * 5_000,
        body(row()).replace(b'"number": 1', b'"number": -1'),
    ):
        assert (await ask(gateway, PATH, "POST", {}, posted)).status == 400, posted[:40]
    assert (await ask(gateway, PATH, "POST", {}, body(row()) + b" " * 60_000)).status == 413
    for name in ("x", "0" * 63, "g" * 64, "0" * 66):
        assert (await ask(gateway, f"/api/entities/{name}")).status == 400
    assert backend.orders == []
    assert backend.submissions_taken == []


async def test_a_client_changes_so_many_a_day_and_pages_of_other_sites_none() -> None:
    backend = backend_of()
    backend.submission_wait_s = 9.0
    reply = await ask(application(backend), PATH, "POST", {}, body(row()))
    assert (reply.status, reply.headers["retry-after"]) == (429, "433")
    foreign = {"Origin": "https://evil.test"}
    assert (await ask(application(backend_of()), PATH, "POST", foreign, body(row()))).status == 403


async def test_a_feed_is_read_by_its_address_and_says_nothing_of_the_secret() -> None:
    entry = FeedEntry("http://a.test/?a=1&b=2", "<b>title\x00", "北京大学教授李晓明", 1_234, 1, 1_000.0)
    sealed = row(feed_bytes(Feed("李晓明", (entry,))))
    reply = await ask(application(backend_of(sealed)), f"/feed/{secret_of(KEY)}?lang=en")
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("application/atom+xml")
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-robots-tag"] == "noindex"
    assert secret_of(KEY) not in reply.text
    root = ElementTree.fromstring(reply.text)
    atom = "{http://www.w3.org/2005/Atom}"
    [shown] = root.iter(f"{atom}entry")
    assert shown.findtext(f"{atom}id") == "http://a.test/?a=1&b=2"
    assert shown.findtext(f"{atom}summary") == "北京大学教授李晓明 (score 1234, speaks well of it)"
    for required in ("id", "title", "updated", "author"):
        assert root.find(f"{atom}{required}") is not None


@pytest.mark.parametrize(
    "found", [None, KEY.forget(row()), row(b"no feed"), RowKey(b"o" * KEY_BYTES).seal(1, 400, b"", bytes(12))]
)
async def test_an_address_whose_feed_has_ended_leads_nowhere(found: SealedRow | None) -> None:
    backend = backend_of(found)
    reply = await ask(application(backend), f"/feed/{secret_of(KEY)}")
    assert reply.status == 404
    assert backend.orders == [FindRow(7, KEY.public)]
    assert (await ask(application(backend), "/feed/x")).status == 404


async def test_nobody_is_told_that_an_entity_is_nowhere_while_a_peer_that_may_have_it_is_silent() -> None:
    backend = FakeBackend(lambda order: RowFound(7, False))
    backend.policy = Policy(rules=OF_SEEDS.rules, entities=RULES)
    for path in (PATH, f"/feed/{secret_of(KEY)}"):
        reply = await ask(application(backend), path)
        assert (reply.status, reply.headers["retry-after"]) == (503, "10")


# --- The conversation with other peers -----------------------------------------------------------


def searcher_of(*peers: str) -> tuple[Searcher, Ownership]:
    ownership = Ownership("ann", SlotTable(dict.fromkeys(peers, 100), 64, 2), peers)
    searcher = Searcher("ann")
    searcher.receive(Address("ann", "membership"), OwnershipChanged(ownership), 0.0)
    return searcher, ownership


def test_the_owner_of_the_slot_is_asked_again_when_it_is_another_peer_s() -> None:
    searcher, ownership = searcher_of("ann", "bob")
    [keep] = searcher.receive(Address("ann", "http"), KeepRow(7, KEY.public, row()), 0.0)
    assert isinstance(keep.message, KeepSealed)
    assert keep.target == Address(ownership.owner_of(slot_of_key(KEY.public, 64)) or "", "entities")
    request = keep.message.request
    assert searcher.receive(Address("cyd", "entities"), SealedKept(request, FULL), 0.1) == []
    assert searcher.receive(keep.target, SealedKept(request, ELSEWHERE), 0.1) == []
    assert searcher.wake(0.6) == [keep]
    [answer] = searcher.receive(keep.target, SealedKept(request), 0.7)
    assert answer.message == RowAnswered(7)


def test_a_silent_owner_is_told() -> None:
    searcher, _ = searcher_of("ann", "bob")
    searcher.receive(Address("ann", "http"), KeepRow(7, KEY.public, row()), 0.0)
    assert [type(send.message) for send in searcher.wake(11.0)] == [RequestRefused]


def test_of_the_rows_of_a_team_the_newest_of_its_owner_counts() -> None:
    searcher, _ = searcher_of("ann", "bob")
    sends = searcher.receive(Address("ann", "http"), FindRow(7, KEY.public), 0.0)
    assert {send.target.peer for send in sends} == {"ann", "bob"}
    assert all(isinstance(send.message, ReadSealed) for send in sends)
    request = next(send.message.request for send in sends if isinstance(send.message, ReadSealed))
    forged = RowKey(b"o" * KEY_BYTES).seal(9, 400, b"", bytes(12))
    assert searcher.receive(Address("bob", "entities"), SealedTold(request, True, forged), 0.1) == []
    [found] = searcher.receive(Address("ann", "entities"), SealedTold(request, True, row(number=2)), 0.1)
    assert found.message == RowFound(7, True, row(number=2))
    sends = searcher.receive(Address("ann", "http"), FindRow(8, KEY.public), 1.0)
    request = next(send.message.request for send in sends if isinstance(send.message, ReadSealed))
    searcher.receive(Address("bob", "entities"), SealedTold(request, True, row(number=2)), 1.1)
    [found] = searcher.receive(Address("ann", "entities"), SealedTold(request, True, row(number=1)), 1.1)
    assert found.message == RowFound(8, True, row(number=2))


def test_that_none_has_a_row_is_known_once_all_of_the_team_have_said_so_by_the_policy() -> None:
    searcher, _ = searcher_of("ann", "bob")
    for number, told in enumerate((SealedTold(0, True), SealedTold(0, False), None)):
        sends = searcher.receive(Address("ann", "http"), FindRow(number, KEY.public), 10.0 * number)
        request = next(send.message.request for send in sends if isinstance(send.message, ReadSealed))
        bob = Address("bob", "entities")
        answers = searcher.receive(Address("ann", "entities"), SealedTold(request, True), 10.0 * number)
        if told is not None:
            answers = searcher.receive(bob, SealedTold(request, told.is_on), 10.0 * number)
        else:
            answers = searcher.wake(10.0 * number + 5.0)
        assert [send.message for send in answers] == [RowFound(number, told is not None and told.is_on)]
