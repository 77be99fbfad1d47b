"""The audit of politeness: what it finds, in which logs, and with what exit code."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from mesh.errors import ConfigError
from peers.application import app
from peers.commands.audit import judged_address
from peers.crawler.access_lines import access_in
from peers.crawler.explanations import CrawlFacts, UndoneVisits
from peers.crawler.gaps import LoggedFetch, audit
from peers.gateway.why.why_json import IdleJson, PeerJson
from tests.peers.commands.running import run
from tests.peers.fake_gateway import FakeGateway, fake_gateway

LINE = (
    '192.0.2.7 - - [10/Oct/2026:13:55:{second:02d} +0000] "GET /{path} HTTP/1.1" 200 2326 "-" '
    '"tianmesh/0.1 (+me@a.test)"'
)


def question(
    began_s: float, took_s: float = 0.0, name: str = "a.test", address: str = "192.0.2.1"
) -> LoggedFetch:
    return LoggedFetch(began_s, began_s + took_s, name, address, f"http://{name}/{began_s:g}")


def test_the_shortest_pause_of_each_name_and_address_is_found() -> None:
    found = audit(
        [question(10.0, 1.0), question(0.0, 2.0), question(12.5), question(11.4, name="b.test")],
        allowed_s=1.0,
    )
    assert [(gap.of, gap.smallest_s, gap.is_too_short) for gap in found.names] == [
        ("a.test", 1.5, False),
        ("b.test", None, False),
    ]
    (address,) = found.addresses
    assert (address.smallest_s, address.is_too_short) == (0.4, True)
    assert (address.before, address.after) == ("http://a.test/10", "http://b.test/11.4")
    assert found.too_short == (address,)


def test_a_question_within_a_longer_one_is_none_after_it() -> None:
    found = audit([question(0.0, 10.0), question(1.0, 0.5), question(9.0)], allowed_s=1.0)
    assert found.names[0].smallest_s == -9.0
    assert audit([question(0.0, 10.0), question(1.0, 0.5), question(12.0)], 1.0).names[0].smallest_s == -9.0


@pytest.mark.parametrize(
    ("line", "began_s", "ended_s", "host", "resolution_s"),
    [
        (LINE.format(second=36, path="a?b"), 1_791_640_536.0, 1_791_640_536.0, "", 1.0),
        (
            f"www.A.test:80 {LINE} 0.250".format(second=36, path="a?b"),
            1_791_640_535.75,
            1_791_640_536.0,
            "www.a.test",
            1.0,
        ),
        (
            '1791640536.250 192.0.2.7 "GET /a?b HTTP/1.1" 200 5 "-" "tianmesh/0.1 (+me@a.test)" rt=0.125',
            1_791_640_536.125,
            1_791_640_536.25,
            "",
            0.005,
        ),
    ],
)
def test_logs_of_servers_are_read(
    line: str, began_s: float, ended_s: float, host: str, resolution_s: float
) -> None:
    access = access_in(line)
    assert access is not None
    assert access[:4] == (began_s, ended_s, host, "/a?b")
    assert access.resolution_s == resolution_s
    assert "tianmesh" in access.agent


@pytest.mark.parametrize("line", ["", "garbage", '- "GET / HTTP/1.1" 200', LINE.format(second=99, path="")])
def test_other_lines_are_left_out(line: str) -> None:
    assert access_in(line) is None


def test_the_command_judges_a_log(tmp_path: Path) -> None:
    log = tmp_path / "www.a.test.log"
    lines = [LINE.format(second=second, path=second) for second in (1, 4, 9)]
    lines.append(LINE.format(second=5, path="x").replace("tianmesh", "other"))
    log.write_text("\n".join(lines))
    runner = CliRunner()
    polite = runner.invoke(app, ["audit", "politeness", str(log), "--delay", "3", "--json"])
    assert polite.exit_code == 0, polite.output
    told = json.loads(polite.stdout)
    assert told["requests"] == 3
    (name,) = told["names"]
    assert (name["of"], name["smallest_gap_s"], name["after"]) == ("www.a.test", 3.0, "http://www.a.test/4")
    rude = runner.invoke(app, ["audit", "politeness", str(log), "--delay", "5"])
    assert rude.exit_code == 1
    assert "TOO SHORT" in rude.stdout


LISTED = UndoneVisits(0.0, 2, ("http://a.test/1", "http://a.test/\x1b2"), True, 3)
NAMES = {"k3v2aaaaaaaaaaaa": "mill", "k3v2bbbbbbbbbbbb": "weir", "cccccccccccccccc": "weir"}


@pytest.fixture
def told() -> Iterator[FakeGateway]:
    """A gateway of a mesh with pages by the word of `mill`."""
    with fake_gateway() as gateway:
        gateway.told_alone = LISTED
        peers = {peer: PeerJson("", CrawlFacts(at_s=0.0)) for peer in list(NAMES)[:2]}
        gateway.why["idle"] = msgspec.to_builtins(IdleJson("", peers, (), ("cccccccccccccccc",), NAMES))
        yield gateway


@pytest.mark.parametrize("name", ["mill", "k3v2aaaaaaaaaaaa", "k3v2a"])
def test_what_a_member_has_told_is_listed_by_its_name_or_id(told: FakeGateway, name: str) -> None:
    lines = run(told, "audit", "member", name, "--since", "2026-11-01T08:00").splitlines()
    assert lines == [
        "told by mill (k3v2aaaaaaaaaaaa) alone since 2026-11-01 08:00",
        "k3v2bbbbbbbbbbbb has 2 pages as it saw them last",
        "k3v2bbbbbbbbbbbb has texts of links to 3 pages by it alone",
        "  http://a.test/1",
        "  http://a.test/2",
    ]
    asked = told.whys[-1]
    assert (asked["peer"], asked["since_s"]) == ("k3v2aaaaaaaaaaaa", "1793520000.0")
    assert float(asked["until_s"]) > time.time() + 80_000, "its clock may be ahead"
    assert told.decrees == []


def test_the_list_of_a_members_word_is_for_scripts_too(told: FakeGateway) -> None:
    listed = json.loads(run(told, "audit", "member", "mill", "--json"))
    assert (listed["member"], listed["since_s"]) == ("k3v2aaaaaaaaaaaa", None)
    (by_peer,) = listed["told"].values()
    assert (by_peer["visits"], by_peer["texts"], by_peer["is_done"]) == (2, 3, True)


@pytest.mark.parametrize("name", ["weir", "k3v2", "nobody", ""])
def test_what_names_no_member_or_several_is_refused_with_those_meant(told: FakeGateway, name: str) -> None:
    with pytest.raises(ConfigError, match="k3v2bbbbbbbbbbbb"):
        run(told, "audit", "member", name)


def test_a_private_address_is_judged_where_it_was_promised_a_pause_and_a_public_one_always() -> None:
    for address in ("10.0.0.1", "127.0.0.1", "fd00::1", ""):
        assert judged_address(address, spares_private=False) == ""
        assert judged_address(address, spares_private=True) == address
    assert judged_address("8.8.8.8", spares_private=False) == "8.8.8.8"
