"""Sites that people submit, results that readers report, and the verdicts of administrators.

Loaded when somebody does one of these.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from mesh.errors import ConfigError
from mesh.keys.decree import POLICY, Signer
from mesh.keys.key_file import load_administrator
from mesh.keys.signed_token import TokenRight
from mesh.membership.model.messages import AskDecrees, DecreePublished, DecreesHeld, PublishDecree
from mesh.urls import URL_CHARS_MAX, canonical
from peers.crawler.fetching.contact import ADVICE
from peers.gateway.handling import responses
from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Backend, Busy, Refused
from peers.gateway.handling.requests import (
    MEMBER_CHARS_MAX,
    Refusal,
    body_of,
    fields_in,
    now_s,
    reader_of,
    url_parameter,
)
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
from peers.gateway.site.pages import Reader, message_page
from peers.gateway.submitting.moderation_page import Queue, moderation_page
from peers.gateway.submitting.submission_json import (
    JudgedJson,
    JudgeRequest,
    ReportJson,
    SubmissionJson,
    SubmissionsJson,
    SubmitRequest,
    submission_json,
    submissions_json,
)
from peers.gateway.submitting.submission_page import report_page, submission_page, submit_form_page
from peers.gateway.why.why_page import sign_in_page
from peers.policy import edits
from peers.policy.rules import Policy, policy_bytes, policy_in
from peers.policy.submission_rules import SITE_PAGES_MAX, SubmissionRules
from peers.submissions.report import reporter_of
from peers.submissions.submission import Submission, SubmissionState, code_in, code_text
from peers.submissions.verdict import WHY_CHARS_MAX, Verdict, VerdictJudge, sign_verdict, verdict_in
from peers.submissions.wire_messages import (
    DOMAIN_FULL,
    FORGED,
    MESH_FULL,
    OFF,
    PLACE_BYTES_MAX,
    UNKNOWN,
    UNWANTED,
)

logger = logging.getLogger(__name__)

FORM_BYTES_MAX: Final = 16 << 10  # of a form or JSON with one URL
JUDGE_BYTES_MAX: Final = 8 << 10
DAY_S: Final = 86_400
_OFF_HINT: Final = "sites cannot be submitted: the policy of this mesh has no [submissions]"
_FORGED_HINT: Final = "no administrator of this mesh has signed this verdict now: judge by the key of one"
_VERDICT_HINT: Final = 'post {"verdict": "..."}, as `tianmesh submissions accept` signs it'
# By what is wrong: the status of the answer, the text for people, and the sentence for programs.
_COMPLAINTS: Final = {
    "bad_url": (400, "submit_bad_url", "give a URL with http:// or https://"),
    "client": (429, "submit_too_many", "a client may submit no more sites today"),
    "private": (409, "submit_private", "that host is at a private address, which the mesh does not ask"),
    "busy": (503, "submit_busy", "the mesh does not answer now; submit it again in a moment"),
    DOMAIN_FULL: (429, "submit_domain_full", "of that domain no more is taken today"),
    MESH_FULL: (503, "submit_mesh_full", "too many sites are waiting; come back later"),
    UNWANTED: (409, "submit_unwanted", "the policy of the mesh does not want that page"),
    UNKNOWN: (503, "submit_busy", "the mesh does not answer now; submit it again in a moment"),
}


PARTS_MAX: Final = 64  # asked for one page, of 200 submissions each
REASON: Final = "reported by readers"  # of a take-down, for `policy show --history`
GATHER_S: Final = 10.0  # then what has been heard is shown


class _Complaint(Exception):
    """A submission that is not taken: one of `_COMPLAINTS`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name
        self.status_code, self.key, self.sentence = _COMPLAINTS[name]


