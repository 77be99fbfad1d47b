"""Rows of submissions: they join in any order, and nothing is one that is not in its place."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import permutations
from math import inf
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import RemoteProtocolError
from mesh.keys.decree import POLICY, REVOCATION, Authority, Decree, Signer, appoint
from mesh.keys.identity import verify_signature
from mesh.keys.signing_key import SigningKey
from mesh.membership.model.messages import DecreesInForce
from mesh.slot_set import encode_slot_list
from mesh.slots import SlotTable
from mesh.tables.memory_table import MemoryTable
from mesh.urls import fingerprint
from peers.crawler.controller import Controller
from peers.crawler.model.messages import SiteSeen, SitesSeen, WatchSites
from peers.handover.item_store import Item, key_of
from peers.handover.messages import SlotsSynchronised, SynchroniseSlots, UseStore
from peers.handover.wire_messages import CompareSlots, ItemsChanged, ItemsKept
from peers.policy.rules import DAY_S, EVERYTHING, Policy, policy_bytes
from peers.policy.submission_rules import SubmissionRules
from peers.submissions.domain_day import (
    codes_bytes,
    codes_in,
    domain_digest,
    is_kept,
    name_of_day,
    slot_of_domain,
)
from peers.submissions.report import (
    KEPT_S as REPORT_KEPT_S,
)
from peers.submissions.report import (
    REPORTER_BYTES,
    REPORTERS_MAX,
    PageReport,
    joined_reports,
    name_of_report,
    report_bytes,
    report_in,
)
from peers.submissions.submission import (
    KEPT_S,
    PROOF_S,
    Submission,
    SubmissionState,
    code_in,
    code_of,
    code_text,
    is_row,
    joined,
    name_of,
    row_bytes,
    row_in,
    slot_of_code,
)
from peers.submissions.submissions import CHECKED_MAX, ROWS_MAX, Submissions, SubmissionStatistics
from peers.submissions.verdict import AHEAD_S, CODE_BYTES, FORGED_MAX, Verdict, VerdictJudge, sign_verdict
from peers.submissions.wire_messages import (
    DOMAIN_FULL,
    ELSEWHERE,
    FORGED,
    MESH_FULL,
    OFF,
    PLACE_BYTES_MAX,
    UNKNOWN,
    UNWANTED,
    ClaimDomain,
    JudgeSubmission,
    ReadSubmissions,
    ReportPage,
    SubmissionAnswered,
    SubmissionsTold,
    SubmitSite,
)

SLOTS = 16
GATEWAY = Address("bob", "searcher")
RULES = SubmissionRules(moderation=False, pages_per_site=5, per_domain=2, waiting_max=3)
MARKS = [fingerprint(f"http://a.test/{n}") for n in range(8)]

ROOT, MESH = SigningKey.of_secret(b"r" * 32), b"mesh"
OWNER = Signer(ROOT, MESH)
AUTHORITY = Authority(ROOT.public, MESH)
ADMINISTRATOR = SigningKey.of_secret(b"a" * 32)
SIGNER = Signer(ADMINISTRATOR, MESH, appoint(ROOT, MESH, ADMINISTRATOR.public))


def verdict_on(signed_s: int, is_accepted: bool, why: str) -> Verdict:
    return sign_verdict(SIGNER, b"c" * 15, signed_s, is_accepted=is_accepted, why=why)


rows = st.builds(
    Submission,
    st.sampled_from(["http://a.test/", "http://a.test/b"]),
    st.integers(0, 3),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
    st.none() | st.builds(verdict_on, st.integers(0, 2), st.booleans(), st.sampled_from(["", "a"])),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
    st.sampled_from(["", "none"]),
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from(["", "x"]),
    st.sets(st.sampled_from(MARKS)).map(lambda marks: tuple(sorted(marks))),
)


@given(st.lists(rows, min_size=3, max_size=3))
def test_rows_join_in_any_order_and_any_number_of_times(some: list[Submission]) -> None:
    results = set()
    for a, b, c in permutations(some):
        results.add(row_bytes(joined(joined(a, b), joined(c, b))))
        results.add(row_bytes(joined(a, joined(b, c))))
    assert len(results) == 1
    whole = row_in(results.pop())
    assert joined(whole, some[0]) == whole


@given(st.binary(min_size=13, max_size=20), st.integers(0, SLOTS - 1))
def test_a_code_has_its_slot_and_is_read_as_it_is_written(chance: bytes, slot: int) -> None:
    code = code_of(slot, chance)
    assert slot_of_code(code) == slot
    assert code_in(code_text(code)) == code
    assert code_text(code).isalnum()


@given(st.text(max_size=40))
def test_a_text_that_is_no_code_is_none(text: str) -> None:
    code = code_in(text)
    assert code is None or code_text(code) == text.lower()


def test_codes_of_a_day_are_in_order_and_days_go() -> None:
    a, b = code_of(1, b"a" * 13), code_of(1, b"b" * 13)
    assert codes_in(codes_bytes({b, a})) == (a, b)
    for wrong in (b"", b"\x01", codes_bytes({a})[:-1], b"\x92" + 2 * codes_bytes({a})[1:]):
        with pytest.raises(ValueError, match="codes"):
            codes_in(wrong)
    assert [day for day in range(10) if is_kept(day, 5)] == [4, 5, 6]
    assert is_kept(65_535, 65_536)


class Kept:
    """The submissions of ann, alone in a mesh, or of two; all other actors are missing."""

    def __init__(
        self,
        rules: SubmissionRules | None = RULES,
        others: tuple[str, ...] = (),
        rows_max: int = ROWS_MAX,
        replicas: int = 1,
        alive: tuple[str, ...] = ("ann",),
    ) -> None:
        self.table = MemoryTable()
        self.actor = Submissions("ann", self.table, rows_max=rows_max, authority=AUTHORITY)
        table = SlotTable(dict.fromkeys(("ann", *others), 100), SLOTS, replicas)
        self.ownership = Ownership("ann", table, alive)
        self.sends: list[Send] = []
        self.now = 1_000.0
        self.say(Address("ann", "membership"), OwnershipChanged(self.ownership))
        self.obey(rules)

    def obey(self, rules: SubmissionRules | None) -> None:
        body = policy_bytes(Policy(rules=EVERYTHING.rules, submissions=rules))
        decree = Decree(POLICY, "", 1, 0.0, inf, body, b"", b"")
        self.say(Address("ann", "membership"), DecreesInForce(POLICY, (decree,)))

    def say(self, source: Address, message: Message) -> list[Message]:
        """Hand in a message, commit, and return what is sent."""
        sends = self.actor.receive(source, message, self.now)
        if not self.actor.is_dormant:
            if self.actor.has_news:
                sends += self.actor.before_commit(self.now)
            if self.actor.wake_at() <= self.now:
                sends += self.actor.wake(self.now)
        self.sends += sends
        return [send.message for send in sends]

    def answer(self, message: Message) -> str:
        [answer] = [each for each in self.say(GATEWAY, message) if isinstance(each, SubmissionAnswered)]
        return answer.refusal

    def code(self, host: str, number: int = 0) -> bytes:
        return code_of(self.ownership.slot_of(host), bytes([number]) * 13)

    def place(self, host: str) -> tuple[int, bytes]:
        return self.ownership.slot_of(host), name_of(self.code(host))

    def place_of_domain(self, domain: str) -> tuple[int, bytes]:
        digest = domain_digest(domain)
        return slot_of_domain(digest, SLOTS), name_of_day(digest, int(self.now // DAY_S))

    def is_own(self, host: str) -> bool:
        return self.ownership.owner_of(self.ownership.slot_of(host)) == "ann"

    def submit(self, host: str, number: int = 0) -> str:
        return self.answer(SubmitSite(1, self.code(host, number), f"http://{host}/"))

    def judge(self, host: str, signer: Signer = SIGNER, *, is_accepted: bool = True, **said: Any) -> str:
        """Have an administrator judge a site, a second after the verdict before."""
        self.now += 1.0
        verdict = sign_verdict(signer, self.code(host), self.now, is_accepted=is_accepted, **said)
        return self.answer(JudgeSubmission(1, verdict))

    def row(self, host: str, number: int = 0) -> Submission:
        told = self.say(GATEWAY, ReadSubmissions(1, self.code(host, number)))
        [answer] = [each for each in told if isinstance(each, SubmissionsTold)]
        return answer.rows[0].row

    def watched(self) -> list[WatchSites]:
        return [send.message for send in self.sends if isinstance(send.message, WatchSites)]

    def see(self, host: str, **news: object) -> None:
        seen = SiteSeen(self.code(host), **news)  # type: ignore[arg-type]
        self.say(Address("ann", "controller"), SitesSeen((seen,)))


def test_without_the_policy_nothing_is_kept_nor_does_the_handover_know_of_it() -> None:
    kept = Kept(None)
    assert kept.submit("a.test") == OFF
    assert kept.actor.is_dormant
    assert not [send for send in kept.sends if not isinstance(send.message, SubmissionAnswered)]
    kept.obey(RULES)
    assert isinstance(kept.sends[-1].message, UseStore) or any(
        isinstance(send.message, UseStore) for send in kept.sends
    )
    assert kept.submit("a.test") == ""


def test_where_submissions_have_ended_no_slot_waits_for_peers_that_have_no_such_store() -> None:
    kept = Kept(others=("zoe",))
    handover, slots = Address("ann", "handover"), encode_slot_list(range(SLOTS), SLOTS)
    order = SynchroniseSlots(1, "zoe", slots, inf)
    assert any(isinstance(each, CompareSlots) for each in kept.say(handover, order))
    kept.obey(None)
    assert SlotsSynchronised(1, slots) in kept.say(handover, order)
    kept.sends.clear()
    kept.obey(RULES)
    assert any(isinstance(send.message, UseStore) for send in kept.sends), "to compare what it did not"


def test_a_submission_is_taken_once_and_the_crawl_hears_of_it() -> None:
    kept = Kept()
    assert kept.submit("a.test") == kept.submit("a.test") == ""
    [watch] = kept.watched()
    assert watch.sites[0].proof == code_text(kept.code("a.test"))
    statistics = kept.actor.observe()
    assert isinstance(statistics, SubmissionStatistics)
    assert (statistics.taken, statistics.open) == (1, 1)


def test_what_is_elsewhere_unwanted_or_no_submission_is_refused_and_the_store_is_bounded() -> None:
    kept = Kept()
    hosts = [f"h{n}.test" for n in range(6)]
    answers = [kept.submit(host, number) for number, host in enumerate(hosts)]
    assert answers == [""] * 3 + [MESH_FULL] * 3
    assert kept.answer(SubmitSite(1, kept.code(hosts[0]), f"http://{hosts[0]}/other")) == UNKNOWN
    wrong = code_of((kept.ownership.slot_of("x.test") + 1) % SLOTS, b"x" * 13)
    assert kept.answer(SubmitSite(1, wrong, "http://x.test/")) == UNKNOWN
    assert kept.answer(SubmitSite(1, kept.code("x.test"), "http://X.test")) == UNKNOWN
    assert kept.judge("x.test") == UNKNOWN
    other = Kept(others=("zoe",))
    assert ELSEWHERE in {other.submit(f"h{n}.test", n) for n in range(20)}
    skipping = Kept()
    skipping.actor._policy = Policy(rules=(), submissions=RULES)
    assert skipping.submit("a.test") == UNWANTED


def test_a_member_that_lies_leaves_places_for_others() -> None:
    kept = Kept(replace(RULES, waiting_max=12), others=("zoe", "liz"), alive=("ann", "zoe", "liz"))
    hosts = [host for n in range(400) if kept.is_own(host := f"h{n}.test")]

    def bring(member: str) -> list[str]:
        answers = []
        for number in range(13):
            host = hosts.pop()
            submit = SubmitSite(1, kept.code(host, number), f"http://{host}/")
            said = kept.say(Address(member, "searcher"), submit)
            answers += [each.refusal for each in said if isinstance(each, SubmissionAnswered)]
        return answers

    assert bring("zoe").count("") == 6
    assert bring("ann").count("") == 3
    assert bring("liz").count("") == 2
    assert kept.actor.observe().open == 11  # type: ignore[attr-defined]
    alone = Kept(replace(RULES, waiting_max=12))
    assert [alone.submit(f"h{n}.test", n) for n in range(13)].count("") == 12


REPORTS = replace(RULES, reports_per_client=3)


def report(url: str, reporter: int) -> ReportPage:
    return ReportPage(1, url, bytes([reporter]) * REPORTER_BYTES)


def test_a_page_is_reported_by_so_many_readers_and_forgotten_a_month_after_the_last() -> None:
    kept = Kept(REPORTS)
    url = "http://a.test/spam"
    assert [kept.answer(report(url, reader)) for reader in (1, 2, 2, 1)] == [""] * 4
    [told] = [each for each in kept.say(GATEWAY, ReadSubmissions(1)) if isinstance(each, SubmissionsTold)]
    assert [(each.url, each.readers) for each in told.reports] == [(url, 2)]
    assert told.rows == ()
    kept.now += REPORT_KEPT_S + 10.0
    kept.say(Address("ann", "membership"), OwnershipChanged(kept.ownership))
    [told] = [each for each in kept.say(GATEWAY, ReadSubmissions(1)) if isinstance(each, SubmissionsTold)]
    assert told.reports == ()


def test_reports_are_off_by_default_and_bounded_and_in_their_place() -> None:
    assert Kept().answer(report("http://a.test/", 1)) == OFF
    assert Kept(None).answer(report("http://a.test/", 1)) == OFF
    kept = Kept(REPORTS)
    assert kept.answer(report("javascript:alert(1)", 1)) == UNKNOWN
    assert not kept.watched()
    sound = PageReport("http://a.test/", 900, 1_000, (b"a" * 8, b"b" * 8), "bob")
    slot, name = kept.ownership.slot_of("a.test"), name_of_report("http://a.test/")

    def accepts(row: PageReport, at: int = slot, called: bytes = name) -> bool:
        return kept.actor._accepts(at, called, report_bytes(row))

    assert accepts(sound)
    assert not accepts(sound, (slot + 1) % SLOTS)
    assert not accepts(sound, slot, name_of_report("http://b.test/"))
    assert not accepts(replace(sound, reporters=(b"b" * 8, b"a" * 8)))
    assert not accepts(replace(sound, url="http://A.test/"))
    assert not accepts(replace(sound, last_s=1_000 + int(AHEAD_S) + 1))
    assert not accepts(replace(sound, first_s=1_001))
    assert not accepts(replace(sound, reporters=()))


reports = st.builds(
    PageReport,
    st.sampled_from(["http://a.test/", "http://a.test/b"]),
    st.integers(0, 3),
    st.integers(4, 6),
    st.sets(st.integers(0, 99), min_size=1, max_size=REPORTERS_MAX).map(
        lambda some: tuple(sorted(bytes([each]) * REPORTER_BYTES for each in some))
    ),
    st.sampled_from(["ann", "bob"]),
)


@given(st.lists(reports, min_size=3, max_size=3))
def test_reports_join_in_any_order_and_any_number_of_times(some: list[PageReport]) -> None:
    results = set()
    for a, b, c in permutations(some):
        results.add(report_bytes(joined_reports(joined_reports(a, b), joined_reports(c, b))))
        results.add(report_bytes(joined_reports(a, joined_reports(b, c))))
    assert len(results) == 1
    assert len(report_in(results.pop()).reporters) <= REPORTERS_MAX


def test_a_part_of_the_list_ends_at_any_kind_of_row() -> None:
    kept = Kept(REPORTS)
    kept.actor._store.put(*kept.place_of_domain("a.test"), codes_bytes({code_of(1, b"a" * 13)}))
    [item] = kept.actor._store.items_after(b"", 1)
    assert len(key_of(item)) <= PLACE_BYTES_MAX


def test_a_domain_has_its_quota_for_a_day() -> None:
    kept = Kept()
    digest = domain_digest("a.test")

    def claim(number: int) -> str:
        return kept.answer(ClaimDomain(1, digest, code_of(1, bytes([number]) * 13)))

    assert [claim(1), claim(2), claim(1), claim(3)] == ["", "", "", DOMAIN_FULL]
    kept.now += DAY_S
    assert claim(3) == ""
    kept.now += 3 * DAY_S
    kept.say(Address("ann", "membership"), OwnershipChanged(kept.ownership))
    assert kept.actor.wake_at() > kept.now
    day = int((kept.now - 4 * DAY_S) // DAY_S)
    assert kept.actor._store.get(int.from_bytes(digest[:8], "big") % SLOTS, name_of_day(digest, day)) is None


def test_pages_are_admitted_up_to_the_limit_whatever_the_crawl_proposes() -> None:
    kept = Kept()
    kept.submit("a.test")
    kept.see("a.test", is_begun=True)
    kept.see("a.test", is_proven=True)
    kept.see("a.test", admitted=tuple(MARKS[:3]))
    kept.see("a.test", admitted=tuple(MARKS))
    last = kept.watched()[-1].sites[0]
    assert len(last.admitted) == RULES.pages_per_site
    assert set(MARKS[:3]) < last.admitted
    assert kept.judge("a.test", pages=7) == ""
    kept.see("a.test", admitted=tuple(MARKS))
    assert len(kept.watched()[-1].sites[0].admitted) == 7


def test_a_refused_site_is_out_of_the_crawl_and_the_last_verdict_counts() -> None:
    kept = Kept()
    kept.submit("a.test")
    early = sign_verdict(SIGNER, kept.code("a.test"), kept.now, is_accepted=True)
    kept.judge("a.test", is_accepted=False, why="spam")
    assert kept.answer(JudgeSubmission(1, early)) == "", "that somebody sends again"
    row = kept.row("a.test")
    assert (row.state, row.why) == (SubmissionState.REFUSED, "spam")
    assert kept.watched()[-1].gone == (kept.code("a.test"),)
    kept.judge("a.test")
    assert kept.row("a.test").state is SubmissionState.PROVING
    assert kept.watched()[-1].sites[0].is_open


def test_a_site_refused_later_keeps_its_limit_and_gets_no_further_page() -> None:
    kept = Kept()
    kept.submit("a.test")
    kept.see("a.test", is_begun=True, is_proven=True, admitted=tuple(MARKS[:3]))
    kept.judge("a.test", is_accepted=False)
    kept.see("a.test", admitted=tuple(MARKS))
    [site] = kept.watched()[-1].sites
    assert (site.is_open, site.pages_max, site.admitted) == (False, 3, frozenset(MARKS[:3]))


def test_an_administrator_lifts_the_limit_altogether() -> None:
    kept = Kept()
    kept.submit("a.test")
    kept.see("a.test", is_begun=True, is_proven=True)
    assert not kept.watched()[-1].sites[0].is_known
    kept.judge("a.test", is_unlimited=True)
    assert kept.watched()[-1].sites[0].is_known
    assert kept.row("a.test").is_unlimited


def test_a_verdict_counts_by_an_administrator_of_this_mesh_about_this_site_alone() -> None:
    kept = Kept(SubmissionRules())
    kept.submit("a.test")
    kept.submit("b.test")
    stranger = SigningKey.of_secret(b"s" * 32)
    forged = [
        Signer(stranger, MESH),
        Signer(stranger, MESH, SIGNER.warrant),
        Signer(ADMINISTRATOR, MESH),
        Signer(ADMINISTRATOR, b"other", SIGNER.warrant),
    ]
    assert [kept.judge("a.test", signer) for signer in forged] == [FORGED] * 4
    sound = sign_verdict(SIGNER, kept.code("b.test"), kept.now, is_accepted=True, pages=9)
    for changed in (
        replace(sound, code=kept.code("a.test")),
        replace(sound, pages=5_000),
        replace(sound, is_accepted=False),
        replace(sound, why="x"),
        replace(sound, is_unlimited=True),
        replace(sound, signed_s=sound.signed_s + 1),
    ):
        assert kept.answer(JudgeSubmission(1, changed)) == FORGED
    assert kept.judge("a.test", Signer(ADMINISTRATOR, MESH, SIGNER.warrant)) == ""
    to_come = sign_verdict(SIGNER, kept.code("b.test"), kept.now + 90_000.0, is_accepted=True)
    assert kept.answer(JudgeSubmission(1, to_come)) == FORGED
    assert kept.row("b.test").state is SubmissionState.MODERATED
    assert kept.judge("b.test", OWNER) == ""
    assert kept.row("b.test").state is SubmissionState.PROVING


def test_a_member_of_the_team_brings_no_verdict_that_nobody_has_signed() -> None:
    kept = Kept()
    slot, code = kept.ownership.slot_of("a.test"), kept.code("a.test")
    row = Submission("http://a.test/", 1_000, True, True, 5)
    sound = sign_verdict(SIGNER, code, 1_000, is_accepted=True)

    def accepts(verdict: Verdict) -> bool:
        return kept.actor._accepts(slot, name_of(code), row_bytes(replace(row, verdict=verdict)))

    assert accepts(sound)
    assert not accepts(replace(sound, pages=5_000))
    assert not accepts(replace(sound, signature=b"s" * 64))
    assert not accepts(sign_verdict(SIGNER, kept.code("b.test"), 1_000, is_accepted=True))
    assert not accepts(sign_verdict(SIGNER, code, 1_000 + AHEAD_S + 1, is_accepted=True))
    assert not accepts(sign_verdict(Signer(ADMINISTRATOR, MESH), code, 1_000, is_accepted=True))
    assert kept.judge("a.test") == UNKNOWN, "as nothing was kept of it"


def test_what_an_expelled_administrator_has_accepted_waits_again_and_another_one_can_judge_it() -> None:
    kept = Kept(SubmissionRules())
    kept.submit("a.test")
    assert kept.judge("a.test") == ""
    assert kept.watched()[-1].sites
    expulsion = OWNER.decree(REVOCATION, ADMINISTRATOR.public.hex(), 1, b"")
    kept.say(Address("ann", "membership"), DecreesInForce(REVOCATION, (expulsion,)))
    assert kept.row("a.test").state is SubmissionState.MODERATED
    assert kept.watched()[-1].gone == (kept.code("a.test"),)
    assert kept.judge("a.test") == FORGED
    value = row_bytes(row_in(kept.actor._store.get(*kept.place("a.test")) or b""))
    assert kept.actor._accepts(*kept.place("a.test"), value), "copies of a row have to agree"
    assert kept.judge("a.test", OWNER) == ""
    assert kept.row("a.test").state is SubmissionState.PROVING


def test_where_the_policy_wants_administrators_now_what_others_took_without_them_waits_too() -> None:
    kept = Kept()
    kept.submit("a.test")
    assert kept.watched()[-1].sites
    kept.obey(SubmissionRules())
    assert kept.row("a.test").state is SubmissionState.MODERATED
    assert kept.watched()[-1].gone == (kept.code("a.test"),)


def test_without_a_proof_a_submission_ends_after_two_weeks_and_is_forgotten_after_ninety_days() -> None:
    kept = Kept()
    kept.submit("a.test")
    kept.see("a.test", is_begun=True, tries=3, tried_why="none")
    kept.now += PROOF_S + 10.0
    kept.say(Address("ann", "membership"), OwnershipChanged(kept.ownership))
    row = kept.row("a.test")
    assert (row.state, row.why) == (SubmissionState.REFUSED, "none")
    kept.now += KEPT_S
    kept.say(Address("ann", "membership"), OwnershipChanged(kept.ownership))
    [told] = [
        each
        for each in kept.say(GATEWAY, ReadSubmissions(1, kept.code("a.test")))
        if isinstance(each, SubmissionsTold)
    ]
    assert told.rows == ()
    assert not kept.actor._accepts(
        kept.ownership.slot_of("a.test"), name_of(kept.code("a.test")), row_bytes(row)
    )


def test_the_crawl_hears_of_a_site_in_the_order_in_which_it_came_to_stand_so() -> None:
    kept = Kept(others=("zoe",), replicas=2, alive=("ann", "zoe"))
    host = next(host for host in ("a.test", "b.test", "c.test", "d.test") if kept.is_own(host))
    code, slot = kept.code(host), kept.ownership.slot_of(host)
    shipped = kept.say(GATEWAY, SubmitSite(1, code, f"http://{host}/"))
    [batch] = [message.batch for message in shipped if isinstance(message, ItemsChanged)]
    assert not kept.watched(), "zoe has not kept it so far"
    row = Submission(f"http://{host}/", 1_000, False, True, 5, is_begun=True, is_proven=True)
    items = msgspec.msgpack.encode([Item(slot, name_of(code), row_bytes(row))])
    zoe = Address("zoe", "submissions")
    kept.say(zoe, ItemsChanged(1, kept.now, items))
    for number in range(batch, batch + 3):
        kept.say(zoe, ItemsKept(number))
    told = [site.is_proven for watch in kept.watched() for site in watch.sites]
    assert told == sorted(told)
    assert told[-1]


def test_rows_of_others_are_taken_in_their_place_only() -> None:
    kept = Kept()
    slot, code = kept.ownership.slot_of("a.test"), kept.code("a.test")
    row = Submission("http://a.test/", 1_000, False, True, 5)
    assert kept.actor._accepts(slot, name_of(code), row_bytes(row))
    assert not kept.actor._accepts((slot + 1) % SLOTS, name_of(code), row_bytes(row))
    assert not kept.actor._accepts(slot, name_of(code), codes_bytes({code}))
    assert not kept.actor._accepts(slot, b"x", b"")
    assert not is_row(slot, code, row, lambda host: (slot + 1) % SLOTS)
    disordered = Submission("http://a.test/", 1_000, False, True, 5, admitted=(MARKS[0], MARKS[0]))
    assert not kept.actor._accepts(slot, name_of(code), row_bytes(disordered))
    assert kept.actor._accepts(slot, name_of(code), row_bytes(replace(row, gateway="zoe")))


NO_URLS = (
    "x",
    "javascript:alert(1)",
    "http:/a",
    "http://",
    "http://[::",
    "a" * 2_000,
    "\0",
    "http://\x1b[2J/",
)


@pytest.mark.parametrize("url", NO_URLS)
def test_what_a_member_calls_a_site_is_refused_whatever_it_is(url: str) -> None:
    kept = Kept()
    slot, code = kept.ownership.slot_of("a.test"), kept.code("a.test")
    assert kept.answer(SubmitSite(1, code, url)) == UNKNOWN
    assert not kept.actor._accepts(slot, name_of(code), row_bytes(Submission(url, 1_000, False, True, 5)))


some_codes = st.one_of(
    st.binary(min_size=15, max_size=15), st.builds(code_of, st.integers(0, SLOTS), st.just(b"c" * 13))
)
some_urls = st.one_of(st.text(min_size=1, max_size=30), st.sampled_from([*NO_URLS, "http://a.test/"]))
some_rows = st.builds(
    Submission, some_urls, st.integers(0, 1 << 36), st.booleans(), st.booleans(), st.just(9)
)
some_items = st.builds(
    Item,
    st.integers(0, 65_535),
    st.one_of(st.binary(min_size=1, max_size=20), some_codes.map(name_of)),
    st.one_of(st.binary(max_size=9), some_rows.map(row_bytes)),
)
said_by_members = st.one_of(
    st.builds(SubmitSite, st.integers(0, 9), some_codes, some_urls),
    st.builds(ClaimDomain, st.integers(0, 9), st.binary(min_size=16, max_size=16), some_codes),
    st.builds(
        JudgeSubmission,
        st.integers(0, 9),
        st.builds(partial(sign_verdict, SIGNER), some_codes, st.integers(0, 9), is_accepted=st.booleans()),
    ),
    st.builds(
        ReportPage, st.integers(0, 9), some_urls, st.binary(min_size=REPORTER_BYTES, max_size=REPORTER_BYTES)
    ),
    st.builds(ReadSubmissions, st.integers(0, 9), st.binary(max_size=15), st.binary(max_size=18)),
    st.builds(
        ItemsChanged,
        st.integers(0, 9),
        st.just(1.0),
        st.lists(some_items, max_size=3).map(msgspec.msgpack.encode),
    ),
)


@given(st.lists(said_by_members, max_size=8), st.sampled_from([RULES, None]))
def test_nothing_that_a_member_can_say_ends_the_peer(
    said: list[Message], rules: SubmissionRules | None
) -> None:
    kept = Kept(rules, replicas=2, others=("bob",))
    for message in said:
        with suppress(RemoteProtocolError):
            kept.say(Address("bob", "submissions"), message)
    kept.obey(None)


def test_a_row_of_a_time_to_come_is_refused_for_it_would_be_kept_for_ever() -> None:
    kept = Kept()
    slot, name = kept.ownership.slot_of("a.test"), name_of(kept.code("a.test"))

    def accepts(made_s: float) -> bool:
        row = Submission("http://a.test/", int(made_s), False, True, 5)
        return kept.actor._accepts(slot, name, row_bytes(row))

    assert accepts(kept.now + AHEAD_S)
    assert not accepts(kept.now + AHEAD_S + 1)
    assert not accepts(1 << 40)


def test_no_member_says_how_a_site_stands_in_place_of_the_crawl_here() -> None:
    assert {SitesSeen, WatchSites}.isdisjoint(Submissions.remote_messages | Controller.remote_messages)


def test_what_others_keep_by_now_is_counted_no_more_and_the_number_of_rows_is_bounded() -> None:
    kept = Kept(rows_max=3)
    hosts = [f"h{n}.test" for n in range(3)]
    assert [kept.submit(host, number) for number, host in enumerate(hosts)] == [""] * 3
    table = SlotTable({"ann": 0, "zoe": 100}, SLOTS, 1)
    kept.say(Address("ann", "membership"), OwnershipChanged(Ownership("ann", table, ("ann", "zoe"))))
    assert set(kept.actor._open._member_of) == kept.actor._known == set()
    codes = {kept.code(host, number) for number, host in enumerate(hosts)}
    assert set(kept.watched()[-1].gone) == codes
    kept.say(Address("ann", "membership"), OwnershipChanged(kept.ownership))
    assert set(kept.actor._open._member_of) == codes
    kept.obey(SubmissionRules(waiting_max=100))
    assert kept.submit("h9.test", 9) == MESH_FULL


def test_a_peer_that_starts_again_tells_the_crawl_all_that_it_has() -> None:
    kept = Kept()
    kept.submit("a.test")
    again = Kept(None)
    again.actor = Submissions("ann", kept.table, 2)
    again.say(Address("ann", "membership"), OwnershipChanged(again.ownership))
    again.obey(RULES)
    assert [site.url for watch in again.watched() for site in watch.sites] == ["http://a.test/"]
    again.obey(None)
    assert again.watched()[-1].gone == (kept.code("a.test"),)
    assert again.submit("b.test") == OFF


def test_no_message_of_a_member_has_more_rows_than_can_be_verified_at_once() -> None:
    """1,024 genuine verdicts that were not known took .22 s of the event loop."""
    store = Kept().actor._store
    rows = [Item(0, bytes(34) + n.to_bytes(2, "big"), b"") for n in range(CHECKED_MAX + 1)]
    with pytest.raises(RemoteProtocolError):
        store._join_all(msgspec.msgpack.encode(rows), lambda _: True)
    assert store._join_all(msgspec.msgpack.encode(rows[:-1]), lambda _: True) == 0


def test_of_a_message_full_of_forged_verdicts_some_are_verified_and_a_good_one_counts_in_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1,024 took 110 ms of the event loop."""
    root = SigningKey.of_secret(b"r" * 32)
    owner = Signer(root, b"mesh")
    judge, verified = VerdictJudge(Authority(root.public, b"mesh")), list[bytes]()

    def counting(key: bytes, data: bytes, signature: bytes) -> bool:
        verified.append(data)
        return verify_signature(key, data, signature)

    monkeypatch.setattr("peers.submissions.verdict.verify_signature", counting)
    codes = [n.to_bytes(CODE_BYTES, "big") for n in range(1_024)]
    good = [sign_verdict(owner, code, 1.0, is_accepted=True) for code in codes[:2]]
    assert judge.is_signed(good[0], codes[0])
    verified.clear()
    for code in codes:
        assert not judge.is_signed(replace(good[0], code=code, why="forged"), code)
    assert len(verified) == FORGED_MAX
    assert judge.is_signed(good[0], codes[0]), "it is known"
    judge.begin_message()
    assert judge.is_signed(good[1], codes[1])
