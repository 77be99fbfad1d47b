"""Reading WARC beside fastwarc and warcio, and making pages of it, in the same run.

pytest tests/benchmarks/bench_importing.py --benchmark-enable -s
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from time import process_time

from fastwarc.warc import ArchiveIterator
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from bootstrap.demo_web import DEMO_WARC
from peers.crawler.model.wire_messages import LinkUse
from peers.importing.batch import ImportTask, make
from peers.importing.packed_file import packing_of
from peers.importing.positions import Position
from peers.importing.warc_file import Record, read_warc

COPIES = 20  # of the demo web's pages: 5,000 records


def read_ours(data: bytes) -> int:
    return sum(len(each.block) for each in read_warc(packing_of(data)) if isinstance(each, Record))


def read_fastwarc(data: bytes) -> int:
    return sum(len(each.reader.read()) for each in ArchiveIterator(BytesIO(data), parse_http=False))


def read_warcio(data: bytes) -> int:
    return sum(len(each.raw_stream.read()) for each in WarcioIterator(BytesIO(data), no_record_parse=True))


def cpu_s(work: Callable[[bytes], int], data: bytes) -> float:
    began = process_time()
    work(data)
    return process_time() - began


def test_reading_beside_fastwarc_and_warcio() -> None:
    data = DEMO_WARC.read_bytes() * COPIES
    n_records = sum(isinstance(each, Record) for each in read_warc(packing_of(data)))
    assert read_ours(data) == read_fastwarc(data) == read_warcio(data)
    readers = {"ours": read_ours, "fastwarc": read_fastwarc, "warcio": read_warcio}
    seconds = {name: min(cpu_s(work, data) for _ in range(3)) for name, work in readers.items()}
    for name, took in seconds.items():
        print(f"\n{name}: {n_records / took:,.0f} records per CPU-second", end="")
    assert seconds["ours"] < seconds["warcio"]


def test_making_pages_beside_reading_them() -> None:
    data = DEMO_WARC.read_bytes() * 2
    found = [each for each in read_warc(packing_of(data)) if isinstance(each, Record)]
    made = make(ImportTask(list(found), [], Position(0), 0.0, LinkUse.TEXT))
    print(f"\n{made.n_pages / made.cpu_s:,.0f} pages made per CPU-second", end="")
    assert made.n_pages > len(found) / 4
