"""The page on which administrators judge submissions: who may, what is signed, and what strangers wrote."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address, Message
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.keys.decree import POLICY, Authority, Decree, Signer, appoint
from mesh.keys.key_file import new_signing_key, save_administrator
from mesh.keys.signed_token import TokenRight, sign_token
from mesh.membership.model.messages import AskDecrees, DecreePublished, DecreesHeld, PublishDecree
from mesh.slots import SlotTable
from mesh.urls import canonical
from peers.gateway.handling.backend import Busy
from peers.gateway.http.sign_in import cookie_of
from peers.gateway.model.messages import JudgeSite, ListSites, ReportUrl, SiteAnswered, SitesListed
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.routes import application
from peers.gateway.searcher import Searcher
from peers.policy.rules import OF_SEEDS, Action, Policy, Rule, policy_bytes, policy_in
from peers.policy.submission_rules import SubmissionRules
from peers.submissions.report import reporter_of
from peers.submissions.submission import Submission, code_of, code_text
from peers.submissions.verdict import Verdict, VerdictJudge, sign_verdict
from peers.submissions.wire_messages import (
    MESH_FULL,
    ReportPage,
    SubmissionAnswered,
    SubmissionsTold,
    ToldReport,
    ToldSubmission,
)
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import MESH_ID, RIGHTS, ROOT, TOKEN, FakeBackend
from tests.peers.gateway.fake_searcher import answer_to

CODE = code_of(7, b"0123456789abcdef")
TEXT = code_text(CODE)
URL = "https://www.example.org/"
OWNER = Signer(ROOT, MESH_ID)
NOW_S = 4e9  # passes hold until then
HTML = {"Accept": "text/html"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def passed(right: TokenRight = TokenRight.ORDERS) -> dict[str, str]:
    """The cookie of a browser in which somebody has signed in with a token of this right."""
    given = sign_token(OWNER, right, "ann", NOW_S)
    return {"Cookie": cookie_of(TOKEN, NOW_S - 10.0, is_encrypted=False, given=given).partition(";")[0]}


def backend_of(
    tmp_path: Path, *rows: Submission, is_silent: bool = False, has_key: bool = True
) -> FakeBackend:
    def answer(order: Message) -> Message:
        match order:
            case JudgeSite(verdict=verdict):
                return SiteAnswered(7, verdict.code)
            case ListSites(peer="bob") if is_silent:
                raise Busy("bob does not tell")
            case ListSites(peer=peer):
                told = [ToldSubmission(7, code_of(7, bytes([n]) * 13), row) for n, row in enumerate(rows)]
                peers = ("ann", "bob")
                return SitesListed(7, peers, peer or "ann", SubmissionsTold(1, True, tuple(told)))
        raise AssertionError(order)

    key = tmp_path / "moderator.key"
    if has_key:
        made = new_signing_key()
        save_administrator(key, Signer(made, MESH_ID, appoint(ROOT, MESH_ID, made.public)))
    settings = GatewaySettings(admin_token=TOKEN, moderator_key=str(key) if has_key else "")
    backend = FakeBackend(answer, settings)
    backend.policy = Policy(rules=OF_SEEDS.rules, submissions=SubmissionRules())
    return backend


class Sites:
    """A mesh with three submissions, of which each has the last verdict that was given."""

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        urls = (URL, "https://很长的名字.example.org/", f"https://www.example.net/{'path/' * 30}")
        self._rows = {
            code_of(7, bytes([number]) * 13): replace(ROW, url=canonical(url) or "")
            for number, url in enumerate(urls)
        }

    def __call__(self, order: Message) -> Message:
        match order:
            case JudgeSite(ticket, verdict):
                self.verdicts.append(verdict)
                self._rows[verdict.code] = replace(self._rows[verdict.code], verdict=verdict)
                return SiteAnswered(ticket, verdict.code)
            case ListSites(ticket):
                told = tuple(ToldSubmission(7, code, row) for code, row in self._rows.items())
                reports = (ToldReport("http://spam.test/a?b=c", 900, 1_000, 3),)
                return SitesListed(ticket, ("ann",), "ann", SubmissionsTold(1, True, told, reports=reports))
        return answer_to(order)


ROW = Submission(URL, 1_000, is_moderated=True, needs_proof=True, pages_max=100)


async def test_only_administrators_see_it_and_only_where_sites_are_taken(tmp_path: Path) -> None:
    backend = backend_of(tmp_path, ROW)
    gateway = application(backend)
    stranger = await ask(gateway, "/moderation", headers=HTML)
    assert (stranger.status, URL in stranger.text) == (403, False)
    assert 'name="token"' in stranger.text
    seen = await ask(gateway, "/moderation", headers=HTML | passed())
    assert (seen.status, seen.headers["cache-control"]) == (200, "no-store")
    assert URL in seen.text
    backend.policy = OF_SEEDS
    assert (await ask(gateway, "/moderation", headers=HTML | passed())).status == 404


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_verdict_of_the_form_is_signed_by_the_gateway(tmp_path: Path, language: str) -> None:
    backend = backend_of(tmp_path, ROW)
    gateway = application(backend)
    place = f"/moderation?lang={language}"
    page = (await ask(gateway, place, headers=HTML | passed())).text
    assert page.count('<form class="ask verdict"') == 4, "two for the row of each of two peers"
    said = {"code": TEXT, "verdict": "accept", "pages": "300", "unlimited": "1"}
    posted = await ask(gateway, place, "POST", FORM | HTML | passed(), urlencode(said).encode())
    assert posted.status == 303
    assert posted.headers["location"].startswith("/moderation?state=moderated")
    said = {"code": TEXT, "verdict": "refuse", "why": "spam"}
    assert (await ask(gateway, place, "POST", FORM | HTML | passed(), urlencode(said).encode())).status == 303
    verdicts = [order.verdict for order in backend.orders if isinstance(order, JudgeSite)]
    judge = VerdictJudge(Authority(ROOT.public, MESH_ID))
    assert all(judge.counts(each, CODE, NOW_S) for each in verdicts)
    told = [(each.is_accepted, each.pages, each.is_unlimited, each.why) for each in verdicts]
    assert told == [(True, 300, True, ""), (False, 0, False, "spam")]


async def test_no_token_to_read_no_other_site_and_no_gateway_without_a_key_judges(
    tmp_path: Path,
) -> None:
    backend = backend_of(tmp_path, ROW)
    gateway = application(backend)
    body = urlencode({"code": TEXT, "verdict": "accept"}).encode()
    reading = HTML | passed(TokenRight.READ)
    assert "tianmesh submissions accept" in (await ask(gateway, "/moderation", headers=reading)).text
    refused = await ask(gateway, "/moderation", "POST", FORM | reading, body)
    assert (refused.status, "sign in with one that lets order" in refused.text) == (403, True)
    foreign = {"Origin": "https://evil.test", "Sec-Fetch-Site": "cross-site"}
    assert (await ask(gateway, "/moderation", "POST", FORM | passed() | foreign, body)).status == 403
    assert (await ask(gateway, "/moderation", "POST", FORM | HTML, body)).status == 403
    forged = {"Cookie": passed(TokenRight.READ)["Cookie"].replace("-read-", "-orders-")}
    assert (await ask(gateway, "/moderation", "POST", FORM | HTML | forged, body)).status == 403
    for wrong in ({"code": "x"}, {"code": TEXT, "pages": "9999"}, {"code": TEXT, "why": "x" * 301}, {}):
        posted = await ask(gateway, "/moderation", "POST", FORM | HTML | passed(), urlencode(wrong).encode())
        assert (posted.status, 'role="alert"' in posted.text) == (400, True)
    bare = backend_of(tmp_path, ROW, has_key=False)
    assert (await ask(application(bare), "/moderation", "POST", FORM | HTML | passed(), body)).status == 409
    assert not [order for order in (*backend.orders, *bare.orders) if isinstance(order, JudgeSite)]


async def test_a_key_of_a_stranger_judges_nothing_and_people_are_told(tmp_path: Path) -> None:
    backend = backend_of(tmp_path, ROW)
    (tmp_path / "moderator.key").unlink()
    stranger = new_signing_key()
    save_administrator(
        tmp_path / "moderator.key", Signer(stranger, MESH_ID, appoint(stranger, MESH_ID, stranger.public))
    )
    body = urlencode({"code": TEXT, "verdict": "accept"}).encode()
    posted = await ask(application(backend), "/moderation", "POST", FORM | HTML | passed(), body)
    assert (posted.status, "moderator.key" in posted.text) == (409, True)
    assert not [order for order in backend.orders if isinstance(order, JudgeSite)]


async def test_texts_of_strangers_are_text_and_a_peer_that_tells_nothing_is_named(tmp_path: Path) -> None:
    verdict = sign_verdict(
        OWNER, code_of(7, bytes(13)), 1_000, is_accepted=False, why="<script>alert(1)</script>"
    )
    backend = backend_of(tmp_path, replace(ROW, verdict=verdict), is_silent=True)
    page = await ask(application(backend), "/moderation?state=refused", headers=HTML | passed())
    assert "<script>alert(1)" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert "has not told all of its submissions" in page.text


async def test_submitting_is_in_the_footer_of_each_page_where_sites_are_taken(tmp_path: Path) -> None:
    backend = backend_of(tmp_path)
    for place in ("/", "/help"):
        assert 'href="/submit"' in (await ask(application(backend), place, headers=HTML)).text
    backend.policy = OF_SEEDS
    for place in ("/", "/help"):
        assert "/submit" not in (await ask(application(backend), place, headers=HTML)).text


REPORTING = SubmissionRules(reports_per_client=3)


def reporting(refusal: str = "", rules: SubmissionRules | None = REPORTING) -> FakeBackend:
    def answer(order: Message) -> Message:
        return SiteAnswered(7, b"", refusal) if isinstance(order, ReportUrl) else answer_to(order)

    backend = FakeBackend(answer)
    backend.policy = Policy(rules=OF_SEEDS.rules, submissions=rules)
    return backend


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_result_is_reported_by_a_link_that_only_some_policies_have(language: str) -> None:
    backend = reporting()
    results = (await ask(application(backend), f"/search?q=crawler&lang={language}", headers=HTML)).text
    assert 'href="/report?url=http' in results
    backend.policy = Policy(rules=OF_SEEDS.rules, submissions=SubmissionRules())
    assert "/report" not in (await ask(application(backend), "/search?q=crawler", headers=HTML)).text
    for rules in (SubmissionRules(), None):
        off = application(reporting(rules=rules))
        assert (await ask(off, "/report?url=http://a.test/", headers=HTML)).status == 404
        assert (await ask(off, "/report", "POST", FORM | HTML, b"url=http://a.test/")).status == 404


async def test_reports_of_a_day_tell_readers_apart_and_nobody_who_they_are() -> None:
    backend = reporting()
    gateway = application(backend)
    assert (await ask(gateway, "/report?url=http://a.test/", headers=HTML)).text.count("http://a.test/") > 1
    body = b"url=HTTP%3A%2F%2FA.test"
    for client in ("192.0.2.1", "192.0.2.2", "192.0.2.1"):
        assert (await ask(gateway, "/report", "POST", FORM | HTML, body, client=client)).status == 200
    sent = [order for order in backend.orders if isinstance(order, ReportUrl)]
    assert {order.url for order in sent} == {"http://a.test/"}
    first, second, again = (order.reporter for order in sent)
    assert (first == again, first == second, len(first)) == (True, False, 8)
    assert reporter_of("192.0.2.1", b"another key") != first
    assert backend.submissions_taken == [(f"report 192.0.2.{n}", 3) for n in (1, 2, 1)]


async def test_reports_have_a_quota_and_none_comes_from_another_site_or_of_no_page() -> None:
    backend = reporting()
    gateway = application(backend)
    foreign = {"Origin": "https://evil.test", "Sec-Fetch-Site": "cross-site"}
    assert (await ask(gateway, "/report", "POST", FORM | foreign, b"url=http://a.test/")).status == 403
    for url in ("", "javascript:alert(1)", "http://" + "a" * 9_000, "<script>"):
        posted = await ask(gateway, "/report", "POST", FORM | HTML, urlencode({"url": url}).encode())
        assert (posted.status, "<script>alert" in posted.text) == (400, False)
    backend.submission_wait_s = 100.0
    posted = await ask(gateway, "/report", "POST", FORM | HTML, b"url=http://a.test/")
    assert (posted.status, 'role="alert"' in posted.text) == (429, True)
    assert not [order for order in backend.orders if isinstance(order, ReportUrl)]
    full = await ask(application(reporting(MESH_FULL)), "/report", "POST", FORM | HTML, b"url=http://a.test/")
    assert full.status == 503


async def test_administrators_see_the_pages_that_most_report_and_none_that_is_taken_down() -> None:
    told = (
        ToldReport("http://a.test/it's", 900, 1_000, 2),
        ToldReport("http://b.test/", 900, 1_000, 9),
        ToldReport("http://gone.test/", 900, 1_000, 64),
    )

    def answer(order: Message) -> Message:
        if not isinstance(order, ListSites):
            return answer_to(order)
        return SitesListed(7, ("ann",), "ann", SubmissionsTold(1, True, reports=told))

    backend = FakeBackend(answer)
    gone = Rule(action=Action.TAKE_DOWN, hosts=("gone.test",))
    backend.policy = Policy(rules=(gone, *OF_SEEDS.rules), submissions=REPORTING)
    page = (await ask(application(backend), "/moderation", headers=HTML | passed())).text
    assert page.index("http://b.test/") < page.index("http://a.test/it")
    assert "gone.test" not in page
    assert "tianmesh takedown b.test" in page
    assert "tianmesh takedown &#39;http://a.test/it&#39;&#34;&#39;&#34;&#39;s&#39;" in page
    listed = (await ask(application(backend), "/api/submissions", headers=RIGHTS)).json
    assert [(each["url"], each["readers"]) for each in listed["reports"]] == [
        ("http://a.test/it's", 2),
        ("http://b.test/", 9),
    ]


async def test_a_reported_page_or_its_site_is_taken_down_by_the_next_policy(tmp_path: Path) -> None:
    backend = backend_of(tmp_path)
    published: list[Decree] = []
    held = [OWNER.decree(POLICY, "", 3, policy_bytes(OF_SEEDS), valid_until=5e9)]

    def answer(order: Message) -> Message:
        match order:
            case AskDecrees():
                return DecreesHeld(7, POLICY, "", tuple(held), (), 9)
            case PublishDecree(decree=decree):
                published.append(decree)
                refusal = Authority(ROOT.public, MESH_ID).refusal_of(decree)
                return DecreePublished(7, decree.name, refusal)
            case ListSites():
                return SitesListed(7, ("ann",), "ann", SubmissionsTold(1, True))
        raise AssertionError(order)

    backend._answer = answer
    gateway, headers = application(backend), FORM | HTML | passed()
    for target in ("http://spam.test/a*b", "162.105.0.0/16", "", "javascript:alert(1)"):
        body = urlencode({"takedown": target}).encode()
        assert (await ask(gateway, "/moderation", "POST", headers, body)).status == 400
    held.append(OWNER.decree(POLICY, "", 4, policy_bytes(OF_SEEDS), effective_from=4.5e9))
    assert (await ask(gateway, "/moderation", "POST", headers, b"takedown=spam.test")).status == 409
    held[-1] = OWNER.decree(POLICY, "", 4, b"{}")
    assert (await ask(gateway, "/moderation", "POST", headers, b"takedown=spam.test")).status == 409
    held.pop()
    assert published == []
    for target in ("http://spam.test/a", "spam.test"):
        body = urlencode({"takedown": target}).encode()
        assert (await ask(gateway, "/moderation", "POST", headers, body)).status == 303
    rules = [policy_in(decree.body).rules[0] for decree in published]
    assert [(rule.action, rule.urls, rule.domains) for rule in rules] == [
        (Action.TAKE_DOWN, ("http://spam.test/a",), ()),
        (Action.TAKE_DOWN, (), ("spam.test",)),
    ]
    assert {decree.number for decree in published} == {9}
    assert (
        await ask(gateway, "/moderation", "POST", FORM | HTML | passed(TokenRight.READ), body)
    ).status == 403
    assert len(published) == 2


def test_a_report_goes_to_the_crawler_of_its_page_and_members_tell_only_pages() -> None:
    table = SlotTable(dict.fromkeys(("ann", "bob"), 100), 64, 2)
    view = Ownership("ann", table, ("ann", "bob"))
    searcher, http = Searcher("ann"), Address("ann", "http")
    searcher.receive(Address("ann", "membership"), OwnershipChanged(view), 0.0)
    [asked] = searcher.receive(http, ReportUrl(7, "http://a.test/x", b"r" * 8), 0.0)
    assert asked.target == Address(view.owner_of(view.slot_of("a.test")) or "", "submissions")
    assert isinstance(asked.message, ReportPage)
    [answer] = searcher.receive(asked.target, SubmissionAnswered(asked.message.request), 0.1)
    assert answer.message == SiteAnswered(7, b"")
    [listing] = searcher.receive(http, ListSites(8, "bob"), 0.2)
    odd = ToldReport("javascript:alert(1)", 1, 2, 3), ToldReport("http://a.test/", 1, 1 << 60, 3)
    request = listing.message.request  # type: ignore[attr-defined]
    told = SubmissionsTold(request, True, reports=(*odd, ToldReport("http://a.test/", 1, 2, 3)))
    [listed] = searcher.receive(listing.target, told, 0.3)
    assert isinstance(listed.message, SitesListed)
    assert [each.url for each in listed.message.told.reports] == ["http://a.test/"]
