"""Judging at a gateway: the page of an invited assessor, and pools and judgements for administrators.

Loaded when somebody judges. Files are read and written where that holds nobody up.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from mesh.errors import ConfigError
from mesh.keys.signed_token import TokenRight
from peers.gateway.handling import responses
from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Backend
from peers.gateway.handling.requests import Refusal, body_of, fields_in, now_s, reader_of
from peers.gateway.judging.judgement_page import GRADE_TEXTS, SCRIPT, judgement_page
from peers.gateway.judging.pools_page import pools_page
from peers.gateway.site.command_json import (
    AssessorJson,
    InvitationJson,
    InvitedJson,
    JudgingJson,
    JudgingRequest,
)
from peers.gateway.site.pages import Reader, message_page
from peers.gateway.why.why_page import sign_in_page
from peers.judging.assessor_link import AssessorLink, key_of, link_in
from peers.judging.desk import Desk
from peers.judging.judgement_files import JudgementFiles, fault_of, is_name
from peers.judging.pool import Pool

logger = logging.getLogger(__name__)

FORM_BYTES_MAX: Final = 32 << 10  # of one grade: the name of a document has 8 KiB, escaped thrice that
POOL_BYTES_MAX: Final = 32 << 20  # 50,000 pages with 600 bytes each
DAY_S: Final = 86_400
_NAME_HINT: Final = "names of pools and assessors have 1 to 40 letters, digits, - and _"
_OFF_HINT: Final = "this gateway keeps no pools: it has no folder of its own"


class _NotJudged(Exception):
    """A grade that is not taken: the status, and the text for people."""

    def __init__(self, status_code: int, key: str) -> None:
        super().__init__(key)
        self.status_code, self.key = status_code, key


class JudgementRoutes:
    """The handlers of judging."""

    def __init__(self, backend: Backend, access: ClientAccess) -> None:
        self._backend = backend
        self._access = access
        folder = backend.settings.judging_folder
        self._files = JudgementFiles(Path(folder)) if folder else None

    # --- Assessors

    async def page(self, request: Request) -> Response:
        """Show a query to the bearer of a link, or take a grade: then on to the next page without one."""
        reader = reader_of(request)
        try:
            files, invited, place = self._invited(request)
            if request.method != "POST":
                wanted = request.query_params.get("n", "")
                shown = await self._backend.render(lambda: _shown(reader, files, invited, place, wanted))
                return _private(responses.form(shown))
            self._access.check_is_ours(request)
            fields = fields_in(await body_of(request, FORM_BYTES_MAX, "post one grade"))
            number, at = await self._backend.render(lambda: _judge(files, invited, fields))
        except _NotJudged as refusal:
            text = reader.say(refusal.key)
            return _private(responses.html(message_page(reader, text), refusal.status_code))
        there = reader.link(place, n=number)
        return responses.see_other(f"{there}#p{at}" if at else there)

    def _invited(self, request: Request) -> tuple[JudgementFiles, AssessorLink, str]:
        """Return the pools, the invitation of a link and its path. _NotJudged."""
        pool, assessor, code = (request.path_params[name] for name in ("pool", "assessor", "code"))
        secret = self._backend.settings.admin_token
        invited = link_in(pool, assessor, code, key_of(secret), now_s()) if secret else None
        if self._files is None or invited is None:
            raise _NotJudged(404, "judge_no_link")
        return self._files, invited, _path_of(invited, code)

    # --- Administrators

    async def pools(self, request: Request) -> Response:
        """Show how far the people are that judge, to administrators; to others only where to sign in."""
        reader, files = reader_of(request), self._files
        if not self._access.may_see(request):
            return responses.form(sign_in_page(reader, is_wrong=False, is_known=False), 403)
        if files is None:
            return responses.html(message_page(reader, reader.say("judge_no_pools")), 404)
        return responses.html(await self._backend.render(lambda: pools_page(reader, _pools_in(files))))

    async def judging(self, request: Request) -> Response:
        """Tell of the pools and of the judgements on one, or take a pool and invite people to judge it."""
        right = TokenRight.ORDERS if request.method == "POST" else TokenRight.READ
        self._access.check_admin(request, right)
        files = self._files
        if files is None:
            raise Refusal(404, _OFF_HINT)
        if request.method != "POST":
            name, assessor = (request.query_params.get(each, "") for each in ("name", "assessor"))
            return responses.json(await self._backend.render(lambda: _told(files, name, assessor)))
        body = await body_of(request, POOL_BYTES_MAX, "split the pool")
        key = key_of(self._backend.settings.admin_token) if self._backend.settings.admin_token else b""
        invited = await self._backend.render(lambda: _invite(files, body, key))
        names, client = [each.assessor for each in invited.links], self._access.client_of(request)
        logger.info(
            "people were invited to judge pool=%s assessors=%s client=%s", invited.name, names, client
        )
        return responses.json(invited)


def _private(response: Response) -> Response:
    """Keep a page to its reader: its address is a secret, and its script one of its own."""
    policy = response.headers["Content-Security-Policy"]
    before, _, after = policy.partition("script-src ")
    response.headers["Content-Security-Policy"] = (
        f"{before}script-src {SCRIPT.source};{after.partition(';')[2]}"
    )
    response.headers["Cache-Control"] = "no-store"
    return response


def _path_of(invited: AssessorLink, code: str) -> str:
    return f"/judge/{quote(invited.pool)}/{quote(invited.assessor)}/{code}"


def _desk(files: JudgementFiles, invited: AssessorLink) -> Desk:
    """Return the pool of an invitation with the grades of its assessor. _NotJudged."""
    try:
        desk = files.desk(invited.pool, invited.assessor)
        if desk is None:
            raise _NotJudged(404, "judge_no_link")
        return desk
    except (OSError, ConfigError, msgspec.MsgspecError) as error:
        logger.error("a pool cannot be judged pool=%s: %s", invited.pool, error)
        raise _NotJudged(503, "judge_failed") from error


def _shown(reader: Reader, files: JudgementFiles, invited: AssessorLink, place: str, wanted: str) -> str:
    """Return the page of a query, of the first that is not judged where none is wanted. _NotJudged."""
    desk = _desk(files, invited)
    is_number = wanted.isascii() and wanted.isdigit() and len(wanted) < 9
    number = int(wanted) if is_number and 1 <= int(wanted) <= desk.query_count else desk.first_open()
    return judgement_page(reader, desk, number, place)


def _judge(files: JudgementFiles, invited: AssessorLink, fields: dict[str, str]) -> tuple[int, int]:
    """Take a grade; return the query and the page that come next, as `Desk.next_place`. _NotJudged."""
    query, document, grade = (fields.get(name, "") for name in ("query", "document", "grade"))
    grades = [*map(str, range(len(GRADE_TEXTS)))]
    desk = _desk(files, invited)
    if grade not in grades or not desk.has(query, document):
        raise _NotJudged(400, "judge_bad")
    try:
        files.judge(invited.pool, invited.assessor, query, document, int(grade))
    except ValueError as error:
        raise _NotJudged(409, "judge_full") from error
    except (OSError, ConfigError) as error:
        logger.error("a grade cannot be kept pool=%s assessor=%s: %s", invited.pool, invited.assessor, error)
        raise _NotJudged(503, "judge_failed") from error
    return desk.next_place(query, document)


def _told(files: JudgementFiles, name: str, assessor: str) -> JudgingJson:
    """Return how far each assessor of a pool is; without a name the names of all pools. Refusal.

    Args:
      assessor: whose judgements are told, too; "" for nobody's.
    """
    if not name:
        return JudgingJson("", 0, 0, (), tuple(files.pools()))
    pool = _pool_of(files, name)
    told = []
    for each in files.assessors(name):
        try:
            desk = files.desk(name, each)
            judgements = files.judgements(name, each) if each == assessor else {}
        except (OSError, ConfigError) as error:
            raise Refusal(502, f"judgements of {each} on {name} cannot be read: {error}") from error
        given = {query: dict(of_query) for query, of_query in judgements.items()}
        told.append(AssessorJson(each, 0 if desk is None else desk.judged_count, given))
    return JudgingJson(name, len(pool.queries), len(pool.pages), tuple(told))


def _pools_in(files: JudgementFiles) -> list[JudgingJson | str]:
    """Return how far each pool is; of one that cannot be read the name alone."""
    told: list[JudgingJson | str] = []
    for name in files.pools():
        try:
            told.append(_told(files, name, ""))
        except Refusal as refusal:
            logger.error("%s", refusal.detail)
            told.append(name)
    return told


def _invite(files: JudgementFiles, body: bytes, key: bytes) -> InvitedJson:
    """Keep the pool that is posted, if any, and make the links of its assessors. Refusal."""
    try:
        wish = _request_decoder.decode(body)
        posted = None if wish.pool is None else msgspec.convert(wish.pool, Pool)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        hint = 'post {"name": "...", "assessors": ["..."], "pool": ...}, as `tianmesh eval invite` does'
        raise Refusal(400, f"this is not understood ({error}); {hint}") from error
    if not all(map(is_name, (wish.name, *wish.assessors))):
        raise Refusal(400, _NAME_HINT)
    if not key:
        raise Refusal(409, "this peer has no admin.token, by which links are signed: restart it with one")
    if posted is not None:
        if fault := fault_of(posted):
            raise Refusal(400, f"{fault}: make the pool anew by `tianmesh eval pool`")
        try:
            files.keep_pool(wish.name, posted)
        except ValueError as error:
            raise Refusal(409, str(error)) from error
        except OSError as error:
            raise Refusal(
                503, f"the pool cannot be kept ({error.strerror}): make room on the disk"
            ) from error
    pool = _pool_of(files, wish.name)
    until_s = int(now_s()) + wish.days * DAY_S
    links = [AssessorLink(wish.name, assessor, until_s) for assessor in wish.assessors]
    told = tuple(InvitationJson(each.assessor, _path_of(each, each.code(key)), until_s) for each in links)
    return InvitedJson(wish.name, len(pool.queries), len(pool.pages), told)


def _pool_of(files: JudgementFiles, name: str) -> Pool:
    try:
        pool = files.pool(name)
    except (OSError, msgspec.MsgspecError) as error:
        raise Refusal(502, f"the pool {name} cannot be read ({error}): post it again") from error
    if pool is None:
        raise Refusal(404, "there is no such pool here: post it, or ask without a name which there are")
    return pool


_request_decoder: Final = msgspec.json.Decoder(JudgingRequest)
