"""The command `tianmesh why`: what is known of a URL, or why so much is fetched and no more. [io]"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Annotated, Any, Final

import typer

from mesh.errors import ConfigError
from mesh.gateway_client import GatewayClient
from mesh.urls import canonical
from peers.crawler.explanations import ArchiveFacts, CrawlFacts, DueBy, HostFacts, RobotsFacts, UrlFacts
from peers.gateway.time_words import span, when
from peers.gateway.why_idle import most_first
from peers.gateway.why_json import IdleJson, UrlJson
from peers.gateway.why_url import reason_text, ruling_text, wait_text
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    TokenOption,
    administrator_of,
    print_json,
    read_told,
)

EPILOG: Final = (
    "Examples: tianmesh why https://www.debian.org/News/   tianmesh why idle   "
    "tianmesh why idle --gateway http://10.0.0.5:8017 --json"
)
IDLE: Final = "idle"
NAME_CHARS: Final = 12  # of a line, before what it says
LINE_CHARS: Final = 100  # of a sentence
_INDENT: Final = NAME_CHARS * " "

Row = tuple[str, str]


def why(
    what: Annotated[str, typer.Argument(help="A URL, or the word idle.", metavar="URL|idle")],
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Say of a URL how it was found, what became of it and when it is due; or why so little is fetched.

    Ask any peer: it asks those who know. The last line says what to do.
    """
    url = None if what == IDLE else canonical(what)
    if url is None and what != IDLE:
        raise ConfigError(
            f"{what!r} is no URL of a web page: give one with http:// or https://, or the word {IDLE}"
        )
    with administrator_of(gateway, token, data) as client:
        told = _ask(client, url)
    if as_json:
        print_json(told)
        is_heard = bool(told["peers"])
    elif url is None:
        idle = read_told(told, IdleJson)
        is_heard = bool(idle.peers)
        _print(idle_lines(idle))
    else:
        known = read_told(told, UrlJson)
        is_heard = bool(known.peers)
        _print(url_lines(known))
    if not is_heard:
        raise typer.Exit(1)


def _ask(client: GatewayClient, url: str | None) -> dict[str, Any]:
    return client.why_idle() if url is None else client.why(url)


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        print("".join(letter for letter in line if letter.isprintable()))


def _sentence(text: str) -> list[str]:
    return wrap(f"{text[:1].upper()}{text[1:]}.", LINE_CHARS, break_on_hyphens=False, break_long_words=False)


def _laid_out(rows: Iterator[Row]) -> Iterator[str]:
    """Lines with the names under each other; a name that is that of the line before is not repeated."""
    before = ""
    for name, text in rows:
        yield f"{'' if name == before else name:<{NAME_CHARS}}{text}"
        before = name


# --- A URL ---


def url_lines(known: UrlJson) -> Iterator[str]:
    """What is known of a URL, for people."""
    yield from _laid_out(_url_rows(known))
    yield ""
    yield from _sentence(known.why)


def _url_rows(known: UrlJson) -> Iterator[Row]:
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
    if facts.visited_s is not None:
        changed = f", changed {when(facts.changed_s, now)}" if facts.changed_s is not None else ""
        number = f"visit {facts.visits}"
        yield "last visit", f"{when(facts.visited_s, now)}, {number}: {reason_text(facts.outcome)}{changed}"
    if facts.due_by is DueBy.FIRST or facts.due_by is DueBy.AGAIN:
        yield "due", f"now: {facts.due_by}"
    elif facts.due_s is not None:
        by = (
            f"{facts.due_by} of {span(facts.interval_s or 0)}"
            if facts.due_by is DueBy.INTERVAL
            else facts.due_by
        )
        yield "due", f"{when(facts.due_s, now)}: {by}"
    elif facts.due_by is not None:
        yield "due", f"never: {facts.due_by}"
    if facts.place is not None:
        yield "queue", f"place {facts.place:,}{' or later' if facts.is_place_cut else ''} of its host"
    for wait in facts.waits:
        yield "waits for", wait_text(wait, now)


def _found_text(facts: UrlFacts) -> str:
    linkers = f", linked from {facts.linkers} other hosts" if facts.linkers else ""
    if facts.state == "stored, from a file":
        return f"in a file that was imported{linkers}"
    redirects = f", by {facts.hops} redirects" if facts.hops else ""
    if facts.depth:
        return f"{facts.depth} clicks from a seed{redirects}{linkers}"
    return f"{'from a seed' if facts.hops else 'given as a seed'}{redirects}{linkers}"


def _host_rows(host: HostFacts | None, now: float) -> Iterator[Row]:
    if host is None:
        return
    at = f" at {host.address}" if host.address else ""
    queued = f", {host.queued:,} new URLs queued" if host.queued is not None else ""
    yield "host", f"{host.name}{at}: {host.fetched:,} pages asked for{queued}"
    address = (
        f"; {span(host.address_delay_s)} for its address" if host.address_delay_s != host.delay_s else ""
    )
    yield "host", f"{span(host.delay_s)} between two questions, by {host.delay_by}{address}"
    if host.failures:
        yield "host", f"{host.failures} failures in a row{', given up' * host.is_given_up}"
    elif host.is_given_up:
        yield "host", "given up: no address that may be asked"
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
    count = (
        f"{archive.versions:,}{' or more' if archive.is_cut else ''} version{'s' * (archive.versions != 1)}"
    )
    newest = f"newest {when(archive.newest_s, now)} ({archive.newest_status})"
    return f"{count}, {newest}, {archive.n_bytes:,} bytes; {archive.index}"


# --- Why so little is fetched ---


def idle_lines(idle: IdleJson) -> Iterator[str]:
    """What every peer fetches and what the rest waits for, for people."""
    for peer, told in idle.peers.items():
        yield from _laid_out(_peer_rows(peer, told.facts))
        if len(idle.peers) > 1:  # else it is the last line
            yield from wrap(told.why, LINE_CHARS, initial_indent=_INDENT, subsequent_indent=_INDENT)
        yield ""
    for peer in idle.silent:
        yield f"{peer} has not answered"
    for peer in idle.down:
        yield f"{peer} is down"
    yield from _sentence(idle.why)


def _peer_rows(peer: str, facts: CrawlFacts) -> Iterator[Row]:
    now = facts.at_s
    yield "peer", peer
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
    yield "queue", f"{facts.queued:,} URLs never visited{given_up}"
    yield "hosts", f"{facts.hosts:,} known, {facts.looked_at:,} looked at: {facts.ready:,} ready"
    for hold, count in most_first(facts.waiting):
        yield "waiting", f"{count:>8,}  {hold}"
    if facts.next_s is not None:
        yield "next", f"a host may be asked {when(facts.next_s, now)}"
    for host in facts.longest:
        until = f", {when(host.until_s, now)}" if host.until_s is not None else ""
        yield "longest", f"{host.queued:>8,}  {host.name}: {host.hold or 'ready'}{until}"
    if facts.answers:
        yield "answers", ", ".join(f"{count:,} {name}" for name, count in facts.answers.items())
    if facts.links_left_out:
        yield "left out", f"{facts.links_left_out:,} links out of scope since the start"
    if facts.links_waiting:
        yield "links", f"{facts.links_waiting:,} that other peers have not accepted yet"
    if facts.pages_max is not None:
        yield "limit", f"{facts.pages_max:,} pages of the whole mesh"
