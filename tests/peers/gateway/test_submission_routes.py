"""Submitting sites at a gateway: off by default, quotas, hostile texts, the status page, verdicts."""

from __future__ import annotations

from urllib.parse import quote, urlencode

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address, Message
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.keys.decree import Signer
from mesh.keys.signing_key import SigningKey
from mesh.slots import SlotTable, slot_of
from peers.crawler.fetching.contact import visitor_of
from peers.crawler.model.settings import CrawlSettings
from peers.gateway.http.quotas import Quotas
from peers.gateway.model.messages import (
    FindSubmission,
    JudgeSite,
    ListSites,
    RequestRefused,
    SiteAnswered,
    SitesListed,
    SubmissionFound,
    SubmitUrl,
)
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.routes import application
from peers.gateway.searcher import Searcher
from peers.policy.rules import OF_SEEDS, Policy
from peers.policy.submission_rules import SubmissionRules
from peers.submissions.submission import Submission, code_of, code_text
from peers.submissions.verdict import Verdict, sign_verdict, verdict_bytes
from peers.submissions.wire_messages import (
    DOMAIN_FULL,
    ELSEWHERE,
    MESH_FULL,
    OFF,
    UNKNOWN,
    UNWANTED,
    ClaimDomain,
    ReadSubmissions,
    SubmissionAnswered,
    SubmissionsTold,
    SubmitSite,
    ToldSubmission,
)
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import MESH_ID, RIGHTS, ROOT, FakeBackend

CODE = code_of(7, b"0123456789abcdef")
TEXT = code_text(CODE)
RULES = SubmissionRules()
URL = "https://www.example.org/"
ROW = Submission(URL, 1_000, is_moderated=True, needs_proof=True, pages_max=100)
OWNER = Signer(ROOT, MESH_ID)


def verdict_on(*, is_accepted: bool = True, why: str = "", pages: int = 0, signer: Signer = OWNER) -> Verdict:
    return sign_verdict(signer, CODE, 1_000, is_accepted=is_accepted, why=why, pages=pages)


def order_of(verdict: Verdict) -> bytes:
    return f'{{"verdict": "{verdict_bytes(verdict).hex()}"}}'.encode()


