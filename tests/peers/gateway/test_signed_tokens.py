"""Tokens that an administrator of the mesh has signed, at a gateway."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from starlette.applications import Starlette

from mesh.actors.actor import Address
from mesh.keys.decree import REVOCATION, Authority, Signer, appoint
from mesh.keys.signed_token import TokenRight, sign_token
from mesh.keys.signing_key import SigningKey
from mesh.membership.model.messages import DecreesInForce
from peers.gateway.http.sign_in import PASS_S
from peers.gateway.http_port import Http, listen
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.model.status import PeerStatus
from peers.gateway.routes import application
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.gateway.fake_backend import MESH_ID, ROOT, FakeBackend
from tests.peers.gateway.http.test_sign_in import sign_in

ANN = SigningKey.of_secret(b"a" * 32)
BY_ANN = Signer(ANN, MESH_ID, appoint(ROOT, MESH_ID, ANN.public))
BY_EVE = Signer(SigningKey.of_secret(b"e" * 32), MESH_ID, BY_ANN.warrant)
DRAIN = b'{"peer": "bobb"}'
READABLE = ("/metrics", "/api/why/idle", "/api/why?url=http://a.test/")
# Those that the fake searcher answers; all are judged in the same place.
ORDERS = (("/api/drain", DRAIN), ("/api/seeds", b"http://a.test/"))


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def gateway(backend: FakeBackend) -> Starlette:
    return application(backend)


def token_by(signer: Signer, right: TokenRight = TokenRight.ORDERS, seconds: float = 60.0) -> str:
    return sign_token(signer, right, "ann", time.time() + seconds).text()


def bearing(token: str, **others: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", **others}


@pytest.mark.parametrize("signer", [BY_ANN, Signer(ROOT, MESH_ID)])
async def test_it_lets_order_and_see_at_a_gateway_that_has_never_heard_of_it(
    gateway: Starlette, signer: Signer
) -> None:
    rights = bearing(token_by(signer))
    for path, body in ORDERS:
        assert (await ask(gateway, path, "POST", rights, body)).status == 200
    for path in READABLE:
        assert (await ask(gateway, path, headers=rights)).status == 200
    assert (await ask(gateway, "/api/status", headers=rights)).json["total"]["hot_hosts"]


async def test_one_to_read_lets_see_all_and_order_nothing(gateway: Starlette, backend: FakeBackend) -> None:
    rights = bearing(token_by(BY_ANN, TokenRight.READ))
    for path in (*(path for path, _ in ORDERS), "/api/decrees", "/api/import"):
        refused = await ask(gateway, path, "POST", rights, b"{}")
        assert (refused.status, "order nothing" in refused.json["error"]) == (403, True)
    assert backend.orders == []
    for path in READABLE:
        assert (await ask(gateway, path, headers=rights)).status == 200
    assert (await ask(gateway, "/api/status", headers=rights)).json["total"]["hot_hosts"]
    assert backend.seeds_taken == []


@pytest.mark.parametrize(
    ("make", "why"),  # made in the test: it may run long after its module was read
    [
        (lambda: token_by(BY_EVE), "no administrator of this mesh"),
        (lambda: token_by(Signer(ROOT, b"another mesh")), "no administrator of this mesh"),
        (lambda: token_by(BY_ANN, seconds=-600.0), "ended at"),
        (lambda: token_by(BY_ANN)[:-2], "damaged"),
        (lambda: "0123456789abcdeF", "not the token of this peer"),
    ],
)
async def test_one_that_does_not_count_is_refused_with_the_reason(
    gateway: Starlette, backend: FakeBackend, make: Callable[[], str], why: str
) -> None:
    token = make()
    for path, method in (("/api/drain", "POST"), ("/metrics", "GET")):
        refused = await ask(gateway, path, method, bearing(token), DRAIN * (method == "POST"))
        assert refused.status == 403
        assert why in refused.json["error"]
    assert not (await ask(gateway, "/api/status", headers=bearing(token))).json["total"]["hot_hosts"]
    assert [order for order in backend.orders if "Drain" in type(order).__name__] == []


async def test_pages_of_other_sites_order_nothing_by_it(gateway: Starlette, backend: FakeBackend) -> None:
    rights = bearing(token_by(BY_ANN), Host="127.0.0.1", Origin="http://evil.test")
    assert (await ask(gateway, "/api/drain", "POST", rights, DRAIN)).status == 403
    assert backend.orders == []


# --- Signing in ---


def cookie_in(reply: Reply) -> dict[str, str]:
    return {"Cookie": reply.headers["set-cookie"].partition(";")[0]}


@pytest.mark.parametrize("right", list(TokenRight))
async def test_a_browser_signs_in_with_it_and_only_sees(gateway: Starlette, right: TokenRight) -> None:
    token = token_by(BY_ANN, right, 86_400.0)
    reply = await sign_in(gateway, token)
    assert reply.status == 303
    assert f"Max-Age={PASS_S};" in reply.headers["set-cookie"]
    assert token not in reply.headers["set-cookie"]
    assert (await ask(gateway, "/why", headers=cookie_in(reply))).status == 200
    assert (await ask(gateway, "/api/drain", "POST", cookie_in(reply), DRAIN)).status == 403


async def test_a_pass_ends_with_the_token_that_was_given_for_it(gateway: Starlette) -> None:
    reply = await sign_in(gateway, token_by(BY_ANN, seconds=1_000.0))
    (seconds,) = re.findall(r"Max-Age=(\d+);", reply.headers["set-cookie"])
    assert 900 <= int(seconds) <= 1_000


async def test_a_pass_ends_when_the_administrator_who_signed_is_expelled(
    gateway: Starlette, backend: FakeBackend
) -> None:
    cookie = cookie_in(await sign_in(gateway, token_by(BY_ANN)))
    backend.rights.revoke([ANN.public.hex()])
    assert (await ask(gateway, "/why", headers=cookie)).status == 403
    name, _, value = cookie["Cookie"].partition("=")
    as_own = {"Cookie": f"{name}={value.replace(ANN.public.hex(), '')}"}
    assert (await ask(gateway, "/why", headers=as_own)).status == 403
    assert (await sign_in(gateway, token_by(BY_ANN))).status == 403


async def test_one_that_does_not_count_signs_nobody_in(gateway: Starlette) -> None:
    for token in (token_by(BY_EVE), token_by(BY_ANN, seconds=-600.0), token_by(BY_ANN)[:-2]):
        reply = await sign_in(gateway, token)
        assert (reply.status, "set-cookie" in reply.headers) == (403, False)


# --- The port ---


def test_who_is_expelled_is_told_by_the_membership() -> None:
    with listen("127.0.0.1", 0) as listener:
        authority = Authority(ROOT.public, MESH_ID)
        http = Http(
            "ann", listener, dict, lambda: PeerStatus(id="ann"), GatewaySettings(), authority=authority
        )
        given = token_by(BY_ANN).encode()
        assert http.rights.of(given, "", time.time()).token is not None
        expelled = Signer(ROOT, MESH_ID).decree(REVOCATION, ANN.public.hex(), 1, b"")
        http.receive(Address("ann", "membership"), DecreesInForce(REVOCATION, (expelled,)))
        assert http.rights.of(given, "", time.time()).token is None


def test_the_own_token_of_a_peer_opens_no_other() -> None:
    one, other = FakeBackend(), FakeBackend(settings=GatewaySettings(admin_token="another-token-of-16"))
    own = one.settings.admin_token
    assert one.rights.of(own.encode(), own, 0.0).token is not None
    assert other.rights.of(own.encode(), other.settings.admin_token, 0.0).token is None
