"""Clients that ask a gateway without end, from many addresses, all in one process. [io]"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count, cycle
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import trio

QUERY_CHARS: Final = 498
LIMIT_S: Final = 100.0  # for an answer
# The commonest of documentation, so that every one has many pages.
_FREQUENT: Final = (
    "the of and to in a is for this that with from be as by on or are it an at not can if you which will "
    "all use used have has may one more other when value function return type name file data set list "
    "string class object method module error default version example index note using new only int "
    "command number system line code option time page next table section also see no then any each its "
    "was but so do make"
)
FREQUENT: Final = tuple(_FREQUENT.split())


class Reply(NamedTuple):
    """An answer of a gateway; status 0 when none came."""

    status: int
    seconds: float
    body: bytes


class Client:
    """Asks one thing after the other from an address of its own."""

    def __init__(self, gateway: str, address: str) -> None:
        place = urlsplit(gateway)
        self._host, self._port = place.hostname or "", place.port or 80
        self._address = address
        self._stream: trio.SocketStream | None = None

    async def ask(self, path: str) -> Reply:
        began_s = trio.current_time()
        status, body = 0, b""
        try:
            with trio.fail_after(LIMIT_S):
                status, body = await self._exchange(path)
        except (OSError, trio.BrokenResourceError, trio.TooSlowError):
            await self.close()
        return Reply(status, trio.current_time() - began_s, body)

    async def close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await trio.aclose_forcefully(stream)

    async def _exchange(self, path: str) -> tuple[int, bytes]:
        if self._stream is None:
            self._stream = await trio.open_tcp_stream(self._host, self._port, local_address=self._address)
        await self._stream.send_all(f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())
        reply, head, wanted = bytearray(), b"", 1
        while len(reply) < wanted:
            part = await self._stream.receive_some()
            if not part:
                raise trio.BrokenResourceError
            reply += part
            if not head and (end := reply.find(b"\r\n\r\n")) > 0:
                head = bytes(reply[:end]).lower()
                wanted = end + 4 + int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            wanted = max(wanted, len(reply) + (not head))
        if b"connection: close" in head:
            await self.close()
        return int(head[9:12]), bytes(reply[len(head) + 4 :])


class Attack:
    """Hostile clients, each with as many requests under way as it wants, that never pause nor obey."""

    def __init__(self, gateways: Sequence[str], clients: int, requests_each: int) -> None:
        self.statuses: Counter[int] = Counter()
        self._clients = [
            Client(gateway, f"127.0.1.{number + 1}")
            for number in range(clients)
            for gateway in gateways
            for _ in range(requests_each)
        ]

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            for number, client in enumerate(self._clients):
                nursery.start_soon(self._ask_forever, client, costly_paths(number))

    async def _ask_forever(self, client: Client, paths: Iterator[str]) -> None:
        try:
            for path in paths:
                self.statuses[(await client.ask(path)).status] += 1
        finally:
            await client.close()


def costly_paths(seed: int) -> Iterator[str]:
    """The most expensive things that may be asked; none twice, so that no cache knows them."""
    draw = random.Random(seed)
    kinds: list[Callable[[random.Random], str]] = [_any_of_many, _phrases, _in_parts, _deep, _with_everything]
    for number in cycle(range(len(kinds))):
        yield kinds[(number + seed) % len(kinds)](draw)


def _any_of_many(draw: random.Random) -> str:
    return _search(_many_words(draw, " "))


def _phrases(draw: random.Random) -> str:
    pairs = (f'"{" ".join(draw.sample(FREQUENT, 2))}"' for _ in count())
    return _search(_joined(pairs, " OR "))


def _in_parts(draw: random.Random) -> str:
    words = (f"{draw.choice(('intitle', 'inurl'))}:{draw.choice(FREQUENT)}" for _ in count())
    return _search(_joined(words, " OR "))


def _deep(draw: random.Random) -> str:
    return _search(_many_words(draw, " OR "), k=100, offset=draw.randrange(800, 900))


def _with_everything(draw: random.Random) -> str:
    sort = draw.choice(("score", "date"))
    return _search(_many_words(draw, " OR "), k=100, facets=1, explain=1, sort=sort)


def _many_words(draw: random.Random, separator: str) -> str:
    return _joined(iter(draw.sample(FREQUENT, len(FREQUENT))), separator)


def _joined(words: Iterator[str], separator: str) -> str:
    text = next(words)
    for word in words:
        if len(text) + len(separator) + len(word) > QUERY_CHARS:
            break
        text += separator + word
    return text


def _search(query: str, **parameters: object) -> str:
    return "/api/search?" + urlencode({"q": query, **parameters}, quote_via=quote)


async def ask_at_rate(
    clients: Sequence[Sequence[Client]],
    paths: Sequence[str],
    per_second: float,
    seconds: float,
    replies: list[Reply],
) -> None:
    """Ask for these again and again at a constant rate, whether the ones before are answered or not.

    Seconds of a reply count from when it was due.

    Args:
      clients: for each gateway in turn; the first of them that is free asks.
      replies: to which theirs are added.
    """
    free = [list(each) for each in clients]

    async def ask(number: int, due_s: float) -> None:
        of_gateway = free[number % len(free)]
        client = of_gateway.pop()
        reply = await client.ask(paths[number % len(paths)])
        of_gateway.append(client)
        replies.append(reply._replace(seconds=trio.current_time() - due_s))

    began_s = trio.current_time()
    async with trio.open_nursery() as nursery:
        for number in range(int(per_second * seconds)):
            due_s = began_s + number / per_second
            await trio.sleep_until(due_s)
            nursery.start_soon(ask, number, due_s)
    for of_gateway in free:
        for client in of_gateway:
            await client.close()
