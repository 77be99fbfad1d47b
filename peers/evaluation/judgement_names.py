"""The names that judgements give to documents, for the hits of a run."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from peers.judging.trec import Judgements, Ranked, Run


def by_suffix(run: Run, judgements: Judgements) -> dict[str, list[Ranked]]:
    """Name the hits as the judgements do, where these give only the end of a path.

    So judgements fit wherever a mesh crawled their documents.

    A name fits a URL that is equal to it, or ends with it after a slash; of several that fit, the longest.
    Without query and fragment where the name has none. A page found under two URLs counts once, first.
    """
    names = {name for of_query in judgements.values() for name in of_query}
    return {query: _distinct(_named(hits, names)) for query, hits in run.items()}


def condensed(run: Run, judgements: Judgements) -> dict[str, list[Ranked]]:
    """Name the hits as `by_suffix`, and leave out those that are not judged, so that the rest moves up.

    It is for judgements of a pool, which has pages that are not relevant, too. Where these are missing, every
    hit that is left is relevant.

    Source: Sakai 2007, Alternatives to bpref.
    """
    return {
        query: [hit for hit in hits if hit.document in judgements.get(query, ())]
        for query, hits in by_suffix(run, judgements).items()
    }


def _named(hits: Iterable[Ranked], names: set[str]) -> Iterable[Ranked]:
    for hit in hits:
        yield hit._replace(document=_name_of(hit.document, names))


def _name_of(url: str, names: set[str]) -> str:
    for spelled in (url, unquote(url), url.partition("#")[0].partition("?")[0]):
        rest = spelled
        while rest:
            if rest in names:
                return rest
            rest = rest.partition("/")[2]
    return url


def _distinct(hits: Iterable[Ranked]) -> list[Ranked]:
    seen: set[str] = set()
    kept = []
    for hit in hits:
        if hit.document not in seen:
            seen.add(hit.document)
            kept.append(hit)
    return kept
