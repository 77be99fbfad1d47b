from __future__ import annotations

import socket
from pathlib import Path

import pytest
import trio
import trio.testing

from peers.crawler.fetching import resolver as resolver_module
from peers.crawler.fetching.resolver import (
    LOOKUP_S_MAX,
    OPEN_MAX,
    PATIENCE_S,
    Endpoints,
    FixedEndpoint,
    FixedResolver,
    LookupFailed,
    NoSuchName,
    StillOpen,
    SystemResolver,
)


class NameServer:
    """Stands in for the system's look-up; counts the questions."""

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.answers: dict[str, list[str] | Exception] = {"a.test": ["1.2.3.4", "1.2.3.4", "2606::1"]}
        self.delay_s = 0.0

    async def lookup(self, hostname: str) -> list[str]:
        self.questions.append(hostname)
        await trio.sleep(self.delay_s)
        answer = self.answers.get(hostname, socket.gaierror(socket.EAI_NONAME, "no such name"))
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def asked() -> NameServer:
    return NameServer()


async def test_answers_are_distinct_and_remembered_for_a_while(
    asked: NameServer, autojump_clock: trio.testing.MockClock
) -> None:
    resolver = SystemResolver(cache_s=100.0, lookup=asked.lookup)
    for _ in range(3):
        assert await resolver.resolve("a.test", 8080) == Endpoints(("1.2.3.4", "2606::1"), 8080)
    assert len(asked.questions) == 1
    await trio.sleep(101)
    await resolver.resolve("a.test", 80)
    assert len(asked.questions) == 2


async def test_rfc8305_4_addresses_of_both_families_take_turns(asked: NameServer) -> None:
    asked.answers["a.test"] = ["2606::1", "2606::2", "2606::3", "1.2.3.4", "1.2.3.5"]
    endpoints = await SystemResolver(lookup=asked.lookup).resolve("a.test", 80)
    assert endpoints.addresses == ("2606::1", "1.2.3.4", "2606::2", "1.2.3.5", "2606::3")


async def test_a_name_that_does_not_exist_is_remembered_for_less(
    asked: NameServer, autojump_clock: trio.testing.MockClock
) -> None:
    resolver = SystemResolver(lookup=asked.lookup)
    for _ in range(2):
        with pytest.raises(NoSuchName):
            await resolver.resolve("no.test", 80)
    assert len(asked.questions) == 1
    await trio.sleep(resolver_module.CACHE_FAILURE_S + 1)
    with pytest.raises(NoSuchName):
        await resolver.resolve("no.test", 80)
    assert len(asked.questions) == 2


async def test_a_failing_name_server_is_no_proof_and_is_not_remembered(asked: NameServer) -> None:
    asked.answers["b.test"] = socket.gaierror(socket.EAI_AGAIN, "try again")
    resolver = SystemResolver(lookup=asked.lookup)
    with pytest.raises(LookupFailed):
        await resolver.resolve("b.test", 80)
    asked.answers["b.test"] = ["1.2.3.5"]
    assert (await resolver.resolve("b.test", 80)).addresses == ("1.2.3.5",)


async def test_a_name_server_that_does_not_answer_holds_nobody_and_is_given_up(
    asked: NameServer, autojump_clock: trio.testing.MockClock
) -> None:
    asked.delay_s = LOOKUP_S_MAX * 2
    resolver = SystemResolver(lookup=asked.lookup)
    for _ in range(3):
        began = trio.current_time()
        with pytest.raises(StillOpen):
            await resolver.resolve("a.test", 80)
        assert trio.current_time() == pytest.approx(began + PATIENCE_S)
    await trio.sleep(LOOKUP_S_MAX)
    with pytest.raises(LookupFailed):
        await resolver.resolve("a.test", 80)
    assert asked.questions == ["a.test"], "one question, however often it is asked for"


