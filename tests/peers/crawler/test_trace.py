"""The trace file and the port that writes it."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import msgpack
import pytest
import trio
import trio.testing
import zstandard

from mesh import trace
from mesh.actors.actor import Address
from mesh.errors import ConfigError, LocalProtocolError
from mesh.trace import BLOCK_BYTES, TracedPage, merge_traces, pack_end, pack_header, read_trace, write_trace
from mesh.trace_blocks import TraceDamage, pack_block, read_blocks
from peers.crawler.fetching.recorder import PAGES_WAITING_MAX, TraceRecorder
from peers.crawler.model.messages import RecordPage, StopCrawl


def pack_pages(pages: list[TracedPage]) -> bytes:
    """One block with some pages."""
    ((_, block),) = trace.pack_pages(pages)
    return block


CONTROLLER = Address("a", "controller")
PAGES = [
    TracedPage(f"http://a.test/{n}", 1_000.0 + n, 0.25, 4_000, ("http://a.test/x", "http://b.test/"), (3, 4))
    for n in range(3)
]


def record(page: TracedPage) -> RecordPage:
    return RecordPage(page.url, page.fetched_at, page.seconds, page.n_bytes, page.links, page.text_chars)


async def record_all(path: Path, pages: list[TracedPage]) -> TraceRecorder:
    """Run a recorder until it has written the pages."""
    recorder = TraceRecorder(path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run, lambda source, actor, message: None)
        for page in pages:
            recorder.receive(CONTROLLER, record(page))
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    return recorder


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace", PAGES)
    assert list(read_trace(tmp_path / "trace")) == PAGES


def test_a_trace_is_plain_messagepack_in_plain_zstd(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace", PAGES, {"made by": "a test"})
    with (tmp_path / "trace").open("rb") as file:
        content = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    unpacker = msgpack.Unpacker()
    unpacker.feed(content)
    header, *pages, end = unpacker
    assert header == {"format": "tianmesh-trace", "version": 2, "about": {"made by": "a test"}}
    links = ["http://a.test/x", "http://b.test/"]
    assert pages[0] == ["http://a.test/0", 1_000.0, 0.25, 4_000, links, [3, 4], 200, 1, 0.0]
    assert end == {"pages": 3, "blocks": 1}


def write_blocks(path: Path) -> list[int]:
    """Write a trace of a block for each page; return where each block ends."""
    blocks = [pack_header(), *(pack_pages([page]) for page in PAGES), pack_end(3, 3)]
    path.write_bytes(b"".join(blocks))
    return list(accumulate(map(len, blocks)))


def test_a_trace_that_was_cut_is_refused_with_the_place_and_read_if_that_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    ends = write_blocks(path)
    whole = path.read_bytes()
    for length in range(ends[0], len(whole)):
        path.write_bytes(whole[:length])
        before = [end for end in ends if end <= length]
        with pytest.raises(ConfigError, match=f"at byte {before[-1]:,}"):
            list(read_trace(path))
        damages: list[TraceDamage] = []
        assert list(read_trace(path, damages)) == PAGES[: len(before) - 1]
        assert damages[0].offset == before[-1]


def test_a_damaged_block_costs_its_own_pages_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    ends = write_blocks(path)
    whole = path.read_bytes()
    for at in range(ends[1], ends[2]):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        damages: list[TraceDamage] = []
        assert list(read_trace(path, damages)) == [PAGES[0], PAGES[2]]
        assert (damages[0].block, damages[0].offset) == (2, ends[1])
        with pytest.raises(ConfigError, match=f"in block 2 at byte {ends[1]:,}; give --partial"):
            list(read_trace(path))


def test_pages_that_somebody_took_out_are_missed(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(pack_header() + pack_pages(PAGES[:2]) + pack_end(3, 2))
    with pytest.raises(ConfigError, match="2 of the 3 pages"):
        list(read_trace(path))


def header_of(**fields: object) -> bytes:
    return pack_block(msgpack.packb(fields))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a trace"),
        (b"some text", "not a trace"),
        (b"\xc1", "not a trace"),
        (msgpack.packb({"format": "other"}), "not a trace"),
        (header_of(format="other"), "not a trace"),
        (header_of(format="tianmesh-trace", version=1), "version 1, and this tianmesh reads 2"),
        (header_of(format="tianmesh-trace", version=3), "version 3, and this tianmesh reads 2"),
        (pack_header() + pack_block(msgpack.packb(["http://a.test/", 1.0])), "not a page, in block 1"),
        (pack_header() + pack_block(msgpack.packb(["http://a.test/", 1.0, 1.0, 1, [7]])), "not a page"),
        (
            pack_header() + pack_block(msgpack.packb(["http://a.test/", 1.0, 1.0, 1, ["x"], [1, 2]])),
            "not a page",
        ),
        (pack_header() + pack_block(msgpack.packb(7)), "not a page"),
        (pack_header() + pack_block(b"\xc1"), "no MessagePack"),
        (pack_header() + b"text", "damaged"),
    ],
)
def test_what_is_no_trace_is_refused_with_advice(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "trace").write_bytes(content)
    with pytest.raises(ConfigError, match=reason):
        list(read_trace(tmp_path / "trace"))


def test_a_field_of_tomorrow_is_passed_over(tmp_path: Path) -> None:
    pages = pack_block(msgpack.packb([*PAGES[0], "tomorrow"]))
    (tmp_path / "trace").write_bytes(pack_header() + pages + pack_end(1, 1))
    assert list(read_trace(tmp_path / "trace")) == PAGES[:1]


def test_a_trace_that_is_not_there_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        list(read_trace(tmp_path / "none"))
    with pytest.raises(ConfigError, match="cannot write"):
        write_trace(tmp_path / "none" / "trace", PAGES)


async def test_a_recorder_writes_what_the_controller_tells(tmp_path: Path) -> None:
    recorder = await record_all(tmp_path / "trace", PAGES)
    assert list(read_trace(tmp_path / "trace")) == PAGES
    assert (recorder.pages_written, recorder.pages_left_out) == (3, 0)


async def test_a_recorder_writes_while_it_runs(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    recorder = TraceRecorder(tmp_path / "trace")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run, lambda source, actor, message: None)
        for count, page in enumerate(PAGES, 1):
            recorder.receive(CONTROLLER, record(page))
            while (
                recorder.pages_written < count
            ):  # the writing is done by a thread, which knows real time only
                await trio.sleep(0.1)
            assert list(read_trace(tmp_path / "trace", [])) == PAGES[:count]
        nursery.cancel_scope.cancel()


async def test_a_recorder_goes_on_behind_a_torn_end(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    for length in range(len(pack_header()) + len(pack_pages(PAGES[:2]) + pack_end(2, 1))):
        path.unlink(missing_ok=True)
        await record_all(path, PAGES[:2])
        path.write_bytes(path.read_bytes()[:length])
        before = list(read_trace(path, [])) if length > len(pack_header()) else []
        await record_all(path, PAGES[2:])
        assert list(read_trace(path)) == [*before, PAGES[2]]


async def test_a_recorder_goes_on_with_a_trace_of_its_version_only(
    tmp_path: Path,
) -> None:
    path = tmp_path / "trace"
    await record_all(path, PAGES[:2])
    await record_all(path, PAGES[2:])
    assert list(read_trace(path)) == PAGES
    path.write_bytes(header_of(format="tianmesh-trace", version=3))
    with pytest.raises(ConfigError, match="version 3"):
        TraceRecorder(path)


async def test_a_recorder_does_not_write_into_another_kind_of_file(tmp_path: Path) -> None:
    path = tmp_path / "precious.txt"
    path.write_text("precious")
    with pytest.raises(ConfigError, match="not a trace"):
        TraceRecorder(path)
    assert path.read_text() == "precious"


async def test_a_recorder_needs_a_folder_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot write"):
        TraceRecorder(tmp_path / "none" / "trace")


async def test_pages_that_the_disk_cannot_take_are_left_out_and_the_rest_stays_readable(
    tmp_path: Path,
) -> None:
    path = tmp_path / "trace"
    recorder = TraceRecorder(path)
    recorder._write(PAGES[:1])
    file = recorder._file

    class FullDisk:
        """Takes a part and then no more."""

        tell, seek, truncate, close = file.tell, file.seek, file.truncate, file.close
        closed = False

        def write(self, content: bytes) -> int:
            return file.write(content[:10]) or 0

    recorder._file = FullDisk()  # type: ignore[assignment]
    recorder._write(PAGES[1:2])
    recorder._file = file
    recorder._write(PAGES[2:])
    recorder.close()
    assert list(read_trace(path)) == [PAGES[0], PAGES[2]]
    assert (recorder.pages_written, recorder.pages_left_out) == (2, 1)


async def test_pages_over_the_limit_are_left_out_and_counted(tmp_path: Path) -> None:
    recorder = TraceRecorder(tmp_path / "trace")
    for _ in range(PAGES_WAITING_MAX + 3):
        recorder.receive(CONTROLLER, record(PAGES[0]))
    recorder.close()
    assert recorder.pages_left_out == 3


async def test_a_recorder_understands_nothing_else(tmp_path: Path) -> None:
    recorder = TraceRecorder(tmp_path / "trace")
    with pytest.raises(LocalProtocolError):
        recorder.receive(CONTROLLER, StopCrawl())
    recorder.close()


def test_traces_of_several_peers_merge_in_the_order_of_fetching(tmp_path: Path) -> None:
    write_trace(tmp_path / "one", [PAGES[0], PAGES[2]])
    write_trace(tmp_path / "two", [PAGES[1]])
    merge_traces([tmp_path / "one", tmp_path / "two"], tmp_path / "all")
    assert list(read_trace(tmp_path / "all")) == PAGES


def test_merging_numbers_visits_and_finds_out_when_pages_were_found(tmp_path: Path) -> None:
    first = TracedPage("http://a.test/", 10.0, 2.0, 1, ("http://b.test/", "http://a.test/"))
    again = first._replace(fetched_at=99.0)
    other = TracedPage("http://b.test/", 20.0, 1.0, 1, ())
    write_trace(tmp_path / "one", [again, first])
    write_trace(tmp_path / "two", [other, first])
    merge_traces([tmp_path / "one", tmp_path / "two"], tmp_path / "all")
    merged = list(read_trace(tmp_path / "all"))
    assert [(page.url, page.visit, page.found_at) for page in merged] == [
        ("http://a.test/", 1, 0.0),
        ("http://b.test/", 1, 12.0),
        ("http://a.test/", 2, 12.0),
    ]


def test_pages_with_very_many_links_make_more_blocks_not_larger_ones(tmp_path: Path) -> None:
    links = tuple(f"http://a.test/{n:02000}" for n in range(1_000))
    pages = [
        page._replace(url=f"http://a.test/{n}", links=links, text_chars=())
        for n, page in enumerate(PAGES * 4)
    ]
    write_trace(tmp_path / "trace", pages)
    assert list(read_trace(tmp_path / "trace")) == pages
    with (tmp_path / "trace").open("rb") as file:
        sizes = [len(block.content) for block in read_blocks(file) if not isinstance(block, TraceDamage)]
    assert len(sizes) == 6  # four with three pages each, between the first and the last
    assert max(sizes) < 2 * BLOCK_BYTES


def test_a_cut_costs_a_hundredth_of_the_pages_before_it(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    for count in (3_000, 20_000):
        pages = [PAGES[0]._replace(url=f"http://a.test/{number}") for number in range(count)]
        write_trace(path, pages)
        whole = path.read_bytes()
        blocks = list(trace.pack_pages(pages))
        begins = list(accumulate((len(block) for _, block in blocks), initial=len(pack_header())))
        for share in (0.1, 0.5, 0.9):
            cut = int(share * len(whole))
            path.write_bytes(whole[:cut])
            found = len(list(read_trace(path, [])))
            begun = sum(n for (n, _), begin in zip(blocks, begins, strict=False) if begin < cut)
            assert begun - max(32, found / 100) <= found < count


async def test_the_blocks_of_a_recorder_grow_with_its_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    write_trace(path, PAGES[:1] * 10_000)
    await record_all(path, PAGES[:1] * 200)
    with path.open("rb") as file:
        blocks = [block for block in read_blocks(file) if not isinstance(block, TraceDamage)]
    assert [block.content for block in blocks[-3:-1]] == [msgpack.packb(tuple(PAGES[0])) * 100] * 2
