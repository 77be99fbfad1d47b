"""The page of a live search: how far it is comes into the page by a script, or it loads itself again."""

from __future__ import annotations

from typing import Final

from peers.gateway.live.live_json import LiveJson
from peers.gateway.live.live_search import LiveRequest
from peers.gateway.site.pages import Here, Reader, page_script, render

SCRIPT: Final = page_script("live.js")
_DEFAULTS: Final = LiveRequest(q="")


def live_form_page(reader: Reader, query: str) -> str:
    """Where a person begins one."""
    return render("live.html", reader, Here("/live", {"q": query}), query=query, told=None, wish=_DEFAULTS)


def live_page(reader: Reader, told: LiveJson, number: str) -> str:
    """The state of one, with the pages found so far."""
    n_stored = sum(page.is_stored for page in told.wanted)
    key = {"": "live_on", "enough": "live_enough", "time": "live_time"}.get(
        told.why_over, "live_nothing_left"
    )
    sentence = reader.say(
        key, seconds=round(told.seconds), wanted=len(told.wanted), stored=n_stored, new=len(told.new)
    )
    return render(
        "live.html",
        reader,
        Here("/live", {"id": number}),
        query=told.found.query,
        told=told,
        results=reader.link("/search", q=told.found.query),
        sentence=sentence,
        live_script=SCRIPT.text,
    )
