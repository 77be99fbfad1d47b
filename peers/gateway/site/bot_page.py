"""The page for webmasters: which crawler asks their hosts, how to stop it, and its visits to one of them.

Anybody may ask about any host, so what is told of one is what its own log shows: how often it was asked, when
its home page was visited last, how long it is left alone, what its robots.txt was understood to say. Which
pages are known of it, and which machine asks, is for administrators.
"""

from __future__ import annotations

from typing import NamedTuple

from peers.crawler.explanations import UrlFacts
from peers.crawler.fetching.contact import Visitor
from peers.gateway.model.member_lines import printable
from peers.gateway.model.messages import WhyAnswered
from peers.gateway.model.time_words import utc
from peers.gateway.site.pages import Here, Reader, render


class _Line(NamedTuple):
    name: str
    text: str


def visits_of(answered: WhyAnswered) -> UrlFacts | None:
    """The facts of the host's owner, or else of another peer that keeps its slot; None when nobody tells."""
    told = dict(answered.told)
    return told.get(answered.owner) or next(iter(told.values()), None)


def bot_page(
    reader: Reader,
    visitor: Visitor,
    text: str = "",
    *,
    host: str = "",
    visits: UrlFacts | None = None,
    is_bad: bool = False,
    takes_sites: bool = False,
) -> str:
    """The page that tells webmasters about our crawler.

    Args:
      text: what was asked about, as it was typed.
      host: in it; "" for none.
      visits: what is known of the home page of that, and of the host.
      is_bad: `text` is no host.
      takes_sites: their owners may submit sites here.
    """
    return render(
        "bot.html",
        reader,
        Here("/bot", {"host": text} if text else {}),
        query="",
        agent=visitor.agent,
        token=visitor.token,
        contact=visitor.contact,
        contact_href=_href(visitor.contact),
        asked=text,
        host=printable(host),
        lines=_lines(reader, visits),
        is_bad=is_bad,
        takes_sites=takes_sites,
    )


def _href(contact: str) -> str:
    """Where a contact leads; "" when that cannot be told."""
    if contact.startswith(("https://", "http://")):
        return contact
    return f"mailto:{contact}" if "@" in contact else ""


def _lines(reader: Reader, visits: UrlFacts | None) -> list[_Line]:
    """Lines on our visits to a host; none for one that was never asked."""
    if visits is None or visits.host is None:
        return []
    host, robots = visits.host, visits.robots
    lines = [_Line(reader.say("bot_pages"), f"{host.fetched:,}")]
    if visits.visited_s is not None:
        lines.append(_Line(reader.say("bot_visited"), f"{_time(visits.visited_s)} ({visits.outcome[:40]})"))
    lines.append(_Line(reader.say("bot_delay"), f"{host.delay_s:,.1f} s"))
    if host.next_s > visits.at_s:
        lines.append(_Line(reader.say("bot_next"), _time(host.next_s)))
    if robots is None or not robots.status:
        lines.append(_Line("robots.txt", reader.say("bot_robots_unknown")))
        return lines
    allowed = reader.say("bot_allowed" if robots.is_allowed else "bot_forbidden")
    lines.append(_Line("robots.txt", f"{robots.status}; {allowed}"))
    if robots.line:
        line = reader.say("bot_line", number=robots.line_number)
        lines.append(_Line(line, printable(robots.line)))
    return lines


def _time(seconds: float) -> str:
    at = utc(seconds)
    return "?" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"
