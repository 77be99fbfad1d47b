"""The pace of the membership protocol."""

from __future__ import annotations

from math import ceil, log, log2
from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.membership.model.licence import witnesses_wanted
from mesh.membership.model.wire_messages import ACCUSERS_MAX

Seconds = Annotated[float, Meta(gt=0)]


class SwimSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often members probe and gossip, and how long they wait.

    A crash is known everywhere after 3.5 s on average, and 99 of 100 within 4.6 s, at 4 members as at
    256: the first probe of the crashed member comes after 0.3 s on average, its deadline is 0.45 s later, and
    the suspicion takes 2.75 s from then, more if nobody else probes the member for so long. One crash in 400
    takes longer than 5 s. `tests/benchmarks/bench_membership.py` has what was measured. Where no member has
    anything to fetch, the first probe comes later, by 3.6 s at most, and the suspicion takes 4.5 s: searches
    are answered by standbys meanwhile.

    Sources: Das, Gupta, Motivala 2002 (SWIM); Dadgar, Phillips, Currey 2018 (Lifeguard, arXiv 1707.00788);
    hashicorp/memberlist, config.go, whose values for a local network are slower: 10 s.
    """

    probe_interval_s: Seconds = 0.3  # one member is probed per interval
    idle_after_s: Seconds = 10.0  # with nothing to fetch or to doubt; from then on see `idle_pause_s`
    probe_timeout_s: Seconds = 0.2  # without an answer until then others are asked to try
    probe_deadline_s: Seconds = 0.45  # without an answer until then the member is a suspect
    indirect_probes: Annotated[int, Meta(ge=0, le=16)] = 3  # how many others
    # Factor by which a member that has reason to distrust itself stretches the two times above, at most.
    # Lifeguard has 9; with more than 3 a minority that was cut off takes too long to find out, see `licence`.
    distrust_max: Annotated[int, Meta(ge=1, le=16)] = 3
    # So long others alone have heard it: thrice a death, and half of what a cell waits for a standby.
    separated_s: Seconds = 10.0
    stall_s: Seconds = 0.25  # a member that wakes so late has missed answers that were there

    suspicion_min_s: Seconds = 2.75  # until a suspect that enough members have accused is dead
    suspicion_max_s: Seconds = 5.5  # and one that a single member has; Lifeguard has 6 times the other
    # Members beside the first that have to accuse a suspect for the shortest time; Lifeguard's K.
    confirmations: Annotated[int, Meta(ge=0, lt=ACCUSERS_MAX)] = 2
    licence_s: Seconds = 2.25  # how long the answer to a ping lets us crawl; see `licence`
    idle_licence_s: Seconds = 4.0  # and that of a member at rest: three send 38 messages a minute each
    news_s: Seconds = 0.5  # within which news has reached nearly everybody, for the bound below

    gossip_interval_s: Seconds = 0.1  # while there is news
    gossip_fanout: Annotated[int, Meta(ge=1, le=16)] = 3
    # memberlist has 4, with the decimal logarithm: in small meshes that lose a tenth of their messages a
    # refutation then misses some member every few minutes, which buries who has refuted.
    retransmit_multiplier: Annotated[int, Meta(ge=1, le=16)] = 3
    sync_interval_s: Seconds = 30.0  # memberlist's push-pull: two members exchange all they believe
    # Serf asks one failed member every 30 s with all it knows; a ping costs little, so heal sooner.
    reconnect_interval_s: Seconds = 5.0
    # Who returns answers nobody until it has heard what was decreed, or so long; who is there tells sooner.
    catch_up_s: Seconds = 5.0
    knock_timeout_s: Seconds = 10.0  # the door answers sooner, if only that there was no answer
    knock_backoff_s: Seconds = 0.5  # after all doors were tried; doubles each time
    knock_backoff_max_s: Seconds = 30.0
    knock_again_s: Seconds = 5.0  # where a person has to mend something before we are let in

    def __post_init__(self) -> None:
        if self.probe_timeout_s >= self.probe_deadline_s:
            raise ValueError("probe_timeout_s must be below probe_deadline_s")
        if self.suspicion_min_s > self.suspicion_max_s:
            raise ValueError("suspicion_min_s must not be above suspicion_max_s")
        if self.licence_s + self.news_s > self.suspicion_min_s:
            raise ValueError("licence_s and news_s together must not be above suspicion_min_s")
        if self.idle_licence_s < self.licence_s:
            raise ValueError("idle_licence_s must not be below licence_s")

    @property
    def idle_suspicion_min_s(self) -> float:
        """As `suspicion_min_s`, of a member that has let others crawl for longer of late."""
        return self.suspicion_min_s + self.idle_licence_s - self.licence_s

    def licence_by(self, *, is_at_rest: bool) -> float:
        """How long the answer of a member at rest, or of one that is not, lets us crawl."""
        return self.idle_licence_s if is_at_rest else self.licence_s

    def idle_pause_s(self, member_count: int, licence_s: float) -> float:
        """How long from one probe to the next where nothing is to be done, so that the licence just goes on.

        Its witnesses are then new enough, even if one of them has to be pinged twice.

        Args:
          member_count: all that are known and have not left.
          licence_s: how long the answer of each lets us crawl.
        """
        wanted = max(1, witnesses_wanted(member_count))
        return max(self.probe_interval_s, (licence_s - self.probe_deadline_s) / wanted)

    def suspicion_s(self, confirmations: int, live_count: int) -> float:
        """How long a suspect may take to refute, from when it was accused first.

        max - (max - min) * log(C + 1) / log(K + 1), at least min, with C confirmations out of the K that
        are wanted; where there are not so many others who could confirm, K is smaller. Lifeguard,
        section 4.2; memberlist, suspicion.go.

        Args:
          confirmations: members other than the first that have accused it.
          live_count: live members, the suspect and this one included.
        """
        wanted = min(self.confirmations, live_count - 2)
        if confirmations >= wanted:
            return self.suspicion_min_s
        span_s = self.suspicion_max_s - self.suspicion_min_s
        return self.suspicion_max_s - span_s * log(confirmations + 1) / log(wanted + 1)

    def transmissions_max(self, live_count: int) -> int:
        """How often one member passes a rumour on.

        multiplier * ceil(log2(n + 1)). SWIM, section 4.1, shows that a multiple of log n reaches everybody
        with high probability.
        """
        return self.retransmit_multiplier * ceil(log2(live_count + 1))
