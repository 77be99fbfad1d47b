"""Why a URL is as it is, in one sentence with the remedy. Pure."""

from __future__ import annotations

from typing import Final

from mesh.urls import looks_like_trap
from peers.crawler.explanations import Hold, Ruling, UrlFacts, UrlState, Wait
from peers.gateway.model.messages import WhyAnswered
from peers.gateway.model.time_words import when

# Of reasons that stand in the outcome of a visit, for people.
_REASONS: Final = {
    "policy": "the policy of the mesh does not want it",
    "unruled": "no rule of the policy matches it",
    "policy_budget": "the policy sets a limit of pages or depth",
    "host_budget": "as many pages of its host were asked for as may be",
    "domain_budget": "as many questions were asked of its domain as may be",
    "alias": "its host is another name of a site whose pages are visited under the first one",
    "trap": "pages with URLs like it were copies of each other",
    "host_origins": "its host has more schemes and ports than are visited",
    "too_many_lists": "a sitemap: of its host as many were read as may be, or it is in an index that is in "
    "another one of another one",
    "site_limit": "its site was submitted, and as many pages of it were asked for as may be",
    "proof_none": "it is asked for only to see whether its site was submitted by its owner, and had no proof",
    "proof_found": "it is asked for only to see whether its site was submitted by its owner, and it was",
    "proof_over": "it is asked for only to see whether its site was submitted by its owner, and that is over",
    "crawl_delay": "its robots.txt wants a longer delay than we wait",
    "robots": "its robots.txt forbids it",
    "silent": "its host has had no address or robots.txt for so long that its pages are shown no more; it is "
    "asked once a day",
    "unreachable": "its robots.txt could not be had, which forbids everything for a while",
}


def chief_of(answer: WhyAnswered) -> tuple[str, UrlFacts] | None:
    """Return the best-informed peer and its facts: the owner, else a standby; None when none answered."""
    return next(iter(answer.told), None)


def is_owner_heard(answer: WhyAnswered) -> bool:
    return any(peer == answer.owner for peer, _ in answer.told)


def sentence_of(answer: WhyAnswered) -> str:
    """Say why a URL is as it is."""
    chief = chief_of(answer)
    if not answer.owner:
        return "nobody crawls anything: no live member has a share of the slots; `tianmesh status` says why"
    if chief is None:
        return (
            f"{answer.owner}, which owns the slot, did not answer, nor did another who keeps it: ask again, "
            "and see `tianmesh status`"
        )
    said = _said(chief[1])
    if is_owner_heard(answer):
        return said
    return f"{answer.owner}, which owns the slot, did not answer; by what {chief[0]} keeps of it {said}"


def reason_text(reason: str) -> str:
    """Say in words why a visit ended as it did; a status or a reason of the fetcher as it is."""
    return _REASONS.get(reason, reason)


def _said(facts: UrlFacts) -> str:
    if facts.is_taken_down:
        return "it is taken down: shown to nobody, and not visited; `tianmesh policy show` has the rule"
    match facts.state:
        case UrlState.UNKNOWN | UrlState.LEFT_OUT if facts.visits == 0:
            return _unvisited(facts)
        case UrlState.QUEUED:
            return f"it is queued, and waits: {_wait(facts)}"
        case UrlState.STORED | UrlState.IMPORTED:
            archive = facts.archive
            index = "its versions are with other peers" if archive is None else archive.index
            return f"it is {facts.state}, {index}"
        case UrlState.LEFT_OUT:
            return f"it was left out: {_left_out(facts)}"
        case UrlState.FAILED:
            return f"its last visit failed: {reason_text(facts.outcome)}{_next(facts)}"
        case UrlState.VISITED:
            if facts.archive is not None and facts.archive.moved_to:
                return f"it has moved to {facts.archive.moved_to}, which is found instead{_next(facts)}"
            return f"its last visit was answered {facts.outcome}, {_no_page(facts.outcome)}{_next(facts)}"
    return f"it is {facts.state}"


def _no_page(outcome: str) -> str:
    if outcome.startswith("3"):
        return "and where that leads is visited as a page of its own"
    return "a sitemap, a feed or another thing that is no page to be kept"


def _unvisited(facts: UrlFacts) -> str:
    refused = next((each for each in facts.rulings if each.refusal), None)
    if refused is None or facts.rulings[-1].refusal == "":
        if facts.is_left_out_abroad:
            return (
                "only pages of other domains link to it, and such links are not followed; "
                "`tianmesh seed URL` adds it, with --anywhere they all are"
            )
        if facts.left_out_depth is not None:
            return "a link to it was found and left out: it is looked at again under the policy of now"
        if looks_like_trap(facts.url):
            return "nobody has queued it: paths that are very deep or repeat themselves are not followed"
        robots = facts.robots
        if robots is not None and not robots.is_allowed:
            return f"nobody has found it, and its robots.txt forbids it{_line(facts)}"
        return "nobody has found it: no page that was visited links to it; `tianmesh seed URL` adds it"
    found = "nobody has found it, and " if facts.left_out_depth is None else "a link to it was found, and "
    return (
        f"{found}it is out of scope: {ruling_text(refused)}; `tianmesh seed URL` with --within or --anywhere "
        "widens the scope, `tianmesh policy show` has the rules"
    )


def _wait(facts: UrlFacts) -> str:
    waits = [each for each in facts.waits if each.hold is not Hold.BEHIND] or list(facts.waits)
    if not waits:
        return "it has its turn as soon as there is room for a fetch"
    return wait_text(waits[0], facts.at_s)


def wait_text(wait: Wait, now: float) -> str:
    """Say the reason for a wait, and its end if that is known."""
    return wait.hold if wait.until_s is None else f"{wait.hold}, {when(wait.until_s, now)}"


def ruling_text(ruling: Ruling) -> str:
    """Say which rule decides, and its decision."""
    if not ruling.number:
        return "no rule of the policy matches it"
    where = f" if its host is in {ruling.addresses}" if ruling.addresses else ""
    what = " if it is such a page" if ruling.is_of_pages else ""
    by = f" by {ruling.condition}" if ruling.condition else ""
    reason = f" ({ruling.reason})" if ruling.reason else ""
    refusal = ": a limit of it is reached" if ruling.refusal.endswith("_budget") else ""
    return f"rule {ruling.number}{by} says {ruling.action}{what}{where}{reason}{refusal}"


def _left_out(facts: UrlFacts) -> str:
    if facts.outcome == "robots":
        return f"its robots.txt forbids it{_line(facts)}{_next(facts)}"
    refused = next((each for each in facts.rulings if each.refusal), None)
    if facts.outcome.startswith("policy") and refused is not None:
        return f"{ruling_text(refused)}; `tianmesh policy show` has the rules"
    if facts.outcome == "alias" and facts.host is not None and facts.host.alias_of:
        other = facts.host.alias_of
        return (
            f"its host has the pages of {other} and is taken for another name of it: they are visited there"
        )
    return f"{reason_text(facts.outcome)}{_next(facts)}"


def _line(facts: UrlFacts) -> str:
    robots = facts.robots
    if robots is None or not robots.line_number:
        return ""
    return f" in line {robots.line_number}, {robots.line!r}"


def _next(facts: UrlFacts) -> str:
    if facts.due_s is None:
        return "; it is not visited again"
    return f"; it is visited again {when(facts.due_s, facts.at_s)}"