ACCEPTED = verdict_on()
FORGED_VERDICT = verdict_on(signer=Signer(SigningKey.of_secret(b"x" * 32), MESH_ID))
HTML = {"Accept": "text/html"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def backend_of(
    refusal: str = "", row: Submission | None = ROW, rules: SubmissionRules | None = RULES
) -> FakeBackend:
    def answer(order: Message) -> Message:
        match order:
            case SubmitUrl() | JudgeSite():
                return SiteAnswered(7, CODE, refusal)
            case FindSubmission():
                return SubmissionFound(7, True, row)
            case ListSites():
                told = SubmissionsTold(1, True, (ToldSubmission(7, CODE, ROW),), b"\x01")
                return SitesListed(7, ("ann", "bob"), "ann", told)
        raise AssertionError(order)

    backend = FakeBackend(answer)
    backend.policy = Policy(rules=OF_SEEDS.rules, submissions=rules)
    return backend


async def test_it_is_off_unless_the_policy_has_it() -> None:
    gateway = application(backend_of(rules=None))
    assert (await ask(gateway, "/submit", headers=HTML)).status == 404
    posted = await ask(gateway, "/submit", "POST", FORM | HTML, urlencode({"url": URL}).encode())
    assert posted.status == 404
    reply = await ask(gateway, "/api/submit", "POST", {}, b'{"url": "https://www.example.org/"}')
    assert reply.status == 404
    assert "[submissions]" in reply.json["error"]
    assert "/submit" not in (await ask(gateway, "/bot", headers=HTML)).text
    assert "/submit" in (await ask(application(backend_of()), "/bot", headers=HTML)).text


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_form_leads_to_the_status_page_by_its_code_alone(language: str) -> None:
    backend = backend_of()
    gateway = application(backend)
    form = (await ask(gateway, f"/submit?lang={language}", headers=HTML)).text
    assert '<form class="ask"' in form
    assert f'action="/submit?lang={language}"' in form
    body = urlencode({"url": " HTTPS://www.Example.org "}).encode()
    posted = await ask(gateway, f"/submit?lang={language}", "POST", FORM | HTML, body)
    assert (posted.status, posted.headers["location"]) == (303, f"/submit/{TEXT}?lang={language}")
    assert backend.orders == [SubmitUrl(7, URL, b"0123456789abcdef")]
    page = await ask(gateway, posted.headers["location"], headers=HTML)
    assert (page.status, page.headers["cache-control"]) == (200, "no-store")
    assert TEXT in page.text
    assert "https://www.example.org/tianmesh-site.txt" in page.text
    assert f"&lt;meta name=&#34;tianmesh-site&#34; content=&#34;{TEXT}&#34;&gt;" in page.text
    assert (await ask(application(backend_of(row=None)), f"/submit/{TEXT}", headers=HTML)).status == 404


async def test_programs_get_the_same_as_json() -> None:
    gateway = application(backend_of())
    told = (await ask(gateway, "/api/submit", "POST", {}, b'{"url": "https://www.example.org"}')).json
    assert told["code"] == TEXT
    assert told["state"] == "moderated"
    assert told["proof_file"] == "https://www.example.org/tianmesh-site.txt"
    assert (await ask(gateway, f"/api/submit/{TEXT}")).json == told
    assert (await ask(gateway, "/api/submit/" + "a" * 25)).status == 404
    for body in (b"", b"{}", b"\xff", b"[" * 5_000, b'{"url": 1}'):
        assert (await ask(gateway, "/api/submit", "POST", {}, body)).status == 400


@pytest.mark.parametrize(
    ("refusal", "status"),
    [(DOMAIN_FULL, 429), (MESH_FULL, 503), (UNWANTED, 409), (UNKNOWN, 503), ("odd", 503), (OFF, 503)],
)
async def test_people_and_programs_are_told_why_a_site_is_not_taken(refusal: str, status: int) -> None:
    gateway = application(backend_of(refusal))
    assert (await ask(gateway, "/api/submit", "POST", {}, b'{"url": "http://a.test/"}')).status == status
    posted = await ask(gateway, "/submit", "POST", FORM | HTML, b"url=http%3A%2F%2Fa.test%2F")
    assert posted.status == status
    assert 'role="alert"' in posted.text
    assert 'value="http://a.test/"' in posted.text


async def test_a_client_has_a_quota_and_an_administrator_none() -> None:
    backend = backend_of(rules=SubmissionRules(per_client=4))
    backend.submission_wait_s = 100.0
    gateway = application(backend)
    body = b'{"url": "https://www.example.org/"}'
    refused = await ask(gateway, "/api/submit", "POST", {}, body, client="192.0.2.9")
    assert (refused.status, refused.headers["retry-after"]) == (429, "86400")
    assert backend.submissions_taken == [("192.0.2.9", 4)]
    assert backend.orders == []
    assert (await ask(gateway, "/api/submit", "POST", RIGHTS, body)).status == 200
    assert len(backend.submissions_taken) == 1


def test_the_quota_of_a_client_comes_back_in_a_day_and_clients_are_forgotten_in_their_order() -> None:
    quotas = Quotas(GatewaySettings())
    assert [quotas.take_submission("a", 2, 0.0) for _ in range(3)] == [0.0, 0.0, 43_200.0]
    assert quotas.take_submission("a", 2, 43_200.0) == 0.0
    assert quotas.take_submission("a", 2, 43_200.0) > 0.0
    for n in range(10_100):
        quotas.take_submission(f"c{n}", 2, 43_200.0)
    assert len(quotas._submitters) == 10_000


async def test_private_addresses_hostile_urls_and_pages_of_other_sites_are_refused() -> None:
    backend = backend_of()
    backend.private = {"10.0.0.1": "it is private"}
    gateway = application(backend)
    assert (await ask(gateway, "/api/submit", "POST", {}, b'{"url": "http://10.0.0.1/"}')).status == 409
    for url in ("", "javascript:alert(1)", "ftp://a.test/", "http://" + "a" * 9_000, "http://[::", "\ud800"):
        body = urlencode({"url": url.encode("utf-8", "surrogatepass")}).encode()
        posted = await ask(gateway, "/submit", "POST", FORM | HTML, body)
        assert posted.status == 400, url
    hostile = '"><script>alert(1)</script>'
    posted = await ask(gateway, "/submit", "POST", FORM | HTML, f"url={quote(hostile)}".encode())
    assert "<script>alert(1)" not in posted.text
    foreign = {"Origin": "https://evil.test", "Sec-Fetch-Site": "cross-site"}
    body = b"url=http%3A%2F%2Fa.test%2F"
    assert (await ask(gateway, "/submit", "POST", FORM | foreign, body)).status == 403
    assert (await ask(gateway, "/api/submit", "POST", foreign, b'{"url": "http://a.test/"}')).status == 403
    assert (await ask(gateway, "/submit", "POST", FORM, b"url=" + b"a" * 20_000)).status == 413
    assert backend.orders == []


@pytest.mark.parametrize(
    "body",
    [
        b"a=1&" * 20,
        b"url=http://a.test/&" * 9,
        b"&" * 9_000,
        b"\xff" * 9_000,
        b"\0",
        b"{}",
        b"url",
        b"%" * 99,
    ],
)
async def test_forms_that_are_none_are_answered_like_those_without_a_url(body: bytes) -> None:
    backend = backend_of()
    gateway = application(backend)
    for content_type in (
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
    ):
        headers = HTML | {"Content-Type": content_type}
        assert (await ask(gateway, "/submit", "POST", headers, body)).status == 400
    assert backend.orders == []


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("http://user:word@a.test/", "http://a.test/"),
        ("http://a.test%2f@evil.test/", "http://evil.test/"),
        ("http://\u4f8b.test/", "http://xn--fsq.test/"),
        ("HTTP://A.test:80/x#y", "http://a.test/x"),
    ],
)
async def test_what_is_submitted_is_the_address_that_the_crawl_would_ask_for(typed: str, url: str) -> None:
    backend = backend_of()
    posted = await ask(
        application(backend), "/submit", "POST", FORM | HTML, urlencode({"url": typed}).encode()
    )
    assert (posted.status, posted.headers["location"]) == (303, f"/submit/{TEXT}")
    assert backend.orders == [SubmitUrl(7, url, b"0123456789abcdef")]


