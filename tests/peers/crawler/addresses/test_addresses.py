from __future__ import annotations

from ipaddress import ip_network

import pytest

from mesh.urls import canonical, hostname_of
from peers.crawler.addresses.addresses import ALLOW_ALL, AddressPolicy, advice_on, is_public

NOT_PUBLIC = [
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
    "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1",
    "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
    # Outside of what IANA has allocated, and so nobody's.
    "4000::1", "1fff::1", "a000::1", "e000::1", "200::1", "64:ff9c::808:808", "100:0:0:1::1",
    # Anycast for special use: the nearest machine answers, perhaps one of ours.
    "192.0.0.9", "192.0.0.10", "192.31.196.1", "192.52.193.1", "192.175.48.1",
    "2001:1::1", "2001:1::2", "2001:3::1", "2001:4:112::1", "2620:4f:8000::1",
]  # fmt: skip


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_addresses_of_nobody_on_the_internet_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.216.34", "1.1.1.1", "2606:4700::1111", "2a00:1450::1", "2620:4f::1"]
)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.1", "0x7f000001", "2130706433", "1.2.3.4/8", "8.8.8.8 "]
)
def test_what_is_no_address_is_not_public(text: str) -> None:
    assert not is_public(text)


@pytest.mark.parametrize(
    "spelling",
    ["127.1", "127.0.1", "0x7f.1", "0x7f000001", "0177.0.0.1", "017700000001", "2130706433", "127.0.0.1.",
     "①②⑦.0.0.1", "127。0。0。1", "127.0.0.0x1", "[::1]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]",
     "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "%31%32%37.0.0.1"],
)  # fmt: skip
def test_every_spelling_of_loopback_in_a_url_is_refused(spelling: str) -> None:
    url = canonical(f"http://{spelling}/")
    assert url is not None
    hostname = hostname_of(url)
    assert AddressPolicy().refusal(hostname, [hostname]) is not None


def test_one_private_answer_spoils_a_name() -> None:
    policy = AddressPolicy()
    assert policy.refusal("a.test", ["8.8.8.8", "1.1.1.1"]) is None
    assert (
        policy.refusal("a.test", ["8.8.8.8", "10.0.0.1"]) == "a.test leads to 10.0.0.1, which is not public"
    )


def test_names_and_networks_can_be_allowed() -> None:
    policy = AddressPolicy(frozenset({"intra.test"}), (ip_network("10.1.0.0/16"),))
    assert policy.refusal("intra.test", ["192.168.0.1"]) is None
    assert policy.refusal("a.test", ["10.1.2.3", "8.8.8.8"]) is None
    assert policy.refusal("a.test", ["10.2.2.3"]) is not None
    assert policy.refusal("a.test", ["10.1.2.3", "10.2.2.3"]) is not None, "each has to be allowed"
    assert policy.refusal("a.test", ["nonsense"]) is not None


def test_allow_all_allows_both_families() -> None:
    assert ALLOW_ALL.refusal("a.test", ["127.0.0.1", "::1", "fe80::1"]) is None


def test_a_name_that_is_allowed_allows_all_names_below_it() -> None:
    policy = AddressPolicy.of(["intra.test", "10.1.0.0/16", "192.168.7.7"])
    assert policy.refusal("wiki.intra.test", ["192.168.0.1"]) is None
    assert policy.refusal("notintra.test", ["192.168.0.1"]) is not None
    assert policy.refusal("a.test", ["10.1.2.3", "192.168.7.7"]) is None


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "::1", "169.254.1.1", "fe80::1", "::ffff:127.0.0.1", "0.0.0.0"]
)
def test_a_policy_of_the_mesh_opens_no_machine_to_itself(address: str) -> None:
    decreed = ("intra.test", "0.0.0.0/0", "::/0")
    assert AddressPolicy().refusal("intra.test", ["10.0.0.1"], decreed) is None
    assert AddressPolicy().refusal("b.test", ["10.0.0.1"], decreed) is None
    assert AddressPolicy().refusal("intra.test", [address], decreed) is not None
    assert AddressPolicy().refusal("b.test", [address], decreed) is not None
    assert AddressPolicy().refusal("b.test", ["10.0.0.1", address], decreed) is not None
    assert AddressPolicy().refusal("b.test", ["10.0.0.1", "192.168.0.1"], ("10.0.0.0/8",)) is not None


def test_advice_names_a_way_that_works() -> None:
    assert "--allow-private intra.test" in advice_on("intra.test", ["10.0.0.1"])
    assert "--allow-private" not in advice_on("intra.test", ["10.0.0.1", "127.0.0.1"])
    assert "allow_private below [web]" in advice_on("intra.test", ["127.0.0.1"])
