"""What was acknowledged is kept, replicated and indexed, whatever happens on the way."""

from __future__ import annotations

import msgspec
import pytest

from tests.peers.storage.team import SETTINGS, Peer, RealIndex, Team, TinyIndex

URLS = [f"http://host{n % 7}.example/{n}" for n in range(20)]


def test_page_and_link_texts_reach_the_index_of_every_member_of_the_team() -> None:
    team = Team(seed=1)
    for url in URLS:
        team.store(url)
        team.store_anchors(url, "a")
    team.settle()
    assert_kept(team)
    assert sum(peer.cell.observe().stored for peer in team.peers.values()) == len(URLS)
    assert sum(peer.cell.observe().replicated for peer in team.peers.values()) == len(URLS)


def test_standby_that_was_down_gets_what_it_missed() -> None:
    team = Team(seed=2)
    team.crash("peer1")
    for _ in range(3):
        for url in URLS:
            team.store(url)
            team.store_anchors(url, f"at {team.now}")
        team.pass_time(5.0)
        for _ in range(300):
            team.step()
        for name in team.peers:
            team.commit(name)
    team.settle()
    assert_kept(team)
    assert team.peers["peer1"].cell.observe().brought > 0


@pytest.mark.parametrize("seed", range(100))
def test_nothing_acknowledged_is_lost_on_a_hostile_network_with_crashes(seed: int) -> None:
    team = Team(seed, n_peers=2 + seed % 3, replicas=1 + seed % 3)
    random = team.random
    team.loss, team.duplication = random.choice([0.0, 0.3]), random.choice([0.0, 0.2])
    crash_share = random.choice([0.0, 0.01, 0.05])
    for _ in range(600):
        name = random.choice(list(team.peers))
        draw = random.random()
        if draw < crash_share:
            team.crash(name) if team.peers[name].is_up else team.restart(name)
        elif draw < 0.15:
            team.store(random.choice(URLS), has_document=random.random() < 0.7)
        elif draw < 0.25:
            team.store_anchors(random.choice(URLS), f"text {random.randrange(5)}")
        elif draw < 0.35:
            team.commit(name)
        elif draw < 0.45:
            team.pass_time(random.expovariate(1.0))
        else:
            team.step()
    team.settle()
    assert_kept(team)


@pytest.mark.parametrize("index", [TinyIndex, RealIndex])
@pytest.mark.parametrize("seed", range(20))
def test_newest_version_rules_on_every_copy_whatever_comes_in_which_order(
    seed: int, index: type[TinyIndex | RealIndex]
) -> None:
    """Peers come back behind, or empty, and adopt the documents of others, of which some are removed."""
    team = Team(seed, n_peers=3, replicas=3, make_index=index)
    random = team.random
    names = list(team.peers)
    for _ in range(8):
        for url in URLS:
            team.store(url, has_document=random.random() < 0.6)
        for name in random.sample(names, random.randrange(3)):
            if team.peers[name].is_up:
                team.crash(name)
        for _ in range(random.randrange(200)):
            team.step()
            if random.random() < 0.1:
                team.commit(random.choice(names))
                team.pass_time(0.3)
        team.settle()
        if random.random() < 0.7:
            empty = random.choice(names)
            team.crash(empty)
            team.peers[empty].lose_disk()
            team.restart(empty)
    team.settle()
    assert_kept(team)
    assert 0 < len(team.gone) < len(URLS)


@pytest.mark.parametrize("who", ["peer0", "peer1"])
def test_crash_of_either_side_at_any_step_of_a_bulk_transfer_loses_nothing(who: str) -> None:
    n_steps, is_done = 0, False
    n_parts: set[int] = set()  # that had come when somebody crashed
    while not is_done:
        team = team_with_a_newcomer()
        for step in range(n_steps):
            team.step()
            if step % 3 == 0 or not team.under_way:
                team.commit("peer0")
                team.commit("peer1")
            if not team.under_way:
                team.pass_time(0.1)
        is_done = not team.peers["peer1"].tasks
        n_parts.add(team.peers["peer1"].cell.observe().store.parts_received)
        team.crash(who)
        team.settle()
        assert_kept(team)
        n_steps += 1
    assert n_parts == set(range(max(n_parts) + 1)), "a crash between any two parts"
    assert max(n_parts) > 5


def test_newcomer_adopts_the_documents_and_parses_no_page() -> None:
    team = team_with_a_newcomer()
    parsed: list[str] = []
    team.on_parsed = parsed.append
    team.settle()
    assert_kept(team)
    assert team.peers["peer1"].cell.observe().brought == len(team.latest) > 10
    assert parsed == []


def test_bits_that_flip_are_found_and_repaired_while_nobody_reads_them() -> None:
    team = Team(seed=3, n_peers=2)
    for url in URLS:
        team.store(url)
    team.settle()
    flipped = team.peers["peer1"].flip(7)
    assert len(flipped) == 7
    for _ in range(int(2 * SETTINGS.scrub.pass_pause_s)):  # the first pass had begun
        team.pass_time(1.0)
        team.settle()
    assert_kept(team)
    cell = team.peers["peer1"].cell.observe()
    assert (cell.unreadable, cell.repaired, cell.damaged) == (7, 7, 0)


def team_with_a_newcomer() -> Team:
    """Return a team whose first peer has all pages, indexed, and whose second one has just begun to ask."""
    team = Team(seed=5, n_peers=2, settings=msgspec.structs.replace(SETTINGS, part_bytes=300))
    team.crash("peer1")
    for n in range(40):
        url = f"http://host{n % 17}.example/{n}"
        team.store(url)  # unless the other one owns it
        team.store_anchors(url, "a")
    while not team.is_at_rest(team.peers["peer0"]):
        while team.under_way:
            team.step()
        team.commit("peer0")
        team.pass_time(1.0)
    team.restart("peer1")
    return team


def assert_kept(team: Team) -> None:
    for url, fetched_at in team.latest.items():
        slot = team.slot_of(url)
        assert team.owner_of(url).acknowledged[url] == fetched_at
        for name in team.table.team_of(slot):
            assert team.peers[name].has(slot, url, fetched_at), f"{name} lacks {url} at {fetched_at}"
    # A version that was never acknowledged may be with some members only until they compare again.
    team.compare()
    team.settle()
    for url, fetched_at in team.latest.items():
        slot = team.slot_of(url)
        for name in team.table.team_of(slot):
            peer: Peer = team.peers[name]
            for at in versions_of(team, url):
                assert peer.has(slot, url, at), f"{name} lacks {url} at {at}"
            if url in team.gone:
                assert url not in peer.index.documents, f"{name} still finds {url}, which is gone"
                continue
            document = peer.index.documents[url]
            assert document.fetched_at == fetched_at, f"{name} does not find the newest {url}"
            assert document.anchors == team.anchors.get(url, ()), f"{name} finds {url} by other texts"


def versions_of(team: Team, url: str) -> list[float]:
    """All versions that the owner has kept."""
    owner, slot = team.owner_of(url), team.slot_of(url)
    times = {
        float(item.decode().split(" at ")[1])
        for item in owner.store.items
        if item.decode().startswith(f"{url} at ")
    }
    return [at for at in times if owner.has(slot, url, at)]
