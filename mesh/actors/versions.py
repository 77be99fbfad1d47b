"""The version of the protocol that is spoken with each member, while a mesh is upgraded peer by peer.

A peer is written to in the newest version that both speak, as far as it has told, and in the oldest until it
has: every member of a mesh speaks that. Messages for all members are written once, so they are in the oldest
version until all receivers are heard to speak ours.
"""

from __future__ import annotations

from collections.abc import Set

from mesh.actors.codec import OLDEST_VERSION, PROTOCOL_VERSION


class Versions:
    """The protocol versions of the other members, as told by their frames since this process began."""

    def __init__(self, newest: int = PROTOCOL_VERSION) -> None:
        """Args: newest: version that this peer speaks."""
        self._newest = newest
        self._heard: set[str] = set()
        self._behind: set[str] = set()  # of those, members that speak none as new as ours

    def note(self, peer: str, spoken: int) -> None:
        """Note the newest version that a member speaks; the last word counts, for it may be set back."""
        self._heard.add(peer)
        if spoken >= self._newest:
            self._behind.discard(peer)
        else:
            self._behind.add(peer)

    def with_peer(self, peer: str) -> int:
        """The version to write to a member in."""
        is_known = peer in self._heard and peer not in self._behind
        return self._newest if is_known else OLDEST_VERSION

    def with_all(self, peers: Set[str]) -> int:
        """Return the version to write in messages that all these members receive."""
        are_known = peers <= self._heard and peers.isdisjoint(self._behind)
        return self._newest if are_known else OLDEST_VERSION

    @property
    def n_behind(self) -> int:
        """Members heard that are still to be upgraded."""
        return len(self._behind)
