"""The table of quality: every collection there is, ranked by our engine and by others in the same run.

And before it, how our engine ranks a collection that its weights were not fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from peers.evaluation.engines import Bm25s, NotInstalled, Ours, Ranker, Tantivy, rank_all
from peers.evaluation.judged import Collection, collections_in, read_collection
from peers.evaluation.lucene import Lucene
from peers.evaluation.measures import PairedDifference, differences, means, measured
from peers.evaluation.weight_fit import FitSample, LeftOut, left_out

Engine = Callable[[Collection], Ranker]
Progress = Callable[[str, int], Callable[[], None]]  # (what, number of queries) -> called once a query

ENGINES: Final[Sequence[Engine]] = (Ours, Tantivy, Bm25s, Lucene)


class Row(msgspec.Struct, frozen=True):
    """How well an engine ranks a collection."""

    collection: str
    engine: str
    queries: int
    figures: dict[str, float]  # means, by measure
    against_ours: PairedDifference | None = None  # by the collection's own measure; None for ours


class Skipped(msgspec.Struct, frozen=True):
    """A measurement that could not be made, and why."""

    what: str
    reason: str


def main_measure(collection: Collection) -> str:
    """Return the measure that a collection is usually judged by."""
    return "MRR@10" if collection.is_known_item else "nDCG@10"


def table(
    shared: Path,
    help_pages: Path | None,
    progress: Progress,
    names: Iterable[str] = (),
    engines: Sequence[Engine] = ENGINES,
) -> tuple[list[Row], list[Skipped]]:
    """Measure all engines on all collections that are there.

    Args:
      shared: the folder with `suites` and `judged`.
      help_pages: a folder of unpacked packages with LibreOffice's help.
      names: of the collections wanted; none means all.
    """
    rows: list[Row] = []
    skipped: list[Skipped] = []
    wanted = frozenset(names)
    for name, folder in collections_in(shared, help_pages):
        if wanted and name not in wanted:
            continue
        if folder is None:
            skipped.append(Skipped(name, "its pages are not here"))
            continue
        of_collection, missing = _rows(read_collection(name, folder, shared), progress, engines)
        rows += of_collection
        skipped += [each for each in missing if each not in skipped]
    return rows, skipped


def left_out_of(
    shared: Path, help_pages: Path | None, advance: Callable[[str], None], names: Iterable[str] = ()
) -> list[LeftOut]:
    """Judge each collection with weights fitted to the others; takes some minutes.

    Args:
      shared, help_pages, names: as for `table`.
      advance: called with what is done next.
    """
    wanted = frozenset(names)
    samples = []
    for name, folder in collections_in(shared, help_pages):
        if folder is not None and (not wanted or name in wanted):
            advance(f"reading {name}")
            samples.append(FitSample(read_collection(name, folder, shared)))
    return left_out(samples, advance)


def _rows(
    collection: Collection, progress: Progress, engines: Sequence[Engine]
) -> tuple[list[Row], list[Skipped]]:
    rows: list[Row] = []
    skipped: list[Skipped] = []
    ours = None
    place = list(measured({}, {})).index(main_measure(collection))
    for engine in engines:
        name = str(getattr(engine, "name", engine))
        try:
            ranker = engine(collection)
        except NotInstalled as reason:
            skipped.append(Skipped(name, str(reason)))
            continue
        advance = progress(f"{collection.name} {name}", len(collection.queries))
        values = measured(rank_all(ranker, collection.queries, advance), collection.judgements)
        against = None if ours is None else differences(ours, values)[place]
        ours = ours or values
        rows.append(Row(collection.name, name, len(collection.queries), means(values), against))
    return rows, skipped
