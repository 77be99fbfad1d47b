"""The rules of a site's robots.txt for us, by RFC 9309, however broken the file is.

Read are the groups of our product token, and only if there are none those of `*`. Where the RFC leaves
room, or a file breaks it, the reading is that of google/robotstxt: misspelt names of fields, missing colons,
any line end. Beyond it we read several agents on one line, and paths in encodings other than UTF-8.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from mesh.urls import canonical
from peers.crawler.model.path_rules import PathRules, Rule, spelt

ROBOTS_BYTES_MAX: Final = 500 * 1024  # RFC 9309, 2.5: at least that much; the rest is not read
# What the event loop waits for: .5 ms, or 5 ms at worst, with paths in strange encodings. All that is read
# of a file may take 70 ms: what is longer is read in the processes of the parser.
AT_ONCE_BYTES_MAX: Final = 4 * 1024
SITEMAPS_MAX: Final = 1_000  # of one file; who has more has an index of them
# Bytes beyond ASCII of the paths of one file that are spelt in several ways, 2 us each at worst. A path
# behind that counts as what stands before its first one: what it forbids stays forbidden.
ODD_BYTES_MAX: Final = 3_000
# Of one file: docs.oracle.com has 31,853. More would have 12 bytes each, as `Disallow: /`; such a file
# forbids everything.
FIELDS_MAX: Final = 40_000
LINE_BYTES_MAX: Final = 8 * 2083  # google/robotstxt; the rest of the line is not read


class RobotsRules(msgspec.Struct, frozen=True, array_like=True):
    """The rules of a site for one agent."""

    paths: PathRules
    crawl_delay_s: Annotated[float, Meta(ge=0)] | None = None  # None when the site names none

    def allows(self, url: str) -> bool:
        """Tell whether a canonical URL of the site may be fetched; /robots.txt itself always may."""
        path = _path_of(url)
        return path == "/robots.txt" or self.paths.allow(path)

    def deciding(self, url: str) -> tuple[bool, str] | None:
        """Return whether the rule that decides about a canonical URL allows it, and its pattern."""
        return self.paths.deciding(_path_of(url))


ALLOW_ALL: Final = RobotsRules(PathRules.of(()))
DISALLOW_FOR_NOW: Final = RobotsRules(PathRules.of([(False, "/")]))  # the site could not say
UNREAD: Final = RobotsRules(PathRules.of([(False, "/")]))  # it could, and nobody has read it so far


def product_token(user_agent: str) -> str:
    """Return the name by which a robots.txt calls the crawler with this User-Agent.

    It is the letters, `-` and `_` at its beginning; empty when there are none.

    Source: RFC 9309, 2.2.1.
    """
    match = _TOKEN.match(user_agent)
    return match.group() if match else ""


def rules_for_status(status: int, body: bytes, agent: str) -> RobotsRules:
    """Return the rules that follow from the answer to a request for /robots.txt.

    2xx: what the body says. 4xx but 429: all is allowed; so it is after more redirects than are followed
    (3xx). 5xx and 429, and 0 or less for no answer at all: nothing is allowed until the site answers again.

    Args:
      agent: our product token, in any case.

    Source: RFC 9309, 2.3.1; 429 as Google, which counts it among the server errors.
    """
    if 200 <= status < 300:
        return parse(body, agent)
    if 300 <= status < 500 and status != 429:
        return ALLOW_ALL
    return DISALLOW_FOR_NOW


def beginning_of(body: bytes) -> bytes:
    """Return the part of a robots.txt that is read: all, or whole lines of its first `ROBOTS_BYTES_MAX`."""
    if len(body) <= ROBOTS_BYTES_MAX:
        return body
    body = body[:ROBOTS_BYTES_MAX]  # half a rule would be another rule
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


def takes_long(status: int, body: bytes) -> bool:
    """Tell whether an answer is to be read by a process rather than by the event loop."""
    return 200 <= status < 300 and len(body) > AT_ONCE_BYTES_MAX


def parse(body: bytes, agent: str) -> RobotsRules:
    """Read a robots.txt; garbage allows everything."""
    group = _group_of(_fields(body), agent)
    return RobotsRules(PathRules.of(group.rules), group.crawl_delay_s)


class RobotsLine(NamedTuple):
    """A line of a robots.txt."""

    number: int  # from 1
    text: str


def line_of(body: bytes, agent: str, deciding: tuple[bool, str]) -> RobotsLine | None:
    """Return the line with the rule that `RobotsRules.deciding` has returned; None if none is spelt so."""
    fields = list(_fields(body))
    if len(fields) > FIELDS_MAX:
        return None
    # With numbers for paths the same reading tells which lines speak to the agent.
    numbered = ((first, value if first in b"uc" else b"%d" % n) for n, (first, value) in enumerate(fields))
    for _, number in _group_of(numbered, agent).rules:
        first, value = fields[int(number)]
        if (first == b"a", deciding[1]) in [(deciding[0], spelt(path)) for path in _spellings(value)]:
            return _nth_field(body, int(number))
    return None


def _nth_field(body: bytes, number: int) -> RobotsLine:
    lines = _lines_of(body)
    at = next(islice(_FIELD.finditer(lines), number, None)).start()
    text = lines[at : at + LINE_BYTES_MAX].partition(b"\n")[0]
    return RobotsLine(lines.count(b"\n", 0, at) + 1, text.decode("utf-8", "replace").strip())


def _path_of(url: str) -> str:
    return url[url.index("/", 8) :]


def _group_of(fields: Iterable[tuple[bytes, bytes]], agent: str) -> _Group:
    """Read the rules for an agent, or the rules for all if there are none for it."""
    agent = agent.lower()
    groups = {agent: _Group(), "*": _Group()}
    is_named = False
    addressed: set[str] = set()  # which of the two the group speaks to that is being read
    addressed_rules: list[list[Rule]] = []  # of these
    latest: set[str] = set()  # and those named by the last lines of agents in it
    before = b""  # what line: the first letter of its field
    odd_left = ODD_BYTES_MAX
    for number, (first, value) in enumerate(fields):
        if number >= FIELDS_MAX:
            return _Group([(False, "/")])
        before, previous = first, before
        if first == b"u":
            named = _named_in(value, agent)
            latest = latest | named if previous == b"u" else named
            # RFC 9309, 2.2.4: only rules end a group, a Crawl-delay does not.
            addressed = addressed | named if previous in (b"u", b"c") else named
            addressed_rules = [groups[each].rules for each in addressed]
            is_named = is_named or agent in named
        elif first == b"c":
            for each in latest:
                groups[each].slow_down(value)
        elif addressed_rules:
            is_allowed = first == b"a"
            if value.isascii():
                if value:
                    rule = is_allowed, value.decode()
                    for rules in addressed_rules:
                        rules.append(rule)
                continue
            if odd_left >= 0:
                odd_left -= len(value.translate(None, _ASCII))
            if odd_left >= 0:
                odd = [(is_allowed, path) for path in _spellings(value)]
            else:
                beginning = _HIGH_BYTE.split(value, 1)[0].decode()
                odd = [(False, beginning)] if beginning and not is_allowed else []
            for rules in addressed_rules:
                rules += odd
    return groups[agent if is_named else "*"]


def sitemaps_named(url: str, body: bytes) -> tuple[str, ...]:
    """Return the sitemaps that the robots.txt at a URL names, canonical, in its order; they are of no group.

    Source: https://www.sitemaps.org/protocol.html#submit_robots; with the spellings of google/robotstxt.
    """
    found = islice(_SITEMAP.finditer(_lines_of(body)), SITEMAPS_MAX)
    named = (canonical(match[1].decode("utf-8", "replace"), url) for match in found)
    return tuple(dict.fromkeys(each for each in named if each is not None))


@dataclass(slots=True)
class _Group:
    """The rules for one agent, from however many groups of lines: RFC 9309, 2.2.1."""

    rules: list[Rule] = field(default_factory=list)
    crawl_delay_s: float | None = None

    def slow_down(self, value: bytes) -> None:
        """Take in a Crawl-delay, the longest of several; one that means nothing is none."""
        try:
            delay_s = float(value)
        except ValueError:
            return
        if isfinite(delay_s) and delay_s >= 0:
            self.crawl_delay_s = max(delay_s, self.crawl_delay_s or 0.0)


# As google/robotstxt and protego spell them. One search over the whole file: 31,853 rules take half of the
# time that they take line by line.
_FIELD = re.compile(
    rb"^[ \t]*(user[- ]?agent|allow|dis{1,2}all?ow|diasllow|disallaw|crawl[- ]delay)(?=[ \t:])"
    rb"[ \t]*:?([^#\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_LONG_LINE = re.compile(rb"(?m)^([^\n]{%d})[^\n]+" % LINE_BYTES_MAX)
_SITEMAP = re.compile(rb"^[ \t]*site-?map[ \t]*:[ \t]*([^\s#]+)", re.IGNORECASE | re.MULTILINE)
_TOKEN = re.compile(r"[A-Za-z_-]+")
_BETWEEN_AGENTS = re.compile(r"[\s,;()]+")
_ASCII: Final = bytes(range(128))
_ESCAPES: Final = {byte: f"%{byte:02X}" for byte in range(128, 256)}
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
# Besides UTF-8; of bytes that are in none, their own escapes are read.
_OTHER_ENCODINGS = ("latin-1", "gb18030")


def _fields(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the first letter of the name in lower case, and the value, of the fields that we know."""
    return ((name[:1].lower(), value.strip()) for name, value in _FIELD.findall(_lines_of(body)))


