"""Why so much is fetched and no more, in one sentence with the remedy. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from peers.crawler.explanations import CrawlFacts, Hold
from peers.gateway.model.messages import WhyIdleAnswered
from peers.gateway.model.sentences import Put, in_english
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


def sentence_of(answer: WhyIdleAnswered, put: Put = in_english) -> str:
    """Say of the whole mesh why nothing, or little, is fetched now, and the remedy."""
    told = [facts for _, facts in answer.told]
    if not told:
        return put("no peer has answered: `tianmesh status` shows who lives")
    if not any(facts.slots_owned or facts.slots_held for facts in told):
        return put("nobody has a share of the slots: `tianmesh status` shows who drains and who is down")
    halts = Counter(facts.halts[0].hold for facts in told if facts.halts)
    if sum(halts.values()) == len(told):
        hold, n_peers = halts.most_common(1)[0]
        if n_peers == len(told):
            return put("no peer fetches anything: {why}", why=_with_advice(hold, put))
        return _halted(n_peers, told, hold, put)
    sentence = _of_hosts(told, put)
    for hold, n_peers in halts.most_common():
        sentence += put("; ") + _halted(n_peers, told, hold, put)
    return sentence


def sentence_of_peer(facts: CrawlFacts, put: Put = in_english) -> str:
    """Say the same of one peer."""
    if facts.halts:
        return put("it fetches nothing: {why}", why=_with_advice(facts.halts[0].hold, put))
    return _of_hosts([facts], put)


def _halted(n_peers: int, told: Sequence[CrawlFacts], hold: Hold, put: Put) -> str:
    return put(
        "fetching nothing: {number} of {peers:peer}: {why}",
        number=n_peers,
        peers=len(told),
        why=_with_advice(hold, put),
    )


def _with_advice(hold: Hold, put: Put) -> str:
    return put("{hold}; {advice}", hold=put(hold), advice=put(_ADVICE.get(hold, "wait")))


def _of_hosts(told: Sequence[CrawlFacts], put: Put) -> str:
    """Say why hosts wait, at peers of which some may fetch."""
    in_flight, ready = sum(each.in_flight for each in told), sum(each.ready for each in told)
    hosts: Counter[Hold] = Counter()
    urls: Counter[Hold] = Counter()
    for each in told:
        hosts.update(each.waiting)
        urls.update(each.urls_waiting)
    hosts.pop(Hold.BEING_ASKED, None)
    if sum(each.slots_held for each in told) < sum(each.slots_owned for each in told) and not in_flight:
        return put("not all slots are crawled yet; {advice}", advice=put(_ADVICE[Hold.NOT_HELD]))
    if not (in_flight or ready or hosts):
        return _nothing_to_do(told, put)
    begin = (
        put("{fetches:fetch} under way", fetches=in_flight) if in_flight else put("nothing is fetched now")
    )
    if not hosts:
        going_on = put("{begin}, a fetch is under way wherever one may be", begin=begin)
        return going_on + _slow(told, put)
    # What keeps most URLs matters most: of a crawl that goes well, most hosts may be ones that do not exist.
    hold = max(hosts, key=lambda each: (urls[each], hosts[each]))
    waiting = put(
        "{begin}; most new URLs, {urls} of {hosts:host}, wait for this: {hold}{next}; {advice}",
        begin=begin,
        urls=urls[hold],
        hosts=hosts[hold],
        hold=put(hold),
        next=_next(told, put),
        advice=put(_ADVICE.get(hold, "wait")),
    )
    return waiting + _slow(told, put)


def _nothing_to_do(told: Sequence[CrawlFacts], put: Put) -> str:
    left_out = sum(each.links_left_out for each in told)
    said = put("nothing is queued: all that is known is visited; `tianmesh seed URL` adds pages")
    if not left_out:
        return said
    return said + put(
        ", and {links:link} led out of scope, which `tianmesh seed URL --within DOMAIN` widens",
        links=left_out,
    )


def _next(told: Sequence[CrawlFacts], put: Put) -> str:
    """When the next fetch may begin, if it is not now."""
    seconds = [each.next_s - each.at_s for each in told if each.next_s is not None]
    if not seconds or min(seconds) < 1.0:
        return ""
    return put(", the next may be asked {when}", when=when(min(seconds), 0.0, put))


def _slow(told: Sequence[CrawlFacts], put: Put) -> str:
    slowest = max(
        (each for facts in told for each in facts.slowest), key=lambda each: each.seconds, default=None
    )
    if slowest is None or slowest.seconds < SLOW_S:
        return ""
    return put("; {url} has not answered for {span}", url=slowest.url, span=span(slowest.seconds, put))


def most_first(waiting: Mapping[Hold, int]) -> list[tuple[Hold, int]]:
    """Return the reasons why hosts wait, by the number of hosts, the most first."""
    return sorted(waiting.items(), key=lambda each: (-each[1], each[0]))
