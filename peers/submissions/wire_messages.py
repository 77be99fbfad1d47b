"""Messages by which gateways submit sites, have them judged, and read how they stand."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.actors.actor import Message
from mesh.wire_fields import Count, Slot, Url
from peers.submissions.domain_day import DIGEST_BYTES, NAME_BYTES
from peers.submissions.report import REPORTERS_MAX, Reporter
from peers.submissions.submission import Submission
from peers.submissions.verdict import CODE_BYTES, Code, Verdict

TOLD_MAX: Final = 200  # rows in one answer, without the pages admitted
PLACE_BYTES_MAX: Final = 2 + NAME_BYTES  # of the longest name of a row


class ClaimDomain(Message, frozen=True, array_like=True, tag=131):
    """From a gateway to the owner of a domain's slot: one more submission of it today. Repeated."""

    request: Count
    digest: Annotated[bytes, Meta(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]
    code: Code


class SubmitSite(Message, frozen=True, array_like=True, tag=132):
    """From a gateway to the crawler of a site, once the domain has room: take this one. Repeated."""

    request: Count
    code: Code
    url: Url  # canonical


class JudgeSubmission(Message, frozen=True, array_like=True, tag=133):
    """From a gateway to the crawler of a site: an administrator's verdict on it. Repeated."""

    request: Count
    verdict: Verdict


class SubmissionAnswered(Message, frozen=True, array_like=True, tag=134):
    """Answer to the three above: it is done and the living team has it, or why it is not."""

    request: Count
    refusal: Annotated[str, Meta(max_length=32)] = ""  # one of `REFUSALS`; "" when it is done


class ReadSubmissions(Message, frozen=True, array_like=True, tag=135):
    """From a gateway: how does this one stand, or, without a code, which do you have behind this place?"""

    request: Count
    code: Annotated[bytes, Meta(max_length=CODE_BYTES)] = b""  # b"" for all
    after: Annotated[bytes, Meta(max_length=PLACE_BYTES_MAX)] = b""


class ToldSubmission(msgspec.Struct, frozen=True, array_like=True):
    """A row and its place; the pages admitted are left out."""

    slot: Slot
    code: Code
    row: Submission


class ToldReport(msgspec.Struct, frozen=True, array_like=True):
    """A page that readers have reported; their digests are left out."""

    url: Url
    first_s: Count
    last_s: Count
    readers: Annotated[int, Meta(ge=1, le=REPORTERS_MAX)]  # at least


class ReportPage(Message, frozen=True, array_like=True, tag=146):
    """From a gateway to the crawler of a page: a reader reports it. Answered as those above. Repeated."""

    request: Count
    url: Url  # canonical
    reporter: Reporter


class SubmissionsTold(Message, frozen=True, array_like=True, tag=136):
    """Answer to `ReadSubmissions`."""

    request: Count
    is_on: bool = False  # by the policy that the peer goes by
    rows: Annotated[tuple[ToldSubmission, ...], Meta(max_length=TOLD_MAX)] = ()
    next: Annotated[bytes, Meta(max_length=PLACE_BYTES_MAX)] = b""  # to go on behind; b"" at the end
    reports: Annotated[tuple[ToldReport, ...], Meta(max_length=TOLD_MAX)] = ()


# Why something is not done, as messages and the texts of pages name it.
OFF: Final = "off"
ELSEWHERE: Final = "elsewhere"  # the slot is another peer's: ask again
DOMAIN_FULL: Final = "domain_full"
MESH_FULL: Final = "mesh_full"
UNWANTED: Final = "unwanted"  # by the policy
UNKNOWN: Final = "unknown"
FORGED: Final = "forged"  # no administrator has signed this verdict
REFUSALS: Final = (OFF, ELSEWHERE, DOMAIN_FULL, MESH_FULL, UNWANTED, UNKNOWN, FORGED)
