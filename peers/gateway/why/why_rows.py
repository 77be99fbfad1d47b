"""Facts about a URL, and about the fetches of a peer, as rows of a name and a text. Pure.

`tianmesh why` prints them, and the page `/why` shows them to administrators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from mesh.counts import counted
from peers.crawler.explanations import (
    ArchiveFacts,
    CrawlFacts,
    DueBy,
    HostFacts,
    HostWait,
    RobotsFacts,
    UrlFacts,
)
from peers.gateway.model.time_words import span, when
from peers.gateway.why.why_idle import most_first
from peers.gateway.why.why_json import UrlJson
from peers.gateway.why.why_url import reason_text, ruling_text, wait_text

Row: TypeAlias = tuple[str, str]  # several in a row may have the same name


def url_rows(known: UrlJson) -> Iterator[Row]:
    """Yield the facts known of a URL, but for the sentence that says why it is so."""
    yield "url", known.url
    standbys = f", standby {', '.join(known.standbys)}" if known.standbys else ""
    yield "slot", f"{known.slot:,} of {known.host}, owner {known.owner or 'nobody'}{standbys}"
    facts = known.peers.get(known.answered_by)
    if facts is None:
        return
    held = "" if facts.is_held or known.answered_by != known.owner else ", which does not crawl this slot yet"
    yield "answered by", f"{known.answered_by}{held}"
    yield from _state_rows(facts)
    yield from _host_rows(facts.host, facts.at_s)
    yield from _robots_rows(facts.robots, facts.at_s)
    for ruling in facts.rulings:
        yield "policy", ruling_text(ruling)
    for peer, each in known.peers.items():
        yield "kept at", f"{peer}: {_archive_text(each.archive, each.at_s)}"
    if facts.is_taken_down:
        yield "taken down", "it is shown to nobody"


def _state_rows(facts: UrlFacts) -> Iterator[Row]:
    now = facts.at_s
    yield "state", facts.state
    if facts.asking is not None:
        yield "asked now", f"{facts.asking.url}, for {span(facts.asking.seconds)}"
    if facts.visits or facts.due_by is not None:
        yield "found", _found_text(facts)
    if facts.texts:
        yield "links say", ", ".join(map(repr, facts.texts))
    for move in facts.moved_from:
        yield "moved from", move
    if facts.archive is not None and facts.archive.moved_to:
        yield "moved to", facts.archive.moved_to
    if facts.visited_s is not None:
        changed = f", changed {when(facts.changed_s, now)}" if facts.changed_s is not None else ""
        number = f"visit {facts.visits}"
        yield "last visit", f"{when(facts.visited_s, now)}, {number}: {reason_text(facts.outcome)}{changed}"
    if facts.due_by is DueBy.FIRST or facts.due_by is DueBy.AGAIN:
        yield "due", f"now: {facts.due_by}"
    elif facts.due_s is not None:
        by = _interval_text(facts) if facts.due_by is DueBy.INTERVAL else facts.due_by
        yield "due", f"{when(facts.due_s, now)}: {by}"
    elif facts.due_by is not None:
        yield "due", f"never: {facts.due_by}"
    if facts.missed_s is not None:
        yield "missed", f"{counted(facts.misses, 'visit')} in a row, the first {when(facts.missed_s, now)}"
    if facts.place is not None:
        later = " or later" if facts.is_place_cut else ""
        yield "queue", f"place {facts.place:,}{later} of its host{_order_text(facts)}"
    for wait in facts.waits:
        yield "waits for", wait_text(wait, now)


def _order_text(facts: UrlFacts) -> str:
    """The crawl order of a URL, its rank by it, and how many clicks onwards links are followed."""
    if not facts.order:
        return ""
    limits = [
        f", {counted(number, 'click')} {what}"
        for number, what in (
            (facts.levels, "from it at most, as its seed wants"),
            (facts.steps, "from it at most without a relevant page"),
        )
        if number is not None
    ]
    rank = "" if facts.rank in (None, facts.depth) else f", rank {facts.rank:,}"
    return f", by the order {facts.order}{rank}{''.join(limits)}"


def _interval_text(facts: UrlFacts) -> str:
    policy = f", by the policy {facts.revisit}" if facts.revisit else ""
    if facts.is_out_of_turn:
        return "its site says that it has changed, or several searchers were shown it"
    found = (
        f": {facts.changes} of its last {counted(facts.checks, 'visit')} found it changed"
        if facts.checks
        else ""
    )
    return f"{DueBy.INTERVAL} of {span(facts.interval_s or 0)}{policy}{found}"


def _found_text(facts: UrlFacts) -> str:
    linkers = f", linked from {counted(facts.linkers, 'other domain')}" if facts.linkers else ""
    if facts.state == "stored, from a file":
        return f"in a file that was imported{linkers}"
    redirects = f", by {counted(facts.hops, 'redirect')}" if facts.hops else ""
    if facts.depth:
        return f"{counted(facts.depth, 'click')} from a seed{redirects}{linkers}"
    return f"{'from a seed' if facts.hops else 'given as a seed'}{redirects}{linkers}"


def _host_rows(host: HostFacts | None, now: float) -> Iterator[Row]:
    if host is None:
        return
    at = f" at {host.address}" if host.address else ""
    queued = f", {counted(host.queued, 'new URL')} queued" if host.queued is not None else ""
    yield "host", f"{host.name}{at}: {counted(host.fetched, 'page')} asked for{queued}"
    address = (
        f"; {span(host.address_delay_s)} for its address" if host.address_delay_s != host.delay_s else ""
    )
    yield "host", f"{span(host.delay_s)} between two questions, by {host.delay_by}{address}"
    if host.failures:
        yield "host", f"{counted(host.failures, 'failure')} in a row{', given up' * host.is_given_up}"
    elif host.is_given_up:
        yield "host", "given up: no address that may be asked"
    if host.alias_of:
        yield "host", f"another name of {host.alias_of}, where what is new is visited"
    if host.next_s > now:
        yield "host", f"may be asked again {when(host.next_s, now)}"
    if host.refusal:
        yield "host", reason_text(host.refusal)


def _robots_rows(robots: RobotsFacts | None, now: float) -> Iterator[Row]:
    if robots is None:
        return
    asked = "" if robots.asked_s is None else f" {when(robots.asked_s, now)}"
    answer = f"answered {robots.status}{asked}" if robots.status else "could not be had"
    believed = "believed until" if robots.believed_until_s > now else "was believed until"
    yield "robots.txt", f"{answer}, {believed} {when(robots.believed_until_s, now)}"
    verdict = "allows it" if robots.is_allowed else "forbids it"
    by = f": line {robots.line_number}, {robots.line}" if robots.line_number else ""
    yield "robots.txt", f"{verdict}{by}"
    if not robots.is_honoured:
        yield "robots.txt", f"wants {span(robots.crawl_delay_s or 0)} between pages: longer than we wait"


def _archive_text(archive: ArchiveFacts | None, now: float) -> str:
    if archive is None:
        return "no version"
    count = counted(archive.versions, "or more version" if archive.is_cut else "version")
    newest = f"newest {when(archive.newest_s, now)} ({archive.newest_status})"
    return f"{count}, {newest}, {counted(archive.n_bytes, 'byte')}; {archive.index}"


# --- Why so little is fetched ---


def peer_rows(facts: CrawlFacts) -> Iterator[Row]:
    """Yield the fetches of a peer, and the reasons why the rest waits."""
    now = facts.at_s
    for halt in facts.halts:
        yield "fetches not", wait_text(halt, now)
    stopping = f", {facts.slots_stopping:,} being given up" if facts.slots_stopping else ""
    yield "slots", f"{facts.slots_held:,} of {facts.slots_owned:,} crawled{stopping}"
    robots = f", {facts.robots_in_flight} of them for a robots.txt" if facts.robots_in_flight else ""
    yield "fetches", f"{facts.in_flight:,} of at most {facts.in_flight_max:,}{robots}"
    yield "pages", f"{facts.in_progress:,} of at most {facts.in_progress_max:,} fetched and not stored yet"
    for fetch in facts.slowest:
        yield "slowest", f"{span(fetch.seconds):>8}  {fetch.url}"
    given_up = f", {facts.given_up:,} of them on hosts that were given up" if facts.given_up else ""
    yield "queue", f"{counted(facts.queued, 'URL')} never visited{given_up}"
    yield "hosts", f"{facts.hosts:,} known, {facts.looked_at:,} looked at: {facts.ready:,} ready"
    for hold, count in most_first(facts.waiting):
        yield "waiting", f"{count:>8,}  {hold}"
    if facts.next_s is not None:
        yield "next", f"a host may be asked {when(facts.next_s, now)}"
    if facts.answers:
        yield "answers", ", ".join(f"{count:,} {name}" for name, count in facts.answers.items())
    if facts.links_left_out:
        yield "left out", f"{counted(facts.links_left_out, 'link')} out of scope since the start"
    if facts.undone.until_s:
        is_going_on = "" if facts.undone.is_done else ", and looks for more"
        yield (
            "undone",
            f"{counted(facts.undone.visits, 'visit')} that the policy does not believe{is_going_on}",
        )
    if facts.links_waiting:
        yield "links", f"{facts.links_waiting:,} that other peers have not accepted yet"
    if facts.pages_max is not None:
        yield "limit", f"{counted(facts.pages_max, 'page')} of the whole mesh"


def waiting_text(host: HostWait, now: float) -> str:
    """Say why a host waits, and until when if that is known."""
    return f"{host.hold or 'ready'}{f', {when(host.until_s, now)}' if host.until_s is not None else ''}"
