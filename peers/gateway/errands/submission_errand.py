"""Submitting a site, having one judged, and reading how submissions stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Final

from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.domains import registrable_domain
from mesh.urls import host_of, is_canonical
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.owner_orders import Current, OwnerOrders, Step
from peers.gateway.errands.round import Round
from peers.gateway.errands.team_errand import RowsErrand
from peers.gateway.model.messages import (
    FindSubmission,
    JudgeSite,
    ListSites,
    ReportUrl,
    SiteAnswered,
    SitesListed,
    SubmissionFound,
    SubmitUrl,
)
from peers.submissions.domain_day import domain_digest, slot_of_domain
from peers.submissions.submission import code_of, is_row, joined, slot_of_code
from peers.submissions.verdict import TIME_S_MAX
from peers.submissions.wire_messages import (
    UNKNOWN,
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

LIST_S_MAX: Final = 5.0
_NOBODY: Final[frozenset[str]] = frozenset()
_ACTOR: Final = "submissions"


def _sound(rows: Iterable[ToldSubmission], slot_of: Callable[[str], int]) -> tuple[ToldSubmission, ...]:
    """Return the rows that are some; of others a page could not even be made."""
    return tuple(told for told in rows if is_row(told.slot, told.code, told.row, slot_of))


class _Orders(OwnerOrders):
    """Has the owners of some slots do something about a submission."""

    actor = _ACTOR
    silence = "the peers that have this site do not answer"

    def __init__(
        self, number: int, me: str, ticket: int, code: bytes, steps: Sequence[Step], current: Current
    ) -> None:
        super().__init__(number, me, ticket, steps, current)
        self._code = code

    def refusal_in(self, message: Message) -> tuple[int, str] | None:
        return (message.request, message.refusal) if isinstance(message, SubmissionAnswered) else None

    def answer(self, refusal: str) -> Message:
        return SiteAnswered(self.ticket, self._code, refusal)

    def nowhere(self) -> Message:
        return self.answer(UNKNOWN)


class SubmitErrand(_Orders):
    """Answers one `SubmitUrl` by one `SiteAnswered`: its domain has room, and its crawler has it."""

    def __init__(self, number: int, me: str, order: SubmitUrl, current: Current) -> None:
        ownership, host = current(), host_of(order.url)
        slot, digest = ownership.slot_of(host), domain_digest(registrable_domain(host))
        code = code_of(slot, order.chance)
        claim_at = slot_of_domain(digest, ownership.table.slot_count)
        steps: list[Step] = [
            (claim_at, lambda request: ClaimDomain(request, digest, code)),
            (slot, lambda request: SubmitSite(request, code, order.url)),
        ]
        super().__init__(number, me, order.ticket, code, steps, current)


class JudgeErrand(_Orders):
    """Answers one `JudgeSite` by one `SiteAnswered`."""

    def __init__(self, number: int, me: str, order: JudgeSite, current: Current) -> None:
        verdict, code = order.verdict, order.verdict.code
        steps: list[Step] = [(slot_of_code(code), lambda request: JudgeSubmission(request, verdict))]
        super().__init__(number, me, order.ticket, code, steps, current)


class ReportErrand(_Orders):
    """Answers one `ReportUrl` by one `SiteAnswered`."""

    def __init__(self, number: int, me: str, order: ReportUrl, current: Current) -> None:
        slot = current().slot_of(host_of(order.url))
        steps: list[Step] = [(slot, lambda request: ReportPage(request, order.url, order.reporter))]
        super().__init__(number, me, order.ticket, b"", steps, current)


def submission_order(
    number: int, me: str, order: SubmitUrl | JudgeSite | ReportUrl, current: Current
) -> Errand:
    """Return the errand that has the mesh take a submission, a verdict or a report."""
    match order:
        case SubmitUrl():
            return SubmitErrand(number, me, order, current)
        case JudgeSite():
            return JudgeErrand(number, me, order, current)
        case ReportUrl():
            return ReportErrand(number, me, order, current)


class SubmissionLookup(RowsErrand):
    """Answers one `FindSubmission` by one `SubmissionFound`: the rows of the team, joined."""

    actor = _ACTOR

    def __init__(self, number: int, me: str, order: FindSubmission, ownership: Ownership) -> None:
        super().__init__(number, me, order.ticket, slot_of_code(order.code), ownership)
        self._code, self._slot_of = order.code, ownership.slot_of
        self._rows: list[ToldSubmission] = []

    def _question(self, request: int, peer: str) -> Message:
        return ReadSubmissions(request, self._code)

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, SubmissionsTold) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, SubmissionsTold)
        if answer.is_on:
            self._untold.discard(peer)
        self._rows += [row for row in _sound(answer.rows, self._slot_of) if row.code == self._code]

    def _gathered(self) -> Message:
        row = reduce(joined, (told.row for told in self._rows)) if self._rows else None
        return SubmissionFound(self.ticket, self.is_complete, row)


class SubmissionList(Errand):
    """Answers one `ListSites` by one `SitesListed`: the part of one peer, whose slots no other tells."""

    def __init__(self, number: int, me: str, order: ListSites, ownership: Ownership) -> None:
        super().__init__(number, me, order.ticket)
        weights = ownership.table.weights
        # A door of the mesh has no weight, no slots, and nobody who would answer.
        self._peers = tuple(sorted(peer for peer in ownership.alive if weights.get(peer, 0) > 0))
        self._after, self._slot_of = order.after, ownership.slot_of
        self._peer = order.peer or next(iter(self._peers), "")

    def start(self, now: float) -> list[Send]:
        if self._peer not in self._peers:
            return self.refuse("that peer is not here, and others crawl its slots: begin anew")
        request = self._number_question()
        questions = {self._peer: ReadSubmissions(request, b"", self._after)}
        self._round = Round(request, _ACTOR, questions, _NOBODY, now, LIST_S_MAX)
        return self._round.ask()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        if not isinstance(message, SubmissionsTold) or not self._round.accepts(source, message.request):
            return None
        reports = tuple(each for each in message.reports if self._is_sound(each))
        told = replace(message, rows=_sound(message.rows, self._slot_of), reports=reports)
        return self._end(SitesListed(self.ticket, self._peers, self._peer, told))

    @staticmethod
    def _is_sound(report: ToldReport) -> bool:
        """Is it one of a page? A page about others could not even be made."""
        return is_canonical(report.url) and report.first_s <= report.last_s <= TIME_S_MAX

    def wake(self, now: float) -> list[Send]:
        if self._round.is_over(now):
            return self.refuse(f"{self._peer} does not tell its submissions")
        return self._round.wake(now)

    def wake_at(self) -> float:
        return self._round.wake_at()