class SubmissionRoutes:
    """The handlers of submissions."""

    def __init__(self, backend: Backend, access: ClientAccess) -> None:
        self._backend = backend
        self._access = access
        self._report_key = -1, b""  # the day, and the key of that

    # --- Everybody

    async def form(self, request: Request) -> Response:
        """Show the form, or take it: then on to the page of the submission."""
        reader, rules = reader_of(request), self._backend.policy.submissions
        if rules is None:
            return responses.html(message_page(reader, reader.say("submit_off")), 404)
        if request.method != "POST":
            return responses.form(submit_form_page(reader, rules))
        self._access.check_is_ours(request)
        body = await body_of(request, FORM_BYTES_MAX, "post one URL")
        text = fields_in(body).get("url", "")
        try:
            code = await self._take(request, text, rules)
        except _Complaint as complaint:
            url, sentence = text[:URL_CHARS_MAX], reader.say(complaint.key)
            return responses.form(submit_form_page(reader, rules, url, sentence), complaint.status_code)
        return responses.see_other(reader.link(f"/submit/{code_text(code)}"))

    async def page(self, request: Request) -> Response:
        """Show how a submission stands."""
        reader = reader_of(request)
        try:
            told = await self._find(request)
        except Busy:
            return responses.html(message_page(reader, reader.say("busy")), 503)
        if told is None:
            return responses.html(message_page(reader, reader.say("submit_unknown")), 404)
        response = responses.html(submission_page(reader, told))
        response.headers["Cache-Control"] = "no-store"  # its address is a secret
        return response

    async def submit(self, request: Request) -> Response:
        """Take a submission of a program."""
        self._access.check_is_ours(request)
        if (rules := self._backend.policy.submissions) is None:
            raise Refusal(404, _OFF_HINT)
        text = _url_in(await body_of(request, FORM_BYTES_MAX, "post one URL"))
        try:
            code = await self._take(request, text, rules)
        except _Complaint as complaint:
            headers = {"Retry-After": str(DAY_S)} if complaint.status_code == 429 else {}
            raise Refusal(complaint.status_code, complaint.sentence, headers) from complaint
        told = None
        with suppress(Busy):
            told = await self._told(code)
        if told is None:
            raise Refusal(503, "it is taken, but how it stands is not known yet: ask again in a moment")
        return responses.json(told)

    async def told(self, request: Request) -> Response:
        """Return how a submission stands."""
        told = await self._find(request)
        if told is None:
            raise Refusal(404, "no submission has this code, or it is too long ago")
        return responses.json(told)

    # --- Reports

    async def report(self, request: Request) -> Response:
        """Ask whether a page is to be reported, or report it to the administrators."""
        reader, rules = reader_of(request), self._backend.policy.submissions
        if rules is None or not rules.reports_per_client:
            return responses.html(message_page(reader, reader.say("report_off")), 404)
        if request.method != "POST":
            url = url_parameter(request)
            if url is None:
                return responses.html(message_page(reader, reader.say("submit_bad_url")), 400)
            return responses.form(report_page(reader, url))
        self._access.check_is_ours(request)
        fields = fields_in(await body_of(request, FORM_BYTES_MAX, "post one URL"))
        text = fields.get("url", "")
        url = canonical(text.strip()) if len(text) <= URL_CHARS_MAX else None
        if url is None:
            return responses.html(message_page(reader, reader.say("submit_bad_url")), 400)
        try:
            await self._send_report(request, url, rules)
        except _Complaint as complaint:
            sentence = reader.say("report_too_many" if complaint.name == "client" else complaint.key)
            return responses.form(report_page(reader, url, sentence), complaint.status_code)
        return responses.html(message_page(reader, reader.say("report_taken")))

    async def _send_report(self, request: Request, url: str, rules: SubmissionRules) -> None:
        """Report a page within the quota of its reader. _Complaint."""
        if not self._backend.policy.at(now_s()).has_room_for(url):
            raise _Complaint(UNWANTED)
        if not self._access.may_report(request, rules.reports_per_client):
            raise _Complaint("client")
        day = int(now_s() // DAY_S)
        if self._report_key[0] != day:
            self._report_key = day, self._backend.draw()
        reporter = reporter_of(self._access.client_of(request), self._report_key[1])
        try:
            answered = await self._backend.ask(lambda ticket: ReportUrl(ticket, url, reporter), SiteAnswered)
        except Busy as error:
            raise _Complaint("busy") from error
        if answered.refusal:
            raise _Complaint(answered.refusal if answered.refusal in _COMPLAINTS else UNKNOWN)

    async def _take(self, request: Request, text: str, rules: SubmissionRules) -> bytes:
        """Submit the site of a URL within the quota of its sender; return the code. _Complaint."""
        url = canonical(text.strip()) if len(text) <= URL_CHARS_MAX else None
        if url is None:
            raise _Complaint("bad_url")
        if self._backend.visitor.refused((url,)):
            raise Refusal(409, ADVICE)
        if not self._backend.policy.at(now_s()).has_room_for(url):  # before it counts for its domain
            raise _Complaint(UNWANTED)
        if not self._access.may_submit(request, rules.per_client):
            raise _Complaint("client")
        if await self._backend.private_among((url,), self._backend.policy.allow_private):
            raise _Complaint("private")
        chance = self._backend.draw()
        try:
            answered = await self._backend.ask(lambda ticket: SubmitUrl(ticket, url, chance), SiteAnswered)
        except Busy as error:
            raise _Complaint("busy") from error
        if answered.refusal:
            raise _Complaint(answered.refusal if answered.refusal in _COMPLAINTS else UNKNOWN)
        logger.info("a site was submitted url=%s client=%s", url, self._access.client_of(request))
        return answered.code

    async def _find(self, request: Request) -> SubmissionJson | None:
        code = code_in(request.path_params["code"])
        return None if code is None else await self._told(code)

    async def _told(self, code: bytes) -> SubmissionJson | None:
        found = await self._backend.ask(lambda ticket: FindSubmission(ticket, code), SubmissionFound)
        if found.row is None and not found.is_complete and self._backend.policy.submissions is not None:
            raise Busy("not all peers that may have this submission answer: try again in a moment")
        return None if found.row is None else submission_json(code, self._checked(code, found.row))

    def _checked(self, code: bytes, row: Submission) -> Submission:
        """Return the row of a submission without its verdict, unless an administrator has given that."""
        if row.verdict is None or self._counts(row.verdict, code):
            return row
        return replace(row, verdict=None)

    def _counts(self, verdict: Verdict, code: bytes) -> bool:
        """Is it to be obeyed? Takes 0.3 ms, and may be asked in any thread."""
        rights = self._backend.rights
        is_signed = VerdictJudge(rights.authority).counts(verdict, code, now_s())
        return is_signed and not rights.is_revoked(verdict.signer.hex())

    # --- Administrators

    async def submissions(self, request: Request) -> Response:
        """List a part of all submissions, or take a verdict on one."""
        if request.method == "POST":
            self._access.check_admin(request)
            return await self._judge(request)
        self._access.check_admin(request, TokenRight.READ)
        peer, after = request.query_params.get("peer", ""), request.query_params.get("after", "")
        try:
            place = bytes.fromhex(after)
        except ValueError:
            place = b"\0" * (PLACE_BYTES_MAX + 1)
        if len(peer) > MEMBER_CHARS_MAX or len(place) > PLACE_BYTES_MAX:
            raise Refusal(400, "give the id of a peer, and after as `next` of its last answer says")
        return responses.json(await self.part(peer, place))

    async def part(self, peer: str, place: bytes) -> SubmissionsJson:
        """Return a part of all submissions, as `ListSites` asks for it. Busy, Refused."""
        listed = await self._backend.ask(lambda ticket: ListSites(ticket, peer, place), SitesListed)
        return await self._backend.render(lambda: self._listed(listed))

    def _listed(self, listed: SitesListed) -> SubmissionsJson:
        rows = tuple(replace(each, row=self._checked(each.code, each.row)) for each in listed.told.rows)
        policy = self._backend.policy.at(now_s())
        return submissions_json(replace(listed, told=replace(listed.told, rows=rows)), policy)

    async def _judge(self, request: Request) -> Response:
        verdict = _verdict_in(await body_of(request, JUDGE_BYTES_MAX, "shorten it"))
        refusal = await self.judge(request, verdict)
        if refusal == FORGED:
            raise Refusal(409, _FORGED_HINT)
        if refusal:
            raise Refusal(404, _OFF_HINT if refusal == OFF else "no submission has this code")
        return responses.json(JudgedJson(code_text(verdict.code), verdict.is_accepted))

    async def judge(self, request: Request, verdict: Verdict) -> str:
        """Have the mesh take a verdict; return why it does not, one of `REFUSALS`. Busy, Refused."""
        if not self._counts(verdict, verdict.code):
            return FORGED
        answered = await self._backend.ask(lambda ticket: JudgeSite(ticket, verdict), SiteAnswered)
        if not answered.refusal:
            code, done = code_text(verdict.code), "accepted" if verdict.is_accepted else "refused"
            told = verdict.signer.hex(), self._access.client_of(request), verdict.why
            logger.info("a submission was %s code=%s signer=%s client=%s why=%r", done, code, *told)
        return answered.refusal


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
            await self._obey(request)
        except _NotTaken as refusal:
            return await self._show(request, reader, state, refusal)
        except Busy:
            return await self._show(request, reader, state, _NotTaken(503, "submit_busy"))
        return responses.see_other(reader.link("/moderation", state=state))

    async def _show(
        self, request: Request, reader: Reader, state: SubmissionState, refusal: _NotTaken | None = None
    ) -> Response:
        try:
            gathered, reports, silent = await self._gather()
        except (Busy, Refused):
            return responses.html(message_page(reader, reader.say("busy")), 503)
        key, is_allowed = self._backend.settings.moderator_key, self._access.may_judge(request)
        complaint = "" if refusal is None else reader.say(refusal.key)

        def page_of_queue() -> str:
            may_judge = is_allowed and bool(key) and Path(key).exists()
            return moderation_page(reader, Queue(state, gathered, reports, silent, may_judge, complaint))

        page = await self._backend.render(page_of_queue)
        response = responses.form(page, 200 if refusal is None else refusal.status_code)
        response.headers["Cache-Control"] = "no-store"  # codes are secrets
        return response

    async def _gather(self) -> tuple[list[SubmissionJson], list[ReportJson], list[str]]:
        """Return the submissions and reports of all peers in the time there is, and the peers left."""
        until, found, silent = self._backend.now() + GATHER_S, list[SubmissionJson](), list[str]()
        reports: list[ReportJson] = []
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
            reports += part.reports
            if part.next:
                parts.append((part.peer, bytes.fromhex(part.next)))
        return found, reports, [*silent, *(peer for peer, _ in parts)]

    async def _obey(self, request: Request) -> None:
        """Obey a form: judge a submission, or take a page or site down. _NotTaken, Busy."""
        if not self._access.may_judge(request):
            raise _NotTaken(403, "moderation_reads")
        fields = fields_in(await body_of(request, JUDGE_BYTES_MAX, "post one order"))
        try:
            await (self._take_down if "takedown" in fields else self._take)(request, fields)
        except Refused as error:
            raise _NotTaken(409, "submit_busy") from error

    async def _take_down(self, request: Request, fields: dict[str, str]) -> None:
        """Take a page that was reported, or its site, out of all answers. _NotTaken, Busy."""
        text = fields["takedown"]
        held = await self._backend.ask(
            lambda ticket: AskDecrees(ticket, POLICY, ""), DecreesHeld, actor="membership"
        )
        new = _taken_down(held, text, now_s())
        signer = await self._backend.render(self._signer)
        decree = signer.decree(POLICY, "", held.next_number, policy_bytes(new))
        done = await self._backend.ask(
            lambda ticket: PublishDecree(ticket, decree), DecreePublished, actor="membership"
        )
        if done.refusal:
            logger.error("a page cannot be taken down: %s", done.refusal)
            raise _NotTaken(409, "moderation_no_key")
        told = signer.key.public.hex(), self._access.client_of(request)
        logger.info("a reported page was taken down target=%s signer=%s client=%s", text, *told)

    async def _take(self, request: Request, fields: dict[str, str]) -> None:
        """Sign the verdict of a form and have the mesh take it. _NotTaken, Busy, Refused."""
        code, pages = code_in(fields.get("code", "")), fields.get("pages", "") or "0"
        why = fields.get("why", "").strip()
        is_number = pages.isascii() and pages.isdigit() and len(pages) < 6 and int(pages) <= SITE_PAGES_MAX
        if code is None or not is_number or len(why) > WHY_CHARS_MAX:
            raise _NotTaken(400, "moderation_bad")
        is_accepted, is_unlimited = fields.get("verdict") == "accept", fields.get("unlimited") == "1"
        verdict = await self._backend.render(
            lambda: self._signed(code, why, int(pages), is_accepted=is_accepted, is_unlimited=is_unlimited)
        )
        refusal = await self._submissions.judge(request, verdict)
        if refusal:
            raise _NotTaken(409, "moderation_no_key" if refusal == FORGED else "submit_unknown")

    def _signed(self, code: bytes, why: str, pages: int, *, is_accepted: bool, is_unlimited: bool) -> Verdict:
        signer = self._signer()
        if not is_accepted:
            return sign_verdict(signer, code, now_s(), is_accepted=False, why=why)
        return sign_verdict(signer, code, now_s(), is_accepted=True, pages=pages, is_unlimited=is_unlimited)

    def _signer(self) -> Signer:
        """Return the administrator whose key this peer has. _NotTaken."""
        key = self._backend.settings.moderator_key
        try:
            if not key:
                raise ConfigError("this gateway has no folder with a moderator.key")
            return load_administrator(Path(key))
        except ConfigError as error:
            logger.error("nothing can be signed for a browser: %s", error)
            raise _NotTaken(409, "moderation_no_key") from error


def _taken_down(held: DecreesHeld, text: str, now: float) -> Policy:
    """Return the policy in force with the take-down of a page or a site added. _NotTaken."""
    try:
        what = edits.target(text)
    except ConfigError as error:
        raise _NotTaken(400, "moderation_bad") from error
    if "*" in text or what.addresses:
        raise _NotTaken(400, "moderation_bad")
    if any(each.effective_from > now for each in held.decrees):
        raise _NotTaken(409, "moderation_to_come")
    in_force = [each for each in held.decrees if now < each.valid_until]
    if not in_force:
        return replace(edits.taken_down(None, what, REASON), issued_at=round(now))
    ruling = max(in_force, key=lambda each: each.number)
    try:
        policy = policy_in(ruling.body)
    except msgspec.MsgspecError as error:
        raise _NotTaken(409, "moderation_newer") from error
    if isfinite(ruling.valid_until):
        policy = edits.ending(policy, ruling.valid_until)
    return replace(edits.taken_down(policy, what, REASON), issued_at=round(now))


def _url_in(body: bytes) -> str:
    try:
        return _request_decoder.decode(body).url
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Refusal(400, f'the JSON is not understood ({error}); post {{"url": "https://..."}}') from error


def _verdict_in(body: bytes) -> Verdict:
    try:
        verdict = verdict_in(bytes.fromhex(_judgement_decoder.decode(body).verdict))
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise Refusal(400, f"the JSON is not understood ({error}); {_VERDICT_HINT}") from error
    if verdict is None:
        raise Refusal(400, f"that is no verdict; {_VERDICT_HINT}")
    return verdict


_request_decoder: Final = msgspec.json.Decoder(SubmitRequest)
_judgement_decoder: Final = msgspec.json.Decoder(JudgeRequest)
