"""The trace file and the port that writes it."""

from __future__ import annotations

from pathlib import Path

import msgpack
import pytest
import trio
import trio.testing

from mesh.actor import Address
from mesh.errors import ConfigError, LocalProtocolError
from mesh.trace import TracedPage, merge_traces, pack_header, pack_page, read_trace, write_trace
from peers.crawler.messages import RecordPage, StopCrawl
from peers.crawler.recorder import PAGES_WAITING_MAX, TraceRecorder

CONTROLLER = Address("a", "controller")
PAGES = [
    TracedPage(f"http://a.test/{n}", 1_000.0 + n, 0.25, 4_000, ("http://a.test/x", "http://b.test/"))
    for n in range(3)
]


def record(page: TracedPage) -> RecordPage:
    return RecordPage(page.url, page.fetched_at, page.seconds, page.n_bytes, page.links)


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


def test_a_trace_is_plain_messagepack(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace", PAGES)
    with (tmp_path / "trace").open("rb") as file:
        header, *pages = msgpack.Unpacker(file)
    assert header == {"format": "tianmesh-trace", "version": 1}
    assert pages[0] == ["http://a.test/0", 1_000.0, 0.25, 4_000, ["http://a.test/x", "http://b.test/"]]


def test_every_torn_end_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    write_trace(path, PAGES)
    whole = path.read_bytes()
    two = len(pack_header()) + len(pack_page(PAGES[0])) + len(pack_page(PAGES[1]))
    for length in range(two, len(whole)):
        path.write_bytes(whole[:length])
        assert list(read_trace(path)) == PAGES[:2]
    for length in range(len(pack_header())):
        path.write_bytes(whole[:length])
        assert list(read_trace(path)) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"some text", "not a trace"),
        (b"\xc1", "damaged"),
        (msgpack.packb({"format": "tianmesh-trace", "version": 2}), "version 2"),
        (msgpack.packb({"format": "other"}), "not a trace"),
        (pack_header() + msgpack.packb(["http://a.test/", 1.0]), "not a page"),
        (pack_header() + msgpack.packb(["http://a.test/", 1.0, 1.0, 1, [7]]), "not a page"),
        (pack_header() + msgpack.packb(7), "not a page"),
    ],
)
def test_what_is_no_trace_is_refused_with_advice(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "trace").write_bytes(content)
    with pytest.raises(ConfigError, match=reason):
        list(read_trace(tmp_path / "trace"))


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
            assert list(read_trace(tmp_path / "trace")) == PAGES[:count]
        nursery.cancel_scope.cancel()


async def test_a_recorder_goes_on_behind_a_torn_end(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    await record_all(path, PAGES[:2])
    path.write_bytes(path.read_bytes()[:-5])
    await record_all(path, PAGES[2:])
    assert list(read_trace(path)) == [PAGES[0], PAGES[2]]


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

        def write(self, content: bytes) -> int:
            return file.write(content[:10]) or 0

    recorder._file = FullDisk()  # type: ignore[assignment]
    recorder._write(PAGES[1:2])
    recorder._file = file
    recorder._write(PAGES[2:])
    file.close()
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