async def test_paths_that_are_no_code_are_unknown_and_lead_nowhere() -> None:
    gateway = application(backend_of())
    for path in ("%2e%2e", "%F0%9F%98%80", "/evil.test", "a" * 24_000, f"{TEXT[:-1]}1", f"{TEXT}%00"):
        reply = await ask(gateway, f"/submit/{path}", headers=HTML)
        assert (reply.status, "location" in reply.headers) == (404, False), path


async def test_a_peer_without_a_contact_takes_no_site() -> None:
    backend = backend_of()
    backend.visitor = visitor_of(CrawlSettings(), (), is_closed=False)
    reply = await ask(application(backend), "/api/submit", "POST", {}, b'{"url": "https://www.pku.edu.cn/"}')
    assert reply.status == 409
    assert backend.orders == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verdict": verdict_on(is_accepted=False, why="<b>spam</b>")}, "&lt;b&gt;spam&lt;/b&gt;"),
        ({"verdict": FORGED_VERDICT}, "Waits for an administrator."),
        ({"is_moderated": False, "tried_why": "none", "tries": 1}, "The last look found no proof."),
        ({"verdict": ACCEPTED, "is_proven": True, "visited": 3}, "3 of at most 100 pages visited."),
        (
            {"verdict": ACCEPTED, "is_proven": True, "visited": 9, "end": 1},
            "Done: 9 of at most 100 pages visited.",
        ),
        ({"verdict": ACCEPTED, "is_proven": True}, "Waits for its turn."),
        ({"verdict": ACCEPTED, "end": 2, "end_why": "robots"}, "The robots.txt of the site forbids it."),
        ({"end": 1, "is_known": True}, "this site is crawled anyway"),
    ],
)
async def test_each_step_is_told_in_words(change: dict[str, object], words: str) -> None:
    fields = {name: getattr(ROW, name) for name in ROW.__struct_fields__}
    row = Submission(**(fields | change))
    page = (await ask(application(backend_of(row=row)), f"/submit/{TEXT}", headers=HTML)).text
    assert words in page
    assert ('<a href="">' in page) is (row.state not in ("done", "refused"))


async def test_verdicts_and_the_list_are_for_administrators() -> None:
    backend = backend_of()
    gateway = application(backend)
    verdict = verdict_on(is_accepted=False, why="spam", pages=5)
    order = order_of(verdict)
    assert (await ask(gateway, "/api/submissions")).status == 403
    assert (await ask(gateway, "/api/submissions", "POST", {}, order)).status == 403
    assert backend.orders == []
    done = await ask(gateway, "/api/submissions", "POST", RIGHTS, order)
    assert done.json == {"code": TEXT, "accepted": False}
    assert backend.orders == [JudgeSite(7, verdict)]
    forged = await ask(gateway, "/api/submissions", "POST", RIGHTS, order_of(FORGED_VERDICT))
    assert (forged.status, len(backend.orders)) == (409, 1), "and no member is asked"
    listed = (await ask(gateway, "/api/submissions?peer=ann&after=0a", headers=RIGHTS)).json
    assert [each["code"] for each in listed["submissions"]] == [TEXT]
    assert (listed["peers"], listed["peer"], listed["next"]) == (["ann", "bob"], "ann", "01")
    assert backend.orders[-1] == ListSites(7, "ann", b"\x0a")
    for body in (b"{}", b"\xff", b'{"verdict": "x"}', b'{"verdict": "90"}', b'{"verdict": "\xc3\xa9"}'):
        assert (await ask(gateway, "/api/submissions", "POST", RIGHTS, body)).status == 400
    assert (await ask(gateway, "/api/submissions?after=xyz", headers=RIGHTS)).status == 400
    assert (
        await ask(application(backend_of(UNKNOWN)), "/api/submissions", "POST", RIGHTS, order)
    ).status == 404


