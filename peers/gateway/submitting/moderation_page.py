"""The page of submissions for administrators: those at one step, each with the two verdicts on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from shlex import quote
from typing import Final, NamedTuple

from mesh.urls import host_of
from peers.gateway.model.time_words import utc
from peers.gateway.site.pages import Here, Reader, render
from peers.gateway.submitting.submission_json import ReportJson, SubmissionJson
from peers.gateway.submitting.submission_page import reason_of, sentence_of
from peers.policy.submission_rules import SITE_PAGES_MAX
from peers.submissions.submission import SubmissionState
from peers.submissions.verdict import WHY_CHARS_MAX

SHOWN_MAX: Final = 100  # the oldest; judged ones make room for others

_STEPS: Final = {
    SubmissionState.MODERATED: "moderation_moderated",
    SubmissionState.PROVING: "moderation_proving",
    SubmissionState.QUEUED: "moderation_queued",
    SubmissionState.CRAWLED: "moderation_crawled",
    SubmissionState.DONE: "moderation_done",
    SubmissionState.REFUSED: "moderation_refused",
}


class Queue(NamedTuple):
    """All that the page shows."""

    state: SubmissionState  # of those that are listed
    submissions: Sequence[SubmissionJson]  # of all states
    reports: Sequence[ReportJson]  # of readers
    silent: Sequence[str]  # peers that have not told all of theirs
    may_judge: bool  # this reader, here; else the command is shown that does
    complaint: str  # a sentence on the verdict before; "" for none


class _Step(NamedTuple):
    name: str
    n_sites: int
    href: str
    is_current: bool


class _Shown(NamedTuple):
    code: str
    url: str
    made: str
    sentence: str
    reason: str
    status: str  # the address of its page
    pages_max: int
    is_proven: bool
    is_refused: bool


class _Reported(NamedTuple):
    url: str
    readers: str
    last: str
    host: str
    quoted: str  # the URL as a shell takes it


def moderation_page(reader: Reader, queue: Queue) -> str:
    """Show the submissions at one step."""
    counts = Counter(each.state for each in queue.submissions)
    steps = [
        _Step(
            reader.say(_STEPS[state]),
            counts[state],
            reader.link("/moderation", state=state),
            state == queue.state,
        )
        for state in SubmissionState
    ]
    listed = sorted((each for each in queue.submissions if each.state == queue.state), key=_age)
    return render(
        "moderation.html",
        reader,
        Here("/moderation", {"state": queue.state}),
        query="",
        queue=queue,
        steps=steps,
        shown=[_shown(reader, each) for each in listed[:SHOWN_MAX]],
        more=max(0, len(listed) - SHOWN_MAX),
        reported=[_reported(reader, each) for each in sorted(queue.reports, key=_weight)[:SHOWN_MAX]],
        takes_reports=reader.takes_reports,
        action=reader.link("/moderation", state=queue.state),
        pages_max=SITE_PAGES_MAX,
        why_chars_max=WHY_CHARS_MAX,
    )


def _weight(told: ReportJson) -> tuple[int, int, str]:
    return -told.readers, -told.last_s, told.url


def _reported(reader: Reader, told: ReportJson) -> _Reported:
    last, many = utc(told.last_s), reader.say("reports_count", count=told.readers)
    return _Reported(
        told.url,
        many if told.readers > 1 else reader.say("reports_one"),
        f"{last:%Y-%m-%d %H:%M}Z" if last else "",
        host_of(told.url),
        quote(told.url),
    )


def _age(told: SubmissionJson) -> tuple[int, str]:
    return told.made_s, told.code


def _shown(reader: Reader, told: SubmissionJson) -> _Shown:
    made = utc(told.made_s)
    return _Shown(
        told.code,
        told.url,
        f"{made:%Y-%m-%d %H:%M}Z" if made else "",
        sentence_of(reader, told),
        reason_of(reader, told.why),
        reader.link(told.status_page),
        told.pages_max,
        told.is_proven,
        told.state is SubmissionState.REFUSED,
    )
