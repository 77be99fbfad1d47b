"""The command `tianmesh why`: the facts known of a URL, or why so much is fetched and no more. [io]"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from textwrap import wrap
from typing import Annotated, Any, Final

import typer

from mesh.client.gateway_client import GatewayClient
from mesh.errors import ConfigError
from mesh.urls import canonical_with_ftp
from peers.crawler.explanations import CrawlFacts
from peers.gateway.model.member_lines import called
from peers.gateway.why.why_json import IdleJson, UrlJson
from peers.gateway.why.why_rows import Row, peer_rows, url_rows, waiting_text
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    TokenOption,
    print_json,
    printable,
    read_told,
    reader_of,
)

EPILOG: Final = (
    "Examples: tianmesh why https://www.debian.org/News/   tianmesh why idle   "
    "tianmesh why idle --gateway http://10.0.0.5:8017 --json"
)
IDLE: Final = "idle"
NAME_CHARS: Final = 12  # of a line, before what it says
LINE_CHARS: Final = 100  # of a sentence
_INDENT: Final = NAME_CHARS * " "


def why(
    what: Annotated[str, typer.Argument(help="A URL, or the word idle.", metavar="URL|idle")],
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Say how a URL was found, how its visits ended and when it is due; or why so little is fetched.

    Ask any peer: it asks those who know. The last line says what to do.
    """
    url = None if what == IDLE else canonical_with_ftp(what)
    if url is None and what != IDLE:
        raise ConfigError(
            f"{what!r} is no URL of a web page: give one with http:// or https://, or the word {IDLE}"
        )
    with reader_of(gateway, token, data) as client:
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
        print(printable(line))


def _sentence(text: str) -> list[str]:
    return wrap(f"{text[:1].upper()}{text[1:]}.", LINE_CHARS, break_on_hyphens=False, break_long_words=False)


def _laid_out(rows: Iterable[Row]) -> Iterator[str]:
    """Lines with the names under each other; a name that is that of the line before is not repeated."""
    before = ""
    for name, text in rows:
        yield f"{'' if name == before else name:<{NAME_CHARS}}{text}"
        before = name


# --- A URL ---


def url_lines(known: UrlJson) -> Iterator[str]:
    """Lines with the facts known of a URL, for people."""
    yield from _laid_out(url_rows(known))
    yield ""
    yield from _sentence(known.why)


# --- Why so little is fetched ---


def idle_lines(idle: IdleJson) -> Iterator[str]:
    """Lines with the fetches of every peer and the reasons why the rest waits, for people."""
    for peer, told in idle.peers.items():
        yield from _laid_out(
            chain([("peer", called(idle.names, peer))], peer_rows(told.facts), _longest_rows(told.facts))
        )
        if len(idle.peers) > 1:  # else it is the last line
            yield from wrap(told.why, LINE_CHARS, initial_indent=_INDENT, subsequent_indent=_INDENT)
        yield ""
    for peer in idle.silent:
        yield f"{called(idle.names, peer)} has not answered"
    for peer in idle.down:
        yield f"{called(idle.names, peer)} is down"
    yield from _sentence(idle.why)


def _longest_rows(facts: CrawlFacts) -> Iterator[Row]:
    for host in facts.longest:
        yield "longest", f"{host.queued:>8,}  {host.name}: {waiting_text(host, facts.at_s)}"
