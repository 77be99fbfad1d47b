"""`tianmesh submit` and `tianmesh submissions`, against a gateway that answers from memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mesh.client.gateway_client import GatewayClient, GatewayError
from peers.gateway.submitting.submission_json import submission_json
from peers.submissions.submission import Submission, code_of, code_text
from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import FakeGateway, fake_gateway

CODE = code_text(code_of(3, b"0123456789abc"))


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    with fake_gateway() as gateway:
        gateway.submission = told()
        gateway.submissions = {
            ("ann", ""): part("ann", [told()], "0a"),
            ("ann", "0a"): part("ann", [told(end=1, visited=4, is_proven=True)]),
            ("bob", ""): part("bob", [told(verdict=2, verdict_why="[b]spam[/b]")]),
        }
        yield gateway


def told(**changes: Any) -> dict[str, Any]:
    row = replace(Submission("https://www.example.org/", 1_000, True, True, 100), **changes)
    built: dict[str, Any] = msgspec.to_builtins(submission_json(code_of(3, b"0123456789abc"), row))
    return built


def part(peer: str, submissions: list[dict[str, Any]], after: str = "") -> dict[str, Any]:
    return {"peers": ["ann", "bob"], "peer": peer, "is_on": True, "submissions": submissions, "next": after}


def test_a_site_is_submitted_and_the_way_to_prove_it_is_said(gateway: FakeGateway) -> None:
    said = run(gateway, "submit", "https://www.example.org/")
    assert gateway.orders == [("/api/submit", {"url": "https://www.example.org/"}, "")]
    assert CODE in said
    assert "waits for an administrator" in said
    assert "https://www.example.org/tianmesh-site.txt" in said
    assert f'<meta name="tianmesh-site" content="{CODE}">' in said
    assert json.loads(run(gateway, "submit", "https://www.example.org/", "--json"))["code"] == CODE


def test_a_code_shows_how_its_submission_stands(gateway: FakeGateway) -> None:
    gateway.submission = told(verdict=1, is_proven=True, visited=7)
    said = run(gateway, "submit", CODE)
    assert "is being visited, 7 of at most 100 pages" in said
    assert not gateway.orders


def test_a_member_neither_moves_the_cursor_nor_lists_without_end(gateway: FakeGateway) -> None:
    gateway.submissions = {
        ("ann", ""): part(
            "ann", [told(verdict=2, verdict_why="\x1b[2J\r\u202egone", made_s=(1 << 37) - 1)], "0a"
        ),
        ("ann", "0a"): part("ann", [], "0a"),
    }
    with (
        GatewayClient(gateway.url) as client,
        pytest.raises(GatewayError, match="peer ann does not come to an end"),
    ):
        list(client.submissions(parts_max=20))
    gateway.submission = gateway.submissions["ann", ""]["submissions"][0]
    said = run(gateway, "submit", CODE)
    assert "6325-" in said
    assert "[2Jgone" in said
    assert not {"\x1b", "\r", "\u202e"} & set(said)


def test_submissions_of_all_peers_are_listed_and_chosen_by_state(gateway: FakeGateway) -> None:
    lines = run(gateway, "submissions", "list").splitlines()
    assert len(lines) == 3
    assert lines[2].endswith("was refused: [b]spam[/b]")
    listed = json.loads(run(gateway, "submissions", "list", "--state", "done", "--json"))["submissions"]
    assert [each["visited"] for each in listed] == [4]


def test_verdicts_go_to_the_gateway_and_its_refusal_is_told(gateway: FakeGateway) -> None:
    assert run(gateway, "submissions", "accept", CODE, "--pages", "9").strip() == f"{CODE} is accepted"
    assert json.loads(run(gateway, "submissions", "refuse", CODE, "--why", "spam", "--json")) == {
        "code": CODE,
        "accepted": False,
    }
    bodies = [body for _, body, _ in gateway.orders]
    assert bodies == [
        {"code": CODE, "accept": True, "why": "", "pages": 9},
        {"code": CODE, "accept": False, "why": "spam", "pages": 0},
    ]
    assert result_of(gateway, "submissions", "refuse", CODE, "--why", "x" * 301).exit_code == 2
    gateway.refusal = (404, "no submission has this code")
    with pytest.raises(GatewayError, match="no submission has this code"):
        run(gateway, "submissions", "accept", CODE)
