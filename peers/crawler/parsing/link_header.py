"""The address that a server gives a page in `Link` headers (RFC 8288): the only way for a PDF. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mesh.domains import may_speak_for
from mesh.urls import canonical, host_of

LINK: Final = "link"

_EACH: Final = re.compile(r"<([^<>]*)>([^<]*)")
_REL: Final = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)
_ANCHOR: Final = re.compile(r";\s*anchor\s*=", re.IGNORECASE)  # 3.2: it speaks of something else then


def canonical_in_headers(url: str, values: Sequence[str]) -> str:
    """Return the address that a server gives a page (RFC 6596), "" when it gives none, or several.

    Only within the domain of the page: servers add such headers to all that they send, wrong ones too.

    Args:
      values: of all `Link` headers.
    """
    if not values:
        return ""
    named = only_one(canonical(target, url) for target in _targets(values))
    return named if named and may_speak_for(host_of(url), host_of(named)) else ""


def only_one(named: Iterable[str | None]) -> str:
    """Return the only address that is named, be it often; "" for none, and for several."""
    addresses = set(filter(None, named))
    return addresses.pop() if len(addresses) == 1 else ""


def _targets(values: Sequence[str]) -> Iterator[str]:
    for value in values:
        for target, parameters in _EACH.findall(value):
            relation = _REL.search(parameters)
            if relation is None or _ANCHOR.search(parameters) is not None:
                continue
            if "canonical" in (relation[1] or relation[2] or "").lower().split():
                yield target.strip()
