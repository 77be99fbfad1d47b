"""Why so much is fetched and no more, in one sentence with the remedy. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from mesh.counts import counted
from peers.crawler.explanations import CrawlFacts, Hold
from peers.gateway.model.messages import WhyIdleAnswered
from peers.gateway.model.time_words import span, when

SLOW_S: Final = 30.0  # a fetch that takes longer is worth a word

# What to do about what keeps fetches from beginning.
_ADVICE: Final = {
    Hold.NOT_HELD: "wait: slots are handed over, which `tianmesh status` shows",
    Hold.STOPPED: "start the mesh again to go on",
    Hold.UNLICENSED: "`tianmesh status` shows who is down: start them again",
    Hold.HELD_UP: "`tianmesh status` shows who does not answer",
    Hold.DISK_FULL: "make room on its disk, or raise the limit in its [storage], and it goes on by itself",
    Hold.PAUSED: "wait a moment, and look at its network if that comes again",
    Hold.PAGE_LIMIT: "`tianmesh seed URL --pages-max N` with a larger number goes on",
    Hold.ALL_PAUSED: "`tianmesh resume` goes on",
    Hold.POLICY: "`tianmesh policy show` has the hours and pauses, `tianmesh resume HOST` lifts a pause",
    Hold.GIVEN_UP: "look whether these hosts can be reached; they are asked again a day later",
    Hold.NO_ADDRESS: "check their names and the resolver; private addresses have to be allowed ("
    "`tianmesh seed URL --allow-private NAME`); a seed has them asked at once, else they are a day later",
    Hold.BACK_OFF: "wait: a host that has failed is asked again after a growing pause",
    Hold.DAY_SPENT: "it goes on after midnight UTC; a site of yours may be asked more often: "
    "`requests_a_day` of a rule of the policy, or `crawl.requests_per_host_day_max` for all hosts",
    Hold.DELAY: "nothing is wrong: a host is asked one thing at a time; more hosts are fetched from faster",
    Hold.BEING_ASKED: "nothing is wrong: a host is asked one thing at a time",
    Hold.DOMAIN: "nothing is wrong: of one domain some hosts are asked at a time, and some pages taken apart",
    Hold.NOT_DUE: "nothing is wrong: all that is known is visited; `tianmesh seed URL` adds pages",
    Hold.BUSY: "nothing is wrong: it fetches as much as it may",
}
_FETCHING: Final = "a fetch is under way wherever one may be"


def sentence_of(answer: WhyIdleAnswered) -> str:
    """Say of the whole mesh why nothing, or little, is fetched now, and the remedy."""
    told = [facts for _, facts in answer.told]
    if not told:
        return "no peer has answered: `tianmesh status` shows who lives"
    if not any(facts.slots_owned or facts.slots_held for facts in told):
        return "nobody has a share of the slots: `tianmesh status` shows who drains and who is down"
    halts = Counter(facts.halts[0].hold for facts in told if facts.halts)
    if sum(halts.values()) == len(told):
        hold, n_peers = halts.most_common(1)[0]
        who = (
            "no peer fetches anything"
            if n_peers == len(told)
            else f"fetching nothing: {n_peers} of {counted(len(told), 'peer')}"
        )
        return f"{who}: {hold}; {_ADVICE[hold]}"
    sentence = _of_hosts(told)
    for hold, n_peers in halts.most_common():
        sentence += f"; fetching nothing: {n_peers} of {counted(len(told), 'peer')}: {hold}; {_ADVICE[hold]}"
    return sentence


def sentence_of_peer(facts: CrawlFacts) -> str:
    """Say the same of one peer."""
    if facts.halts:
        hold = facts.halts[0].hold
        return f"it fetches nothing: {hold}; {_ADVICE[hold]}"
    return _of_hosts([facts])


def _of_hosts(told: Sequence[CrawlFacts]) -> str:
    """Say why hosts wait, at peers of which some may fetch."""
    in_flight, ready = sum(each.in_flight for each in told), sum(each.ready for each in told)
    hosts: Counter[Hold] = Counter()
    urls: Counter[Hold] = Counter()
    for each in told:
        hosts.update(each.waiting)
        urls.update(each.urls_waiting)
    hosts.pop(Hold.BEING_ASKED, None)
    if sum(each.slots_held for each in told) < sum(each.slots_owned for each in told) and not in_flight:
        return f"not all slots are crawled yet; {_ADVICE[Hold.NOT_HELD]}"
    if not (in_flight or ready or hosts):
        return _nothing_to_do(told)
    begin = f"{counted(in_flight, 'fetch')} under way" if in_flight else "nothing is fetched now"
    if not hosts:
        return f"{begin}, {_FETCHING}{_slow(told)}"
    # What keeps most URLs matters most: of a crawl that goes well, most hosts may be ones that do not exist.
    hold = max(hosts, key=lambda each: (urls[each], hosts[each]))
    most = f"{urls[hold]:,} of {counted(hosts[hold], 'host')}"
    return (
        f"{begin}; most new URLs, {most}, wait for this: {hold}{_next(told)}; "
        f"{_ADVICE.get(hold, 'wait')}{_slow(told)}"
    )


def _nothing_to_do(told: Sequence[CrawlFacts]) -> str:
    left_out = sum(each.links_left_out for each in told)
    said = "nothing is queued: all that is known is visited; `tianmesh seed URL` adds pages"
    if not left_out:
        return said
    return (
        f"{said}, and {counted(left_out, 'link')} led out of scope, which `tianmesh seed URL "
        "--within DOMAIN` widens"
    )


def _next(told: Sequence[CrawlFacts]) -> str:
    """When the next fetch may begin, if it is not now."""
    seconds = [each.next_s - each.at_s for each in told if each.next_s is not None]
    return f", the next may be asked {when(min(seconds), 0.0)}" if seconds and min(seconds) >= 1.0 else ""


def _slow(told: Sequence[CrawlFacts]) -> str:
    slowest = max(
        (each for facts in told for each in facts.slowest), key=lambda each: each.seconds, default=None
    )
    if slowest is None or slowest.seconds < SLOW_S:
        return ""
    return f"; {slowest.url} has not answered for {span(slowest.seconds)}"


def most_first(waiting: Mapping[Hold, int]) -> list[tuple[Hold, int]]:
    """Return the reasons why hosts wait, by the number of hosts, the most first."""
    return sorted(waiting.items(), key=lambda each: (-each[1], each[0]))
