"""Facts about a URL, and about the fetches of a peer, as rows of a name and a text. Pure.

`tianmesh why` prints them, and the page `/why` shows them to administrators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from peers.crawler.explanations import (
    ArchiveFacts,
    CrawlFacts,
    DelayBy,
    DueBy,
    HostFacts,
    HostWait,
    RobotsFacts,
    UrlFacts,
    UrlState,
)
from peers.gateway.model.sentences import Put, in_english
from peers.gateway.model.time_words import span, when
from peers.gateway.why.why_idle import most_first
from peers.gateway.why.why_json import UrlJson
from peers.gateway.why.why_url import reason_text, ruling_text, wait_text

Row: TypeAlias = tuple[str, str]  # several in a row may have the same name, which is in English


def url_rows(known: UrlJson, put: Put = in_english) -> Iterator[Row]:
    """Yield the facts known of a URL, but for the sentence that says why it is so."""
    yield "url", known.url
    standbys = put(", standby {peers}", peers=", ".join(known.standbys)) if known.standbys else ""
    owner = known.owner or put("nobody")
    yield (
        "slot",
        put("{slot} of {host}, owner {owner}", slot=known.slot, host=known.host, owner=owner) + standbys,
    )
    facts = known.peers.get(known.answered_by)
    if facts is None:
        return
    is_held = facts.is_held or known.answered_by != known.owner
    yield "answered by", known.answered_by + ("" if is_held else put(", which does not crawl this slot yet"))
    yield from _state_rows(facts, put)
    yield from _host_rows(facts.host, facts.at_s, put)
    yield from _robots_rows(facts.robots, facts.at_s, put)
    for ruling in facts.rulings:
        yield "policy", ruling_text(ruling, put)
    for peer, each in known.peers.items():
        yield "kept at", f"{peer}: {_archive_text(each.archive, each.at_s, put)}"
    if facts.is_taken_down:
        yield "taken down", put("it is shown to nobody")


def _state_rows(facts: UrlFacts, put: Put = in_english) -> Iterator[Row]:
    now = facts.at_s
    yield "state", put(facts.state)
    if facts.asking is not None:
        asking = facts.asking
        yield "asked now", put("{url}, for {span}", url=asking.url, span=span(asking.seconds, put))
    if facts.visits or facts.due_by is not None:
        yield "found", _found_text(facts, put)
    if facts.texts:
        yield "links say", ", ".join(map(repr, facts.texts))
    for move in facts.moved_from:
        yield "moved from", move
    if facts.archive is not None and facts.archive.moved_to:
        yield "moved to", facts.archive.moved_to
    if facts.visited_s is not None:
        yield "last visit", _visit_text(facts, facts.visited_s, put)
    if (due := _due_text(facts, put)) is not None:
        yield "due", due
    if facts.missed_s is not None:
        first = when(facts.missed_s, now, put)
        yield "missed", put("{visits:visit} in a row, the first {when}", visits=facts.misses, when=first)
    if facts.place is not None:
        text = "place {place} or later of its host" if facts.is_place_cut else "place {place} of its host"
        yield "queue", put(text, place=facts.place) + _order_text(facts, put)
    for wait in facts.waits:
        yield "waits for", wait_text(wait, now, put)


def _visit_text(facts: UrlFacts, visited_s: float, put: Put) -> str:
    visit = put(
        "{when}, visit {number}: {outcome}",
        when=when(visited_s, facts.at_s, put),
        number=str(facts.visits),
        outcome=reason_text(facts.outcome, put),
    )
    if facts.changed_s is None:
        return visit
    return visit + put(", changed {when}", when=when(facts.changed_s, facts.at_s, put))


def _due_text(facts: UrlFacts, put: Put) -> str | None:
    by = facts.due_by
    if by is DueBy.FIRST or by is DueBy.AGAIN:
        return put("now: {why}", why=put(by))
    if facts.due_s is not None:
        why = _interval_text(facts, put) if by is DueBy.INTERVAL else "" if by is None else put(by)
        return put("{when}: {why}", when=when(facts.due_s, facts.at_s, put), why=why)
    return None if by is None else put("never: {why}", why=put(by))


def _order_text(facts: UrlFacts, put: Put) -> str:
    """The crawl order of a URL, its rank by it, and how many clicks onwards links are followed."""
    if not facts.order:
        return ""
    text = put(", by the order {order}", order=facts.order)
    if facts.rank not in (None, facts.depth):
        text += put(", rank {rank}", rank=facts.rank)
    if facts.levels is not None:
        text += put(", {clicks:click} from it at most, as its seed wants", clicks=facts.levels)
    if facts.steps is not None:
        text += put(", {clicks:click} from it at most without a relevant page", clicks=facts.steps)
    return text


def _interval_text(facts: UrlFacts, put: Put) -> str:
    if facts.is_out_of_turn:
        return put("its site says that it has changed, or several searchers were shown it")
    text = put("{why} of {span}", why=put(DueBy.INTERVAL), span=span(facts.interval_s or 0, put))
    if facts.revisit:
        text += put(", by the policy {policy}", policy=facts.revisit)
    if facts.checks:
        changes, checks = facts.changes, facts.checks
        text += put(": {changes} of its last {checks:visit} found it changed", changes=changes, checks=checks)
    return text


def _found_text(facts: UrlFacts, put: Put) -> str:
    hops, linkers = facts.hops, facts.linkers
    if facts.state is UrlState.IMPORTED:
        text = put("in a file that was imported")
    elif facts.depth:
        text = put("{clicks:click} from a seed", clicks=facts.depth)
    else:
        text = put("from a seed" if hops else "given as a seed")
    if hops and facts.state is not UrlState.IMPORTED:
        text += put(", by {redirects:redirect}", redirects=hops)
    return text + (put(", linked from {domains:other domain}", domains=linkers) if linkers else "")


def _host_rows(host: HostFacts | None, now: float, put: Put) -> Iterator[Row]:
    if host is None:
        return
    at = put(" at {address}", address=host.address) if host.address else ""
    queued = put(", {urls:new URL} queued", urls=host.queued) if host.queued is not None else ""
    asked = put("{host}{at}: {pages:page} asked for", host=host.name, at=at, pages=host.fetched)
    yield "host", asked + queued
    yield "host", _delay_text(host, put)
    if host.failures:
        given_up = put(", given up") if host.is_given_up else ""
        yield "host", put("{failures:failure} in a row", failures=host.failures) + given_up
    elif host.is_given_up:
        yield "host", put("given up: no address that may be asked")
    if host.alias_of:
        yield "host", put("another name of {site}, where what is new is visited", site=host.alias_of)
    if host.next_s > now:
        yield "host", put("may be asked again {when}", when=when(host.next_s, now, put))
    if host.refusal:
        yield "host", reason_text(host.refusal, put)


def _delay_text(host: HostFacts, put: Put) -> str:
    by = put(host.delay_by)
    if host.delay_by is DelayBy.RULE:
        by = put("rule {number} of the policy", number=str(host.delay_rule))
    elif host.delay_by is DelayBy.ANSWER:
        by = put("{setting}, as its last answer took {span}", setting=by, span=span(host.answer_s, put))
    text = put("{span} between two questions, by {by}", span=span(host.delay_s, put), by=by)
    if host.address_delay_s == host.delay_s:
        return text
    return text + put("; {span} for its address", span=span(host.address_delay_s, put))


def _robots_rows(robots: RobotsFacts | None, now: float, put: Put) -> Iterator[Row]:
    if robots is None:
        return
    until = when(robots.believed_until_s, now, put)
    if robots.status:
        asked = "" if robots.asked_s is None else f" {when(robots.asked_s, now, put)}"
        answer = put("answered {status}{asked}", status=str(robots.status), asked=asked)
    else:
        answer = put("could not be had")
    is_believed = robots.believed_until_s > now
    believed = ", believed until {when}" if is_believed else ", was believed until {when}"
    yield "robots.txt", answer + put(believed, when=until)
    verdict = put("allows it" if robots.is_allowed else "forbids it")
    if robots.line_number:
        verdict += put(": line {number}, {line}", number=str(robots.line_number), line=robots.line)
    yield "robots.txt", verdict
    if not robots.is_honoured:
        wanted = span(robots.crawl_delay_s or 0, put)
        yield "robots.txt", put("wants {span} between pages: longer than we wait", span=wanted)


def _archive_text(archive: ArchiveFacts | None, now: float, put: Put) -> str:
    if archive is None:
        return put("no version")
    count = "{versions:or more version}" if archive.is_cut else "{versions:version}"
    return put(
        "{versions}, newest {when} ({status}), {bytes:byte}; {index}",
        versions=put(count, versions=archive.versions),
        when=when(archive.newest_s, now, put),
        status=str(archive.newest_status),
        bytes=archive.n_bytes,
        index=put(archive.index),
    )


# --- Why so little is fetched ---


def peer_rows(facts: CrawlFacts, put: Put = in_english) -> Iterator[Row]:
    """Yield the fetches of a peer, and the reasons why the rest waits."""
    now = facts.at_s
    for halt in facts.halts:
        yield "fetches not", wait_text(halt, now, put)
    slots = put("{held} of {owned} crawled", held=facts.slots_held, owned=facts.slots_owned)
    if facts.slots_stopping:
        slots += put(", {slots} being given up", slots=facts.slots_stopping)
    yield "slots", slots
    fetches = put("{fetches} of at most {most}", fetches=facts.in_flight, most=facts.in_flight_max)
    if facts.robots_in_flight:
        fetches += put(", {fetches} of them for a robots.txt", fetches=facts.robots_in_flight)
    yield "fetches", fetches
    pages, pages_max = facts.in_progress, facts.in_progress_max
    yield "pages", put("{pages} of at most {most} fetched and not stored yet", pages=pages, most=pages_max)
    for fetch in facts.slowest:
        yield "slowest", f"{span(fetch.seconds, put):>8}  {fetch.url}"
    queue = put("{urls:URL} never visited", urls=facts.queued)
    if facts.given_up:
        queue += put(", {urls} of them on hosts that were given up", urls=facts.given_up)
    yield "queue", queue
    hosts, looked_at, ready = facts.hosts, facts.looked_at, facts.ready
    yield (
        "hosts",
        put("{hosts} known, {looked} looked at: {ready} ready", hosts=hosts, looked=looked_at, ready=ready),
    )
    for hold, count in most_first(facts.waiting):
        yield "waiting", f"{count:>8,}  {put(hold)}"
    yield from _rest_rows(facts, put)


def _rest_rows(facts: CrawlFacts, put: Put) -> Iterator[Row]:
    """Yield the facts that a peer tells only where there are some."""
    if facts.next_s is not None:
        yield "next", put("a host may be asked {when}", when=when(facts.next_s, facts.at_s, put))
    if facts.answers:
        answers = facts.answers.items()
        yield "answers", ", ".join(f"{count:,} {put(name)}" for name, count in answers)
    if facts.links_left_out:
        yield "left out", put("{links:link} out of scope since the start", links=facts.links_left_out)
    if facts.undone.until_s:
        undone = put("{visits:visit} that the policy does not believe", visits=facts.undone.visits)
        yield "undone", undone + ("" if facts.undone.is_done else put(", and looks for more"))
    if facts.links_waiting:
        yield "links", put("{links} that other peers have not accepted yet", links=facts.links_waiting)
    if facts.pages_max is not None:
        yield "limit", put("{pages:page} of the whole mesh", pages=facts.pages_max)


def waiting_text(host: HostWait, now: float, put: Put = in_english) -> str:
    """Say why a host waits, and until when if that is known."""
    hold = put(host.hold or "ready")
    if host.until_s is None:
        return hold
    return put("{hold}, {when}", hold=hold, when=when(host.until_s, now, put))
