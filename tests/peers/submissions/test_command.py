"""`tianmesh submit` and `tianmesh submissions`, against a gateway that answers from memory."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.errors import ConfigError
from mesh.keys.decree import Authority, Signer, appoint
from mesh.keys.key_file import new_signing_key, save_administrator
from mesh.keys.signing_key import SigningKey
from peers.gateway.submitting.submission_json import submission_json
from peers.submissions.submission import Submission, code_of, code_text
from peers.submissions.verdict import Verdict, VerdictJudge, sign_verdict, verdict_in
from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import FakeGateway

CODE = code_of(3, b"0123456789abc")
TEXT = code_text(CODE)
OWNER = Signer(SigningKey.of_secret(b"r" * 32), b"mesh")


@pytest.fixture
def gateway(gateway: FakeGateway) -> FakeGateway:
    gateway.submission = told()
    gateway.submissions = {
        ("ann", ""): part("ann", [told()], "0a"),
        ("ann", "0a"): part("ann", [told(end=1, visited=4, is_proven=True)]),
        ("bob", ""): part("bob", [told(verdict=refusal("[b]spam[/b]"))]),
    }
    return gateway


def told(**changes: Any) -> dict[str, Any]:
    row = replace(Submission("https://www.example.org/", 1_000, True, True, 100), **changes)
    built: dict[str, Any] = msgspec.to_builtins(submission_json(code_of(3, b"0123456789abc"), row))
    return built


def refusal(why: str) -> Verdict:
    return sign_verdict(OWNER, CODE, 1.0, is_accepted=False, why=why)


def part(peer: str, submissions: list[dict[str, Any]], after: str = "") -> dict[str, Any]:
    return {"peers": ["ann", "bob"], "peer": peer, "is_on": True, "submissions": submissions, "next": after}


def test_a_site_is_submitted_and_the_way_to_prove_it_is_said(gateway: FakeGateway) -> None:
    said = run(gateway, "submit", "https://www.example.org/")
    assert gateway.orders == [("/api/submit", {"url": "https://www.example.org/"}, "")]
    assert TEXT in said
    assert "waits for an administrator" in said
    assert "https://www.example.org/tianmesh-site.txt" in said
    assert f'<meta name="tianmesh-site" content="{TEXT}">' in said
    assert json.loads(run(gateway, "submit", "https://www.example.org/", "--json"))["code"] == TEXT


def test_a_code_shows_how_its_submission_stands(gateway: FakeGateway) -> None:
    gateway.submission = told(
        verdict=sign_verdict(OWNER, CODE, 1.0, is_accepted=True), is_proven=True, visited=7
    )
    said = run(gateway, "submit", TEXT)
    assert "is being visited, 7 of at most 100 pages" in said
    assert not gateway.orders


def test_a_member_neither_moves_the_cursor_nor_lists_without_end(gateway: FakeGateway) -> None:
    gateway.submissions = {
        ("ann", ""): part("ann", [told(verdict=refusal("\x1b[2J\r\u202egone"), made_s=(1 << 37) - 1)], "0a"),
        ("ann", "0a"): part("ann", [], "0a"),
    }
    with (
        GatewayClient(gateway.url) as client,
        pytest.raises(GatewayError, match="peer ann does not come to an end"),
    ):
        list(client.submissions(parts_max=20))
    gateway.submission = gateway.submissions["ann", ""]["submissions"][0]
    said = run(gateway, "submit", TEXT)
    assert "6325-" in said
    assert "[2Jgone" in said
    assert not {"\x1b", "\r", "\u202e"} & set(said)


def test_submissions_of_all_peers_are_listed_and_chosen_by_state(gateway: FakeGateway) -> None:
    lines = run(gateway, "submissions", "list").splitlines()
    assert len(lines) == 3
    assert lines[2].endswith("was refused: [b]spam[/b]")
    listed = json.loads(run(gateway, "submissions", "list", "--state", "done", "--json"))["submissions"]
    assert [each["visited"] for each in listed] == [4]


def test_verdicts_are_signed_and_go_to_the_gateway_and_its_refusal_is_told(
    gateway: FakeGateway, tmp_path: Path
) -> None:
    key, path = new_signing_key(), tmp_path / "admin.key"
    save_administrator(path, Signer(key, b"mesh", appoint(OWNER.key, b"mesh", key.public)))
    by = ("--key", path)
    gateway.judged = {"code": TEXT, "accepted": True}
    accepted = run(gateway, "submissions", "accept", TEXT, "--pages", "9", "--no-limit", *by)
    assert accepted.strip() == f"{TEXT} is accepted"
    gateway.judged = {"code": TEXT, "accepted": False}
    refused = run(gateway, "submissions", "refuse", TEXT, "--why", "spam", "--json", *by)
    assert json.loads(refused) == gateway.judged
    judge = VerdictJudge(Authority(OWNER.key.public, b"mesh"))
    verdicts = [verdict_in(bytes.fromhex(body["verdict"])) for _, body, _ in gateway.orders]
    assert all(each is not None and judge.counts(each, CODE, time.time()) for each in verdicts)
    said = [(each.is_accepted, each.why, each.pages, each.is_unlimited) for each in verdicts if each]
    assert said == [(True, "", 9, True), (False, "spam", 0, False)]
    assert result_of(gateway, "submissions", "refuse", TEXT, "--why", "x" * 301, *by).exit_code == 2
    with pytest.raises(ConfigError, match="is no code of a submission"):
        run(gateway, "submissions", "accept", "x", *by)
    with pytest.raises(ConfigError, match="signed by an administrator's key"):
        run(gateway, "submissions", "accept", TEXT, "--data", tmp_path / "none")
    gateway.refusal = (404, "no submission has this code")
    with pytest.raises(GatewayError, match="no submission has this code"):
        run(gateway, "submissions", "accept", TEXT, *by)


def test_an_empty_list_says_whether_sites_can_be_submitted_at_all(gateway: FakeGateway) -> None:
    none = result_of(gateway, "submissions", "list", "--state", "queued")
    assert "no submissions of this kind" in none.stderr
    gateway.submissions = {("ann", ""): {**part("ann", []), "peers": ["ann"], "is_on": False}}
    assert "no [submissions]" in result_of(gateway, "submissions", "list").stderr
