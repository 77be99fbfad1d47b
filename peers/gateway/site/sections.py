"""Links to the section of a page where the words of a query are, which leave the page itself as it is."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from mesh.urls import is_of_files
from peers.engine.pages.kinds import KINDS
from peers.gateway.model.messages import FoundPage

_OF_FRAGMENTS: Final = "!$&'()*+,;=:@/?"  # RFC 3986, 3.5, beside what `quote` leaves as it is


def section_url(hit: FoundPage) -> str:
    """Return the URL of the section that a hit's excerpt is from; "" for none, and where none leads there.

    A heading with an id has `#id`; another is looked for by browsers as text, `#:~:text=` (URL Fragment Text
    Directives, 3.3), which others take for the beginning of the page.
    """
    if not hit.section or is_of_files(hit.url):
        return ""
    if hit.section_id:
        return f"{hit.url}#{quote(hit.section_id, safe=_OF_FRAGMENTS)}"
    if hit.type and hit.type not in KINDS["html"]:
        return ""
    return f"{hit.url}#:~:text={quote(hit.section, safe='').replace('-', '%2D')}"
