"""The answers of hosts' origins to the question for their robots.txt: rows, and the rules in them."""

from __future__ import annotations

from collections.abc import Callable

from mesh.tables.table import Table
from mesh.urls import host_of
from peers.crawler.frontier.held_hosts import HeldHosts
from peers.crawler.frontier.host_state import HostState, OriginRules
from peers.crawler.frontier.items import RobotsRecord, join_robots, robots_in, robots_row
from peers.crawler.frontier.keys import all_robots, robots_key
from peers.crawler.model.messages import ParseRobots
from peers.crawler.model.robots import UNREAD, product_token, rules_for_status, takes_long


class OriginRows:
    """The origins of all hosts, over the table of the frontier."""

    def __init__(
        self, table: Table, hosts: HeldHosts, user_agent: str, note: Callable[[bytes], None]
    ) -> None:
        """Read nothing.

        Args:
          user_agent: whom their rules speak to.
          note: is told the key of a row that others are to hear of.
        """
        self._table = table
        self._hosts = hosts
        self._user_agent = user_agent
        self._note = note

    def change_agent(self, user_agent: str) -> None:
        """Go by another name: other groups of their robots.txt may speak to us now."""
        if user_agent != self._user_agent:
            self._user_agent = user_agent
            for state in self._hosts.in_memory():
                state.origins = None

    def of(self, state: HostState) -> dict[str, OriginRules]:
        """The rules of all origins of a host that were asked for their robots.txt, expired ones too."""
        if state.origins is None:
            rows = self._table.scan_prefix(all_robots(state.slot, state.hash))
            records = [robots_in(row) for _, row in rows]
            state.has_unread = False
            state.origins = {record.origin: self._rules_in(record, state) for record in records}
        return state.origins

    def save(self, state: HostState, record: RobotsRecord) -> None:
        """Keep the answer of a host's origin to the question for its robots.txt."""
        origins = self.of(state)
        key = robots_key(state.slot, state.hash, record.origin)
        self._table.put(key, robots_row(record))
        self._note(key)
        origins[record.origin] = self._rules_in(record, state)

    def kept(self, slot: int, digest: bytes, origin: str) -> RobotsRecord | None:
        """Return the record kept of an origin, by the hash of its host; None when it was not asked."""
        row = self._table.get(robots_key(slot, digest, origin))
        record = None if row is None else robots_in(row)
        return None if record is None or record.origin != origin else record

    def order(self, record: RobotsRecord, *, found_at: str = "", judged: str = "") -> ParseRobots:
        """Return the order to the parser to read a robots.txt that takes long; see `ParseRobots`."""
        return ParseRobots(record.origin, record.body, product_token(self._user_agent), found_at, judged)

    def has_other(self, state: HostState, origin: str) -> bool:
        """Has another origin of the host answered, or is one of the next URLs of another?"""
        if any(rules.status and other != origin for other, rules in self.of(state).items()):
            return True
        return not all(url.startswith(f"{origin}/") for _, url, _ in state.window)

    def merge(self, slot: int, record: RobotsRecord) -> None:
        """Merge the robots.txt of an origin with the one that is kept here."""
        state, digest, _ = self._hosts.know(host_of(record.origin), slot)
        key = robots_key(slot, digest, record.origin)
        stored = self._table.get(key)
        if stored is not None:
            before = robots_in(stored)
            # Of two origins of one hash the first one stays.
            if before.origin != record.origin or join_robots(before, record) == before:
                return
        self._table.put(key, robots_row(record))
        if state is not None:
            state.origins = None

    def _rules_in(self, record: RobotsRecord, state: HostState) -> OriginRules:
        """Return the rules of a robots.txt for us; `record.status` decides as well (RFC 9309, 2.3.1)."""
        if takes_long(record.status, record.body):
            state.has_unread = True
            return OriginRules(record.status, record.expires_s, UNREAD)
        rules = rules_for_status(record.status, record.body, product_token(self._user_agent))
        return OriginRules(record.status, record.expires_s, rules)
