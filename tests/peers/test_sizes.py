"""Windows, caches and times that follow from the memory and the patience of a peer."""

from __future__ import annotations

import pytest
from msgspec.structs import asdict, replace

from mesh.config import MemberConfig, MeshConfig
from peers.config import MEMORY_DEFAULT, MachineConfig, PeerConfig, WebConfig
from peers.crawler.model.settings import CrawlSettings
from peers.gateway.model.settings import GatewayConfig, GatewaySettings
from peers.handover.settings import HandoverSettings
from peers.sizes import builds_apart, crawl_settings, gateway_settings, handover_settings, process_count

MESH = MeshConfig(name="m", root_key="0" * 64, analysis_version=1)
USUAL = PeerConfig(mesh=MESH, member=MemberConfig(certificate=""))
WINDOWS = (
    "fetches_in_flight_max",
    "pages_in_progress_max",
    "page_bytes_in_progress_max",
    "pages_held_back_max",
    "fetches_per_domain_max",
    "hosts_per_domain_max",
    "hosts_idle_max",
)


def of_memory(n_bytes: int) -> PeerConfig:
    return replace(USUAL, machine=MachineConfig(memory_max_bytes=n_bytes))


def patient(patience: float) -> PeerConfig:
    return replace(USUAL, machine=MachineConfig(patience=patience))


def test_at_the_defaults_every_actor_has_the_defaults_of_its_own() -> None:
    assert crawl_settings(USUAL) == CrawlSettings()
    assert gateway_settings(USUAL, "") == GatewaySettings()
    assert handover_settings(USUAL) == HandoverSettings()
    assert process_count(USUAL, cores=64) == 1
    assert builds_apart(USUAL, cores=2)


@pytest.mark.parametrize("times", [0.5, 2.0, 4.0])
def test_windows_and_caches_are_in_proportion_to_the_memory(times: float) -> None:
    config = of_memory(int(times * MEMORY_DEFAULT))
    crawl, usual = asdict(crawl_settings(config)), asdict(CrawlSettings())
    assert {name: crawl[name] for name in WINDOWS} == {name: int(times * usual[name]) for name in WINDOWS}
    assert gateway_settings(config, "").cache_bytes_max == times * GatewaySettings().cache_bytes_max
    others = crawl.keys() - set(WINDOWS)
    assert {name: crawl[name] for name in others} == {name: usual[name] for name in others}


def test_the_least_memory_leaves_windows_in_which_all_works_and_the_most_has_bounds() -> None:
    least, most = (asdict(crawl_settings(of_memory(n_bytes))) for n_bytes in (128 << 20, 1 << 40))
    assert [least[name] for name in WINDOWS] == [25, 32, 32 << 20, 4_096, 6, 125, 1_250]
    assert [most[name] for name in WINDOWS] == [2_000, 4_096, 4 << 30, 1 << 20, 500, 16_000, 160_000]
    assert least["page_bytes_in_progress_max"] >= 3 * (10 << 20), "three of the largest pages"


def test_processes_are_one_for_a_gigabyte_and_no_more_than_cores() -> None:
    assert [process_count(of_memory(n << 30), cores=4) for n in (1, 2, 3, 8)] == [1, 2, 3, 4]
    assert process_count(of_memory(128 << 20), cores=4) == 1
    assert not builds_apart(of_memory(256 << 20), cores=4)
    assert not builds_apart(USUAL, cores=1)


@pytest.mark.parametrize("patience", [0.25, 3.0])
def test_times_of_the_handover_but_for_two_are_in_proportion_to_the_patience(patience: float) -> None:
    told, usual = asdict(handover_settings(patient(patience))), asdict(HandoverSettings())
    scaled = {name for name in usual if name.endswith("_s") and "per_s" not in name} - {
        "fence_s",
        "reunited_s",
    }
    assert {name: told[name] for name in scaled} == {name: patience * usual[name] for name in scaled}
    assert {name: told[name] for name in usual.keys() - scaled} == {
        name: usual[name] for name in usual.keys() - scaled
    }


@pytest.mark.parametrize(("per_s", "connections", "requests"), [(0.0, 0, 0), (1.0, 64, 16), (60.0, 192, 48)])
def test_limits_of_a_client_follow_from_how_often_it_may_ask(
    per_s: float, connections: int, requests: int
) -> None:
    told = gateway_settings(replace(USUAL, gateway=GatewayConfig(client_queries_per_s=per_s)), "t" * 16)
    assert (told.client_connections_max, told.client_requests_max) == (connections, requests)
    assert (told.client_queries_per_s, told.admin_token) == (per_s, "t" * 16)


def test_pages_are_recorded_where_a_file_for_them_is_named() -> None:
    assert crawl_settings(replace(USUAL, web=WebConfig(trace="web.trace"))).is_recorded
    assert not crawl_settings(USUAL).is_recorded
