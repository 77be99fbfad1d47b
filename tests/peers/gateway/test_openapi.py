"""The description of the gateway's API: that it is one, and that it says what the gateway does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from starlette.applications import Starlette
from starlette.routing import Route

from mesh.membership.model.messages import DecreesHeld
from peers.gateway.openapi import openapi
from peers.gateway.routes import application
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.gateway.fake_backend import RIGHTS, FakeBackend

SEEDS = b'{"urls": ["http://www.example.org/"]}'


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(openapi())
    return found


@pytest.fixture
def gateway() -> Starlette:
    return application(FakeBackend())


def test_it_is_a_description_after_openapi(described: dict[str, Any]) -> None:
    validate(described)


def test_every_route_is_described_with_its_methods_and_nothing_else(
    described: dict[str, Any], gateway: Starlette
) -> None:
    routes = {
        (route.path.replace(":path}", "}"), method.lower())
        for route in gateway.routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    told = {(path, method) for path, methods in described["paths"].items() for method in methods}
    assert told == routes


async def test_the_gateway_gives_its_description(gateway: Starlette, described: dict[str, Any]) -> None:
    reply = await ask(gateway, "/openapi.json")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.json == described


@pytest.mark.parametrize(
    ("target", "method", "body"),
    [
        ("/api/search?q=crawler&facets=1&explain=1", "GET", b""),
        ("/api/search", "GET", b""),
        ("/api/status", "GET", b""),
        ("/api/history", "GET", b""),
        ("/api/history?span=year", "GET", b""),
        ("/api/seeds", "POST", SEEDS),
        ("/api/seeds", "POST", b"nothing"),
        ("/api/changed", "POST", SEEDS),
        ("/api/drain", "POST", b'{"peer": "bobb"}'),
        ("/api/drain", "POST", b"[]"),
        ("/api/keywords?url=http://a.test/", "GET", b""),
        ("/healthz", "GET", b""),
        ("/readyz", "GET", b""),
    ],
)
async def test_answers_have_the_shapes_that_are_described(
    gateway: Starlette, described: dict[str, Any], target: str, method: str, body: bytes
) -> None:
    reply = await ask(gateway, target, method, RIGHTS, body)
    _validator(described, target, method, reply).validate(reply.json)


async def test_decrees_have_the_shape_that_is_described(described: dict[str, Any]) -> None:
    gateway = application(FakeBackend(lambda order: DecreesHeld(7, "", "", (), (), 3)))
    reply = await ask(gateway, "/api/decrees", "GET", RIGHTS)
    _validator(described, "/api/decrees", "GET", reply).validate(reply.json)


async def test_what_is_said_to_be_for_administrators_is(
    gateway: Starlette, described: dict[str, Any]
) -> None:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            reply = await ask(gateway, path, method.upper(), body=SEEDS)
            assert (reply.status == 403) == ("security" in operation), path


def _validator(described: dict[str, Any], target: str, method: str, reply: Reply) -> Draft202012Validator:
    """What the answer with this status has to look like."""
    responses = described["paths"][target.partition("?")[0]][method.lower()]["responses"]
    response = responses[str(reply.status)]
    if "$ref" in response:
        response = described["components"]["responses"][str(reply.status)]
    schema = response["content"]["application/json"]["schema"]
    return Draft202012Validator({**schema, "components": described["components"]})