def _lines_of(body: bytes) -> bytes:
    """Return the part of a file that is read, as UTF-8 or bytes taken for it, with one kind of line ends.

    Of a long line its first LINE_BYTES_MAX bytes.
    """
    body = beginning_of(body)
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        body = body.decode("utf-16", "replace").encode()
    body = (
        body.removeprefix(codecs.BOM_UTF8).replace(b"\0", b"").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    )
    return _LONG_LINE.sub(rb"\1", body) if _LONG_LINE.search(body) else body


def _named_in(value: bytes, agent: str) -> set[str]:
    """Return which of an agent and everybody, `*`, a User-agent line names.

    Versions (`/1.0`) are ignored, RFC 9309, 2.2.1. Real files name several agents with commas or spaces.

    Args:
      agent: product token in lower case.
    """
    text = value.decode("latin-1").lower()
    if "*" not in text and agent not in text:
        return set()
    names = _BETWEEN_AGENTS.split(text)
    named = {"*"} if "*" in names else set()
    for name in names:
        if name.startswith(agent) and name != "*" and product_token(name) == agent:
            named.add(agent)
            break
    return named


def _spellings(value: bytes) -> list[str]:
    """Return a path pattern as ASCII with escapes, in each way that URLs may spell it; none of nothing.

    URLs are in UTF-8, or in the encoding of their page: if the file is not in UTF-8, either may be meant.
    """
    if value.isascii():
        return [value.decode()] if value else []
    spellings = [value]
    try:
        value.decode()
    except UnicodeDecodeError:
        for encoding in _OTHER_ENCODINGS:
            spellings.append(value.decode(encoding, "ignore").encode())
    spellings = [each for each in spellings if each]  # what means nothing in an encoding is no path there
    return [each.decode("latin-1").translate(_ESCAPES) for each in spellings]
