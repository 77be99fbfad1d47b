"""The JSON of Elasticsearch's `_search`: its requests, answers and errors, as its clients read them. Pure."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from peers.engine.queries.query import Sort
from peers.gateway.model.messages import FoundPage, PagesFound
from peers.gateway.model.time_words import utc
from peers.gateway.site.elastic_query import NotUnderstood
from peers.index.wire_messages import HITS_MAX, SNIPPETS_MAX

INDEX: Final = "pages"
_TAG_CHARS_MAX: Final = 100  # of a mark before or behind a word: there may be many words
_Tags = tuple[Annotated[str, Meta(max_length=_TAG_CHARS_MAX)]]
_Patterns = Annotated[tuple[Annotated[str, Meta(max_length=100)], ...], Meta(max_length=100)]


class HighlightRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fields: dict[str, Any]
    pre_tags: _Tags = ("<em>",)
    post_tags: _Tags = ("</em>",)
    encoder: str = "default"  # html: signs of markup are escaped
    number_of_fragments: int = 1  # there is one snippet a page
    fragment_size: int = 0  # which is as long as it is


class SourceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    includes: _Patterns = ("*",)
    excludes: _Patterns = ()


class ElasticRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `_search`."""

    query: dict[str, Any] | None = None
    size: Annotated[int, Meta(ge=0, le=SNIPPETS_MAX)] = 10
    from_: Annotated[int, Meta(ge=0, le=HITS_MAX - 1)] = msgspec.field(name="from", default=0)
    source: bool | str | _Patterns | SourceRequest = msgspec.field(name="_source", default=True)
    highlight: HighlightRequest | None = None
    sort: Any = None
    track_total_hits: bool | int = True
    timeout: str = ""


def order_of(sort: Any) -> Sort:
    """Return the order asked for: by `_score`, or by `date` with the latest first."""
    first = sort[0] if isinstance(sort, list) and len(sort) == 1 else sort
    if isinstance(first, dict) and isinstance(first.get("date"), dict):
        first = {"date": first["date"].get("order")} if len(first) == 1 else None
    if first in (None, [], "_score"):
        return Sort.SCORE
    if first in ("date:desc", {"date": "desc"}):
        return Sort.DATE
    raise NotUnderstood("sort has to be _score, or date with order desc")


def elastic_json(wanted: ElasticRequest, found: PagesFound, took_s: float) -> dict[str, Any]:
    """Return the pages that a search has found as Elasticsearch does."""
    hits = [_hit(wanted, hit) for hit in found.hits[: wanted.size]]
    relation = "eq" if found.is_exact else "gte"
    is_whole = not found.coverage.missing
    return {
        "took": round(took_s * 1_000),
        "timed_out": not is_whole,
        "_shards": {
            "total": found.coverage.slots,
            "successful": found.coverage.answered,
            "skipped": 0,
            "failed": found.coverage.missing,
        },
        "hits": {
            "total": {"value": found.total, "relation": relation},
            "max_score": max((hit["_score"] for hit in hits), default=None),
            "hits": hits,
        },
    }


def failure_json(kind: str, reason: str, status: int) -> dict[str, Any]:
    """Return an error in Elasticsearch's form."""
    cause = {"type": kind, "reason": reason}
    return {"error": {"root_cause": [cause], **cause}, "status": status}


def _hit(wanted: ElasticRequest, hit: FoundPage) -> dict[str, Any]:
    told: dict[str, Any] = {"_index": INDEX, "_id": hit.url, "_score": hit.score}
    source = _source(wanted.source, hit)
    if source is not None:
        told["_source"] = source
    if wanted.highlight and (marked := _highlights(wanted.highlight, hit)):
        told["highlight"] = marked
    return told


def _source(wanted: bool | str | tuple[str, ...] | SourceRequest, hit: FoundPage) -> dict[str, Any] | None:
    if wanted is False:
        return None
    match wanted:
        case SourceRequest(includes=includes, excludes=excludes):
            pass
        case str():
            includes, excludes = (wanted,), ()
        case tuple():
            includes, excludes = wanted, ()
        case _:
            includes, excludes = ("*",), ()
    day, fetched = utc(hit.date) if hit.date > 0 else None, utc(hit.fetched_at)
    fields = {
        "url": hit.url,
        "title": hit.title,
        "snippet": hit.snippet,
        "site": hit.host,
        "language": hit.language,
        "type": hit.type,
        "date": day.isoformat() if day else None,
        "fetched_at": fetched.isoformat() if fetched else None,
    }
    return {
        name: value for name, value in fields.items() if _fits(name, includes) and not _fits(name, excludes)
    }


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in patterns)


def _highlights(wanted: HighlightRequest, hit: FoundPage) -> dict[str, list[str]]:
    marked = {"snippet": (hit.snippet, hit.highlights), "title": (hit.title, hit.title_highlights)}
    return {
        name: [_marked(text, spans, wanted)]
        for name, (text, spans) in marked.items()
        if spans and _fits(name, wanted.fields)
    }


def _marked(text: str, spans: Sequence[tuple[int, int]], wanted: HighlightRequest) -> str:
    parts, at = [], 0
    shown = html.escape if wanted.encoder == "html" else str
    for start, end in spans:
        parts += [shown(text[at:start]), wanted.pre_tags[0], shown(text[start:end]), wanted.post_tags[0]]
        at = end
    return "".join((*parts, shown(text[at:])))
