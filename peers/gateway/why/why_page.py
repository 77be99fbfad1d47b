"""The pages for administrators: signing in, and why things are as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from peers.gateway.model.member_lines import called, printable
from peers.gateway.model.sentences import Put, sentences_in
from peers.gateway.site.pages import Here, Reader, render
from peers.gateway.why.why_json import IdleJson, UrlJson

if TYPE_CHECKING:
    from peers.gateway.why.why_rows import Row


class _Line(NamedTuple):
    name: str  # "" where it is that of the line before
    text: str


class _Host(NamedTuple):
    name: str
    href: str  # to what is known of its home page
    urls: str
    waits_for: str


class _Peer(NamedTuple):
    name: str
    sentence: str
    lines: list[_Line]
    hosts: list[_Host]


def sign_in_page(reader: Reader, *, is_wrong: bool, is_known: bool) -> str:
    """Where an administrator proves to know the token.

    Args:
      is_wrong: what was given is another one.
      is_known: this reader has proved it already.
    """
    return render("sign_in.html", reader, Here("/sign-in"), query="", is_wrong=is_wrong, is_known=is_known)


def why_idle_page(reader: Reader, idle: IdleJson) -> str:
    """Why so much is fetched and no more, of all peers, with a field to ask for a URL.

    Args:
      idle: its sentences are in the language of the reader.
    """
    from peers.gateway.why.why_rows import peer_rows, waiting_text

    put = sentences_in(reader.language)
    peers = [
        _Peer(
            called(idle.names, peer),
            _sentence(told.why, put) if len(idle.peers) > 1 else "",
            _lines(peer_rows(told.facts, put), put),
            [
                _Host(
                    printable(host.name),
                    reader.link("/why", url=f"http://{host.name}/"),
                    f"{host.queued:,}",
                    waiting_text(host, told.facts.at_s, put),
                )
                for host in told.facts.longest
            ],
        )
        for peer, told in idle.peers.items()
    ]
    absent = [reader.say("why_silent", peer=called(idle.names, peer)) for peer in idle.silent]
    absent += [reader.say("why_down", peer=called(idle.names, peer)) for peer in idle.down]
    return render(
        "why.html",
        reader,
        Here("/why"),
        query="",
        url="",
        is_bad=False,
        sentence=_sentence(idle.why, put),
        lines=[],
        peers=peers,
        absent=absent,
    )


def why_url_page(reader: Reader, known: UrlJson) -> str:
    """The page with the facts known of a URL, whose sentence is in the language of the reader."""
    from peers.gateway.why.why_rows import url_rows

    put = sentences_in(reader.language)
    return _url_page(reader, known.url, _sentence(known.why, put), _lines(url_rows(known, put), put))


def bad_url_page(reader: Reader, text: str) -> str:
    """Say that a text is no URL, and leave it in its field to be corrected."""
    return _url_page(reader, text, "", [], is_bad=True)


def _url_page(reader: Reader, url: str, sentence: str, lines: list[_Line], *, is_bad: bool = False) -> str:
    return render(
        "why.html",
        reader,
        Here("/why", {"url": url}),
        query="",
        url=url,
        is_bad=is_bad,
        sentence=sentence,
        lines=lines,
        peers=[],
        absent=[],
    )


def _sentence(text: str, put: Put) -> str:
    return put("{sentence}.", sentence=printable(text[:1].upper() + text[1:]))


def _lines(rows: Iterable[Row], put: Put) -> list[_Line]:
    lines: list[_Line] = []
    before = ""
    for name, text in rows:
        lines.append(_Line("" if name == before else put(name), printable(text)))
        before = name
    return lines
