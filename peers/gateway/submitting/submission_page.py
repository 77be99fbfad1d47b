"""The pages of submitted sites: the form, and how a submission stands. Without script."""

from __future__ import annotations

from typing import Final

from peers.gateway.site.pages import Here, Reader, render
from peers.gateway.submitting.submission_json import SubmissionJson
from peers.policy.submission_rules import SubmissionRules
from peers.submissions.submission import SubmissionState

_SENTENCES: Final = {
    SubmissionState.MODERATED: "submit_moderated",
    SubmissionState.PROVING: "submit_proving",
    SubmissionState.QUEUED: "submit_queued",
    SubmissionState.CRAWLED: "submit_crawled",
    SubmissionState.DONE: "submit_done",
    SubmissionState.REFUSED: "submit_refused",
}
_REASONS: Final = {
    "policy": "submit_why_policy",
    "robots": "submit_why_robots",
    "none": "submit_why_none",
    "unproven": "submit_why_none",
    "404": "submit_why_none",
    "unreachable": "submit_why_unreachable",
    **dict.fromkeys(("301", "302", "303", "307", "308"), "submit_why_moved"),
}


def submit_form_page(reader: Reader, rules: SubmissionRules, url: str = "", complaint: str = "") -> str:
    """The form by which a site is submitted. Args: complaint: a sentence on the one before; "" for none."""
    here = Here("/submit")
    return render(
        "submit.html",
        reader,
        here,
        query="",
        told=None,
        url=url,
        complaint=complaint,
        rules=rules,
        sentence="",
        reason="",
    )


def report_page(reader: Reader, url: str, complaint: str = "") -> str:
    """The form by which a reader reports a page. Args: complaint: a sentence on the one before."""
    here = Here("/report", {"url": url})
    return render("report.html", reader, here, query="", url=url, complaint=complaint)


def submission_page(reader: Reader, told: SubmissionJson) -> str:
    """How a submission stands; it loads itself again while something is to come."""
    return render(
        "submit.html",
        reader,
        Here(told.status_page),
        query="",
        told=told,
        url=told.url,
        complaint="",
        rules=None,
        sentence=sentence_of(reader, told),
        reason=reason_of(reader, told.why),
    )


def sentence_of(reader: Reader, told: SubmissionJson) -> str:
    """Say how a submission stands."""
    if told.is_known and told.state is SubmissionState.DONE:
        return reader.say("submit_known")
    return reader.say(_SENTENCES[told.state], visited=told.visited, pages=told.pages_max)


def reason_of(reader: Reader, why: str) -> str:
    """The reason in the reader's language; as it is where it is an administrator's or a server's."""
    return reader.say(_REASONS[why]) if why in _REASONS else why
