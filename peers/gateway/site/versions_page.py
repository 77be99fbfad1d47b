"""The pages that list the versions of a page, and show the changes between two of them."""

from __future__ import annotations

from typing import NamedTuple

from peers.gateway.model.messages import VersionsFound
from peers.gateway.model.time_words import utc
from peers.gateway.site.difference import Difference
from peers.gateway.site.memento import digits_of
from peers.gateway.site.pages import Here, Reader, address_of, render


class _Row(NamedTuple):
    time: str
    answer: str
    href: str  # to it; "" when there is nothing to show
    difference: str  # from the one before; "" when there is none
    moved: tuple[str, str] | None  # address of where the page is from then on, and of its versions


def versions_page(reader: Reader, found: VersionsFound) -> str:
    """List versions, the newest first, with ways to those of other URLs where the page was, or is now."""
    url, versions = found.url, found.versions

    def way(to: str) -> tuple[str, str]:
        return address_of(to), reader.link("/page", url=to, versions="")

    rows = []
    for number, version in enumerate(versions):
        earlier = next((each for each in versions[number + 1 :] if each.has_content), None)
        at = digits_of(version.fetched_at)
        compared = {} if earlier is None else {"from": digits_of(earlier.fetched_at), "to": at}
        rows.append(
            _Row(
                time_text(version.fetched_at),
                str(version.status or "-"),
                reader.link("/page", url=url, at=at) if version.has_content else "",
                reader.link("/page", url=url, **compared) if compared and version.has_content else "",
                way(version.moved_to) if version.moved_to else None,
            )
        )
    here = Here("/page", {"url": url, "versions": ""})
    return render(
        "versions.html",
        reader,
        here,
        query="",
        address=address_of(url),
        rows=rows,
        is_cut=found.is_cut,
        before=list(map(way, found.moved_from)),
    )


def difference_page(reader: Reader, url: str, before_s: float, after_s: float, found: Difference) -> str:
    """Show the changes from one version to another."""
    return render(
        "difference.html",
        reader,
        Here("/page", {"url": url, "from": digits_of(before_s), "to": digits_of(after_s)}),
        query="",
        address=address_of(url),
        before=time_text(before_s),
        after=time_text(after_s),
        all=reader.link("/page", url=url, versions=""),
        lines=found.lines,
        is_cut=found.is_cut,
    )


def time_text(seconds: float) -> str:
    at = utc(seconds)
    return "?" if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"
