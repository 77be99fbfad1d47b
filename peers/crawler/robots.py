"""What a site's robots.txt allows us, by RFC 9309; matching by protego.

The file is reduced to the groups that speak to us before protego sees it. That makes the choice of the
group that of the RFC (equal product tokens, not parts of names), and protego's cost proportional to what
concerns us: it copies each rule for each agent named above it, which a hostile file turns into gigabytes.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from protego import Protego

from mesh.urls import canonical

AGENT: Final = "tianmesh"  # product token, RFC 9309, 2.2.1
ROBOTS_BYTES_MAX: Final = 500 * 1024  # RFC 9309, 2.5: at least that much; the rest is not read
LINE_BYTES_MAX: Final = 8 * 2083  # google/robotstxt; the rest of the line is not read
RULES_MAX: Final = 5_000  # Wikipedia has 1,000. With more for us nothing is allowed: each costs time per URL
SITEMAPS_MAX: Final = 100
CRAWL_DELAY_S_MAX: Final = 30.0  # longer ones are taken for this, as Nutch's limit


class RobotsRules:
    """What a site allows an agent. Make it with `parse`, `rules_for_status` or one of the constants below."""

    __slots__ = ("_agent", "_allows_rest", "_matcher", "crawl_delay_s", "is_provisional", "sitemaps")

    def __init__(
        self, matcher: Protego | None, agent: str, *, allows_rest: bool = True, is_provisional: bool = False
    ) -> None:
        self._matcher = matcher
        self._agent = agent
        self._allows_rest = allows_rest
        self.is_provisional = is_provisional  # True: the site could not say; ask again soon
        self.crawl_delay_s: float | None = None  # 0 to `CRAWL_DELAY_S_MAX`; None when the site names none
        self.sitemaps: tuple[str, ...] = ()  # canonical URLs
        if matcher is not None:
            delay_s = matcher.crawl_delay(agent)
            self.crawl_delay_s = None if delay_s is None else min(delay_s, CRAWL_DELAY_S_MAX)
            sitemaps = dict.fromkeys(map(canonical, list(matcher.sitemaps)[:SITEMAPS_MAX]))
            self.sitemaps = tuple(url for url in sitemaps if url is not None)

    def allows(self, url: str) -> bool:
        """Tell whether a canonical URL of the site may be fetched; /robots.txt itself always may."""
        if self._matcher is None:
            return self._allows_rest or url.split("/", 3)[3:] == ["robots.txt"]
        return bool(self._matcher.can_fetch(url, self._agent))


ALLOW_ALL: Final = RobotsRules(None, AGENT)
DISALLOW_ALL: Final = RobotsRules(None, AGENT, allows_rest=False)
DISALLOW_FOR_NOW: Final = RobotsRules(None, AGENT, allows_rest=False, is_provisional=True)


def rules_for_status(status: int, body: bytes, agent: str = AGENT) -> RobotsRules:
    """Return the rules that follow from the answer to a request for /robots.txt.

    2xx: what the body says. 4xx but 429: all is allowed; so it is after more redirects than are followed
    (3xx). 5xx and 429, and 0 or less for no answer at all: nothing is allowed until the site answers again.

    Source: RFC 9309, 2.3.1; 429 as Google, which counts it among the server errors.
    """
    if 200 <= status < 300:
        return parse(body, agent)
    if 300 <= status < 500 and status != 429:
        return ALLOW_ALL
    return DISALLOW_FOR_NOW


def parse(body: bytes, agent: str = AGENT) -> RobotsRules:
    """Read a robots.txt, in whatever state it is; garbage allows everything."""
    lines: list[str] = []
    rule_count = 0
    is_ours = is_among_agents = False
    for line in _text_of(body).splitlines():
        match = _LINE.match(line[:LINE_BYTES_MAX].partition("#")[0].replace("\0", ""))
        if match is None:
            continue
        field, value = match.group(1).lower(), match.group(2).strip()
        if field.startswith("u"):
            token = _token_of(value)
            is_named = token == "*" or token == agent.lower()
            is_ours = is_named or (is_ours and is_among_agents)
            is_among_agents = True
            if is_named:
                lines.append(f"User-agent: {token}")
        elif field.startswith("s"):
            lines.append(f"Sitemap: {value}")
        else:
            is_among_agents = False
            if is_ours:
                rule_count += 1
                lines.append(f"{field}: {value}")
    if rule_count > RULES_MAX:
        return DISALLOW_ALL
    return RobotsRules(Protego.parse("\n".join(lines)), agent.lower())


_LINE = re.compile(
    r"[ \t]*(user[- ]?agent|allow|dis{1,2}all?ow|sitemaps?|crawl[- ]delay)(?=[ \t:])[ \t]*:?(.*)",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[A-Za-z_-]+")


def _token_of(value: str) -> str:
    """Return the product token of a User-agent line in lower case, `*` for everybody, "" for nobody.

    Source: RFC 9309, 2.2.1; what follows the token (`/1.0`) is ignored as in google/robotstxt.
    """
    if value == "*" or value.startswith(("* ", "*\t")):
        return "*"
    match = _TOKEN.match(value)
    return match.group().lower() if match else ""


def _text_of(body: bytes) -> str:
    """Return the text as ASCII, every other byte of its UTF-8 (or whatever it is) as a `%XX` escape.

    So patterns compare byte by byte with the escapes of canonical URLs, in any encoding.
    """
    is_cut = len(body) > ROBOTS_BYTES_MAX
    body = body[:ROBOTS_BYTES_MAX]
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        body = body.decode("utf-16", "replace").encode()
    body = body.removeprefix(codecs.BOM_UTF8)
    if is_cut:  # half a rule would be another rule
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return _HIGH_BYTE.sub(lambda match: b"%%%02X" % match.group()[0], body).decode("ascii")


_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
