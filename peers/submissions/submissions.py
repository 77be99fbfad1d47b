"""The actor that keeps the submissions of the slots of a peer: quotas, verdicts, and how the sites stand.

Nothing here asks a web server. The controller of the peer is told which sites there are (`WatchSites`), once
the living team knows the same, and tells what it sees of them (`SitesSeen`), which goes into the rows.
Without `[submissions]` in the policy there is nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import inf
from typing import ClassVar, Final

from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.keys.decree import REVOCATION, Authority
from mesh.membership.model.messages import DecreesInForce
from mesh.tables.table import Table
from mesh.urls import host_of, is_canonical
from peers.crawler.model.messages import SiteSeen, SitesSeen, WatchedSite, WatchSites
from peers.handover.item_store import Item, ItemStore, key_of
from peers.handover.mirror import Pledge
from peers.handover.optional_store import OptionalStoreActor, Places
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreDeclaration, StoreStatistics
from peers.policy.rules import DAY_S, Policy
from peers.policy.submission_rules import SITE_PAGES_MAX
from peers.submissions.domain_day import (
    codes_bytes,
    codes_in,
    day_in_name,
    is_kept,
    name_of_day,
    slot_of_domain,
)
from peers.submissions.report import KEPT_S as REPORT_KEPT_S
from peers.submissions.report import (
    PageReport,
    host_in_report,
    is_name_of_report,
    is_report,
    joined_reports,
    name_of_report,
    report_bytes,
    report_in,
)
from peers.submissions.report import is_kept as is_report_kept
from peers.submissions.submission import (
    KEPT_S,
    PROOF_S,
    TRIES_MAX,
    Submission,
    code_in_name,
    code_text,
    is_of_its_time,
    is_row,
    joined,
    name_of,
    row_bytes,
    row_in,
    slot_of_code,
)
from peers.submissions.verdict import AHEAD_S, WHY_CHARS_MAX, VerdictJudge
from peers.submissions.wire_messages import (
    DOMAIN_FULL,
    ELSEWHERE,
    FORGED,
    MESH_FULL,
    OFF,
    TOLD_MAX,
    UNKNOWN,
    UNWANTED,
    ClaimDomain,
    JudgeSubmission,
    ReadSubmissions,
    ReportPage,
    SubmissionAnswered,
    SubmissionsTold,
    SubmitSite,
    ToldReport,
    ToldSubmission,
)

# Of the slots kept here, old ones too; some 30 MB without the pages admitted. Then no more are taken.
ROWS_MAX: Final = 100_000
REPORTS_MAX: Final = 5_000  # pages that are reported, of the slots kept here
# Rows in a message of another peer: to verify the verdict of one takes .22 ms, and this 56 ms.
CHECKED_MAX: Final = 256
SWEEP_S: Final = 3_600.0  # between two passes over all rows


class SubmissionStatistics(HolderStatistics, frozen=True):
    """The work on submissions: gauges of now, counts since the start."""

    is_on: bool  # does the policy say so?
    open: int  # gauge: of the slots kept here, not at their end
    taken: int  # count
    refused: int  # count: by a quota, a limit or the policy
    judged: int  # count: by administrators
    dropped: int  # count: rows that were old


class Submissions(OptionalStoreActor):
    """Neighbours: gateways, the controller of this peer, the submissions of others of the team."""

    name: ClassVar[str] = "submissions"
    keeps: ClassVar = StoreDeclaration("submissions", name, is_needed_to_crawl=True, is_optional=True)
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES | {
        ClaimDomain,
        SubmitSite,
        JudgeSubmission,
        ReadSubmissions,
        ReportPage,
    }

    rows_section: ClassVar = b"s"
    keeps_unused_rows: ClassVar = True  # who ends submissions for a day would lose all limits of sites

    def __init__(
        self,
        me: str,
        table: Table,
        life: int = 1,
        rows_max: int = ROWS_MAX,
        authority: Authority | None = None,
    ) -> None:
        """Begin as all optional stores do.

        Args:
          rows_max: of submissions, smaller in tests.
          authority: of the mesh, whose administrators judge; without it no verdict counts.
        """
        super().__init__(me, table, life)
        self._verdicts = VerdictJudge(authority)
        self._rows_max = rows_max
        self._changes: dict[bytes, Submission] = {}  # by code, of which the controller has not heard
        self._gone: list[bytes] = []
        self._open, self._reports = Places(), Places()  # by code; by name of a row
        self._known: set[bytes] = set()  # of these and of those at their end
        self._done: Counter[str] = Counter()  # as the statistics name it

    def _is_wanted(self, policy: Policy) -> bool:
        return policy.submissions is not None

    def _open_store(self, rows: Table) -> ItemStore:
        return ItemStore(rows, _join, items_max=CHECKED_MAX, changed=self._changed, accepts=self._accepts)

    def _handle(self, source: Address, message: Message) -> list[Send]:
        match message:
            case ClaimDomain():
                return self._answer(source, message.request, self._claim(message))
            case SubmitSite():
                return self._answer(source, message.request, self._submit(message, source.peer))
            case JudgeSubmission():
                return self._answer(source, message.request, self._judge(message))
            case ReportPage():
                return self._answer(source, message.request, self._report(message, source.peer))
            case ReadSubmissions():
                return [Send(source, self._told(message))]
            case SitesSeen(sites):
                self._take_news(sites)
                return []
            case _:
                return super()._handle(source, message)

    def _observe(self, store: StoreStatistics) -> SubmissionStatistics:
        return SubmissionStatistics(
            store=store,
            is_on=self._is_on,
            open=len(self._open),
            taken=self._done["taken"],
            refused=self._done["refused"],
            judged=self._done["judged"],
            dropped=self._done["dropped"],
        )

    def _end_turn(self) -> list[Send]:
        sends = super()._end_turn()
        if self._mirror.has_any_pledge and (self._changes or self._gone):
            self._mirror.pledge(Pledge(sends=(self._news(),)))  # behind what is older, and waits for the team
        elif self._changes or self._gone:
            sends.append(self._news())
        return sends

    # --- Gateways

    def _answer(self, gateway: Address, request: int, refusal: str) -> list[Send]:
        """Answer a gateway, once the living team knows the result."""
        answer = Send(gateway, SubmissionAnswered(request, refusal))
        if refusal:
            self._done["refused"] += refusal not in (ELSEWHERE, OFF)
            return [answer]
        self._pledge(answer)
        return []

    def _pledge(self, send: Send) -> None:
        """Send something when the team has kept all that was changed up to now."""
        news = [self._news()] if self._changes or self._gone else []
        self._mirror.pledge(Pledge(sends=(*news, send)))

    def _claim(self, message: ClaimDomain) -> str:
        """Take one more submission of a domain today, if there may be one; return why not."""
        rules, ownership = self._policy.submissions, self._ownership
        if rules is None or ownership is None:
            return OFF
        slot = slot_of_domain(message.digest, ownership.table.slot_count)
        if ownership.owner_of(slot) != ownership.me:
            return ELSEWHERE
        name = name_of_day(message.digest, self._today)
        before = self._store.get(slot, name)
        codes = set() if before is None else set(codes_in(before))
        if message.code in codes:
            return ""
        if len(codes) >= rules.per_domain:
            return DOMAIN_FULL
        self._store.put(slot, name, codes_bytes(codes | {message.code}))
        return ""

    def _submit(self, message: SubmitSite, gateway: str) -> str:
        """Take a submission; return why not."""
        rules, ownership = self._policy.submissions, self._ownership
        if rules is None or ownership is None:
            return OFF
        made = int(self._now), rules.moderation, rules.proof, rules.pages_per_site
        row = Submission(message.url, *made, gateway=gateway[:64])
        slot = slot_of_code(message.code)
        if not is_row(slot, message.code, row, ownership.slot_of):
            return UNKNOWN
        if ownership.owner_of(slot) != ownership.me:
            return ELSEWHERE
        if (known := self.row_of(message.code)) is not None:
            return "" if known.url == message.url else UNKNOWN
        if not self._policy.at(self._now).has_room_for(message.url):
            return UNWANTED
        is_alone = len(ownership.alive) == 1
        if len(self._known) >= self._rows_max or not self._open.has_room(
            row.gateway, rules.waiting_max, is_alone=is_alone
        ):
            return MESH_FULL
        self._put(message.code, row)
        self._done["taken"] += 1
        return ""

    def _judge(self, message: JudgeSubmission) -> str:
        """Take an administrator's verdict on a submission; return why not."""
        ownership, verdict = self._ownership, message.verdict
        slot = slot_of_code(verdict.code)
        if ownership is None or not self._is_on:
            return OFF
        if slot >= ownership.table.slot_count:
            return UNKNOWN
        if ownership.owner_of(slot) != ownership.me:
            return ELSEWHERE
        row = self.row_of(verdict.code)
        if row is None:
            return UNKNOWN
        if not self._verdicts.counts(verdict, verdict.code, self._now):
            return FORGED
        if self._put(verdict.code, replace(row, verdict=verdict)):
            self._done["judged"] += 1
        return ""

    def _report(self, message: ReportPage, gateway: str) -> str:
        """Note that a reader has reported a page; return why not."""
        rules, ownership = self._policy.submissions, self._ownership
        if rules is None or ownership is None or not rules.reports_per_client:
            return OFF
        if not is_canonical(message.url):
            return UNKNOWN
        slot, name = ownership.slot_of(host_of(message.url)), name_of_report(message.url)
        if ownership.owner_of(slot) != ownership.me:
            return ELSEWHERE
        if not self._policy.at(self._now).has_room_for(message.url):
            return UNWANTED
        is_alone, is_known = len(ownership.alive) == 1, self._store.get(slot, name) is not None
        if not is_known and not self._reports.has_room(gateway, REPORTS_MAX, is_alone=is_alone):
            return MESH_FULL
        now_s = int(self._now)
        report = PageReport(message.url, now_s, now_s, (message.reporter,), gateway[:64])
        self._store.put(slot, name, report_bytes(report))
        return ""

    def _told(self, message: ReadSubmissions) -> SubmissionsTold:
        ownership = self._ownership
        if ownership is None or not self._is_on:
            return SubmissionsTold(message.request)
        if message.code:
            row = self.row_of(message.code) if len(message.code) > 2 else None
            found = () if row is None else (self._told_row(message.code, row),)
            return SubmissionsTold(message.request, is_on=True, rows=found)
        rows, reports = list[ToldSubmission](), list[ToldReport]()
        items = self._store.items_after(message.after, TOLD_MAX)
        for item in items:
            code = code_in_name(item.name)
            if ownership.owner_of(item.slot) != ownership.me:
                continue
            if code is not None:
                rows.append(self._told_row(code, row_in(item.value)))
            elif is_name_of_report(item.name):
                report = report_in(item.value)
                reports.append(ToldReport(report.url, report.first_s, report.last_s, report.readers))
        after = key_of(items[-1]) if len(items) == TOLD_MAX else b""
        return SubmissionsTold(message.request, True, tuple(rows), after, tuple(reports))

    def _told_row(self, code: bytes, row: Submission) -> ToldSubmission:
        return ToldSubmission(slot_of_code(code), code, replace(self._standing(row), admitted=()))

    # --- Rows

    def _standing(self, row: Submission) -> Submission:
        """Return a row as it counts now: by the keys that are in the mesh, and by its policy."""
        rules, verdict = self._policy.submissions, row.verdict
        if verdict is not None and self._verdicts.is_void(verdict):
            verdict = None
        is_moderated = row.is_moderated or (rules is not None and rules.moderation)
        if verdict is row.verdict and is_moderated == row.is_moderated:
            return row
        return replace(row, verdict=verdict, is_moderated=is_moderated)

    def row_of(self, code: bytes) -> Submission | None:
        """Return a row as it stands here; None where it is not known."""
        value = self._store.get(slot_of_code(code), name_of(code))
        return None if value is None else row_in(value)

    def _put(self, code: bytes, row: Submission) -> bool:
        """Join a row with the one that is there; the controller hears of it once the team has it."""
        if not self._store.put(slot_of_code(code), name_of(code), row_bytes(row)):
            return False
        if code in self._changes:
            self._mirror.pledge(Pledge(sends=(self._news(),)))
        return True

    def _take_news(self, sites: Iterable[SiteSeen]) -> None:
        for seen in sites:
            row = self.row_of(seen.code)
            if row is not None:
                self._put(seen.code, _with_news(row, seen, self._standing(row)))

    def _changed(self, slot: int, name: bytes, before: bytes | None, value: bytes) -> None:
        """Note that a row has changed here, by us or by another peer."""
        code = code_in_name(name)
        if code is not None:
            self._changes[code] = row = row_in(value)
            self._count(code, row)
        elif is_name_of_report(name):
            self._reports.add(name, report_in(value).gateway)

    def _count(self, code: bytes, row: Submission) -> None:
        row = self._standing(row)
        self._known.add(code)
        if row.is_open:
            self._open.add(code, row.gateway)
        else:
            self._open.discard(code)

    def _forget_others(self, ownership: Ownership) -> None:
        """Count no submission, and have the crawl know none, of slots that others keep by now."""
        gone = {code for code in self._known if not ownership.kept[slot_of_code(code)]}
        self._known -= gone
        for code in gone:
            self._open.discard(code)
        self._reports.clear()  # the sweep that follows counts them anew
        self._gone += gone

    def _news(self) -> Send:
        """Return the changes of which the controller has not heard so far."""
        rows = {code: self._standing(row) for code, row in self._changes.items()}
        sites = tuple(_watched(code, row) for code, row in rows.items() if _is_watched(row))
        gone = tuple(code for code, row in rows.items() if not _is_watched(row))
        news = WatchSites(sites, (*self._gone, *gone))
        self._changes.clear()
        self._gone.clear()
        return Send(Address(self._me, "controller"), news)

    def _accepts(self, slot: int, name: bytes, value: bytes) -> bool:
        """Is this a row in its place, if another peer says so?"""
        ownership = self._ownership
        if ownership is None:
            return False
        try:
            if (code := code_in_name(name)) is not None:
                row = row_in(value)
                is_sound = is_of_its_time(row, self._now) and is_row(slot, code, row, ownership.slot_of)
                return is_sound and self._has_sound_verdict(code, row)
            if is_name_of_report(name):
                report = report_in(value)
                is_in_place = is_report(report, name) and ownership.slot_of(host_in_report(report)) == slot
                return is_in_place and is_report_kept(report, self._now)
            if (day := day_in_name(name)) is not None:
                codes_in(value)
                is_in_place = slot_of_domain(day[0], ownership.table.slot_count) == slot
                return is_in_place and is_kept(day[1], self._today)
        except ValueError:
            pass
        return False

    def _has_sound_verdict(self, code: bytes, row: Submission) -> bool:
        """Is its verdict, if it has one, one of an administrator? If the mesh has expelled him since, too:

        then it does not count, but copies of a row have to agree.
        """
        verdict = row.verdict
        if verdict is None:
            return True
        return verdict.signed_s <= self._now + AHEAD_S and self._verdicts.is_signed(verdict, code)

    # --- Policy and time

    @property
    def _today(self) -> int:
        return int(self._now // DAY_S)

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self._verdicts.begin_message()
        if not isinstance(message, DecreesInForce) or message.kind != REVOCATION:
            return super().receive(source, message, now)
        self._now = now
        if self._verdicts.revoke(frozenset(decree.subject for decree in message.decrees)) and self._is_on:
            self._sweep_anew()  # sites that they had accepted wait again
        return []

    def _follow(self, ownership: Ownership) -> None:
        super()._follow(ownership)
        self._forget_others(ownership)
        if self._is_on:
            self._sweep_anew()  # what was another's to do may be ours now

    def _follow_policy(self, before: Policy, *, was_on: bool) -> None:
        if self._is_on and (not was_on or before.submissions != self._policy.submissions):
            self._sweep_anew()
        if was_on and not self._is_on:
            self._changes.clear()
            self._gone += sorted(self._known)  # of no others has the crawl heard in this life
            self._sweep_at = inf

    def _next_sweep_at(self) -> float:
        return self._now + SWEEP_S

    def _look_at(self, item: Item) -> None:
        code, day = code_in_name(item.name), day_in_name(item.name)
        if day is not None and not is_kept(day[1], self._today):
            self._store.drop(item.slot, item.name)
            self._done["dropped"] += 1
        if self._ownership is None or not self._ownership.kept[item.slot]:
            return
        if is_name_of_report(item.name):
            self._look_at_report(item)
        if code is None:
            return
        row = row_in(item.value)
        if row.made_s + KEPT_S < self._now:
            self._store.drop(item.slot, item.name)
            self._open.discard(code)
            self._known.discard(code)
            self._gone.append(code)
            self._done["dropped"] += 1
            return
        self._count(code, row)
        is_unproven = row.needs_proof and not row.is_proven and row.made_s + PROOF_S < self._now
        if is_unproven and self._standing(row).is_open:
            self._put(code, replace(row, end=2, end_why=row.tried_why or "unproven"))
        elif code not in self._changes:
            self._changes[code] = row

    def _look_at_report(self, item: Item) -> None:
        report = report_in(item.value)
        if report.last_s + REPORT_KEPT_S < self._now:
            self._store.drop(item.slot, item.name)
            self._reports.discard(item.name)
            self._done["dropped"] += 1
        else:
            self._reports.add(item.name, report.gateway)


def _is_watched(row: Submission) -> bool:
    """Does the crawl have to know of it? Of a limit also when an administrator refuses the site later."""
    return row.is_limited or (row.is_judged and row.is_open)


def _watched(code: bytes, row: Submission) -> WatchedSite:
    return WatchedSite(
        code,
        code_text(code),
        row.url,
        row.is_open and row.is_judged,
        row.needs_proof,
        row.is_begun,
        row.is_proven,
        row.is_known or row.is_unlimited,
        row.pages_limit if row.is_judged else len(row.admitted),
        row.tries,
        row.visited,
        frozenset(row.admitted),
    )


def _with_news(row: Submission, seen: SiteSeen, standing: Submission) -> Submission:
    """Return a row with the news of its site. Args: standing: the row as it counts."""
    left = standing.pages_limit - len(row.admitted) if standing.is_judged else 0
    further = [mark for mark in seen.admitted if mark not in row.admitted][: max(left, 0)]
    end, end_why = max((row.end, row.end_why), (seen.end, seen.end_why[:WHY_CHARS_MAX]))
    tried = min(seen.tries, TRIES_MAX), seen.tried_why[:WHY_CHARS_MAX]
    tries, tried_why = max((row.tries, row.tried_why), tried)
    return replace(
        row,
        is_begun=row.is_begun or seen.is_begun,
        is_known=row.is_known or (seen.is_known and not row.is_proven),
        is_proven=row.is_proven or seen.is_proven,
        tries=tries,
        tried_why=tried_why,
        visited=min(max(row.visited, seen.visited), SITE_PAGES_MAX),
        end=end,
        end_why=end_why,
        admitted=tuple(sorted({*row.admitted, *further})) if further else row.admitted,
    )


def _join(one: bytes, other: bytes) -> bytes:
    """Join two values of one name: see `handover.item_store`. ValueError for bytes that are none."""
    try:
        return row_bytes(joined(row_in(one), row_in(other)))
    except ValueError:
        pass
    try:
        return report_bytes(joined_reports(report_in(one), report_in(other)))
    except ValueError:
        return codes_bytes({*codes_in(one), *codes_in(other)})
