"""Rankings as TREC's runs: `query Q0 document rank score tag` a line.

Judgements may name a document by the end of its URL only, so that they fit wherever a mesh crawled it:
`by_suffix` gives the hits the names of the judgements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from mesh.errors import ConfigError
from peers.evaluation.judged import Judgements


class Ranked(NamedTuple):
    """A document in a ranking."""

    document: str  # its URL, or the name it has in the judgements
    score: float


Run: TypeAlias = Mapping[str, Sequence[Ranked]]  # by query, the best first


def write_run(path: Path, run: Run, tag: str = "tianmesh") -> None:
    """Write a run; spaces in names are escaped, since nothing else separates the columns."""
    with path.open("w", encoding="utf-8") as out:
        for query, hits in run.items():
            for rank, hit in enumerate(hits, 1):
                name = hit.document.replace(" ", "%20")
                out.write(f"{query} Q0 {name} {rank} {hit.score!r} {tag}\n")


def read_run(path: Path) -> dict[str, list[Ranked]]:
    """Read a run, in the order of its ranks.

    Raises:
      ConfigError: it cannot be read or is something else.
    """
    ranked: dict[str, list[tuple[int, Ranked]]] = {}
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip():
                query, _, document, rank, score, _ = line.split()
                ranked.setdefault(query, []).append((int(rank), Ranked(document, float(score))))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is no run: {error}") from error
    return {
        query: [hit for _, hit in sorted(hits, key=lambda each: each[0])] for query, hits in ranked.items()
    }


def by_suffix(run: Run, judgements: Judgements) -> dict[str, list[Ranked]]:
    """Name the hits as the judgements do, where these give only the end of a path.

    A name fits a URL that is equal to it, or ends with it after a slash; of several that fit, the longest.
    Without query and fragment where the name has none. A page found under two URLs counts once, first.
    """
    names = {name for of_query in judgements.values() for name in of_query}
    return {query: _distinct(_named(hits, names)) for query, hits in run.items()}


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
