"""The feed of an entity as Atom (RFC 4287)."""

from __future__ import annotations

from collections.abc import Iterator

from peers.entities.feed import Feed, FeedEntry
from peers.gateway.site.feeds import attribute, element, rfc_3339
from peers.gateway.site.pages import Reader

_TONES = {1: "tone_good", 0: "tone_neither", -1: "tone_bad"}


def entity_feed(reader: Reader, feed: Feed, name: str) -> str:
    """Return the feed. Args: name: of its row, in digits; the address itself would tell the secret on."""
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{reader.say("html_lang")}">',
            element("title", f"{feed.label} · {reader.say('name')}"),
            element("id", f"urn:tianmesh:entity:{name}"),
            element("updated", rfc_3339(max((each.at_s for each in feed.entries), default=0.0))),
            f"<author>{element('name', reader.say('name'))}</author>",
            *(line for each in feed.entries for line in _entry(reader, each)),
            "</feed>\n",
        ]
    )


def _entry(reader: Reader, entry: FeedEntry) -> Iterator[str]:
    yield "<entry>"
    yield element("title", entry.title.strip() or entry.url)
    yield f'<link href="{attribute(entry.url)}"/>'
    yield element("id", entry.url)
    yield element("updated", rfc_3339(entry.at_s))
    tone = reader.say(_TONES[entry.tone])
    yield element("summary", f"{entry.sentence} ({reader.say('entity_score', score=entry.score, tone=tone)})")
    yield "</entry>"
