"""Answers are packed where that is harmless, and say so."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping

import brotli
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peers.gateway.http.compression import BESIDE_BYTES_MIN, Compression, coding_of
from tests.peers.gateway.asgi_client import Reply, ask

TEXT = b"a search engine made of ordinary machines. " * 40


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("", ""),
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("GZIP;q=0.1, br;q=0", "gzip"),
        ("br; q=0.000, *;q=0.5", "gzip"),
        ("*", "br"),
        ("identity, *;q=0", ""),
        ("brgzip", ""),
    ],
)
def test_rfc9110_12_5_3_a_coding_is_one_that_the_client_takes(accepted: str, coding: str) -> None:
    assert coding_of(accepted) == coding


async def _answer(
    body: bytes, headers: Mapping[str, str], status: int = 200, media_type: str = "text/html", vary: str = ""
) -> tuple[Reply, int]:
    n_beside = 0

    async def run_beside(work: Callable[[], bytes]) -> bytes:
        nonlocal n_beside
        n_beside += 1
        return work()

    async def handler(request: Request) -> Response:
        return Response(body, status, {"Vary": vary} if vary else None, media_type=media_type)

    middleware = [Middleware(Compression, run_beside=run_beside)]
    application = Starlette(routes=[Route("/", handler)], middleware=middleware)
    return await ask(application, "/", headers=headers), n_beside


@pytest.mark.parametrize(("coding", "unpack"), [("br", brotli.decompress), ("gzip", gzip.decompress)])
@pytest.mark.parametrize("times", [1, BESIDE_BYTES_MIN // len(TEXT) + 1])
async def test_a_text_is_packed_and_a_long_one_beside_the_event_loop(
    coding: str, unpack: Callable[[bytes], bytes], times: int
) -> None:
    reply, n_beside = await _answer(TEXT * times, {"Accept-Encoding": coding}, vary="Accept-Language")
    assert reply.headers["content-encoding"] == coding
    assert reply.headers["vary"] == "Accept-Language, Accept-Encoding"
    assert int(reply.headers["content-length"]) == len(reply.body) < len(TEXT * times) / 5
    assert unpack(reply.body) == TEXT * times
    assert n_beside == (times > 1)


@pytest.mark.parametrize("secret", [{"Cookie": "a=b"}, {"Authorization": "Bearer x"}])
async def test_nothing_is_packed_for_a_client_with_a_secret(secret: Mapping[str, str]) -> None:
    reply, _ = await _answer(TEXT, {"Accept-Encoding": "br", **secret})
    assert "content-encoding" not in reply.headers
    assert reply.body == TEXT


async def test_what_is_short_failed_or_no_text_is_sent_as_it_is() -> None:
    for reply, _ in (
        await _answer(TEXT[:900], {"Accept-Encoding": "br"}),
        await _answer(TEXT, {"Accept-Encoding": "br"}, status=404),
        await _answer(TEXT, {"Accept-Encoding": "br"}, media_type="application/pdf"),
        await _answer(TEXT, {}, media_type="application/pdf"),
    ):
        assert "content-encoding" not in reply.headers
        assert "vary" not in reply.headers


async def test_an_answer_that_could_be_packed_says_so_to_caches() -> None:
    reply, _ = await _answer(TEXT, {}, media_type="application/atom+xml")
    assert (reply.headers["vary"], reply.body) == ("Accept-Encoding", TEXT)
