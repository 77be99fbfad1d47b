"""Why a URL is as it is, in one sentence with the remedy. Pure."""

from __future__ import annotations

from typing import Final

from mesh.urls import looks_like_trap
from peers.crawler.explanations import Hold, Ruling, UrlFacts, UrlState, Wait
from peers.gateway.model.messages import WhyAnswered
from peers.gateway.model.sentences import Put, in_english
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


def sentence_of(answer: WhyAnswered, put: Put = in_english) -> str:
    """Say why a URL is as it is."""
    chief, owner = chief_of(answer), answer.owner
    if not owner:
        return put(
            "nobody crawls anything: no live member has a share of the slots; `tianmesh status` says why"
        )
    if chief is None:
        return put(
            "{owner}, which owns the slot, did not answer, nor did another who keeps it: ask again, "
            "and see `tianmesh status`",
            owner=owner,
        )
    said = _said(chief[1], put)
    if is_owner_heard(answer):
        return said
    return put(
        "{owner}, which owns the slot, did not answer; by what {keeper} keeps of it {said}",
        owner=owner,
        keeper=chief[0],
        said=said,
    )


def reason_text(reason: str, put: Put = in_english) -> str:
    """Say in words why a visit ended as it did; a status or a reason of the fetcher as it is."""
    return put(_REASONS.get(reason, reason))


def _said(facts: UrlFacts, put: Put) -> str:
    if facts.is_taken_down:
        return put("it is taken down: shown to nobody, and not visited; `tianmesh policy show` has the rule")
    archive = facts.archive
    match facts.state:
        case UrlState.UNKNOWN | UrlState.LEFT_OUT if facts.visits == 0:
            return _unvisited(facts, put)
        case UrlState.QUEUED:
            return put("it is queued, and waits: {wait}", wait=_wait(facts, put))
        case UrlState.STORED | UrlState.IMPORTED:
            index = "its versions are with other peers" if archive is None else archive.index
            return put("it is {state}, {index}", state=put(facts.state), index=put(index))
        case UrlState.LEFT_OUT:
            return put("it was left out: {why}", why=_left_out(facts, put))
        case UrlState.FAILED:
            return put("its last visit failed: {why}", why=reason_text(facts.outcome, put)) + _next(
                facts, put
            )
        case UrlState.VISITED if archive is not None and archive.moved_to:
            moved = put("it has moved to {url}, which is found instead", url=archive.moved_to)
            return moved + _next(facts, put)
        case UrlState.VISITED:
            return put(_no_page(facts.outcome), outcome=facts.outcome) + _next(facts, put)
    return put("it is {state}", state=put(facts.state))


def _no_page(outcome: str) -> str:
    if outcome.startswith("3"):
        return _LED_ON
    return _NO_PAGE


_LED_ON: Final = "its last visit was answered {outcome}, and where that leads is visited as a page of its own"
_NO_PAGE: Final = (
    "its last visit was answered {outcome}, a sitemap, a feed or another thing that is no page to be kept"
)


def _unvisited(facts: UrlFacts, put: Put) -> str:
    refused = next((each for each in facts.rulings if each.refusal), None)
    if refused is None or facts.rulings[-1].refusal == "":
        if facts.is_left_out_abroad:
            return put(
                "only pages of other domains link to it, and such links are not followed; "
                "`tianmesh seed URL` adds it, with --anywhere they all are"
            )
        if facts.left_out_depth is not None:
            return put("a link to it was found and left out: it is looked at again under the policy of now")
        if looks_like_trap(facts.url):
            return put("nobody has queued it: paths that are very deep or repeat themselves are not followed")
        robots = facts.robots
        if robots is not None and not robots.is_allowed:
            return put("nobody has found it, and its robots.txt forbids it") + _line(facts, put)
        return put("nobody has found it: no page that was visited links to it; `tianmesh seed URL` adds it")
    found = "nobody has found it, and " if facts.left_out_depth is None else "a link to it was found, and "
    return put(found) + put(
        "it is out of scope: {ruling}; `tianmesh seed URL` with --within or --anywhere "
        "widens the scope, `tianmesh policy show` has the rules",
        ruling=ruling_text(refused, put),
    )


def _wait(facts: UrlFacts, put: Put) -> str:
    waits = [each for each in facts.waits if each.hold is not Hold.BEHIND] or list(facts.waits)
    if not waits:
        return put("it has its turn as soon as there is room for a fetch")
    return wait_text(waits[0], facts.at_s, put)


def wait_text(wait: Wait, now: float, put: Put = in_english) -> str:
    """Say the reason for a wait, and its end if that is known."""
    hold = put(wait.hold)
    if wait.until_s is None:
        return hold
    return put("{hold}, {when}", hold=hold, when=when(wait.until_s, now, put))


def ruling_text(ruling: Ruling, put: Put = in_english) -> str:
    """Say which rule decides, and its decision."""
    if not ruling.number:
        return put("no rule of the policy matches it")
    what = put(" if it is such a page") if ruling.is_of_pages else ""
    where = put(" if its host is in {addresses}", addresses=ruling.addresses) if ruling.addresses else ""
    refusal = put(": a limit of it is reached") if ruling.refusal.endswith("_budget") else ""
    says = put(
        "rule {number}{by} says {action}",
        number=str(ruling.number),
        by=put(" by {condition}", condition=ruling.condition) if ruling.condition else "",
        action=ruling.action,
    )
    return f"{says}{what}{where}{f' ({ruling.reason})' if ruling.reason else ''}{refusal}"


def _left_out(facts: UrlFacts, put: Put) -> str:
    if facts.outcome == "robots":
        return put("its robots.txt forbids it") + _line(facts, put) + _next(facts, put)
    refused = next((each for each in facts.rulings if each.refusal), None)
    if facts.outcome.startswith("policy") and refused is not None:
        return put("{ruling}; `tianmesh policy show` has the rules", ruling=ruling_text(refused, put))
    if facts.outcome == "alias" and facts.host is not None and facts.host.alias_of:
        return put(
            "its host has the pages of {site} and is taken for another name of it: they are visited there",
            site=facts.host.alias_of,
        )
    return reason_text(facts.outcome, put) + _next(facts, put)


def _line(facts: UrlFacts, put: Put) -> str:
    robots = facts.robots
    if robots is None or not robots.line_number:
        return ""
    return put(" in line {number}, {line}", number=str(robots.line_number), line=repr(robots.line))


def _next(facts: UrlFacts, put: Put) -> str:
    if facts.due_s is None:
        return put("; it is not visited again")
    return put("; it is visited again {when}", when=when(facts.due_s, facts.at_s, put))
