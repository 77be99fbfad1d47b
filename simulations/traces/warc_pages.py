"""A trace of the pages in WARC archives. [io]

An archive does not say how long a fetch took, and some have no times in their order either: seconds are
drawn, and pages stand in the order of their dates.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Final

import numpy as np

from mesh.errors import ConfigError
from mesh.trace import TracedPage
from peers.crawler.model.wire_messages import LinkUse
from peers.importing.packed_file import packing_of
from peers.importing.page import NoPage, PageNotKept, page_of_record
from peers.importing.positions import FileDamage
from peers.importing.warc_file import read_warc

SECONDS_SIGMA: Final = 1.0  # of the logarithm of the seconds of a page


def pages_of_warc(path: Path, seconds_median: float, seed: int, damages: list[str]) -> Iterator[TracedPage]:
    """Yield the pages of an archive, and note the records that are damaged.

    Raises:
      ConfigError: the file cannot be read.
    """
    random = np.random.default_rng(seed)
    with _mapped(path) as data:
        for record in read_warc(packing_of(data)):
            if isinstance(record, FileDamage):
                damages.append(f"{path} at byte {record.offset:,}: {record.what}")
                continue
            try:
                page = page_of_record(record, LinkUse.FETCH)
            except (NoPage, PageNotKept):
                continue
            seconds = random.lognormal(log(seconds_median), SECONDS_SIGMA)
            yield TracedPage(
                page.url,
                page.fetched_at,
                round(float(seconds), 6),
                len(record.block),
                links=tuple(link.url for link in page.links),
                text_chars=tuple(len(link.anchor) for link in page.links),
                status=page.status,
            )


def _mapped(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise ConfigError(f"cannot read the archive {path}: {error}; give a WARC file") from error
