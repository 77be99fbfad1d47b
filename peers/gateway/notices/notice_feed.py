"""Notices of watched words as an Atom feed (RFC 4287)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from peers.gateway.notices.watch_json import NoticeJson
from peers.gateway.site.feeds import attribute, element, rfc_3339
from peers.gateway.site.pages import Reader


def notice_feed(reader: Reader, notices: Sequence[NoticeJson], base: str) -> str:
    """Return the newest notices, each with an id that stays the same when it is told again.

    Args:
      base: scheme and authority of this gateway.
    """
    place = base + reader.link("/watch")
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{reader.say("html_lang")}">',
            element("title", f"{reader.say('watch')} · {reader.say('name')}"),
            f'<link rel="alternate" type="text/html" href="{attribute(place)}"/>',
            element("id", place),
            element("updated", rfc_3339(max((each.at_s for each in notices), default=0.0))),
            f"<author>{element('name', reader.say('name'))}</author>",
            *(line for each in notices for line in _entry(each)),
            "</feed>\n",
        ]
    )


def _entry(notice: NoticeJson) -> Iterator[str]:
    yield "<entry>"
    yield element("title", f"{notice.entry}: {notice.title or notice.url}")
    yield f'<link href="{attribute(notice.url)}"/>'
    yield element("id", f"{notice.url}#watch-{notice.mark}-{notice.entry}")
    yield element("updated", rfc_3339(notice.at_s))
    yield f"<author>{element('name', notice.peer)}</author>"
    yield element("summary", notice.excerpt)
    yield "</entry>"
