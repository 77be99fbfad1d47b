"""The versions of a page as the API tells them."""

from __future__ import annotations

import msgspec

from peers.gateway.model.messages import VersionsFound
from peers.gateway.site.memento import http_date, version_path


class VersionJson(msgspec.Struct, frozen=True):
    """One version."""

    fetched_at: float  # seconds since the epoch
    datetime: str  # the same as HTTP has it
    status: int  # 0 when there was no answer
    visit: int
    has_content: bool  # it shows the page, and not only that it was not there
    bytes: int  # of its records, packed
    href: str | None  # to it; null when there is nothing to show
    moved_to: str | None  # where the page is from then on, as its server said


class VersionsJson(msgspec.Struct, frozen=True):
    """All versions of a page that are kept, the newest first."""

    url: str
    versions: list[VersionJson]
    is_cut: bool  # there are more
    moved_from: list[str]  # URLs where the page was before, whose versions are listed there


def versions_json(found: VersionsFound) -> VersionsJson:
    return VersionsJson(
        found.url,
        [
            VersionJson(
                each.fetched_at,
                http_date(each.fetched_at),
                each.status,
                each.visit,
                each.has_content,
                each.n_bytes,
                version_path(found.url, each.fetched_at) if each.has_content else None,
                each.moved_to or None,
            )
            for each in found.versions
        ],
        found.is_cut,
        list(found.moved_from),
    )
