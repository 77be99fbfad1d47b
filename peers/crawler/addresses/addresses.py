"""Which addresses a crawler may connect to: the public Internet and those that the operator named.

A web page can make a crawler ask any name, and any name can lead to the machines behind our firewall. So
not the spelling of a URL is judged but the address that is going to be connected to, and one bad answer
spoils a name: a site whose answers mix public and private ones is after us (DNS rebinding).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

Network: TypeAlias = IPv4Network | IPv6Network

# All that is allocated of IPv6: whatever wraps an IPv4 address (NAT64, mapped, compatible), what is of a site
# or a link, multicast, and what nobody has so far is elsewhere. IANA, IPv6 Global Unicast Allocations.
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")

# What `ipaddress` of Python 3.11 takes for global though nobody serves the web there, though the address
# wraps an IPv4 address that a gateway would unwrap, or though whichever machine is nearest to us answers:
# IANA, Special-Purpose Address Registries.
_NOT_PUBLIC: Final = tuple(
    ip_network(network)
    for network in (
        "192.0.0.0/24",  # protocol assignments; in it the anycast of PCP and TURN, RFC 7723 and 8155
        "192.31.196.0/24",  # anycast of AS112, RFC 7535
        "192.52.193.0/24",  # anycast of AMT relays, RFC 7450
        "192.88.99.0/24",  # 6to4 relays, RFC 7526
        "192.175.48.0/24",  # anycast of AS112, RFC 7534
        "224.0.0.0/4",  # multicast
        "2001::/23",  # Teredo, benchmarking, ORCHID, anycast of PCP, TURN, AMT and AS112: RFC 2928
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # anycast of AS112, RFC 7534
        "3fff::/20",  # documentation, RFC 9637
    )
)

# Ports of other protocols, which a request line could be made to speak. WHATWG Fetch, "bad port".
BAD_PORTS: Final = frozenset([
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512,
    513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995,
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669,
    6679, 6697, 10080,
])  # fmt: skip


@lru_cache(maxsize=4096)
def is_own_name(hostname: str) -> bool:
    """Tell whether a name leads to the machine that looks it up, RFC 6761, 6.3."""
    return hostname.rstrip(".").rpartition(".")[2] == "localhost"


def is_public(address: str) -> bool:
    """Tell whether an IP address, as text, belongs to a machine of the public Internet.

    False for private, loopback, link-local, multicast, reserved and documentation addresses, for the anycast
    of protocols that are not the web's, for all that wrap an IPv4 address (NAT64, 6to4, Teredo, mapped), for
    scoped ones (`fe80::1%eth0`) and for what is no address at all.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and parsed not in _GLOBAL_UNICAST:
        return False
    return parsed.is_global and not any(_contains(network, parsed) for network in _NOT_PUBLIC)


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """The names and networks that may be connected to besides public ones: for intranets, labs and tests."""

    allowed_names: frozenset[str] = frozenset()  # as `urls.hostname_of` gives them, and all names below
    allowed_networks: tuple[Network, ...] = ()
    # Nobody is named to whom webmasters could write, so nothing public may be asked: see `contact`.
    is_anonymous: bool = False

    @classmethod
    def of(cls, allowed: Iterable[str], *, is_anonymous: bool = False) -> AddressPolicy:
        """Make one of host names, addresses and networks such as `10.1.0.0/16`, in any order."""
        networks = {text: network for text in allowed if (network := network_in(text)) is not None}
        names = frozenset(text for text in allowed if text not in networks)
        return cls(names, tuple(networks.values()), is_anonymous)

    def needs_contact(self, hostname: str, addresses: Sequence[str]) -> bool:
        """Tell whether a host must not be asked for want of a contact; without addresses it is public."""
        if not self.is_anonymous or is_among(hostname, self.allowed_names):
            return False
        return not addresses or any(map(is_public, addresses))

    def refusal(self, hostname: str, addresses: Iterable[str], decreed: tuple[str, ...] = ()) -> str | None:
        """Say why a name must not be connected to, given all addresses it resolves to; None when it may.

        Args:
          decreed: names and networks that the policy of the mesh allows besides. Loopback and link-local
            addresses stay out of reach: who rules a mesh does not rule what a machine has for itself.
        """
        if is_among(hostname, self.allowed_names):
            return None
        by_decree = _decreed(decreed)
        is_named = is_among(hostname, by_decree.allowed_names)
        for address in addresses:
            if is_public(address) or self._is_allowed(address):
                continue
            if _is_of_machine(address) or not (is_named or by_decree._is_allowed(address)):
                return f"{hostname} leads to {address}, which is not public"
        return None

    def _is_allowed(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(_contains(network, parsed) for network in self.allowed_networks)


def advice_on(hostname: str, addresses: Iterable[str]) -> str:
    """Say how a name that leads to these addresses, some of them private, can be allowed."""
    config = f'write "{hostname}" into allow_private below [web] in config.toml of every machine that crawls'
    if any(map(_is_of_machine, addresses)):
        return config
    return f"let all ask it by `tianmesh seed URL --allow-private {hostname}`, or {config}"


def network_in(text: str) -> Network | None:
    """Read a network or a single address; None when it is a name."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def is_among(hostname: str, names: Collection[str]) -> bool:
    """Tell whether a name is one of some, or below one of them."""
    if hostname in names:
        return True
    return bool(names) and any(hostname.endswith(f".{name}") for name in names)


@lru_cache(maxsize=16)
def _decreed(allowed: tuple[str, ...]) -> AddressPolicy:
    return AddressPolicy.of(allowed)


def _is_of_machine(address: str) -> bool:
    """Tell whether an address means the machine that asks, or a machine on one wire with it."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return True
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    parsed = mapped or parsed
    return parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified


ALLOW_ALL: Final = AddressPolicy(allowed_networks=(ip_network("0.0.0.0/0"), ip_network("::/0")))


def _contains(network: Network, address: IPv4Address | IPv6Address) -> bool:
    return address.version == network.version and address in network
