"""One peer's configuration file."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.balance import BalanceSettings
from mesh.config import MemberConfig, MeshConfig
from peers.crawler.settings import CrawlSettings
from peers.handover.handover import HandoverSettings


class WebConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How this peer reaches the web. Paths are relative to the configuration file."""

    user_agent: str = "tianmesh/0.1 (+https://tianmesh.example/bot)"
    # JSON table of host names and addresses to use instead of the system's resolver; only the names
    # in it exist then.
    resolver: str = ""
    allow_private: tuple[str, ...] = ()  # host names that may lead to private addresses
    parsers: Annotated[int, Meta(ge=1, le=64)] = 1  # threads that take pages apart
    trace: str = ""  # file to record every page and its links in, for simulations


class StorageConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where this peer keeps things. The path is relative to the configuration file."""

    folder: str = "data"  # of its table, archive and index


class GatewayConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where this peer answers users."""

    listen: Annotated[str, Meta(pattern=r"^.+:\d+$")] = "127.0.0.1:8017"  # port 0 takes a free one
    # Who may change the mesh here (drain a peer): "" for every program on this machine and nobody else;
    # otherwise whoever sends this word, as `Authorization: Bearer ...`, from wherever.
    admin_token: Annotated[str, Meta(pattern=r"^([!-~]{16,})?$")] = ""


class PeerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything a peer is told before it starts."""

    mesh: MeshConfig
    member: MemberConfig
    storage: StorageConfig = StorageConfig()
    web: WebConfig = WebConfig()
    crawl: CrawlSettings = CrawlSettings()
    gateway: GatewayConfig = GatewayConfig()
    handover: HandoverSettings = HandoverSettings()
    balance: BalanceSettings = BalanceSettings()

    def __post_init__(self) -> None:
        if self.crawl.is_recorded and not self.web.trace:
            raise ValueError("crawl.is_recorded needs the name of a file in web.trace")
