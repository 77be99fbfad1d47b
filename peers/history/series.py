"""Samples of the last hour, day and month.

Theory of operation
===================
What is told every other second is put into three open samples: of ten seconds, of two minutes, of half an
hour. Those of ten seconds stay in memory, so that a peer that does nothing does not write to its disk six
times a minute; the others are rows of the table, written when a span of two minutes is over: the row of that
span, and the half hour as it is by then. A peer that starts again goes on with the rows that it finds.

Rows are named by the number of their span, so there can be no more than those between the oldest that is kept
and the newest. Time never goes back (`mesh.actors.actor`) but where a table comes from another machine or a
copy: what lies in the future by then is deleted, or it would never be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from mesh.tables.table import Table, TableSection
from peers.history.sample import Counts, Sample, Values, coarsened, merged

POINTS: Final = 90  # in an answer: a chart has some 300 pixels; and the span of each is one of whole samples


class Level(NamedTuple):
    """Samples of one length."""

    span_s: float
    kept: int

    @property
    def reach_s(self) -> float:
        return self.span_s * self.kept


FINE: Final = Level(10.0, 360)  # an hour
MEDIUM: Final = Level(120.0, 720)  # a day
COARSE: Final = Level(1_800.0, 1_440)  # 30 days
LEVELS: Final = (FINE, MEDIUM, COARSE)
_PREFIXES: Final = {MEDIUM: b"m", COARSE: b"c"}
_KEY_BYTES: Final = 6  # of the number of a span

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Sample)


class Series:
    """The samples of one peer."""

    def __init__(self, table: Table) -> None:
        self._fine: deque[Sample] = deque(maxlen=FINE.kept)  # closed ones, oldest first
        self._rows = {level: TableSection(table, prefix) for level, prefix in _PREFIXES.items()}
        self._open: dict[Level, Sample] = {}

    def note(self, now: float, seconds: float, counters: Counts, gauges: Values) -> None:
        """Put in the counts of so many seconds until now, and the gauges of now."""
        for level in LEVELS:
            start_s = now // level.span_s * level.span_s
            tick = Sample(start_s, level.span_s, seconds, counters, gauges)
            before = self._open.get(level)
            if before is not None and before.start_s != start_s:
                self._close(level, before)
                before = None
            if before is None:
                before = self._begin(level, start_s)
            self._open[level] = tick if before is None else merged(before, tick)

    def last(self, now: float, level: Level) -> list[Sample]:
        """Tell of as long as a level reaches, in `POINTS` samples or one more, oldest first.

        Where the finest are missing, as after a start, there are longer ones instead.
        """
        since_s = now - level.reach_s
        samples = list(self._from(level, since_s))
        if level is FINE:
            first_s = samples[0].start_s if samples else now
            earlier = (each for each in self._from(MEDIUM, since_s) if each.start_s + each.span_s <= first_s)
            samples = list(chain(earlier, samples))
        return coarsened(samples, level.reach_s / POINTS)

    def _from(self, level: Level, since_s: float) -> Iterator[Sample]:
        """Those that end after this, oldest first, the open one last."""
        if level is FINE:
            yield from (each for each in self._fine if each.start_s + each.span_s > since_s)
        else:
            opened = self._open.get(level)
            stop = None if opened is None else _key(opened)
            first = _numbered(max(int(since_s // level.span_s), 0))
            for _, row in self._rows[level].scan(first, stop):
                yield _decoder.decode(row)
        if level in self._open:
            yield self._open[level]

    def _begin(self, level: Level, start_s: float) -> Sample | None:
        """Return the sample known already of the span that begins there."""
        if level is FINE:
            while self._fine and self._fine[-1].start_s >= start_s:
                self._fine.pop()
            return None
        row = self._rows[level].get(_numbered(int(start_s // level.span_s)))
        return None if row is None else _decoder.decode(row)

    def _close(self, level: Level, sample: Sample) -> None:
        if level is FINE:
            self._fine.append(sample)
        elif level is MEDIUM:
            self._write(MEDIUM, sample)
            self._write(COARSE, self._open[COARSE])

    def _write(self, level: Level, sample: Sample) -> None:
        """Write a row, and delete those that are too old, or of a time that has not come yet."""
        rows, number = self._rows[level], int(sample.start_s // level.span_s)
        rows.put(_key(sample), _encoder.encode(sample))
        oldest = _numbered(max(number - level.kept + 1, 0))
        for key, _ in chain(rows.scan(b"", oldest), rows.scan(_numbered(number + 1))):
            rows.delete(key)


def level_for(span_s: float) -> Level:
    """Return the finest level that reaches back so far, or the longest."""
    return next((level for level in LEVELS if level.reach_s >= span_s), COARSE)


def _key(sample: Sample) -> bytes:
    return _numbered(int(sample.start_s // sample.span_s))


def _numbered(number: int) -> bytes:
    return number.to_bytes(_KEY_BYTES, "big")
