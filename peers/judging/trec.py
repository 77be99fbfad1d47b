"""The files of TREC: queries, judgements and runs.

topics      id TAB text
judgements  query iteration document grade
runs        query Q0 document rank score tag
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from mesh.errors import ConfigError, unreadable
from peers.user_state import replace_whole

Judgements: TypeAlias = Mapping[str, Mapping[str, int]]  # query -> document -> grade, 0 not relevant


class Ranked(NamedTuple):
    """A document in a ranking."""

    document: str  # its URL, or the name it has in the judgements
    score: float


Run: TypeAlias = Mapping[str, Sequence[Ranked]]  # by query, the best first


def write_run(path: Path, rankings: Iterable[tuple[str, Sequence[Ranked]]], tag: str = "tianmesh") -> None:
    """Write a run, query by query; spaces in names are escaped, since nothing else separates the columns.

    Raises:
      ConfigError: the file cannot be written.
    """
    lines = (
        f"{query} Q0 {hit.document.replace(' ', '%20')} {rank} {hit.score!r} {tag}\n"
        for query, hits in rankings
        for rank, hit in enumerate(hits, 1)
    )
    try:
        with path.open("w", encoding="utf-8") as out:
            out.writelines(lines)
    except OSError as error:
        raise not_written(path, error) from error


def read_run(path: Path) -> dict[str, list[Ranked]]:
    """Read a run, in the order of its ranks.

    Raises:
      ConfigError: it cannot be read or is something else.
    """
    ranked: dict[str, list[tuple[int, Ranked]]] = {}
    for number, line in enumerate(_text(path).splitlines(), 1):
        if line.strip():
            try:
                query, _, document, rank, score, _ = line.split()
                ranked.setdefault(query, []).append((int(rank), Ranked(document, float(score))))
            except ValueError as error:
                raise ConfigError(
                    f"{path} is no run: line {number} is not `query Q0 page rank score name`, as "
                    "`tianmesh search --queries --run` writes it"
                ) from error
    return {
        query: [hit for _, hit in sorted(hits, key=lambda each: each[0])] for query, hits in ranked.items()
    }


def read_topics(path: Path) -> list[tuple[str, str]]:
    """Read a file of queries, one a line: id, a tab, the text.

    Raises:
      ConfigError: it cannot be read or is something else.
    """
    lines = [line for line in _text(path).splitlines() if line.strip()]
    topics = [tuple(line.split("\t", 1)) for line in lines]
    if not topics or any(len(topic) != 2 or len(topic[0].split()) != 1 for topic in topics):
        raise ConfigError(f"{path} is no file of queries: every line must be an id, a tab and the text")
    return [(topic[0], topic[1]) for topic in topics]


def write_topics(path: Path, topics: Iterable[tuple[str, str]]) -> None:
    """Write a file of queries, one a line: id, a tab, the text with single spaces.

    Raises:
      ConfigError: the file cannot be written.
    """
    lines = (f"{query}\t{' '.join(text.split())}\n" for query, text in topics)
    try:
        replace_whole(path, "".join(lines).encode())
    except OSError as error:
        raise not_written(path, error) from error


def read_words(path: Path) -> list[str]:
    """Read a file of words, one a line. ConfigError when it cannot be read."""
    return [line.strip() for line in _text(path).splitlines() if line.strip()]


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read TREC's judgements, `query iteration document grade` a line; also with a header, without iteration.

    Raises:
      ConfigError: it cannot be read or is something else.
    """
    judgements = judgements_in(_text(path), path)
    if not judgements:
        raise ConfigError(f"{path} has no judgements")
    return judgements


def judgements_in(text: str, path: Path) -> dict[str, dict[str, int]]:
    """Return the judgements of a text, of several for a page the last.

    Args:
      path: of the file that has it, for the error.

    Raises:
      ConfigError: it is something else.
    """
    judgements: dict[str, dict[str, int]] = {}
    for number, line in enumerate(text.splitlines()):
        words = line.split()
        if not words or (number == 0 and words[0] == "query-id"):
            continue
        try:
            query, document, grade = words[0], words[-2], int(words[-1])
        except (IndexError, ValueError):
            raise ConfigError(f"{path} is no file of judgements: {line!r}") from None
        judgements.setdefault(query, {})[document] = grade
    return judgements


def write_qrels(path: Path, judgements: Judgements) -> None:
    """Write TREC's judgements, so that any kill leaves the file before or this one.

    Raises:
      ConfigError: the file cannot be written.
    """
    try:
        replace_whole(path, lines_of(judgements).encode())
    except OSError as error:
        raise not_written(path, error) from error


def lines_of(judgements: Judgements) -> str:
    """Return TREC's judgements as a text, a line for each."""
    return "".join(
        f"{query} 0 {document} {grade}\n"
        for query, of_query in judgements.items()
        for document, grade in of_query.items()
    )


def not_written(path: Path, error: OSError) -> ConfigError:
    """Return the error of a file that cannot be written."""
    return ConfigError(f"cannot write {path}: {error.strerror}; give another file name")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
