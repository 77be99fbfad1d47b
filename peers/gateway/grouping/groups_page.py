"""The page of the first results of a search in groups. Without script."""

from __future__ import annotations

from typing import Final, NamedTuple

from markupsafe import Markup

from peers.gateway.grouping.groups import Group, GroupedBy, grouped
from peers.gateway.model.messages import FoundPage, PagesFound
from peers.gateway.site.pages import (
    Here,
    Reader,
    Wish,
    address_of,
    given_up,
    marked,
    remarks_on,
    render,
    type_name,
    ways_to,
)

_BY_TEXTS: Final = {
    GroupedBy.WORDS: "groups_by_words",
    GroupedBy.KIND: "groups_by_kind",
    GroupedBy.SITE: "groups_by_site",
}


class _Row(NamedTuple):
    url: str
    title: Markup
    address: str
    snippet: Markup
    stored: str  # address of the stored copy


class _Shown(NamedTuple):
    id: str
    name: str
    size: str
    narrowed: str  # address of the search for such pages; "" for none
    rows: list[_Row]


class _Choice(NamedTuple):
    text: str
    href: str
    is_chosen: bool


def groups_page(reader: Reader, query: str, by: GroupedBy, found: PagesFound) -> str:
    """Show the groups one below the other, and links to them above."""
    counts = {"shown": f"{len(found.hits):,}", "total": f"{found.total:,}"}
    groups = enumerate(grouped(found, by), 1)
    said = ("groups_count" if found.is_exact else "groups_count_least") if found.hits else "groups_none"
    searched = found.corrected or query
    return render(
        "groups.html",
        reader,
        Here("/groups", {"q": query, "by": by.value}),
        query=query,
        count=reader.say(said, **counts),
        choices=[
            _Choice(reader.say(text), reader.link("/groups", q=query, by=each.value), each is by)
            for each, text in _BY_TEXTS.items()
        ],
        groups=[_shown(reader, searched, by, number, each) for number, each in groups],
        corrected=found.corrected,
        of_corrected=Wish(searched).link(reader),
        given_up=given_up(reader, found.relaxed) if found.hits else "",
        remarks=list(remarks_on(reader, found, searched)),
        all_results=Wish(query).link(reader),
        is_covered=found.coverage.missing == 0,
    )


def _shown(reader: Reader, query: str, by: GroupedBy, number: int, group: Group) -> _Shown:
    return _Shown(
        f"group-{number}",
        _name(reader, by, group),
        f"{len(group.hits):,}",
        Wish(f"{query} {group.narrowed_by}").link(reader) if group.narrowed_by else "",
        [_row(reader, query, hit) for hit in group.hits],
    )


def _name(reader: Reader, by: GroupedBy, group: Group) -> str:
    if not group.names:
        return reader.say("groups_others")
    return (
        type_name(reader, group.names[0]) if by is GroupedBy.KIND else reader.say("comma").join(group.names)
    )


def _row(reader: Reader, query: str, hit: FoundPage) -> _Row:
    address = address_of(hit.url)
    title = marked(hit.title, hit.title_highlights) if hit.title.strip() else marked(address, ())
    url, stored = ways_to(reader, hit, query)
    return _Row(url, title, address, marked(hit.snippet, hit.highlights), stored)
