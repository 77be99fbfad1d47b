"""The JSON of YaCy's /yacysearch.json, so that programs made for YaCy can ask a mesh.

Names and kinds of fields are YaCy's: numbers of a channel are texts, a description is HTML.
"""

from __future__ import annotations

import html
from typing import Any

from peers.gateway.model.messages import FoundPage, PagesFound
from peers.gateway.site.feeds import OPENSEARCH, YACY, moment_of, rfc_822, yacy_parts


def yacy_json(query: str, found: PagesFound, link: str, *, start: int, per_page: int) -> dict[str, Any]:
    """Return the pages that a search has found in YaCy's form.

    Args:
      query: as it was asked.
      link: the address of the same search as a page.
      start: hits that were left out.
      per_page: hits that were asked for.
    """
    channel = {
        "title": query,
        "description": f"Search for {query}",
        "link": link,
        "totalResults": str(found.total),
        "startIndex": str(start),
        "itemsPerPage": str(per_page),
        "searchTerms": query,
        "items": list(map(_item, found.hits[:per_page])),
        "navigation": [],
    }
    return {"xmlns$yacy": YACY, "xmlns$os": OPENSEARCH, "channels": [channel]}


def _item(hit: FoundPage) -> dict[str, str]:
    day = rfc_822(moment_of(hit))
    return {
        "title": hit.title.strip() or hit.url,
        "link": hit.url,
        "description": html.escape(hit.snippet),
        **({"pubDate": day} if day else {}),
        "guid": hit.url,
        **yacy_parts(hit),
    }
