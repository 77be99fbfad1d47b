"""Whether the mesh knows the host or page of an order: a slip in a name would change nothing. [io]"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.urls import host_of
from peers.policy.rules import Policy, Rule

LIKE_MAX: Final = 3  # names that are suggested
LIKENESS: Final = 0.7  # of 1, see `difflib`: one letter more or less, or two exchanged


def remark_on(client: GatewayClient, target: Rule, policy: Policy | None) -> str:
    """Say which hosts or pages of an order the mesh has never met, with names like theirs; "" for none.

    What has a `*` or is a network is not looked up. The order holds whatever is said of it here, so that a
    gateway that does not answer says nothing.
    """
    try:
        return _remark(client, target, policy)
    except GatewayError:
        return ""


def _remark(client: GatewayClient, target: Rule, policy: Policy | None) -> str:
    names = [*target.hosts, *target.domains]
    pages = [url for url in target.urls if "*" not in url]
    unknown = [name for name in names if not _is_host_known(client, name)]
    unknown += [url for url in pages if not _is_page_known(client, url)]
    if not unknown:
        return ""
    known = _known(client, policy)
    like = list(dict.fromkeys(found for name in unknown for found in _like(name, known)))
    hint = f" (did you mean {' or '.join(like)}?)" if like else ""
    return f"the mesh knows nothing of {', '.join(unknown)} so far{hint}"


def _is_host_known(client: GatewayClient, name: str) -> bool:
    told = client.why(f"http://{name}/")["peers"].values()
    return any(facts.get("host") for facts in told) or bool(client.search(f"site:{name}", 1)["hits"])


def _is_page_known(client: GatewayClient, url: str) -> bool:
    told = client.why(url)["peers"].values()
    return any(facts.get("state") != "unknown" or facts.get("archive") for facts in told)


def _known(client: GatewayClient, policy: Policy | None) -> list[str]:
    """Names that are easily had: of the longest queues, and those in the policy."""
    queued = [host for host, _ in client.status()["total"].get("hot_hosts", ())]
    rules = () if policy is None else policy.rules
    return [*queued, *(name for rule in rules for name in (*rule.hosts, *rule.domains))]


def _like(name: str, known: Iterable[str]) -> list[str]:
    name = host_of(name) if "/" in name else name
    others = [each for each in known if each != name]
    return get_close_matches(name, others, LIKE_MAX, LIKENESS)
