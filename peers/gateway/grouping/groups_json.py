"""The JSON of /api/groups."""

from __future__ import annotations

import msgspec

from peers.gateway.grouping.groups import GroupedBy, grouped
from peers.gateway.model.messages import Coverage, PagesFound
from peers.gateway.site.found_json import RelaxedJson, RemarkJson, relaxed_json, remarks_json


class GroupedHitJson(msgspec.Struct, frozen=True):
    """A result; `rank` is its place in the list without groups, from 1."""

    rank: int
    url: str
    title: str
    snippet: str
    host: str
    type: str
    as_of: float | msgspec.UnsetType = msgspec.UNSET  # of a page as it was, as in `HitJson`
    until: float | msgspec.UnsetType = msgspec.UNSET


class GroupJson(msgspec.Struct, frozen=True):
    """Results that have something in common."""

    names: list[str]  # words that tell them from the others, a kind, or a host; empty for those in none
    query: str  # that narrows the search to such pages; "" for none
    hits: list[GroupedHitJson]


class GroupsJson(msgspec.Struct, frozen=True):
    """The first results of a search in groups, the largest first, those in none last."""

    query: str
    by: GroupedBy
    total: int  # pages that match
    is_exact: bool  # false: at least so many
    n_grouped: int  # of them the first, that are in the groups
    coverage: Coverage
    groups: list[GroupJson]
    remarks: list[RemarkJson]
    relaxed: RelaxedJson
    corrected: str = ""  # the query that was searched for instead, as a word typed is on no page


def groups_json(query: str, by: GroupedBy, found: PagesFound) -> GroupsJson:
    """Return results in groups as programs get them. Args: query: as it was typed."""
    rank_of = {id(hit): rank for rank, hit in enumerate(found.hits, 1)}  # of a span, versions of one URL
    searched = found.corrected or query
    return GroupsJson(
        query,
        by,
        found.total,
        found.is_exact,
        len(found.hits),
        found.coverage,
        [
            GroupJson(
                list(each.names),
                f"{searched} {each.narrowed_by}" if each.narrowed_by else "",
                [
                    GroupedHitJson(
                        rank_of[id(hit)],
                        hit.url,
                        hit.title,
                        hit.snippet,
                        hit.host,
                        hit.type,
                        hit.as_of or msgspec.UNSET,
                        hit.until if hit.as_of else msgspec.UNSET,
                    )
                    for hit in each.hits
                ],
            )
            for each in grouped(found, by)
        ],
        remarks_json(found),
        relaxed_json(query, found),
        found.corrected,
    )
