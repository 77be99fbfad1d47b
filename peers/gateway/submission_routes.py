"""Submitting sites: the form, the page by which one sees how that goes, and verdicts of administrators."""

from __future__ import annotations

import logging
from typing import Final

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from mesh.keys.signed_token import TokenRight
from mesh.urls import URL_CHARS_MAX, canonical
from peers.crawler.fetching.contact import ADVICE
from peers.gateway import responses
from peers.gateway.access import ClientAccess
from peers.gateway.backend import Backend, Busy
from peers.gateway.model.messages import (
    FindSubmission,
    JudgeSite,
    ListSites,
    SiteAnswered,
    SitesListed,
    SubmissionFound,
    SubmitUrl,
)
from peers.gateway.requests import MEMBER_CHARS_MAX, Refusal, body_of, fields_in, now_s, reader_of
from peers.gateway.site.pages import message_page
from peers.gateway.submitting.submission_json import (
    JudgedJson,
    JudgeRequest,
    SubmissionJson,
    SubmissionsJson,
    SubmitRequest,
    submission_json,
    submissions_json,
)
from peers.policy.submission_rules import SubmissionRules
from peers.submissions.submission import Submission, code_in, code_text
from peers.submissions.verdict import Verdict, VerdictJudge, verdict_in
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


class _Complaint(Exception):
    """A submission that is not taken: one of `_COMPLAINTS`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.status_code, self.key, self.sentence = _COMPLAINTS[name]


class SubmissionRoutes:
    """The handlers of submissions."""

    def __init__(self, backend: Backend, access: ClientAccess) -> None:
        self._backend = backend
        self._access = access

    # --- Everybody

    async def form(self, request: Request) -> Response:
        """Show the form, or take it: then on to the page of the submission."""
        reader, rules = reader_of(request), self._backend.policy.submissions
        if rules is None:
            return responses.html(message_page(reader, reader.say("submit_off")), 404)
        # With the first: most meshes take no sites.
        from peers.gateway.submitting.submission_page import submit_form_page

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
        from peers.gateway.submitting.submission_page import submission_page

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
        return submissions_json(replace(listed, told=replace(listed.told, rows=rows)))

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
