"""`tianmesh policy`, `takedown`, `pause`, `resume` and the scope of `seed`, against a gateway in memory."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from math import inf
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.errors import ConfigError
from mesh.keys.decree import POLICY, Authority, Signer, appoint
from mesh.keys.key_file import new_signing_key, save_administrator
from mesh.keys.signed_token import TokenJudge, TokenRight
from mesh.keys.signing_key import SigningKey
from peers import application
from peers.gateway.model.status import MemberRow, report_of
from peers.policy import edits
from peers.policy.crawl_order import CrawlOrder, Order
from peers.policy.guide_pages import guide_by_pages
from peers.policy.policy_file import read_policy
from peers.policy.policy_issuer import PolicyIssuer
from peers.policy.rules import Action, Policy, policy_bytes, policy_in
from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import FakeGateway

ROOT = SigningKey.of_secret(b"r" * 32)
PAGE = "http://www.pku.edu.cn/x"
PEERS = ("mesh/peer-1", "peer")


@pytest.fixture
def key(tmp_path: Path) -> str:
    key = new_signing_key()
    path = tmp_path / "admin.key"
    save_administrator(path, Signer(key, b"mesh", appoint(ROOT, b"mesh", key.public)))
    return str(path)


def in_force(gateway: FakeGateway) -> Policy:
    return policy_in(gateway.decrees[-1].body)


def test_seed_keeps_the_crawl_on_its_domain(gateway: FakeGateway, key: str) -> None:
    said = run(gateway, "seed", PAGE, "--key", key)
    assert "the crawl stays on pku.edu.cn" in said
    policy = in_force(gateway)
    assert policy.has_room_for("http://lib.pku.edu.cn/")
    assert not policy.has_room_for("http://a.org/")


def test_seed_by_a_sitemap_keeps_the_crawl_on_its_domain(gateway: FakeGateway, key: str) -> None:
    said = run(gateway, "seed", "--sitemap", f"{PAGE}sitemap.xml", "--key", key)
    assert "the crawl stays on pku.edu.cn" in said


def test_seed_of_nothing_is_a_mistake(gateway: FakeGateway, key: str) -> None:
    assert result_of(gateway, "seed", "--key", key).exit_code == 2


def test_seed_within_a_pattern_with_a_depth(gateway: FakeGateway, key: str) -> None:
    run(gateway, "seed", PAGE, "--within", "http://www.pku.edu.cn/x*", "--depth-max", "2", "--key", key)
    policy = in_force(gateway)
    assert policy.has_room_for(PAGE, 2)
    assert not policy.has_room_for(PAGE, 3)
    assert not policy.has_room_for("http://www.pku.edu.cn/y")


def test_seed_anywhere_opens_the_web(gateway: FakeGateway, key: str) -> None:
    run(gateway, "seed", PAGE, "--key", key)
    assert "anywhere" in run(gateway, "seed", PAGE, "--anywhere", "--key", key)
    assert in_force(gateway).has_room_for("http://a.org/")


def test_seed_of_a_mesh_that_goes_anywhere_takes_nothing_from_its_scope(
    gateway: FakeGateway, key: str
) -> None:
    run(gateway, "seed", PAGE, "--anywhere", "--key", key)
    assert "anywhere" in run(gateway, "seed", PAGE, "--key", key)
    assert in_force(gateway).has_room_for("http://a.org/")


def test_seed_without_a_key_leaves_the_policy_to_the_mesh(gateway: FakeGateway, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    elsewhere = ("--data", str(tmp_path / "none"))
    run(gateway, "seed", PAGE, *elsewhere)
    assert gateway.decrees == []
    with pytest.raises(ConfigError, match="none"):
        run(gateway, "seed", PAGE, "--within", "a.org", *elsewhere)
    with pytest.raises(ConfigError, match="there is no administrator's key at"):
        run(gateway, "seed", PAGE, "--key", str(tmp_path / "nowhere"))


@pytest.mark.parametrize("folder", ["mesh", "mesh/peer-1", "peer"])
@pytest.mark.parametrize(
    "order",
    [("takedown", PAGE), ("pause", "a.org"), ("seed", PAGE), ("policy", "set", "policy.toml")],
    ids=lambda order: order[0],
)
def test_an_order_is_signed_by_the_key_of_the_mesh_of_a_folder(
    gateway: FakeGateway,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    order: tuple[str, ...],
) -> None:
    """Of the mesh itself, of a peer in it, and of one beside it, as in a lab."""
    monkeypatch.chdir(tmp_path)
    mesh = f'name = "m"\nroot_key = "{ROOT.public.hex()}"\nanalysis_version = 6\n'
    for place, text in (
        ("mesh/mesh.toml", mesh),
        *((f"{each}/config.toml", f"[mesh]\n{mesh}") for each in PEERS),
    ):
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).write_text(text)
    Path("policy.toml").write_text('[[rules]]\naction = "crawl"\ndomains = ["a.org"]\n')
    mesh_id, administrator = b"m" * 16, new_signing_key()
    signer = Signer(administrator, mesh_id, appoint(ROOT, mesh_id, administrator.public))
    save_administrator(Path("mesh/admin.key"), signer)
    run(gateway, *order, "--data", folder)
    authority = Authority(ROOT.public, mesh_id)
    assert [authority.refusal_of(decree) for decree in gateway.decrees] == [""]
    (token,) = gateway.tokens
    assert TokenJudge(authority).judge(token.encode(), time.time()).token is not None


def test_what_only_looks_signs_a_token_to_read(gateway: FakeGateway, tmp_path: Path) -> None:
    """The gateway that is asked learns the token: it must not be good for orders elsewhere."""
    mesh_id, administrator = b"m" * 16, new_signing_key()
    signer = Signer(administrator, mesh_id, appoint(ROOT, mesh_id, administrator.public))
    save_administrator(tmp_path / "mesh" / "admin.key", signer)
    run(gateway, "policy", "show", "--data", tmp_path / "mesh")
    judge = TokenJudge(Authority(ROOT.public, mesh_id))
    judged = [judge.judge(text.encode(), time.time()).token for text in gateway.reader_tokens]
    assert [token.right for token in judged if token is not None] == [TokenRight.READ]


def test_takedown_and_its_undoing(gateway: FakeGateway, key: str) -> None:
    run(gateway, "takedown", PAGE, "--reason", "asked by its author", "--key", key)
    assert in_force(gateway).is_taken_down(PAGE)
    assert "asked by its author" in run(gateway, "policy", "show")
    run(gateway, "takedown", PAGE, "--undo", "--key", key)
    assert not in_force(gateway).is_taken_down(PAGE)
    history = json.loads(run(gateway, "policy", "show", "--history", "--json"))
    assert [each["number"] for each in history] == [7, 8]
    assert [each["is_in_force"] for each in history] == [False, True]
    assert history[0]["rules"][0]["reason"] == "asked by its author"


def test_pause_and_resume(gateway: FakeGateway, key: str) -> None:
    run(gateway, "pause", "--key", key)
    assert in_force(gateway).pauses_all
    run(gateway, "pause", "www.pku.edu.cn", "--key", key)
    run(gateway, "resume", "--key", key)
    rule = in_force(gateway).host_rule("www.pku.edu.cn")
    assert rule is not None
    assert rule.action is Action.PAUSE
    with pytest.raises(ConfigError, match="no host"):
        run(gateway, "pause", PAGE, "--key", key)


def test_policy_goes_round_as_a_file(gateway: FakeGateway, key: str, tmp_path: Path) -> None:
    run(gateway, "seed", PAGE, "--key", key)
    shown = run(gateway, "policy", "show")
    file = tmp_path / "policy.toml"
    file.write_text(shown)
    assert read_policy(shown, "shown").rules == in_force(gateway).rules
    assert run(gateway, "policy", "diff", str(file)).strip() == ""
    file.write_text(shown.replace('"pku.edu.cn"', '"a.org"'))
    assert '+domains = ["a.org"]' in run(gateway, "policy", "diff", str(file))
    run(gateway, "policy", "set", str(file), "--from", "2020-01-01", "--until", "2020-02-01", "--key", key)
    assert gateway.decrees[-1].valid_until == 1_580_515_200.0
    assert "there is no policy" in run(gateway, "policy", "show"), "its time is over"


def test_pins_to_who_is_no_member_are_set_and_said(gateway: FakeGateway, key: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(
        '[[pins]]\npeer = "ann"\nhost = "a.org"\n\n[[pins]]\npeer = "bob"\nslot = 3\n\n'
        '[[rules]]\naction = "crawl"\n'
    )
    rows = [MemberRow(id="ann", state="alive")]
    gateway.reports = [msgspec.structs.replace(report_of([]), members=rows)]
    result = result_of(gateway, "policy", "set", file, "--key", key)
    assert result.exit_code == 0
    assert "no member is called bob" in result.stderr
    assert "ann" not in result.stderr
    run(gateway, "pause", "a.org", "--key", key)
    assert [pin.peer for pin in in_force(gateway).pins] == ["ann", "bob"]


def test_visits_are_undone_and_the_rest_of_the_policy_stays(gateway: FakeGateway, key: str) -> None:
    run(gateway, "seed", PAGE, "--key", key)
    before = in_force(gateway)
    times = ("--since", "2026-11-01T08:00", "--until", "2026-11-02")
    bob = MemberRow(id="k3v2aaaaaaaaaaaa", name="bob", state="down")
    gateway.reports = [msgspec.structs.replace(report_of([]), members=(bob,))]
    said = run(gateway, "policy", "undo", *times, "--reason", "r", "--by", "bob", "--key", key)
    assert "since 2026-11-01 08:00" in said
    assert "ann visits 2 pages again\n  http://a.test/1\n" in said
    after = in_force(gateway)
    assert after.rules == before.rules
    undone = (datetime(2026, 11, 1, 8, tzinfo=UTC), datetime(2026, 11, 2, 0, 0, 1, tzinfo=UTC), "r", bob.id)
    assert [(each.since, each.until, each.reason, each.peer) for each in after.undo] == [undone]
    assert read_policy(run(gateway, "policy", "show"), "shown").undo == after.undo
    with pytest.raises(ConfigError, match="earlier time"):
        run(gateway, "policy", "undo", "--since", "2999-01-01", "--key", key)
    with pytest.raises(ConfigError, match=r"names no peer: .*; there are bob \(k3v2aaaaaaaaaaaa\)"):
        run(gateway, "policy", "undo", *times, "--by", "rob", "--key", key)


def test_file_that_does_not_know_a_takedown_does_not_undo_it_in_passing(
    gateway: FakeGateway, key: str, tmp_path: Path
) -> None:
    run(gateway, "seed", PAGE, "--key", key)
    file = tmp_path / "policy.toml"
    file.write_text(run(gateway, "policy", "show"))
    run(gateway, "takedown", PAGE, "--key", key)
    with pytest.raises(ConfigError, match=PAGE):
        run(gateway, "policy", "set", str(file), "--key", key)
    run(gateway, "policy", "set", str(file), "--undo-takedowns", "--key", key)
    assert not in_force(gateway).is_taken_down(PAGE)
    assert in_force(gateway).link_graph is None


@pytest.mark.parametrize("way", ["set", "undo"])
def test_when_pages_are_shown_again_links_to_them_are_told_anew(
    gateway: FakeGateway, key: str, tmp_path: Path, way: str
) -> None:
    run(gateway, "seed", PAGE, "--key", key)
    file = tmp_path / "policy.toml"
    file.write_text(run(gateway, "policy", "show") + "\n[link_graph]\nlinks_per_page = 50\n")
    run(gateway, "policy", "set", str(file), "--key", key)
    run(gateway, "takedown", PAGE, "--key", key)
    graph = in_force(gateway).link_graph
    assert graph is not None
    assert graph.since is None
    before = datetime.now(UTC).replace(microsecond=0)
    if way == "set":
        run(gateway, "policy", "set", str(file), "--undo-takedowns", "--key", key)
    else:
        run(gateway, "takedown", PAGE, "--undo", "--key", key)
    graph = in_force(gateway).link_graph
    assert graph is not None
    assert graph.since is not None
    assert before <= graph.since <= datetime.now(UTC)
    assert graph.links_per_page == 50


def test_change_that_would_replace_a_policy_to_come_is_refused(
    gateway: FakeGateway, key: str, tmp_path: Path
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[[rules]]\naction = "skip"\n')
    run(gateway, "policy", "set", str(file), "--from", "2100-01-01", "--key", key)
    with pytest.raises(GatewayError, match="is to come"):
        run(gateway, "pause", "--key", key)
    run(gateway, "policy", "set", str(file), "--key", key)


def test_policy_that_somebody_changes_meanwhile_is_not_overwritten(gateway: FakeGateway, key: str) -> None:
    with GatewayClient(gateway.url) as client:
        ours, theirs = PolicyIssuer(client, Path(key)), PolicyIssuer(client, Path(key))
        policy = ours.to_change()
        theirs.issue(edits.paused(theirs.to_change(), None))
        with pytest.raises(GatewayError, match="somebody has changed"):
            ours.issue(edits.taken_down(policy, edits.target(PAGE), ""))


def test_file_is_not_set_over_what_somebody_changes_meanwhile(gateway: FakeGateway, key: str) -> None:
    with GatewayClient(gateway.url) as client:
        ours, theirs = PolicyIssuer(client, Path(key)), PolicyIssuer(client, Path(key))
        assert ours.in_force() is None
        theirs.issue(edits.taken_down(theirs.to_change(), edits.target(PAGE), ""))
        with pytest.raises(GatewayError, match="somebody has changed"):
            ours.issue(Policy())


@pytest.mark.parametrize("undo", [[], ["--undo-takedowns"]])
def test_set_looks_at_the_policy_that_it_replaces(
    gateway: FakeGateway, key: str, tmp_path: Path, undo: list[str]
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[[rules]]\naction = "skip"\n')
    signer = Signer(ROOT, b"mesh")
    gateway.decreed_next = [signer.decree(POLICY, "", 7, policy_bytes(edits.paused(None, None)))]
    with pytest.raises(GatewayError, match="somebody has changed"):
        run(gateway, "policy", "set", str(file), "--key", key, *undo)
    run(gateway, "policy", "set", str(file), "--key", key, *undo)


def test_policy_with_an_end_takes_nothing_down(gateway: FakeGateway, key: str, tmp_path: Path) -> None:
    run(gateway, "takedown", PAGE, "--key", key)
    file = tmp_path / "policy.toml"
    file.write_text(run(gateway, "policy", "show"))
    with pytest.raises(ConfigError, match=r"until = 2100-01-01T06:00:00Z"):
        run(gateway, "policy", "set", str(file), "--until", "2100-01-01T06:00", "--key", key)
    assert in_force(gateway).is_taken_down(PAGE)
    assert gateway.decrees[-1].valid_until == inf


def test_key_is_looked_for_in_the_folder_of_the_mesh(gateway: FakeGateway, key: str) -> None:
    run(gateway, "pause", "--data", str(Path(key).parent))
    assert in_force(gateway).pauses_all


def test_seed_that_the_policy_leaves_out_ends_with_1(gateway: FakeGateway, tmp_path: Path) -> None:
    gateway.left_out = [PAGE]
    assert result_of(gateway, "seed", PAGE, "--data", str(tmp_path)).exit_code == 1


def test_seed_at_a_private_address_ends_with_1_and_says_what_to_do(
    gateway: FakeGateway, tmp_path: Path
) -> None:
    gateway.private = ["intra.test leads to 10.0.0.1, which is not public: do this"]
    result = result_of(gateway, "seed", PAGE, "--data", str(tmp_path))
    assert result.exit_code == 1
    assert gateway.private[0] in " ".join(result.output.split())


def test_seed_has_the_policy_allow_private_addresses(gateway: FakeGateway, key: str) -> None:
    run(
        gateway, "seed", PAGE, "--allow-private", "Intra.test", "--allow-private", "10.1.0.0/16", "--key", key
    )
    run(gateway, "seed", PAGE, "--allow-private", "b.test", "--key", key)
    assert in_force(gateway).allow_private == ("intra.test", "10.1.0.0/16", "b.test")
    file_of_it = run(gateway, "policy", "show")
    assert 'allow_private = ["intra.test", "10.1.0.0/16", "b.test"]' in file_of_it
    with pytest.raises(ConfigError, match="host names and networks"):
        run(gateway, "seed", PAGE, "--allow-private", "no name", "--key", key)


def test_check_explains_which_rule_decides_by_address(gateway: FakeGateway, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(
        '[[rules]]\naction = "skip"\naddresses = ["162.105.0.0/16"]\nreason = "not ours"\n'
        '[[rules]]\naction = "crawl"\ndomains = ["pku.edu.cn"]\n'
    )
    said = explain(file, PAGE)
    assert said == [
        f"{PAGE}: rule 1 decides: skip (not ours) if its host is in 162.105.0.0/16, else",
        f"{PAGE}: rule 2 decides: crawl",
    ]
    assert explain(file, PAGE, "--address", "162.105.1.1") == [f"{PAGE}: rule 1 decides: skip (not ours)"]
    assert "unruled" in explain(file, "http://a.org/", "--address", "9.9.9.9")[0]
    with pytest.raises(ConfigError, match="no URL"):
        explain(file, "pku")
    with pytest.raises(ConfigError, match=r"162\.105"):
        explain(file, PAGE, "--address", "162.105")


def explain(file: Path, *arguments: str) -> list[str]:
    result = CliRunner().invoke(application.app, ["policy", "check", str(file), *arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout.splitlines()


def test_seed_with_a_limit_of_pages_which_a_later_one_replaces(gateway: FakeGateway, key: str) -> None:
    said = run(gateway, "seed", PAGE, "--pages-max", "1000", "--key", key)
    assert "until the mesh has visited 1,000 pages" in " ".join(said.split())
    assert in_force(gateway).pages_max == 1_000
    assert not in_force(gateway).has_room_for("http://a.org/")
    run(gateway, "takedown", PAGE, "--key", key)
    assert in_force(gateway).pages_max == 1_000, "other wishes leave it as it is"
    assert "pages_max = 1000" in run(gateway, "policy", "show")
    run(gateway, "seed", PAGE, "--pages-max", "2000", "--key", key)
    assert in_force(gateway).pages_max == 2_000


@pytest.mark.parametrize("wish", [("takedown", PAGE), ("pause", "www.pku.edu.cn"), ("seed", "http://a.org/")])
def test_wish_leaves_the_end_of_a_policy_to_its_rules(
    gateway: FakeGateway, key: str, tmp_path: Path, wish: tuple[str, ...]
) -> None:
    """The rest of the policy went on for ever."""
    file = tmp_path / "policy.toml"
    file.write_text('[[rules]]\naction = "skip"\n')
    run(gateway, "policy", "set", str(file), "--until", "2100-01-01", "--key", key)
    end_s = gateway.decrees[-1].valid_until
    run(gateway, *wish, "--key", key)
    run(gateway, "pause", "b.org", "--key", key)
    policy, elsewhere = in_force(gateway), "http://c.org/"
    assert gateway.decrees[-1].valid_until == inf
    assert not policy.at(end_s - 1.0).has_room_for(elsewhere)
    assert policy.at(end_s).has_room_for(elsewhere)
    assert policy.is_taken_down(PAGE) is (wish[0] == "takedown")
    assert "until = 2100-01-01" in run(gateway, "policy", "show")


# --- Pages of what is wanted ---


def test_pages_like_those_that_are_wanted_give_the_policy_their_words(gateway: FakeGateway, key: str) -> None:
    gateway.keywords = {PAGE: ["glacier", "ice"], f"{PAGE}2": ["ice", "snow"]}
    assert "glacier, ice, snow" in run(gateway, "policy", "like", PAGE, f"{PAGE}2", "--key", key)
    ordering = in_force(gateway).ordering
    assert ordering == CrawlOrder(order=Order.FOCUSED, guide_words=("glacier", "ice", "snow"))
    assert gateway.seeds == []
    run(gateway, "policy", "like", f"{PAGE}2", "--order", "weight", "--key", key)
    assert in_force(gateway).ordering == msgspec.structs.replace(ordering, order=Order.WEIGHT)


def test_a_page_that_the_mesh_has_not_is_fetched_and_nothing_that_it_links_to(
    gateway: FakeGateway, key: str
) -> None:
    run(gateway, "seed", "http://a.org/", "--key", key)
    gateway.keywords_fetched = {PAGE: ["glacier"]}
    run(gateway, "policy", "like", PAGE, "--key", key)
    assert gateway.seeds[-1] == {"urls": [PAGE], "levels": 0}
    policy = in_force(gateway)
    assert policy.has_room_for(PAGE)
    assert not policy.has_room_for(f"{PAGE}2"), "the crawl goes no further than before"
    assert policy.ordering is not None
    assert policy.ordering.guide_words == ("glacier",)


def test_a_page_that_does_not_come_or_says_nothing_is_named_and_changes_nothing(
    gateway: FakeGateway, key: str
) -> None:
    with GatewayClient(gateway.url) as client:
        issuer = PolicyIssuer(client, Path(key))
        with pytest.raises(ConfigError, match=f"tianmesh why {PAGE}"):
            guide_by_pages(client, issuer, [PAGE], patience_s=0.0)
        gateway.keywords = {PAGE: []}
        with pytest.raises(ConfigError, match="no words"):
            guide_by_pages(client, issuer, [PAGE])
        with pytest.raises(ConfigError, match="no URL"):
            guide_by_pages(client, issuer, ["glaciers"])
    assert gateway.decrees == []


def test_who_pauses_a_host_that_nobody_knows_is_told_and_which_are_like_it(
    gateway: FakeGateway, key: str
) -> None:
    gateway.found_nothing, gateway.reports = True, [report_of([])]
    run(gateway, "seed", "http://www.pku.edu.cn/", "--key", key)
    result = result_of(gateway, "pause", "pku.edu.cm", "--key", key)
    said = " ".join(result.output.split())
    assert (result.exit_code, in_force(gateway).host_rule("pku.edu.cm")) == (0, in_force(gateway).rules[0])
    assert "but the mesh knows nothing of pku.edu.cm so far (did you mean pku.edu.cn?)" in said
    gateway.why["http://pku.edu.cm/"] = {"peers": {"ann": {"state": "unknown", "host": {"fetched": 1}}}}
    assert "knows nothing" not in result_of(gateway, "pause", "pku.edu.cm", "--key", key).output


def test_who_takes_down_a_page_that_nobody_knows_is_told(gateway: FakeGateway, key: str) -> None:
    gateway.found_nothing, gateway.reports = True, [report_of([])]
    assert f"knows nothing of {PAGE}" in " ".join(
        result_of(gateway, "takedown", PAGE, "--key", key).output.split()
    )
    gateway.why[PAGE] = {"peers": {"ann": {"state": "stored"}}}
    assert "knows nothing" not in result_of(gateway, "takedown", PAGE, "--key", key).output
    assert "knows nothing" not in result_of(gateway, "takedown", "*.pdf", "--key", key).output
