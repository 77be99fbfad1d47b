"""The versions of a page as the API tells them."""

from __future__ import annotations

import msgspec

from peers.gateway.model.messages import VersionsFound
from peers.gateway.site.memento import http_date, iso_date, version_path


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


class MementoJson(msgspec.Struct, frozen=True):
    """One version in a TimeMap."""

    datetime: str  # ISO 8601, in UTC
    uri: str


class MementosJson(msgspec.Struct, frozen=True):
    """The versions in a TimeMap, the first one first; without any, a page that has moved here has lists."""

    list: tuple[MementoJson, ...]
    first: MementoJson | None
    last: MementoJson | None


class TimeMapJson(msgspec.Struct, frozen=True):
    """A TimeMap with the fields that MemGator, the aggregator of Memento, gives it."""

    original_uri: str
    self: str
    mementos: MementosJson
    timemap_uri: dict[str, str]  # by format
    timegate_uri: str
    moved_from: list[str]  # TimeMaps of the URLs where the page was before


def time_map_json(base: str, found: VersionsFound) -> TimeMapJson:
    """List the versions of a page that can be shown, under addresses that begin with `base`."""
    url = found.url
    times = sorted(each.fetched_at for each in found.versions if each.has_content)
    shown = tuple(MementoJson(iso_date(at), f"{base}{version_path(url, at)}") for at in times)
    first, last = (shown[0], shown[-1]) if shown else (None, None)
    maps = {form: f"{base}/timemap/{form}/{url}" for form in ("link", "json")}
    moved_from = [f"{base}/timemap/json/{move}" for move in found.moved_from]
    mementos = MementosJson(shown, first, last)
    return TimeMapJson(url, maps["json"], mementos, maps, f"{base}/timegate/{url}", moved_from)


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
