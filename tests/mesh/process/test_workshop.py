"""Processes of a workshop: what a page may do to one costs that page, and nothing else."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from mesh.process.workshop import RETIRED_BYTES, Answer, Workshop, WorkshopFault
from tests.mesh import odd_process
from tests.patience import PATIENCE_S

COMMAND = (sys.executable, "-m", "tests.mesh.odd_process")
ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def working(**settings: Any) -> AsyncIterator[Workshop]:
    workshop = Workshop(COMMAND, **settings)
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(workshop.run)
            yield workshop
            nursery.cancel_scope.cancel()
    assert workshop.observe().processes == 0, "a process is left over"


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


async def answers(workshop: Workshop, *orders: str) -> list[Answer]:
    taken: list[Answer] = []
    await workshop.carry_out([order.encode() for order in orders], taken.append)
    return taken


async def pid_of(workshop: Workshop) -> int:
    (pid,) = await answers(workshop, "pid")
    return int(pid)


async def test_orders_are_answered_in_turn_by_one_process() -> None:
    async with working() as workshop:
        pid = await pid_of(workshop)
        assert pid != os.getpid()
        assert await answers(workshop, "a", "pid", "b") == [b"a", str(pid).encode(), b"b"]
        assert await answers(workshop) == []
        assert workshop.observe().orders == 4
        assert workshop.observe().begun == 1


async def test_no_process_is_begun_before_there_is_work() -> None:
    async with working() as workshop:
        assert workshop.observe().begun == 0
        assert workshop.observe().rss_bytes == workshop.observe().private_bytes == 0


async def test_trips_larger_than_any_buffer_do_not_lock_up() -> None:
    async with working() as workshop:
        orders = ["x" * 3_000_000] * 8
        assert await answers(workshop, *orders) == [order.encode() for order in orders]
        assert [len(answer) for answer in await answers(workshop, *["long 4000000"] * 4)] == [4_000_000] * 4


async def test_an_order_that_takes_too_much_processor_time_ends_its_process_and_no_other_order() -> None:
    async with working() as workshop:
        before = await pid_of(workshop)
        assert await answers(workshop, "a", "loop", "b") == [b"a", WorkshopFault.TIME, b"b"]
        assert await pid_of(workshop) != before
        assert workshop.observe().faults == {"time": 1}


async def test_time_that_others_have_the_processor_is_not_held_against_an_order() -> None:
    assert odd_process.CPU_S_MAX < 0.6
    async with working() as workshop:
        assert await answers(workshop, "sleep 0.6") == [b"sleep 0.6"]


async def test_an_order_that_crashes_its_process_is_given_up_after_two_tries() -> None:
    async with working() as workshop:
        assert await answers(workshop, "a", "crash", "b", "leave", "c") == [
            b"a", WorkshopFault.CRASH, b"b", WorkshopFault.CRASH, b"c",
        ]  # fmt: skip
        assert workshop.observe().faults == {"crash": 2}


async def test_an_order_that_goes_alone_ends_no_more_processes_than_others() -> None:
    async with working() as workshop:
        assert await answers(workshop, "crash") == [WorkshopFault.CRASH]
        assert workshop.observe().begun == 2
        assert await answers(workshop, "loop") == [WorkshopFault.TIME]
        assert workshop.observe().begun == 3


async def test_no_order_at_all_ends_no_process() -> None:
    async with working() as workshop:
        pid = await pid_of(workshop)
        assert await answers(workshop) == []
        assert await pid_of(workshop) == pid


async def test_an_order_whose_process_somebody_has_ended_is_carried_out_after_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(odd_process.MARK, str(tmp_path / "crashed"))
    async with working() as workshop:
        assert await answers(workshop, "a", "crash-once", "b") == [b"a", b"crash-once", b"b"]
        assert (tmp_path / "crashed").read_bytes()
        assert workshop.observe().faults == {}


async def test_a_process_that_ended_while_idle_costs_no_order() -> None:
    async with working() as workshop:
        os.kill(await pid_of(workshop), signal.SIGKILL)
        assert await answers(workshop, "a", "b") == [b"a", b"b"]
        assert workshop.observe().faults == {}


@pytest.mark.skipif(sys.platform != "linux", reason="no limit of address space")
async def test_an_order_cannot_take_more_memory_than_the_limit() -> None:
    async with working() as workshop:
        assert await answers(workshop, "fill", "a") == [b"out of memory", b"a"]


async def test_a_process_that_has_grown_is_replaced() -> None:
    async with working() as workshop:
        pid = await pid_of(workshop)
        await answers(workshop, f"grow {RETIRED_BYTES}")
        assert await pid_of(workshop) != pid
        assert workshop.observe().rss_bytes < RETIRED_BYTES


async def test_a_process_that_is_silent_is_ended() -> None:
    async with working(silence_s_max=1.0) as workshop:
        assert await answers(workshop, "stop") == [WorkshopFault.TIME]


async def test_an_idle_process_is_ended_and_the_next_order_begins_another() -> None:
    async with working(idle_s=0.1) as workshop:
        pid = await pid_of(workshop)
        while workshop.observe().processes:
            await trio.sleep(0.05)
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert await pid_of(workshop) != pid


async def test_no_more_processes_than_allowed_work_at_once() -> None:
    async with working(processes_max=2) as workshop:
        async with trio.open_nursery() as nursery:
            for _ in range(6):
                nursery.start_soon(answers, workshop, "sleep 0.05")
        assert workshop.observe().begun == 2
        assert workshop.observe().orders == 6


async def test_the_processor_time_of_ended_processes_is_still_told() -> None:
    async with working(idle_s=0.1) as workshop:
        await pid_of(workshop)
        used = workshop.observe().cpu_seconds
        assert used > 0
        while workshop.observe().processes:
            await trio.sleep(0.05)
        assert workshop.observe().cpu_seconds == used


async def test_a_cancelled_trip_ends_its_process() -> None:
    async with working() as workshop:
        pid = await pid_of(workshop)
        with trio.move_on_after(0.3):
            await answers(workshop, "sleep 60")
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_work_gives_way_to_the_event_loop_and_is_taken_first_when_memory_is_short() -> None:
    async with working() as workshop:
        pid = await pid_of(workshop)
        ours = os.getpriority(os.PRIO_PROCESS, 0)
        assert await answers(workshop, "niceness") == [str(min(ours + 5, 19)).encode()]
        if sys.platform == "linux":
            assert Path(f"/proc/{pid}/oom_score_adj").read_text() == "500\n"


async def test_a_process_that_cannot_be_begun_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start, tries = trio.lowlevel.open_process, 0

    async def out_of_descriptors(*arguments: Any, **options: Any) -> trio.Process:
        nonlocal tries
        tries += 1
        if tries <= 2:
            raise OSError(24, "Too many open files")
        return await start(*arguments, **options)

    monkeypatch.setattr(trio.lowlevel, "open_process", out_of_descriptors)
    n_before = len(os.listdir("/dev/fd"))
    with caplog.at_level(logging.ERROR):
        async with working(start_retry_s=0.05) as workshop:
            assert await answers(workshop, "a") == [b"a"]
    assert caplog.text.count("Too many open files") == 2
    assert len(os.listdir("/dev/fd")) == n_before, "descriptors leak"


async def test_a_program_that_does_not_start_is_no_fault_of_an_order(
    caplog: pytest.LogCaptureFixture,
) -> None:
    workshop = Workshop((sys.executable, "-c", "raise SystemExit(3)"), start_retry_s=0.05)
    taken: list[Answer] = []
    with caplog.at_level(logging.ERROR), trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(workshop.carry_out, [b"a"], taken.append)
            while "ended with 3" not in caplog.text:
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
    assert taken == []
