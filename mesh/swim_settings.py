"""The pace of the membership protocol."""

from __future__ import annotations

from math import ceil, log10
from typing import Annotated

import msgspec
from msgspec import Meta

Seconds = Annotated[float, Meta(gt=0)]


class SwimSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often members probe and gossip; the values of memberlist's `DefaultLANConfig`.

    Source: Das, Gupta, Motivala 2002 (SWIM) for the protocol; hashicorp/memberlist, config.go, for the
    numbers, which Consul and Nomad run in production.
    """

    probe_interval_s: Seconds = 1.0  # one member is probed per interval
    probe_timeout_s: Seconds = 0.5  # without an answer until then others are asked to try
    indirect_probes: Annotated[int, Meta(ge=0, le=16)] = 3  # how many others
    suspicion_multiplier: Seconds = 4.0
    gossip_interval_s: Seconds = 0.2  # while there is news
    gossip_fanout: Annotated[int, Meta(ge=1, le=16)] = 3
    retransmit_multiplier: Annotated[int, Meta(ge=1, le=16)] = 4
    sync_interval_s: Seconds = 30.0  # memberlist's push-pull: two members exchange all they believe
    # Serf asks one failed member every 30 s with all it knows; a ping costs little, so heal sooner.
    reconnect_interval_s: Seconds = 5.0
    knock_timeout_s: Seconds = 10.0  # the door answers sooner, if only that there was no answer
    knock_backoff_s: Seconds = 0.5  # after all doors were tried; doubles each time
    knock_backoff_max_s: Seconds = 30.0

    def __post_init__(self) -> None:
        if self.probe_timeout_s >= self.probe_interval_s:
            raise ValueError("probe_timeout_s must be below probe_interval_s")

    def suspicion_s(self, live_count: int) -> float:
        """How long a suspect of a mesh of so many live members may take to refute.

        multiplier * max(1, log10(n + 1)) * probe interval; memberlist, util.go, suspicionTimeout.
        """
        return self.suspicion_multiplier * max(1.0, log10(live_count + 1)) * self.probe_interval_s

    def transmissions_max(self, live_count: int) -> int:
        """How often one member passes a rumour on.

        multiplier * ceil(log10(n + 1)); memberlist, util.go, retransmitLimit. SWIM, section 4.1, shows
        that a multiple of log n reaches everybody with high probability.
        """
        return self.retransmit_multiplier * ceil(log10(live_count + 1))
