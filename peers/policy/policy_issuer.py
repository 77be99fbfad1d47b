"""The policy of a running mesh, read from a gateway and replaced by one that an administrator signs. [io]"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.counts import counted
from mesh.errors import ConfigError
from mesh.keys.decree import POLICY, Signer
from peers.policy import edits
from peers.policy.decree_issuer import DecreeIssuer, ruling_of
from peers.policy.rules import OF_SEEDS, Policy, Rule, policy_bytes, policy_in

NAMED_MAX: Final = 5  # domains in a sentence


class PolicyIssuer:
    """Reads and replaces the policy of one mesh."""

    def __init__(self, client: GatewayClient, key: Path | Signer) -> None:
        """Args: key: as for `DecreeIssuer`."""
        self._issuer = DecreeIssuer(client, key, POLICY, "policy")

    @property
    def client(self) -> GatewayClient:
        """The gateway by which it reaches the mesh."""
        return self._issuer.client

    def decrees(self) -> tuple[Mapping[str, Any], ...]:
        """All decrees of a policy that are known, the lowest number first, replaced ones too."""
        return self._issuer.all()

    def in_force(self) -> Policy | None:
        """The policy of now, which the next one that is issued replaces; None when there is none.

        Raises:
          GatewayError: it was written by a newer version.
        """
        ruling = ruling_of(self._issuer.read(), time.time())
        return None if ruling is None else policy_of_decree(ruling)

    def to_change(self) -> Policy | None:
        """The same, when the next one that is issued is a change of it; an end of it is one of its rules.

        Raises:
          GatewayError: as above; or another one is to come, which would never come after that change.
        """
        decrees = self._issuer.read()
        coming = [decree["number"] for decree in decrees if decree["effective_from"] > time.time()]
        if coming:
            raise GatewayError(
                f"policy {max(coming)} is to come (`tianmesh policy show --history`), and would be replaced "
                "before that: put both into one file and `tianmesh policy set` it"
            )
        ruling = ruling_of(decrees, time.time())
        if ruling is None:
            return None
        policy, until = policy_of_decree(ruling), ruling["valid_until"]
        return policy if until is None else edits.ending(policy, until)

    def issue(self, policy: Policy, *, effective_from: float = 0.0, valid_until: float = inf) -> int:
        """Sign a policy and have the mesh obey it; return its number.

        Raises:
          ConfigError, GatewayError: as `DecreeIssuer.issue` does.
        """
        body = policy_bytes(replace(policy, issued_at=round(time.time())))
        return self._issuer.issue(body, effective_from=effective_from, valid_until=valid_until)

    def undo(
        self, since: datetime, until: datetime, reason: str, peer: str | None = None
    ) -> tuple[int, float]:
        """Have pages visited again that were visited between two times, by a peer or by all.

        Returns:
          The number of the policy, and when the time ends that it speaks of, seconds since the epoch.

        Raises:
          ConfigError: there is no usable key, or the times are in the wrong order.
          GatewayError: the mesh does not take it.
        """
        policy = edits.undoing(self.to_change(), since, until, reason, peer)
        return self.issue(policy), policy.undo[-1].span_s[1]

    def widen(
        self,
        urls: Iterable[str],
        within: Iterable[str],
        limits: Rule,
        *,
        is_anywhere: bool,
        pages_max: int | None = None,
        private: Sequence[str] = (),
    ) -> str:
        """Have these pages and those around them crawled; return where the crawl stays, in words.

        Args:
          urls: canonical; what is on their registrable domains is crawled when nothing else is said.
          within: see `edits.target`.
          is_anywhere: whatever no rule is about.
          limits: a rule without conditions.
          pages_max: of the whole mesh from now on; None leaves that as it is.
          private: names and networks that may be asked at private addresses besides.

        Raises:
          ConfigError: there is no usable key, or nothing that the limits could be for.
          GatewayError: the mesh does not take it.
        """
        policy = self.to_change()
        texts = tuple(within) or edits.domains_of(urls)
        is_about_limit = pages_max is not None and limits == edits.ALL_ELSE
        if not (texts or is_anywhere or is_about_limit):
            raise ConfigError("limits of what? give seeds, --within DOMAIN or --anywhere with them")
        if is_anywhere:
            new = edits.anywhere(policy, limits)
        elif texts:
            new = edits.widened(policy, [edits.target(text) for text in texts], limits)
        else:
            new = policy or OF_SEEDS
        new = edits.limited(new, pages_max)
        if private:
            new = edits.allowing(new, private)
        if policy is None or replace(new, issued_at=policy.issued_at) != policy:
            self.issue(new)  # also when none had said the same: the next wish is added to it
        limit = (
            "" if new.pages_max is None else f", until the mesh has visited {counted(new.pages_max, 'page')}"
        )
        return self._scope_of(new, policy, texts) + limit

    @staticmethod
    def _scope_of(new: Policy, policy: Policy | None, texts: Sequence[str]) -> str:
        if edits.goes_anywhere(new):
            return "the crawl goes anywhere"
        if not texts:
            return "the crawl stays where it was"
        return f"the crawl stays on {_some(texts)}" + (" and what it was on before" if policy else "")


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - NAMED_MAX:,} more" if len(texts) > NAMED_MAX else ""
    return ", ".join(texts[:NAMED_MAX]) + more


def policy_of_decree(decree: Mapping[str, Any]) -> Policy:
    """Return the policy in an item of the answer of /api/decrees.

    Raises:
      GatewayError: this version does not understand it.
    """
    try:
        return policy_in(bytes.fromhex(decree["body"]))
    except (ValueError, msgspec.MsgspecError) as error:
        raise GatewayError(
            f"policy {decree['number']} was written by another version of tianmesh: {error}"
        ) from error
