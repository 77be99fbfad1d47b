"""Searches again and again, and delivers new hits, each when it is due. [io]

The state is in its file before anything of it is posted, and after each post that was taken. A kill in
between has a delivery posted twice, with the same id; none gets lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.counts import counted
from mesh.errors import ConfigError
from peers.user_state import not_kept, write_whole
from peers.webhooks.endpoint import Endpoint, NotDelivered
from peers.webhooks.saved_search import HITS_MAX, Complete, HookState, pause_after

OPTION: Final = "--state"


class SearchWatch:
    """The saved searches of one endpoint."""

    def __init__(
        self,
        client: GatewayClient,
        endpoint: Endpoint,
        queries: list[str],
        every_s: float,
        path: Path,
        complete: Complete = lambda hit: hit,
    ) -> None:
        """Go on with the state that a file has.

        Args:
          queries: to be searched for; none for the notices of the watch instead.
          complete: as `HookState.take_in` has it; it may ask the gateway.

        Raises:
          ConfigError: the file is something else.
        """
        self._client, self._endpoint = client, endpoint
        self._queries, self._every_s, self._path = queries, every_s, path
        self._complete = complete
        self.state = _state_in(path)
        self.state.forget_others(queries)
        self._search_at_s = self._post_at_s = 0.0
        self.failures = 0  # of deliveries in a row
        self.n_missed = 0  # searches of the last round that had no answer

    def step(self, now: float, say: Callable[[str], None]) -> float:
        """Search and post as far as due, and return the time of the next step.

        Args:
          now: seconds of a clock that never goes back.
          say: gets what happened, a sentence at a time.

        Raises:
          ConfigError: the endpoint takes nothing ever, or the state cannot be kept.
        """
        if now >= self._search_at_s and self.state.has_room:
            self._search_at_s = now + self._every_s
            (self._search if self._queries else self._read_notices)(say)
        if now >= self._post_at_s:
            self._post_at_s = now + self._deliver(say) if self.state.waiting else 0.0
        due = [self._search_at_s] if self.state.has_room else []
        return min([*due, self._post_at_s] if self.state.waiting else due)

    def _search(self, say: Callable[[str], None]) -> None:
        self.n_missed = 0
        for query in self._queries:
            try:
                answer = self._client.search_deep(query, HITS_MAX, sort="date")
                now = datetime.now(UTC).isoformat(timespec="seconds")
                n_new = self.state.take_in(query, answer, now, self._complete)
            except GatewayError as error:
                self.n_missed += 1
                say(f"no answer for {query!r}: {error}")
                continue
            if n_new:
                say(f"{counted(n_new, 'new page')} for {query!r}")
        self._save()

    def _read_notices(self, say: Callable[[str], None]) -> None:
        """Read the notices of watched words that are new; those that one answer lacks are in the next."""
        self.n_missed = 0
        try:
            answer = self._client.watch(self.state.after)
        except GatewayError as error:
            self.n_missed = 1
            say(f"no answer about the watch: {error}")
            return
        n_new = self.state.take_notices(answer, datetime.now(UTC).isoformat(timespec="seconds"))
        if n_new:
            say(f"{counted(n_new, 'new notice')} of watched words")
        self._save()

    def _deliver(self, say: Callable[[str], None]) -> float:
        """Post deliveries, up to the first failure; return the seconds until the next try."""
        while self.state.waiting:
            try:
                self._endpoint.post(self.state.waiting[0], int(time.time()))
            except NotDelivered as error:
                self.failures += 1
                pause_s = pause_after(self.failures)
                say(f"{error}; {len(self.state.waiting)} deliveries wait, again in {pause_s:.0f} s")
                return pause_s
            self.failures = 0
            self.state.note_delivered()
            self._save()
        return 0.0

    def _save(self) -> None:
        write_whole(self._path, msgspec.json.encode(self.state), OPTION)


def _state_in(path: Path) -> HookState:
    try:
        return msgspec.json.decode(path.read_bytes(), type=HookState)
    except FileNotFoundError:
        return HookState()
    except OSError as error:
        raise not_kept(path, error, OPTION) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} is no state of a webhook: {error}; name another file with {OPTION}"
        ) from error