async def test_a_verdict_of_an_expelled_administrator_is_neither_taken_nor_shown() -> None:
    backend = backend_of(row=replace(ROW, verdict=ACCEPTED))
    gateway = application(backend)
    assert (await ask(gateway, f"/api/submit/{TEXT}")).json["state"] == "proving"
    backend.rights.revoke([ROOT.public.hex()])
    assert (await ask(gateway, f"/api/submit/{TEXT}")).json["state"] == "moderated"
    order = order_of(ACCEPTED)
    assert (await ask(gateway, "/api/submissions", "POST", RIGHTS, order)).status == 409


# --- The conversation with other peers -----------------------------------------------------------


def searcher_of(*peers: str) -> tuple[Searcher, Ownership]:
    table = SlotTable(dict.fromkeys(peers, 100), 64, 2)
    ownership = Ownership("ann", table, peers)
    searcher = Searcher("ann")
    searcher.receive(Address("ann", "membership"), OwnershipChanged(ownership), 0.0)
    return searcher, ownership


def test_the_domain_is_asked_first_then_the_site_and_again_when_it_is_another_peer_s() -> None:
    searcher, ownership = searcher_of("ann", "bob")
    [claim] = searcher.receive(Address("ann", "http"), SubmitUrl(7, URL, b"x" * 16), 0.0)
    assert isinstance(claim.message, ClaimDomain)
    first, request = claim.target, claim.message.request
    stranger = Address("cyd", "submissions")
    assert searcher.receive(stranger, SubmissionAnswered(request, DOMAIN_FULL), 0.1) == []
    assert searcher.receive(first, SubmissionAnswered(request, ELSEWHERE), 0.1) == []
    assert searcher.wake_at() == 0.6
    assert searcher.wake(0.6) == [claim]
    [submit] = searcher.receive(first, SubmissionAnswered(request), 0.7)
    assert isinstance(submit.message, SubmitSite)
    slot = slot_of("www.example.org", 64)
    assert submit.target == Address(ownership.owner_of(slot) or "", "submissions")
    assert submit.message.code == claim.message.code
    assert submit.message.code[:2] == slot.to_bytes(2, "big")
    [answer] = searcher.receive(submit.target, SubmissionAnswered(submit.message.request), 0.8)
    assert answer.message == SiteAnswered(7, submit.message.code)


def test_a_refusal_ends_it_and_silence_is_told() -> None:
    searcher, _ = searcher_of("ann", "bob")
    [claim] = searcher.receive(Address("ann", "http"), SubmitUrl(7, URL, b"x" * 16), 0.0)
    assert isinstance(claim.message, ClaimDomain)
    refused = SubmissionAnswered(claim.message.request, DOMAIN_FULL)
    [answer] = searcher.receive(claim.target, refused, 0.1)
    assert answer.message == SiteAnswered(7, claim.message.code, DOMAIN_FULL)
    searcher.receive(Address("ann", "http"), SubmitUrl(8, URL, b"y" * 16), 1.0)
    sends = searcher.wake(11.0)
    assert [type(send.message) for send in sends] == [RequestRefused]


def test_a_code_of_a_slot_that_is_none_is_unknown() -> None:
    searcher, _ = searcher_of("ann", "bob")
    code = code_of(65_535, b"0123456789abcdef")
    verdict = sign_verdict(OWNER, code, 1_000, is_accepted=True)
    [answer] = searcher.receive(Address("ann", "http"), JudgeSite(7, verdict), 0.0)
    assert answer.message == SiteAnswered(7, code, UNKNOWN)
    [found] = searcher.receive(Address("ann", "http"), FindSubmission(8, code), 0.0)
    assert found.message == SubmissionFound(8, True)


