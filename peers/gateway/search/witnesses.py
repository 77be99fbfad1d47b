"""Second members that know the pages of a search: none is shown on the word of one member alone.

All members of the team of a slot keep its pages, so each can say whether one is there. What is shown of a
hit is therefore read from another member than the one that gave it (its *claimant*): the *witness*, which
costs no message more. A page that the witness does not know is *denied*, and not shown. Three denials of
one witness, and no hit of that claimant over which it is yet to be asked counts in this search: whoever
invents a hundred pages costs a search one round of questions more, not ten.

This peer believes itself, and needs no witness for hits of its own. A witness that does not answer in time,
or cannot tell, leaves a hit to the word of its claimant: what is there must be found when members fail. Such
a hit is not *confirmed*, and says so. One that its claimant knows nothing of, when it is asked, is not shown.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from mesh.urls import host_of
from peers.gateway.search.shared_state import SharedState

DENIALS_MAX: Final = 3  # of one claimant by one witness, in one search


class Witnesses:
    """The witnesses of one search: which peer is asked about which hit, and the answers."""

    def __init__(self, me: str, view: SharedState) -> None:
        self._me = me
        self._shared = view
        self._known: set[str] = set()  # URLs
        self._unsettled: set[str] = set()
        self._denied: set[str] = set()
        self._denials: Counter[tuple[str, str | None]] = Counter()  # by claimant and witness

    def witness_of(self, url: str, claimant: str) -> str | None:
        """Return the peer to be asked about a hit; None when nobody but its claimant can be."""
        if claimant == self._me:
            return None
        ownership = self._shared.ownership
        team = ownership.serving.team_of(ownership.slot_of(host_of(url)))
        if self._me in team:
            return self._me
        useless = self._shared.punctuality.tardy
        suspects = self._shared.doubts.suspects
        others = (peer for peer in team if peer != claimant and peer not in useless and peer not in suspects)
        return next(others, None)

    def note_known(self, url: str) -> None:
        """A witness has sent an excerpt of this page."""
        self._known.add(url)

    def note_unsettled(self, url: str) -> None:
        """A witness can say nothing of this page."""
        self._unsettled.add(url)

    def note_denied(self, url: str, claimant: str, witness: str) -> None:
        """A witness that has all of its slot does not know this page."""
        if url not in self._denied:
            self._denied.add(url)
            self._denials[claimant, witness] += 1

    @property
    def has_denied(self) -> bool:
        """Has any hit of the search been denied?"""
        return bool(self._denied)

    def have_confirmed(self, url: str, claimant: str) -> bool:
        """Does this peer or a witness know the page?"""
        return claimant == self._me or url in self._known

    def is_denied(self, url: str) -> bool:
        """Has a witness said that there is no such page?"""
        return url in self._denied

    def hides(self, url: str, claimant: str) -> bool:
        """Is this hit not to be shown, as far as is known?"""
        if url in self._denied:
            return True
        if not self._denied or url in self._known or url in self._unsettled:
            return False
        return self._denials[claimant, self.witness_of(url, claimant)] >= DENIALS_MAX
