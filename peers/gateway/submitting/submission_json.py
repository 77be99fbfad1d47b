"""The JSON of submissions, as commands and other programs read it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.urls import origin_of
from peers.crawler.site_watch import proof_url
from peers.gateway.model.messages import SitesListed
from peers.policy.rules import Policy
from peers.submissions.submission import Submission, SubmissionState, code_text
from peers.submissions.verdict import VERDICT_BYTES_MAX


class SubmitRequest(msgspec.Struct, frozen=True):
    """The JSON that POST /api/submit takes."""

    url: str


class JudgeRequest(msgspec.Struct, frozen=True):
    """The JSON that POST /api/submissions takes."""

    # That an administrator has signed, in hexadecimal: MessagePack, as `verdict.Verdict` is encoded.
    verdict: Annotated[str, Meta(max_length=2 * VERDICT_BYTES_MAX)]


class JudgedJson(msgspec.Struct, frozen=True):
    """The JSON of POST /api/submissions."""

    code: str
    accepted: bool


class SubmissionJson(msgspec.Struct, frozen=True):
    """A submission, and how it stands; the JSON of /api/submit."""

    code: str
    url: str
    state: SubmissionState
    why: str  # it is refused, or has not shown its proof
    visited: int  # pages
    pages_max: int
    is_proven: bool
    is_known: bool  # the mesh crawled the site before: its pages are not limited
    is_unlimited: bool  # an administrator has lifted the limit of its pages
    made_s: int  # since the epoch
    status_page: str  # path at this gateway
    proof_file: str  # URL whose text has to contain the code
    proof_element: str  # or this, in the head of the start page


class ReportJson(msgspec.Struct, frozen=True):
    """A page that readers have reported."""

    url: str
    readers: int  # at least
    first_s: int  # since the epoch
    last_s: int


class SubmissionsJson(msgspec.Struct, frozen=True):
    """A part of all submissions; `peer` and `next` lead on to the one behind it, `peers` to others."""

    peers: tuple[str, ...]
    peer: str
    is_on: bool
    submissions: tuple[SubmissionJson, ...]
    next: str  # for `after`; "" at the end of this peer
    reports: tuple[ReportJson, ...]  # of pages that are not taken down


def submission_json(code: bytes, row: Submission) -> SubmissionJson:
    text = code_text(code)
    return SubmissionJson(
        code=text,
        url=row.url,
        state=row.state,
        why=row.why,
        visited=row.visited,
        pages_max=row.pages_limit,
        is_proven=row.is_proven,
        is_known=row.is_known,
        is_unlimited=row.is_unlimited,
        made_s=row.made_s,
        status_page=f"/submit/{text}",
        proof_file=proof_url(origin_of(row.url)),
        proof_element=f'<meta name="tianmesh-site" content="{text}">',
    )


def submissions_json(listed: SitesListed, policy: Policy) -> SubmissionsJson:
    told = listed.told
    rows = tuple(submission_json(each.code, each.row) for each in told.rows)
    reports = tuple(
        ReportJson(each.url, each.readers, each.first_s, each.last_s)
        for each in told.reports
        if not policy.is_taken_down(each.url)
    )
    return SubmissionsJson(listed.peers, listed.peer, told.is_on, rows, told.next.hex(), reports)