async def test_an_answer_that_comes_late_is_there_for_the_next_turn(
    asked: NameServer, autojump_clock: trio.testing.MockClock
) -> None:
    asked.delay_s = 2 * PATIENCE_S
    resolver = SystemResolver(lookup=asked.lookup)
    with pytest.raises(StillOpen):
        await resolver.resolve("a.test", 80)
    await trio.sleep(PATIENCE_S)
    assert (await resolver.resolve("a.test", 80)).addresses == ("1.2.3.4", "2606::1")
    with pytest.raises(StillOpen):
        await resolver.resolve("none.test", 80)
    await trio.sleep(PATIENCE_S)
    with pytest.raises(NoSuchName):
        await resolver.resolve("none.test", 80)
    assert asked.questions == ["a.test", "none.test"]


async def test_no_more_questions_are_open_than_fetches_could_be(
    asked: NameServer, autojump_clock: trio.testing.MockClock
) -> None:
    asked.delay_s = 2 * PATIENCE_S
    resolver = SystemResolver(lookup=asked.lookup)

    async def ask(name: str) -> None:
        with pytest.raises(StillOpen):
            await resolver.resolve(name, 80)

    async with trio.open_nursery() as nursery:
        for n in range(OPEN_MAX + 9):
            nursery.start_soon(ask, f"h{n}.test")
    assert len(asked.questions) == OPEN_MAX
    await trio.sleep(2 * PATIENCE_S)  # longer than answers take: chance orders what is at one moment
    await ask("a.test")  # for which those make room that are answered, and nobody came for
    assert asked.questions[-1] == "a.test"


async def test_the_memory_is_bounded(asked: NameServer) -> None:
    resolver = SystemResolver(lookup=asked.lookup, cache_entries_max=2)
    asked.answers = {f"h{n}.test": [f"1.2.3.{n}"] for n in range(3)}
    for n in (0, 1, 2, 0):
        await resolver.resolve(f"h{n}.test", 80)
    assert len(asked.questions) == 4


async def test_a_label_too_long_for_dns_does_not_exist() -> None:
    with pytest.raises(NoSuchName):
        await SystemResolver().resolve("a" * 64 + ".test", 80)


async def test_an_address_resolves_to_itself() -> None:
    assert await SystemResolver().resolve("127.0.0.1", 80) == Endpoints(("127.0.0.1",), 80)
    assert await FixedResolver({}).resolve("::1", 80) == Endpoints(("::1",), 80)


async def test_a_table_gives_addresses_and_stand_ins_for_the_default_ports(tmp_path: Path) -> None:
    path = tmp_path / "resolver.json"
    path.write_text('{"a.test": {"ip": "127.0.0.2", "http": 8082, "https": null}, "b.test": "127.0.0.3"}')
    resolver = FixedResolver.load(path)
    assert await resolver.resolve("a.test", 80) == Endpoints(("127.0.0.2",), 8082)
    assert await resolver.resolve("a.test", 8082) == Endpoints(("127.0.0.2",), 8082)
    assert await resolver.resolve("a.test", 443) == Endpoints(("127.0.0.2",), 443)
    assert await resolver.resolve("b.test", 80) == Endpoints(("127.0.0.3",), 80)
    with pytest.raises(NoSuchName):
        await resolver.resolve("c.test", 80)


async def test_a_table_leads_to_no_public_address_that_is_not_in_it() -> None:
    resolver = FixedResolver({"8.8.4.4": FixedEndpoint("127.0.0.2")})
    assert await resolver.resolve("8.8.4.4", 80) == Endpoints(("127.0.0.2",), 80)
    for public in ("8.8.8.8", "2001:4860:4860::8888"):
        with pytest.raises(NoSuchName):
            await resolver.resolve(public, 80)
    assert await resolver.resolve("10.0.0.1", 80) == Endpoints(("10.0.0.1",), 80)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"a": 1}', '{"a": {"port": 1}}', '{"a": {"ip": "x", "http": "y"}}']
)
def test_a_broken_table_is_a_value_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "resolver.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r".+"):
        FixedResolver.load(path)


async def test_the_system_is_asked_in_a_thread() -> None:
    assert "127.0.0.1" in (await SystemResolver().resolve("localhost", 80)).addresses
