"""The page of the watch, for administrators: the list with its counts, and the newest notices.

It is whole without script, which only adds notices as they come.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from peers.gateway.model.time_words import utc
from peers.gateway.notices.watch_json import NoticeJson, WatchJson
from peers.gateway.site.pages import Here, Reader, page_script, render

SCRIPT: Final = page_script("watch.js")


class _Shown(NamedTuple):
    url: str
    title: str
    entry: str
    at: str
    before: str  # of the excerpt
    inside: str
    after: str


def watch_page(reader: Reader, watch: WatchJson) -> str:
    """The state of the watch as a page."""
    return render(
        "watch.html",
        reader,
        Here("/watch"),
        query="",
        watch=watch,
        shown=[_shown(each) for each in watch.notices],
        watch_script=SCRIPT.text,
    )


def _shown(notice: NoticeJson) -> _Shown:
    start, end = notice.highlight
    at = utc(notice.at_s)
    return _Shown(
        url=notice.url,
        title=notice.title or notice.url,
        entry=notice.entry,
        at=f"{at:%Y-%m-%d %H:%M:%S}Z" if at else "",
        before=notice.excerpt[:start],
        inside=notice.excerpt[start:end],
        after=notice.excerpt[end:],
    )
