"""TLS sessions to be taken up again, so that the next connection to an origin needs no full handshake.

A host closes its connection between two questions that are further apart than it keeps one, which at a polite
pace is the rule. A session saves it the signature, the dearest part of a handshake, and us a round trip in
TLS 1.2. The certificate was checked, for that very name, when the session began.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import ssl

SESSIONS_MAX: Final = 1_024  # some 5 kB each; as many hosts as are asked in turn by one peer


class TlsSessions:
    """The last session of each origin, of those that were asked last."""

    def __init__(self, sessions_max: int = SESSIONS_MAX) -> None:
        self._sessions_max = sessions_max
        self._sessions: OrderedDict[str, ssl.SSLSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def take(self, origin: str) -> ssl.SSLSession | None:
        """Return a session to take up, once: in TLS 1.3 each ticket is for one connection (RFC 8446, C.4)."""
        return self._sessions.pop(origin, None)

    def keep(self, origin: str, session: ssl.SSLSession | None) -> None:
        """Keep the TLS session that a server has given us, if it has."""
        if session is None:
            return
        self._sessions[origin] = session
        self._sessions.move_to_end(origin)
        while len(self._sessions) > self._sessions_max:
            self._sessions.popitem(last=False)
