"""A browser signs in with the token: it may see then, and order nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

import pytest
from starlette.applications import Starlette

from peers.gateway.handling.requests import fields_in
from peers.gateway.http.sign_in import PASS_S, cookie_of, has_pass, no_cookie
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.routes import application
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.gateway.fake_backend import RIGHTS, TOKEN, FakeBackend

NOW = 1_700_000_000.0
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def gateway(backend: FakeBackend) -> Starlette:
    return application(backend)


def carried(set_cookie: str) -> list[tuple[bytes, bytes]]:
    """What a browser sends afterwards."""
    return [(b"cookie", b"a=1; " + set_cookie.partition(";")[0].encode() + b"; b=2")]


async def sign_in(gateway: Starlette, token: str = TOKEN, **headers: str) -> Reply:
    named = FORM | {name.replace("_", "-"): value for name, value in headers.items()}
    return await ask(gateway, "/sign-in", "POST", named, f"token={quote(token)}".encode())


async def signed_in(gateway: Starlette) -> Mapping[str, str]:
    reply = await sign_in(gateway)
    assert reply.status == 303
    return {"Cookie": reply.headers["set-cookie"].partition(";")[0]}


def test_a_pass_is_good_until_its_end_and_has_nothing_of_the_token() -> None:
    cookie = cookie_of(TOKEN, NOW, is_encrypted=False)
    assert TOKEN not in cookie
    assert "HttpOnly; SameSite=Strict" in cookie
    assert has_pass(carried(cookie), TOKEN, NOW + PASS_S - 1)
    assert not has_pass(carried(cookie), TOKEN, NOW + PASS_S)
    assert not has_pass(carried(no_cookie(TOKEN, is_encrypted=False)), TOKEN, NOW)


def test_only_who_comes_by_https_gets_a_cookie_for_https_alone() -> None:
    assert cookie_of(TOKEN, NOW, is_encrypted=True).endswith("; Secure")
    assert "Secure" not in cookie_of(TOKEN, NOW, is_encrypted=False)


def test_a_pass_of_another_peer_or_with_another_end_is_none() -> None:
    cookie = cookie_of(TOKEN, NOW, is_encrypted=False)
    assert not has_pass(carried(cookie), TOKEN + "x", NOW)
    assert not has_pass(carried(cookie), "", NOW)
    later = re.sub(r"=\d+-", f"={int(NOW) + 2 * PASS_S}-", cookie)
    assert later != cookie
    assert not has_pass(carried(later), TOKEN, NOW)


def test_gateways_of_one_machine_have_cookies_of_different_names() -> None:
    one, other = (cookie_of(token, NOW, is_encrypted=False) for token in (TOKEN, TOKEN[::-1]))
    assert one.partition("=")[0] != other.partition("=")[0]
    both = carried(f"{one.partition(';')[0]}; {other}")
    assert has_pass([(b"cookie", b"; ".join(value for _, value in both))], TOKEN, NOW)


@pytest.mark.parametrize(
    "value", [b"", b"-", b"1700050000-", b"x-y", b"\xff-\xff", b"9" * 5_000 + b"-0", b"\xb2-0"]
)
def test_what_is_no_pass_lets_nobody_see(value: bytes) -> None:
    name = cookie_of(TOKEN, NOW, is_encrypted=False).partition("=")[0].encode()
    assert not has_pass([(b"cookie", name + b"=" + value)], TOKEN, NOW)


@pytest.mark.parametrize(
    ("body", "token"),
    [
        (b"token=a%2Bb", "a+b"),
        (b"token=a&token=b", "a"),
        (b"", ""),
        (b"token", ""),
        (b"\xff", ""),
        (b"x=1", ""),
        (b"token=a&" * 9, ""),
    ],
)
def test_the_token_is_read_from_the_form(body: bytes, token: str) -> None:
    assert fields_in(body).get("token", "") == token


async def test_who_has_signed_in_sees_machines_and_hosts(gateway: Starlette) -> None:
    assert "127.0.0.1" not in (await ask(gateway, "/api/status")).text
    cookie = await signed_in(gateway)
    assert "127.0.0.1" in (await ask(gateway, "/api/status", headers=cookie)).text
    page = (await ask(gateway, "/status", headers=cookie)).text
    assert 'href="/why?url=http%3A%2F%2F' in page
    assert "Sign out" in page


async def test_who_has_signed_in_sees_why_things_are_as_they_are(gateway: Starlette) -> None:
    refused = await ask(gateway, "/why")
    assert refused.status == 403
    assert 'name="token"' in refused.text
    cookie = await signed_in(gateway)
    idle = (await ask(gateway, "/why", headers=cookie)).text
    assert "politeness delay" in idle
    assert "bob has not answered" in idle
    assert '<a href="/why?url=http%3A%2F%2F%3Cb%3E.test%2F"><bdi>&lt;b&gt;.test</bdi></a>' in idle
    known = (await ask(gateway, "/why?url=HTTP://A.test:80/x%23y", headers=cookie)).text
    assert "http://a.test/x" in known
    assert "tianmesh seed" in known
    wrong = await ask(gateway, "/why?url=<b>", headers=cookie)
    assert wrong.status == 400
    assert 'value="&lt;b&gt;"' in wrong.text


async def test_who_has_signed_in_orders_nothing(gateway: Starlette, backend: FakeBackend) -> None:
    cookie = await signed_in(gateway)
    for path in ("/api/seeds", "/api/drain", "/api/decrees", "/api/import"):
        assert (await ask(gateway, path, "POST", cookie, b"{}")).status == 403
    assert backend.orders == []


async def test_another_token_lets_nobody_in_and_none_is_asked_for_again(gateway: Starlette) -> None:
    wrong = await sign_in(gateway, "another-token-of-16")
    assert (wrong.status, "set-cookie" in wrong.headers) == (403, False)
    assert "That is not the token" in wrong.text
    assert (await sign_in(gateway, "")).status == 400


async def test_a_peer_without_a_token_lets_nobody_in() -> None:
    gateway = application(FakeBackend(settings=GatewaySettings()))
    assert (await sign_in(gateway, "")).status == 400
    assert (await sign_in(gateway, "x")).status == 403


async def test_a_page_of_another_site_neither_signs_in_nor_out(gateway: Starlette) -> None:
    assert (await sign_in(gateway, Origin="http://evil.test")).status == 403
    out = await ask(gateway, "/sign-out", "POST", {"Sec-Fetch-Site": "cross-site"})
    assert out.status == 403


async def test_signing_out_takes_the_pass_away(gateway: Starlette) -> None:
    cookie = await signed_in(gateway)
    assert "You have signed in" in (await ask(gateway, "/sign-in", headers=cookie)).text
    out = await ask(gateway, "/sign-out", "POST", cookie)
    assert (out.status, out.headers["location"]) == (303, "/status")
    assert "Max-Age=0" in out.headers["set-cookie"]


async def test_who_sends_the_token_with_a_request_sees_the_same(gateway: Starlette) -> None:
    assert (await ask(gateway, "/why", headers=RIGHTS)).status == 200