def test_that_there_is_no_submission_is_known_once_all_of_the_team_have_said_so() -> None:
    searcher, _ = searcher_of("ann", "bob")
    code = code_of(7, b"0123456789abcdef")
    for number, is_told in enumerate((True, False)):
        asked = searcher.receive(Address("ann", "http"), FindSubmission(number, code), 10.0 * number)
        told = SubmissionsTold(asked[0].message.request, True)  # type: ignore[attr-defined]
        answers = searcher.receive(Address("ann", "submissions"), told, 10.0 * number)
        if is_told:
            answers = searcher.receive(Address("bob", "submissions"), told, 10.0 * number)
        else:
            answers = searcher.wake(10.0 * number + 5.0)
        assert [send.message for send in answers] == [SubmissionFound(number, is_told)]


async def test_no_submission_is_called_unknown_while_peers_that_may_have_it_are_silent() -> None:
    backend = FakeBackend(lambda order: SubmissionFound(7, False))
    path = f"/api/submit/{code_text(CODE)}"
    backend.policy = Policy(rules=OF_SEEDS.rules, submissions=RULES)
    assert (await ask(application(backend), path)).status == 503
    assert (await ask(application(backend), f"/submit/{code_text(CODE)}")).status == 503
    backend.policy = OF_SEEDS
    assert (await ask(application(backend), path)).status == 404


def test_a_door_of_the_mesh_is_not_asked_for_submissions() -> None:
    """It is a member without weight, it comes first by its id, and it has nobody who would answer."""
    table = SlotTable({"a door": 0, "ann": 100, "bob": 100}, 64, 2)
    searcher = Searcher("ann")
    view = Ownership("ann", table, ("a door", "ann", "bob"))
    searcher.receive(Address("ann", "membership"), OwnershipChanged(view), 0.0)
    [asked] = searcher.receive(Address("ann", "http"), ListSites(7, "", b""), 0.0)
    assert asked.target == Address("ann", "submissions")
    told = SubmissionsTold(asked.message.request, True)  # type: ignore[attr-defined]
    [listed] = searcher.receive(asked.target, told, 0.1)
    assert listed.message == SitesListed(7, ("ann", "bob"), "ann", told)


def test_rows_of_a_member_that_are_none_are_left_out() -> None:
    """Of a URL without a host no status page could be made, and none says where the code of another is."""
    searcher, _ = searcher_of("ann", "bob")
    slot = slot_of("www.example.org", 64)
    code = code_of(slot, b"0123456789abcdef")
    sound = ToldSubmission(slot, code, Submission(URL, 1_000, True, True, 100))
    odd = [
        ToldSubmission(slot, code, Submission(url, 1_000, True, True, 5_000))
        for url in ("x", "javascript:alert(1)", "http://www.example.org/\x1b[2J", "http://other.test/")
    ]
    elsewhere = ToldSubmission(slot + 1, code_of(slot + 1, b"x" * 16), sound.row)
    asked = searcher.receive(Address("ann", "http"), FindSubmission(7, code), 0.0)
    request = asked[0].message.request  # type: ignore[attr-defined]
    searcher.receive(Address("bob", "submissions"), SubmissionsTold(request, True, (*odd, elsewhere)), 0.1)
    told = SubmissionsTold(request, True, (sound,))
    [answer] = searcher.receive(Address("ann", "submissions"), told, 0.1)
    assert answer.message == SubmissionFound(7, True, sound.row)
    [asked_one] = searcher.receive(Address("ann", "http"), ListSites(8, "bob", b""), 0.2)
    told = SubmissionsTold(asked_one.message.request, True, (*odd, sound, elsewhere))  # type: ignore[attr-defined]
    [listed] = searcher.receive(Address("bob", "submissions"), told, 0.3)
    assert isinstance(listed.message, SitesListed)
    assert listed.message.told.rows == (sound,)


def test_the_rows_of_a_team_are_joined() -> None:
    searcher, _ = searcher_of("ann", "bob")
    slot = slot_of("www.example.org", 64)
    code = code_of(slot, b"0123456789abcdef")
    asked = searcher.receive(Address("ann", "http"), FindSubmission(7, code), 0.0)
    assert {send.target.peer for send in asked} == {"ann", "bob"}
    message = asked[0].message
    assert isinstance(message, ReadSubmissions)

    def told(visited: int) -> SubmissionsTold:
        row = Submission(URL, 1_000, True, True, 100, visited=visited)
        return SubmissionsTold(message.request, True, (ToldSubmission(slot, code, row),))

    assert searcher.receive(Address("ann", "submissions"), told(3), 0.1) == []
    [answer] = searcher.receive(Address("bob", "submissions"), told(5), 0.2)
    assert isinstance(answer.message, SubmissionFound)
    assert answer.message.row is not None
    assert answer.message.row.visited == 5
