"""One peer's configuration file."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.actors.conduct import ConductSettings
from mesh.config import MemberConfig, MeshConfig
from mesh.membership.balance import BalanceSettings
from peers.crawler.model.settings import CrawlSettings
from peers.gateway.model.settings import GatewaySettings
from peers.handover.settings import HandoverSettings
from peers.storage.disk_limit import DiskLimit


class WebConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How this peer reaches the web. Paths are relative to the configuration file."""

    resolver: Annotated[
        str,
        Meta(
            description="JSON table of host names and addresses to use instead of DNS; "
            "only the names in it exist then"
        ),
    ] = ""
    allow_private: Annotated[
        tuple[str, ...],
        Meta(
            description="what may be asked at private addresses: host names, with all below them, and "
            'networks such as "10.1.0.0/16"; the policy of the mesh can allow more'
        ),
    ] = ()
    spares_private: Annotated[
        bool,
        Meta(
            description="leave private addresses alone for the delay after each question, as public ones, "
            "whatever names lead there"
        ),
    ] = False
    proxy: Annotated[
        str,
        Meta(
            pattern=r"^((http|socks4|socks5)://\S+)?$",
            description="ask all through this proxy, socks5://host:port or http://user:password@host:port; "
            "it looks names up, so it is the one to keep private addresses from being asked",
        ),
    ] = ""
    render: Annotated[
        tuple[str, ...],
        Meta(
            description="pages that a browser is to show first, since scripts make their text: patterns of "
            'URLs without scheme, such as "app.example.org/*"; each takes seconds and further requests'
        ),
    ] = ()
    renderer: Annotated[str, Meta(description="the browser: Chromium, no snap; name or path")] = "chromium"
    renderers: Annotated[int, Meta(ge=1, le=16, description="of them at a time, some 300 MB each")] = 1
    render_sandbox: Annotated[
        bool, Meta(description="false runs it without its own sandbox, as containers and root need")
    ] = True
    parsers: Annotated[int, Meta(ge=1, le=64, description="processes that take pages apart, at most")] = 1
    trace: Annotated[str, Meta(description="file to record every page and its links in, for simulations")] = (
        ""
    )


class StorageConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where this peer keeps things. The path is relative to the configuration file."""

    folder: Annotated[str, Meta(description="of table, archive and index")] = "data"
    versions_max: Annotated[
        int, Meta(ge=0, description="versions of a page that are kept, the same on all peers; 0 for all")
    ] = 0
    version_days: Annotated[
        float,
        Meta(ge=0, description="for which a version is kept after a newer one has come; 0 for ever"),
    ] = 0.0
    host_bytes_max: Annotated[
        int,
        Meta(ge=0, description="of all versions of a host, the oldest go; the same on all peers; 0 for any"),
    ] = 0
    disk_max_bytes: Annotated[
        int,
        Meta(
            ge=0,
            description="of archive, index and table together, over which this peer fetches nothing until "
            "there is less; copies of what others crawl come all the same; 0 for no limit",
        ),
    ] = 0
    disk_free_min_bytes: Annotated[
        int,
        Meta(
            ge=0, description="that the disk has to have left, else it fetches nothing, likewise; 0 for none"
        ),
    ] = 0
    index_process: Annotated[
        bool,
        Meta(
            description="where there is more than one core, segments of the index are built in a process of "
            "their own, with some 100 MB while pages come; false spares these, and crawls more slowly"
        ),
    ] = True

    @property
    def disk_limit(self) -> DiskLimit:
        return DiskLimit(self.disk_max_bytes, self.disk_free_min_bytes)


class PeerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything a peer is told before it starts."""

    mesh: MeshConfig
    member: MemberConfig
    storage: StorageConfig = StorageConfig()
    web: WebConfig = WebConfig()
    crawl: CrawlSettings = CrawlSettings()
    gateway: GatewaySettings = GatewaySettings()
    handover: HandoverSettings = HandoverSettings()
    balance: BalanceSettings = BalanceSettings()
    conduct: ConductSettings = ConductSettings()

    def __post_init__(self) -> None:
        if self.crawl.is_recorded and not self.web.trace:
            raise ValueError("crawl.is_recorded needs the name of a file in web.trace")
