"""Asking a running mesh the queries of a file, and the remarks to make on the answers. [io]"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from mesh.client.gateway_client import GatewayBusy, GatewayClient, GatewayError
from mesh.counts import counted
from peers.engine.queries.query_parser import QUERY_CHARS_MAX, cut_at_word
from peers.judging.trec import Ranked

BUSY_S_MAX: Final = 10.0  # a gateway that has too much to do says so, and a moment later it has not
PAUSE_S: Final = 0.2  # before a query is asked again
INCOMPLETE_S_MAX: Final = 20.0  # of a whole run; peers that come or go are done with that sooner
NAMED_MAX: Final = 10  # queries that are named of each kind


class Answered(NamedTuple):
    """The answer to one query: hits, time, and slots that are missing."""

    query: str  # its id
    hits: list[Ranked]
    took_ms: float
    missing: int  # slots that did not answer
    is_cut: bool  # only the beginning of its text was asked


def ask_all(
    client: GatewayClient, topics: Iterable[tuple[str, str]], k: int, patience_s: float
) -> Iterator[Answered]:
    """Ask one query after the other, again while an answer does not speak for the whole mesh.

    Args:
      topics: ids and texts.
      k: hits of each at most.
      patience_s: seconds to spend at most, over all queries, on asking again for the sake of slots.

    Raises:
      GatewayError: a query was refused, which the text names, or nobody answers any more.
    """
    for query, text in topics:
        cut = cut_at_word(text.strip(), QUERY_CHARS_MAX)  # so that it fits into an address
        while True:
            asked = time.perf_counter()
            try:
                answer = _ask(client, cut, k)
            except GatewayError as error:
                raise GatewayError(f"query {query}: {error}") from error
            took_ms = (time.perf_counter() - asked) * 1e3
            missing = int(answer["coverage"]["missing"])
            if not missing or patience_s <= 0:
                break
            time.sleep(PAUSE_S)
            patience_s -= time.perf_counter() - asked
        hits = [Ranked(hit["url"], float(hit["score"])) for hit in answer["hits"]]
        yield Answered(query, hits, took_ms, missing, cut != text.strip())


def _ask(client: GatewayClient, text: str, k: int) -> dict[str, Any]:
    until = time.monotonic() + BUSY_S_MAX
    while True:
        try:
            return client.search_deep(text, k)
        except GatewayBusy:
            if time.monotonic() > until:
                raise
            time.sleep(PAUSE_S)


class AnswerTally:
    """Counts of the answers to all queries, for the report and the remarks."""

    def __init__(self) -> None:
        self._took_ms: list[float] = []
        self._n_hits = 0
        self._incomplete: list[str] = []
        self._cut: list[str] = []
        self._began = time.perf_counter()

    def count(self, answers: Iterable[Answered]) -> Iterator[tuple[str, list[Ranked]]]:
        """Hand on queries and hits, as a run has them."""
        for each in answers:
            self._took_ms.append(each.took_ms)
            self._n_hits += len(each.hits)
            if each.missing:
                self._incomplete.append(each.query)
            if each.is_cut:
                self._cut.append(each.query)
            yield each.query, each.hits

    def report(self) -> dict[str, Any]:
        """For programs."""
        took_ms = sorted(self._took_ms) or [0.0]
        return {
            "queries": len(self._took_ms),
            "hits": self._n_hits,
            "incomplete": self._incomplete,
            "cut": self._cut,
            "seconds": time.perf_counter() - self._began,
            "p50_ms": took_ms[len(took_ms) // 2],
            "p99_ms": took_ms[len(took_ms) * 99 // 100],
        }

    def remarks(self) -> list[str]:
        """Return remarks on oddities that do no harm."""
        return [
            f"query {query} has more than {QUERY_CHARS_MAX:,} characters: its end was left out"
            for query in self._cut
        ]

    def faults(self) -> list[str]:
        """Why this is not a run to be judged; none when it is one."""
        faults = []
        if self._incomplete:
            faults.append(
                f"{len(self._incomplete):,} of {counted(len(self._took_ms), 'answer')} did not speak for the "
                f"whole mesh: those to {_named(self._incomplete)}"
            )
        if not self._n_hits:
            faults.append("no query found any page: has this mesh any? `tianmesh status` tells")
        return faults


def _named(queries: list[str]) -> str:
    more = f" and {len(queries) - NAMED_MAX:,} more" if len(queries) > NAMED_MAX else ""
    return f"{', '.join(queries[:NAMED_MAX])}{more}"
