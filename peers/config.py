"""One peer's configuration file: its settings, and advice about those that are gone."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Final, get_args

import msgspec
from msgspec import Meta

from mesh.config import MemberConfig, MeshConfig
from mesh.errors import ConfigError
from peers.crawler.model.settings import CrawlConfig
from peers.gateway.model.settings import GatewayConfig
from peers.storage.disk_limit import DiskLimit

MEMORY_DEFAULT: Final = 1 << 30
LIKE_MAX: Final = 3  # settings that are suggested for one that is none
LIKENESS: Final = 0.7  # of 1, as `difflib` counts it: a letter or two, or a table left out


def _all(names: str, advice: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), advice)


# Settings that were, or tables of them, and what to do instead.
GONE: Final = {
    **_all(
        """crawl.fetches_in_flight_max crawl.pages_in_progress_max crawl.page_bytes_in_progress_max
        crawl.pages_held_back_max crawl.fetches_per_domain_max crawl.hosts_per_domain_max crawl.hosts_idle_max
        gateway.cache_bytes_max storage.index_process web.parsers web.renderers""",
        "leave it out, it follows from memory_max_bytes in [machine]",
    ),
    **_all(
        """gateway.client_connections_max gateway.client_requests_max gateway.client_bytes_per_s
        gateway.client_seeds_per_hour""",
        "leave it out, it follows from client_queries_per_s",
    ),
    **_all(
        """crawl.delay_max_s crawl.crawl_delay_max_s crawl.outbox_links_max crawl.requests_per_domain_max
        crawl.origins_per_host_max crawl.redirects_max crawl.attempts_max crawl.backoff_max_s
        crawl.host_failures_max crawl.revisit_min_s crawl.revisit_max_s crawl.revisit_share crawl.gone_visits
        crawl.lost_visits crawl.lost_after_s crawl.give_up_s crawl.retry_after_max_s crawl.robots_ttl_s
        crawl.anchors_interval_s crawl.avoids_traps crawl.finds_aliases crawl.reads_sitemaps
        gateway.host_changes_per_hour balance conduct""",
        "leave it out, all peers go by the same value now",
    ),
    "crawl.is_recorded": "leave it out, pages are recorded where web.trace names a file",
    "gateway.admin_token": "write it into the file admin.token beside config.toml",
    "web.render_sandbox": 'write renderer = "chromium --no-sandbox" instead of false',
    "member.key_file": "leave it out, and keep the key in peer.key beside config.toml",
    "handover": "leave it out, times of the handover follow from patience in [machine]",
}


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
    renderer: Annotated[
        str,
        Meta(
            min_length=1,
            description="the browser: Chromium, no snap; name or path, and --no-sandbox behind it where it "
            "cannot have its own, as in containers and for root; some 300 MB each, one for each GB of memory",
        ),
    ] = "chromium"
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

    @property
    def disk_limit(self) -> DiskLimit:
        return DiskLimit(self.disk_max_bytes, self.disk_free_min_bytes)


class MachineConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The size of this peer, and its patience with others: windows, caches and times follow from them."""

    memory_max_bytes: Annotated[
        int,
        Meta(
            ge=128 << 20,
            le=1 << 40,
            description="that pages, hosts, caches and processes of this peer may take, about: fewer fetches "
            "at a time with less; more where the machine is for this peer alone",
        ),
    ] = MEMORY_DEFAULT
    patience: Annotated[
        float,
        Meta(
            ge=0.25,
            le=16.0,
            description="how long answers of other peers are waited for before they are asked again; 1 suits "
            "round trips up to 0.1 s, more slower networks and busy machines",
        ),
    ] = 1.0


class PeerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything a peer is told before it starts."""

    gone: ClassVar[Mapping[str, str]] = GONE

    mesh: MeshConfig
    member: MemberConfig
    machine: MachineConfig = MachineConfig()
    storage: StorageConfig = StorageConfig()
    web: WebConfig = WebConfig()
    crawl: CrawlConfig = CrawlConfig()
    gateway: GatewayConfig = GatewayConfig()


def setting_value(key: str, text: str) -> Any:
    """Return the value of a setting that a person typed: TOML, or text where the setting takes text.

    Args:
      key: table and name, as `crawl.delay_s`.

    Raises:
      ConfigError: there is no such setting, or it does not take this.
    """
    kind: Any = PeerConfig
    for name in key.split("."):
        inside = next((each for each in (kind, *get_args(kind)[:1]) if _is_struct(each)), None)
        found = {each.name: each.type for each in msgspec.structs.fields(inside)} if inside else {}
        if name not in found:
            advice = GONE.get(key) or GONE.get(name)
            like = get_close_matches(key, _settings_in(PeerConfig), LIKE_MAX, LIKENESS)
            hint = f": did you mean {' or '.join(like)}?" if like else ""
            raise ConfigError(f"{key} is no setting{f' any more: {advice}' if advice else hint}")
        kind = found[name]
    tried: list[Any] = [text]
    try:
        tried.insert(0, tomllib.loads(f"x = {text}")["x"])
    except tomllib.TOMLDecodeError:
        pass
    errors: list[msgspec.ValidationError] = []
    for each in tried:
        try:
            msgspec.convert(each, kind, strict=True)
        except msgspec.ValidationError as error:
            errors.append(error)
        else:
            return each
    raise ConfigError(f"{key} cannot be {text}: {errors[0]}")


def _settings_in(kind: Any, table: str = "") -> list[str]:
    """Return the names of all settings, each with its table."""
    names: list[str] = []
    for each in msgspec.structs.fields(kind):
        inside = next((one for one in (each.type, *get_args(each.type)[:1]) if _is_struct(one)), None)
        name = f"{table}{each.name}"
        names += _settings_in(inside, f"{name}.") if inside else [name]
    return names


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
