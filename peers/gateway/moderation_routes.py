"""The page on which administrators judge submissions in a browser. Loaded when somebody opens it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from mesh.errors import ConfigError
from mesh.keys.key_file import load_administrator
from peers.gateway import responses
from peers.gateway.access import ClientAccess
from peers.gateway.backend import Backend, Busy, Refused
from peers.gateway.requests import body_of, fields_in, now_s, reader_of
from peers.gateway.site.pages import Reader, message_page
from peers.gateway.submission_routes import SubmissionRoutes
from peers.gateway.submitting.moderation_page import Queue, moderation_page
from peers.gateway.submitting.submission_json import SubmissionJson
from peers.gateway.why.why_page import sign_in_page
from peers.policy.submission_rules import SITE_PAGES_MAX
from peers.submissions.submission import SubmissionState, code_in
from peers.submissions.verdict import WHY_CHARS_MAX, Verdict, sign_verdict
from peers.submissions.wire_messages import FORGED

logger = logging.getLogger(__name__)

FORM_BYTES_MAX: Final = 8 << 10
PARTS_MAX: Final = 64  # asked for one page, of 200 submissions each
GATHER_S: Final = 10.0  # then what has been heard is shown


class _NotTaken(Exception):
    """A verdict that is not taken: the status, and the text for people."""

    def __init__(self, status_code: int, key: str) -> None:
        super().__init__(key)
        self.status_code, self.key = status_code, key


class ModerationRoutes:
    """The handler of the page."""

    def __init__(self, backend: Backend, access: ClientAccess, submissions: SubmissionRoutes) -> None:
        self._backend = backend
        self._access = access
        self._submissions = submissions

    async def page(self, request: Request) -> Response:
        """Show the submissions at one step, or take a verdict on one; to others only where to sign in."""
        reader = reader_of(request)
        if not self._access.may_see(request):
            return responses.form(sign_in_page(reader, is_wrong=False, is_known=False), 403)
        if self._backend.policy.submissions is None:
            return responses.html(message_page(reader, reader.say("submit_off")), 404)
        wanted = request.query_params.get("state", "")
        state = next((each for each in SubmissionState if each == wanted), SubmissionState.MODERATED)
        if request.method != "POST":
            return await self._show(request, reader, state)
        self._access.check_is_ours(request)
        try:
            await self._take(request)
        except _NotTaken as refusal:
            return await self._show(request, reader, state, refusal)
        except Busy:
            return await self._show(request, reader, state, _NotTaken(503, "submit_busy"))
        return responses.see_other(reader.link("/moderation", state=state))

    async def _show(
        self, request: Request, reader: Reader, state: SubmissionState, refusal: _NotTaken | None = None
    ) -> Response:
        try:
            gathered, silent = await self._gather()
        except (Busy, Refused):
            return responses.html(message_page(reader, reader.say("busy")), 503)
        key, is_allowed = self._backend.settings.moderator_key, self._access.may_judge(request)
        complaint = "" if refusal is None else reader.say(refusal.key)

        def page_of_queue() -> str:
            may_judge = is_allowed and bool(key) and Path(key).exists()
            return moderation_page(reader, Queue(state, gathered, silent, may_judge, complaint))

        page = await self._backend.render(page_of_queue)
        response = responses.form(page, 200 if refusal is None else refusal.status_code)
        response.headers["Cache-Control"] = "no-store"  # codes are secrets
        return response

    async def _gather(self) -> tuple[list[SubmissionJson], list[str]]:
        """Return the submissions of all peers, as far as there is time, and the peers that told not all."""
        until, found, silent = self._backend.now() + GATHER_S, list[SubmissionJson](), list[str]()
        parts, known = [("", b"")], set[str]()
        for _ in range(PARTS_MAX):
            if not parts or self._backend.now() > until:
                break
            peer, after = parts.pop()
            try:
                part = await self._submissions.part(peer, after)
            except (Busy, Refused):
                if not peer:
                    raise
                silent.append(peer)
                continue
            parts += [(each, b"") for each in reversed(part.peers) if each not in known | {part.peer}]
            known |= {*part.peers, part.peer}
            found += part.submissions
            if part.next:
                parts.append((part.peer, bytes.fromhex(part.next)))
        return found, [*silent, *(peer for peer, _ in parts)]

    async def _take(self, request: Request) -> None:
        """Sign the verdict of a form and have the mesh take it. _NotTaken, Busy."""
        if not self._access.may_judge(request):
            raise _NotTaken(403, "moderation_reads")
        fields = fields_in(await body_of(request, FORM_BYTES_MAX, "post one verdict"))
        code, pages = code_in(fields.get("code", "")), fields.get("pages", "") or "0"
        why = fields.get("why", "").strip()
        is_number = pages.isascii() and pages.isdigit() and len(pages) < 6 and int(pages) <= SITE_PAGES_MAX
        if code is None or not is_number or len(why) > WHY_CHARS_MAX:
            raise _NotTaken(400, "moderation_bad")
        is_accepted, is_unlimited = fields.get("verdict") == "accept", fields.get("unlimited") == "1"
        verdict = await self._backend.render(
            lambda: self._signed(code, why, int(pages), is_accepted=is_accepted, is_unlimited=is_unlimited)
        )
        try:
            refusal = await self._submissions.judge(request, verdict)
        except Refused as error:
            raise _NotTaken(409, "submit_busy") from error
        if refusal:
            raise _NotTaken(409, "moderation_no_key" if refusal == FORGED else "submit_unknown")

    def _signed(self, code: bytes, why: str, pages: int, *, is_accepted: bool, is_unlimited: bool) -> Verdict:
        key = self._backend.settings.moderator_key
        try:
            if not key:
                raise ConfigError("this gateway has no folder with a moderator.key")
            signer = load_administrator(Path(key))
        except ConfigError as error:
            logger.error("a verdict cannot be signed: %s", error)
            raise _NotTaken(409, "moderation_no_key") from error
        if not is_accepted:
            return sign_verdict(signer, code, now_s(), is_accepted=False, why=why)
        return sign_verdict(signer, code, now_s(), is_accepted=True, pages=pages, is_unlimited=is_unlimited)
