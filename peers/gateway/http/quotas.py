"""The quotas of one client at a gateway, so that there is something left for the others.

A client is an IPv4 address, or the 64 bits of an IPv6 address that a provider gives to one customer. Each
has buckets that fill with time (token buckets): what it takes comes out of them, and while one is empty it is
told when to come back. What nobody knows before it is done, as the size of an answer, is taken afterwards,
and may leave a bucket below empty.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from math import inf
from typing import Final

from peers.gateway.model.settings import GatewaySettings

# So many clients, and hosts, are remembered, about 1 kB each; those that came last. Others begin anew.
CLIENTS_MAX: Final = 10_000
HOUR_S: Final = 3_600.0
DAY_S: Final = 86_400.0
# What may be taken at once: a person opens several pages of results in a moment, then reads.
QUERIES_BURST_S: Final = 4.0
BYTES_BURST_S: Final = 10.0
# Tokens that turn out to count for nothing: each takes 0.3 ms to judge, and people mistype now and then.
BAD_TOKENS_PER_S: Final = 5.0
_PREFIX_BITS: Final = 64  # of IPv6: RFC 6177, a site gets no less


def client_of(address: str) -> str:
    """Return the client of an address, as far as addresses tell; a text that is none counts by itself."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    if isinstance(parsed, IPv4Address):
        return str(parsed)
    return f"{IPv6Address(int(parsed) >> _PREFIX_BITS << _PREFIX_BITS)}/{_PREFIX_BITS}"


class Bucket:
    """Fills by `rate` a second up to `most`; an infinite rate never runs dry."""

    def __init__(self, rate: float, most: float, now: float) -> None:
        self._rate, self._most = rate, most
        self._left = most
        self._at = now

    def wait_s(self, amount: float, now: float) -> float:
        """Return the seconds until the bucket has so much, or is full where it cannot hold so much."""
        if self._rate == inf:
            return 0.0
        self._left = min(self._most, self._left + self._rate * (now - self._at))
        self._at = now
        return max(0.0, (min(amount, self._most) - self._left) / self._rate)

    def take(self, amount: float) -> None:
        self._left -= amount


class _Client:
    def __init__(self, settings: GatewaySettings, now: float) -> None:
        queries = settings.client_queries_per_s or inf
        n_bytes = settings.client_bytes_per_s or inf
        seeds = settings.client_seeds_per_hour or inf
        self.queries = Bucket(queries, queries * QUERIES_BURST_S, now)
        self.bytes = Bucket(n_bytes, n_bytes * BYTES_BURST_S, now)
        self.seeds = Bucket(seeds / HOUR_S, seeds, now)
        self.bad_tokens = Bucket(BAD_TOKENS_PER_S, BAD_TOKENS_PER_S, now)


class Quotas:
    """The buckets of all clients, by the settings of now. Times are of a clock that only goes forward.

    Attributes:
      refused: times that somebody was told to come back.
    """

    def __init__(self, settings: GatewaySettings) -> None:
        self.refused = 0
        self._settings = settings
        self._clients: OrderedDict[str, _Client] = OrderedDict()
        self._hosts: OrderedDict[str, Bucket] = OrderedDict()  # of which pages have changed
        self._submitters: OrderedDict[str, tuple[int, Bucket]] = OrderedDict()  # sites a day

    def change_settings(self, settings: GatewaySettings) -> None:
        """Count by other limits from now on; all begin anew."""
        self._settings = settings
        self._clients.clear()
        self._hosts.clear()

    def take_query(self, client: str, now: float, share: float = 1.0) -> float:
        """Take a query, or a share of one; return 0.0, or in how many seconds it can be, and take nothing."""
        buckets = self._client(client, now)
        return self._take(buckets.queries, share, now)

    def take_seeds(self, client: str, count: int, now: float) -> float:
        """Do the same for seeds."""
        return self._take(self._client(client, now).seeds, count, now)

    def take_changes(self, counts: Mapping[str, int], now: float) -> float:
        """Take pages that have changed, by host, from any client: all, or none and return the wait."""
        buckets = [(self._host(host, now), float(count)) for host, count in counts.items()]
        wait_s = max((bucket.wait_s(count, now) for bucket, count in buckets), default=0.0)
        if wait_s:
            self.refused += 1
        else:
            for bucket, count in buckets:
                bucket.take(count)
        return wait_s

    def take_submission(self, client: str, day_max: int, now: float) -> float:
        """Do the same for one site of a client that submits it, of so many a day."""
        known = self._submitters.get(client)
        if known is None or known[0] != day_max:
            known = self._submitters[client] = day_max, Bucket(day_max / DAY_S, day_max, now)
            if len(self._submitters) > CLIENTS_MAX:
                self._submitters.popitem(last=False)
        self._submitters.move_to_end(client)
        return self._take(known[1], 1.0, now)

    def wait_for_token(self, client: str, now: float) -> float:
        """Return in how many seconds a token of a client may be judged."""
        wait_s = self._client(client, now).bad_tokens.wait_s(1.0, now)
        self.refused += wait_s > 0.0
        return wait_s

    def note_bad_token(self, client: str, now: float) -> None:
        """Take one that was judged and counts for nothing; those that count are free."""
        self._client(client, now).bad_tokens.take(1.0)

    def wait_for_bytes(self, client: str, now: float) -> float:
        """Return in how many seconds there is a byte left for a client."""
        wait_s = self._client(client, now).bytes.wait_s(1.0, now)
        self.refused += wait_s > 0.0
        return wait_s

    def note_bytes(self, client: str, count: int, now: float) -> None:
        """Take the bytes that were sent or received."""
        self._client(client, now).bytes.take(count)

    def __len__(self) -> int:
        return len(self._clients)

    def _take(self, bucket: Bucket, amount: float, now: float) -> float:
        wait_s = bucket.wait_s(amount, now)
        if wait_s:
            self.refused += 1
        else:
            bucket.take(amount)
        return wait_s

    def _host(self, host: str, now: float) -> Bucket:
        bucket = self._hosts.get(host)
        if bucket is None:
            changes = self._settings.host_changes_per_hour or inf
            bucket = self._hosts[host] = Bucket(changes / HOUR_S, changes, now)
            if len(self._hosts) > CLIENTS_MAX:
                self._hosts.popitem(last=False)
        self._hosts.move_to_end(host)
        return bucket

    def _client(self, client: str, now: float) -> _Client:
        buckets = self._clients.get(client)
        if buckets is None:
            buckets = self._clients[client] = _Client(self._settings, now)
            if len(self._clients) > CLIENTS_MAX:
                self._clients.popitem(last=False)
        self._clients.move_to_end(client)
        return buckets
