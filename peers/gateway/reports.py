"""The state of the mesh, now and before, as far as a client may see it; for pages and programs alike."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request

from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Backend, Busy
from peers.gateway.model.messages import (
    CheckReadiness,
    GatherHistory,
    GatherStatus,
    HistoryGathered,
    ReadinessTold,
    StatusGathered,
)
from peers.gateway.model.readiness_json import ReadinessJson, readiness_json
from peers.gateway.model.sentences import Put, in_english
from peers.gateway.model.status import Report, decode, member_rows, public_part, report_of
from peers.gateway.site.history_page import KeptHistory
from peers.gateway.site.history_view import HistorySpan

HISTORY_FRESH_S: Final = 2.0  # peers themselves look every two seconds


class Reports:
    """Asks the mesh how it is and was."""

    def __init__(self, backend: Backend, access: ClientAccess) -> None:
        self._backend = backend
        self._access = access
        self._histories: dict[HistorySpan, KeptHistory] = {}

    async def readiness(self, put: Put = in_english) -> ReadinessJson:
        try:
            return readiness_json(await self._backend.ask(CheckReadiness, ReadinessTold), put)
        except Busy as error:
            return ReadinessJson("waiting", waits_for=(put(str(error)),))

    async def report(self, request: Request) -> Report:
        gathered = await self._backend.ask(GatherStatus, StatusGathered)
        members = member_rows(gathered.members, dict(gathered.down_s))
        report = report_of(map(decode, gathered.statuses), members)
        return report if self._access.may_see(request) else public_part(report)

    async def history(self, span: HistorySpan) -> KeptHistory:
        """How the mesh was; the same for a moment, since every peer is asked, and charts take time."""
        now, kept = self._backend.now(), self._histories.get(span)
        if kept is None or now - kept.gathered_at > HISTORY_FRESH_S:
            gathered = await self._backend.ask(
                lambda ticket: GatherHistory(ticket, span.seconds), HistoryGathered
            )
            kept = self._histories[span] = KeptHistory(gathered, span, now)
        return kept
