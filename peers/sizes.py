"""The settings of actors that follow from those of a person: windows, queues, caches and times. Pure.

A person says how much memory a peer may take and how patient it is with others, and no more. At the defaults
of both every window and time has the default of its actor. Windows grow in proportion to the memory, between
a least size with which all still works and a largest that has been thought through; times of the handover
grow in proportion to the patience, apart from its fence, which keeps a slot from having two owners, and from
how long after a separation it waits for what a cell has under way.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from msgspec.structs import asdict

from peers.config import MEMORY_DEFAULT, PeerConfig
from peers.crawler.model.settings import CrawlSettings
from peers.gateway.model.settings import GatewayConfig, GatewaySettings
from peers.handover.settings import HandoverSettings

_MIB: Final = 1 << 20
# A process that builds segments takes some 100 MB beside the peer.
INDEX_PROCESS_MEMORY_MIN: Final = MEMORY_DEFAULT // 2
_PATIENT: Final = (
    "again_s",
    "again_max_s",
    "ask_s",
    "retry_s",
    "replicate_after_s",
    "differing_s",
    "compare_every_s",
    "compare_round_s",
)


def crawl_settings(config: PeerConfig) -> CrawlSettings:
    """Return the settings of the controller of a peer."""
    memory, usual = config.machine.memory_max_bytes, CrawlSettings()
    return CrawlSettings(
        **asdict(config.crawl),
        fetches_in_flight_max=window(usual.fetches_in_flight_max, memory, 25, 2_000),
        pages_in_progress_max=window(usual.pages_in_progress_max, memory, 32, 4_096),
        # The largest page that is kept has 10 MB.
        page_bytes_in_progress_max=window(usual.page_bytes_in_progress_max, memory, 32 * _MIB, 4_096 * _MIB),
        pages_held_back_max=window(usual.pages_held_back_max, memory, 4_096, 1 << 20),
        fetches_per_domain_max=window(usual.fetches_per_domain_max, memory, 6, 500),
        hosts_per_domain_max=window(usual.hosts_per_domain_max, memory, 125, 16_000),
        hosts_idle_max=window(usual.hosts_idle_max, memory, 1_250, 160_000),
        is_recorded=bool(config.web.trace),
    )


def gateway_settings(
    config: PeerConfig, admin_token: str, judging_folder: str = "", moderator_key: str = ""
) -> GatewaySettings:
    """Return the settings of the gateway of a peer."""
    told, usual = config.gateway, GatewaySettings()
    return GatewaySettings(
        **asdict(told),
        admin_token=admin_token,
        judging_folder=judging_folder,
        moderator_key=moderator_key,
        cache_bytes_max=window(usual.cache_bytes_max, config.machine.memory_max_bytes, 2 * _MIB, 256 * _MIB),
        client_connections_max=_of_client(usual.client_connections_max, told),
        client_requests_max=_of_client(usual.client_requests_max, told),
        client_bytes_per_s=_of_client(usual.client_bytes_per_s, told),
        client_seeds_per_hour=_of_client(usual.client_seeds_per_hour, told),
    )


def handover_settings(config: PeerConfig) -> HandoverSettings:
    """Return the settings of the handover of a peer."""
    usual = asdict(HandoverSettings())
    return HandoverSettings(**usual | {name: config.machine.patience * usual[name] for name in _PATIENT})


def process_count(config: PeerConfig, cores: int) -> int:
    """Return how many processes may take pages apart, and how many browsers may show some, at a time.

    Each takes some 300 MB at most: one for every gigabyte of the peer's, and none without a core.
    """
    return max(1, min(config.machine.memory_max_bytes // MEMORY_DEFAULT, cores, 16))


def builds_apart(config: PeerConfig, cores: int) -> bool:
    """Tell whether segments of the index are built in a process of their own."""
    return cores > 1 and config.machine.memory_max_bytes >= INDEX_PROCESS_MEMORY_MIN


def window(usual: int, memory: int, least: int, most: int) -> int:
    """Return the size of a window, as a peer with `memory` bytes has it.

    Args:
      usual: its size where a peer has `MEMORY_DEFAULT`.
    """
    return min(max(usual * memory // MEMORY_DEFAULT, least), most)


def _of_client(usual: int, told: GatewayConfig) -> int:
    """Return a limit on one client: none where its requests have none, more where they may be more."""
    if not told.client_queries_per_s:
        return 0
    return ceil(usual * max(1.0, told.client_queries_per_s / GatewayConfig().client_queries_per_s))
