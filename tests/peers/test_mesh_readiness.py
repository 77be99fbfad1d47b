"""What commands wait for before they ask a mesh."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from mesh.client.gateway_client import GatewayClient
from peers.mesh_readiness import NotReady, wait_until_ready
from tests.peers.fake_gateway import READY, WAITING, FakeGateway


def told(gateway: FakeGateway, seconds: float) -> str:
    """What somebody reads who waits for so long at most."""
    shown = io.StringIO()
    with GatewayClient(gateway.url) as client:
        wait_until_ready(client, seconds, Console(file=shown), poll_s=0.0)
    return shown.getvalue()


def test_it_is_over_when_the_whole_mesh_answers_and_says_what_it_waited_for(gateway: FakeGateway) -> None:
    gateway.readiness = [WAITING, WAITING, READY]
    assert "waiting until the whole mesh answers: bob brings or compares" in told(gateway, 60.0)
    assert gateway.readiness == [READY]


def test_nothing_is_said_of_a_mesh_that_is_ready(gateway: FakeGateway) -> None:
    assert told(gateway, 60.0) == ""


def test_a_mesh_that_does_not_become_ready_is_asked_once_at_least(gateway: FakeGateway) -> None:
    gateway.readiness = [WAITING]
    with pytest.raises(NotReady, match="3 of 10 slots without an answer after 0 s"):
        told(gateway, 0.0)
