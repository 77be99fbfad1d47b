"""What an ASGI application is told, and what is made of what it says."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request as StarletteRequest
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from peers.gateway.http.asgi import FAILED, Header, Request, Response, respond


class BodyBroken(Exception):
    """The connection broke while the body was read."""


def request(target: bytes = b"/", method: str = "GET", headers: tuple[Header, ...] = ()) -> Request:
    return Request(method, target, headers, ("192.0.2.1", 50_000), ("192.0.2.2", 80))


async def no_body() -> bytes:
    return b""


async def scope_of(target: bytes) -> Any:
    scopes = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)

    await respond(application, request(target), no_body)
    return scopes[0]


async def test_path_is_unescaped_and_the_query_is_not() -> None:
    scope = await scope_of(b"/a%20b/%E7%88%AC?q=%E7%88%AC+a&x=1?2")
    assert (scope["path"], scope["query_string"]) == ("/a b/爬", b"q=%E7%88%AC+a&x=1?2")


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"http://gw.test:8017/search?q=a", "/search"),
        (b"HTTPS://gw.test", "/"),
        (b"/page?url=http://a.test/", "/page"),
        (b"*", "*"),
        (b"gw.test:443", "gw.test:443"),
        (b"/%FF", "/\ufffd"),
    ],
)
async def test_rfc9112_3_2_every_form_of_a_target_is_understood(target: bytes, path: str) -> None:
    assert (await scope_of(target))["path"] == path


async def test_parts_of_an_answer_are_put_together() -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 201, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": b"one ", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})

    assert await respond(application, request(), no_body) == Response(201, [(b"a", b"b")], b"one two")


async def test_body_is_read_as_the_application_wants_it() -> None:
    parts = [b"", b"two", b"one "]

    async def read_body() -> bytes:
        return parts.pop()

    async def echo(request: StarletteRequest) -> PlainTextResponse:
        return PlainTextResponse(await request.body())

    application = Starlette(routes=[Route("/", echo, methods=["POST"])])
    assert (await respond(application, request(method="POST"), read_body)).body == b"one two"


async def test_body_that_nobody_wants_is_not_read() -> None:
    async def read_body() -> bytes:
        raise AssertionError("it was read")

    async def refuse(request: StarletteRequest) -> PlainTextResponse:
        return PlainTextResponse("no", 403)

    application = Starlette(routes=[Route("/", refuse, methods=["POST"])])
    assert (await respond(application, request(method="POST"), read_body)).status == 403


async def test_broken_body_is_raised_and_not_logged_as_our_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def read_body() -> bytes:
        raise BodyBroken

    async def echo(request: StarletteRequest) -> PlainTextResponse:
        return PlainTextResponse(await request.body())

    application = Starlette(routes=[Route("/", echo, methods=["POST"])])
    with pytest.raises(BodyBroken):
        await respond(application, request(method="POST"), read_body)
    assert not caplog.records


async def test_failure_is_logged_without_the_query_and_answered(caplog: pytest.LogCaptureFixture) -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("a bug")

    with caplog.at_level(logging.ERROR):
        assert await respond(application, request(b"/search?q=private"), no_body) == FAILED
    assert "path=/search" in caplog.text
    assert "private" not in caplog.text


async def test_answer_that_ends_half_way_is_none() -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})

    assert await respond(application, request(), no_body) == FAILED
