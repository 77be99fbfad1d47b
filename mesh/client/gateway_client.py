"""Talk to the gateway of any peer over HTTP, as a user's command does. [io]"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import re
import ssl
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Final, NamedTuple, Self
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from mesh.errors import ConfigError, TianmeshError
from mesh.keys.decree import Decree

# A client that asks more than a gateway lets it is told to come back; a run of many queries then goes slower.
PATIENCE_S: Final = 120.0
TIMEOUT_S: Final = 15.0  # a mesh with dead peers answers within its deadlines, about 3 s
ANSWER_BYTES_MAX: Final = 64 << 20
SEARCH_K_MAX: Final = 100  # hits in one answer of a gateway
PARTS_MAX: Final = 5_000  # of the submissions of a peer: ten times as many as it keeps
SEEDS_PER_REQUEST: Final = 1_000  # a gateway takes 1 MiB at once
_PIN: Final = re.compile(r"sha256=((?:[0-9a-f]{2}:?){31}[0-9a-f]{2})", re.IGNORECASE)  # or as openssl does


class GatewayError(TianmeshError):
    """The gateway did not do as it was asked; the text is its own.

    Attributes:
      status: of a request that was refused, 400 to 599; 0 where it is not known.
    """

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class GatewayUnreachable(GatewayError):
    """No answer came: there is no gateway, or the connection broke."""


class GatewayBusy(GatewayError):
    """It cannot do that now; a moment later it may."""


class GatewayClient:
    """One keep-alive connection to a gateway, closed by `with`. Blocking; not for two threads at once.

    Attributes:
      is_readable: others on the way could read what is said, tokens too.
    """

    def __init__(self, url: str, token: str | Callable[[], str] = "") -> None:
        """Begin without a connection.

        Args:
          url: as `place_in` takes it.
          token: that goes with every request, or what gives the one of the moment; "" for none.
        """
        self._token = token
        scheme, host, port, pin = place_in(url)
        self.url = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
        self.is_readable = scheme == "http" and not _is_loopback(host)
        self._connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        if pin:
            self._connection = _PinnedConnection(host, port, pin)
        elif scheme == "https":
            trusted = ssl.create_default_context()
            self._connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=trusted)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def status(self) -> dict[str, Any]:
        """The report of the whole mesh, as /api/status gives it."""
        return self._ask("GET", "/api/status")

    def history(self, span: str) -> dict[str, Any]:
        """How the mesh was, as /api/history gives it.

        Args:
          span: "hour", "day" or "month".
        """
        return self._ask("GET", "/api/history?" + urlencode({"span": span}))

    def readiness(self) -> dict[str, Any]:
        """Return whether the mesh answers for all slots, and the reasons why not yet, as /readyz gives them.

        Raises:
          GatewayError: this is no gateway of ours, or an older one.
        """
        status, told = self._answer("GET", "/readyz", None)
        if "waits_for" not in told:
            raise GatewayError(str(told.get("error", f"{self.url} answered {status}")))
        return told

    def search(
        self,
        text: str,
        k: int,
        offset: int = 0,
        *,
        sort: str = "score",
        cursor: str = "",
        facets: bool = False,
        explain: bool = False,
    ) -> dict[str, Any]:
        """The answer of /api/search.

        Args:
          sort: "score" or "date".
          cursor: `next` of an answer before, to go on behind it; then the offset does not count.
        """
        parameters: dict[str, object] = {"q": text, "k": k, "offset": offset}
        parameters |= {"sort": sort} if sort != "score" else {}
        parameters |= {"cursor": cursor} if cursor else {}
        parameters |= {"facets": 1} if facets else {}
        parameters |= {"explain": 1} if explain else {}
        return self._ask("GET", "/api/search?" + urlencode(parameters))

    def search_deep(self, text: str, k: int, **wishes: Any) -> dict[str, Any]:
        """The answer of /api/search with more hits than it gives at once, page by page."""
        answer = self.search(text, min(k, SEARCH_K_MAX), **wishes)
        while len(answer["hits"]) < k and answer["next"]:
            wanted = min(k - len(answer["hits"]), SEARCH_K_MAX)
            page = self.search(text, wanted, **{**wishes, "cursor": answer["next"], "facets": False})
            answer["coverage"] = max(answer["coverage"], page["coverage"], key=lambda each: each["missing"])
            answer["hits"] += page["hits"]
            answer["next"] = page["next"] if page["hits"] else ""
            answer["took_ms"] += page["took_ms"]
        return answer

    def groups(self, text: str, by: str) -> dict[str, Any]:
        """Return the first results in groups. Args: by: "words", "kind" or "site"."""
        return self._ask("GET", f"/api/groups?{urlencode({'q': text, 'by': by})}")

    def search_live(self, wish: dict[str, Any]) -> Generator[dict[str, Any]]:
        """Yield the states of a live search as they come; it ends when no more are taken.

        Args:
          wish: the JSON of POST /api/search/live.
        """
        headers = self._headers() | {"Content-Type": "application/json"}
        try:
            self._connection.request("POST", "/api/search/live", json.dumps(wish).encode(), headers)
            response = self._connection.getresponse()
            if response.status >= 400:
                told = _decoder.decode(response.read(ANSWER_BYTES_MAX))
                raise GatewayError(str(told.get("error", f"{self.url} answered {response.status}")))
            while line := response.readline(ANSWER_BYTES_MAX):
                if line.startswith(b"data: "):
                    told = _decoder.decode(line[6:])
                    if "error" in told:
                        raise GatewayError(str(told["error"]))
                    yield told
        except (OSError, http.client.HTTPException, msgspec.MsgspecError) as error:
            raise GatewayUnreachable(f"no answer from {self.url} ({error})") from error
        finally:
            self._connection.close()

    def watch(self, after: str = "") -> dict[str, Any]:
        """Return the watch list with its counts, and the last notices: the answer of /api/watch.

        Args:
          after: that of an answer before, for the notices behind it.
        """
        return self._ask("GET", "/api/watch?" + urlencode({"after": after}) if after else "/api/watch")

    def watch_events(self, after: str = "") -> Generator[tuple[str, dict[str, Any] | None]]:
        """Yield notices of watched words as they come, each with its `id`; None where only that is new.

        Args:
          after: `id` of an event before; "" for those from now on.

        Raises:
          GatewayError: the gateway lets us see none. GatewayUnreachable: it has gone away.
        """
        headers = self._headers() | ({"Last-Event-ID": after} if after else {})
        try:
            self._connection.request("GET", "/api/watch/events", None, headers)
            response = self._connection.getresponse()
            if response.status >= 400:
                told = _decoder.decode(response.read(ANSWER_BYTES_MAX))
                kind = GatewayUnreachable if response.status >= 500 else GatewayError
                raise kind(str(told.get("error", f"{self.url} answered {response.status}")), response.status)
            data: dict[str, Any] | None = None
            while line := response.readline(ANSWER_BYTES_MAX):
                if line.startswith(b"id: "):
                    after = line[4:].strip().decode("ascii")
                elif line.startswith(b"data: "):
                    data = _decoder.decode(line[6:])
                elif line == b"\n":
                    yield after, data
                    data = None
        except (OSError, http.client.HTTPException, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise GatewayUnreachable(f"no answer from {self.url} ({error})") from error
        finally:
            self._connection.close()

    def add_seeds(self, urls: list[str], levels: int | None = None) -> dict[str, Any]:
        """Hand URLs to their owners; the answer says how many were taken, and which were not.

        Args:
          levels: clicks that are made from them; None for no limit of their own.
        """
        answer: dict[str, Any] = {"accepted": 0, "invalid": [], "left_out": [], "private": []}
        for start in range(0, len(urls), SEEDS_PER_REQUEST):
            part: dict[str, Any] = {"urls": urls[start : start + SEEDS_PER_REQUEST]}
            if levels is not None:
                part["levels"] = levels
            seeded = self._ask("POST", "/api/seeds", json.dumps(part).encode())
            answer["accepted"] += seeded["accepted"]
            answer["invalid"] += seeded["invalid"]
            answer["left_out"] += seeded.get("left_out", [])
            answer["private"] += seeded.get("private", [])
        return answer

    def submit(self, url: str) -> dict[str, Any]:
        """Submit a site; return the answer of /api/submit: its code, and how it stands."""
        return self._ask("POST", "/api/submit", json.dumps({"url": url}).encode())

    def backlinks(self, url: str, start: int = 0) -> dict[str, Any]:
        """Return a part of the pages that link to one. Args: start: so many are left out at the beginning."""
        return self._ask("GET", f"/api/backlinks?{urlencode({'url': url, 'start': start})}")

    def topics(self) -> dict[str, Any]:
        """Return the topics that the mesh counts: the answer of /api/topics."""
        return self._ask("GET", "/api/topics")

    def topic(self, name: str) -> dict[str, Any]:
        """Return how strongly a topic is written about: the answer of /api/topic/NAME."""
        return self._ask("GET", f"/api/topic/{quote(name, safe='')}")

    def topic_csv(self, name: str) -> str:
        """Return the same as CSV."""
        path = f"/api/topic/{quote(name, safe='')}"
        status, answer = self._raw_answer("GET", f"{path}?format=csv", None)
        if status >= 400:
            self._ask("GET", path)  # refused as well, with the reason
        return answer.decode("utf-8", "replace")

    def ranks(self, most: int) -> dict[str, Any]:
        """Return the pages and hosts with the highest ranks, so many of each at most."""
        return self._ask("GET", f"/api/graph/ranks?{urlencode({'limit': most})}")

    def hubs(self, query: str, most: int) -> dict[str, Any]:
        """Return hubs and authorities around the first results of a search, so many of each at most."""
        return self._ask("GET", f"/api/graph/hubs?{urlencode({'q': query, 'limit': most})}")

    def submission(self, code: str) -> dict[str, Any]:
        """Return how a submission stands."""
        return self._ask("GET", f"/api/submit/{quote(code, safe='')}")

    def submissions(self, parts_max: int = PARTS_MAX) -> Iterator[dict[str, Any]]:
        """Yield all submissions, peer by peer; an administrator's token is needed.

        Args:
          parts_max: of one peer. GatewayError for more: it makes them up.
        """
        parts = [("", "")]
        told: Counter[str] = Counter()  # parts by peer
        while parts:
            peer, after = parts.pop()
            part = self._submissions_of(peer, after)
            if not told:
                parts += [(other, "") for other in reversed(part["peers"]) if other != part["peer"]]
            told[part["peer"]] += 1
            if told[part["peer"]] > parts_max:
                raise GatewayError(f"peer {part['peer']} does not come to an end of its submissions")
            yield from part["submissions"]
            if part["next"]:
                parts.append((part["peer"], part["next"]))

    def takes_submissions(self) -> bool:
        """Tell whether the policy lets sites be submitted; an administrator's token is needed."""
        return bool(self._submissions_of("", "")["is_on"])

    def _submissions_of(self, peer: str, after: str) -> dict[str, Any]:
        return self._ask("GET", f"/api/submissions?{urlencode({'peer': peer, 'after': after})}")

    def judge(self, verdict: bytes) -> dict[str, Any]:
        """Hand in a signed verdict on a submission; return the answer of POST /api/submissions."""
        return self._ask("POST", "/api/submissions", json.dumps({"verdict": verdict.hex()}).encode())

    def entity_days(self) -> int:
        """Return for how many days the mesh keeps an entity after a change. GatewayError: not at all."""
        return int(self._ask("GET", "/api/entities")["days"])

    def entity(self, name: str) -> dict[str, Any] | None:
        """Return the sealed row of an entity, bytes in Base64; None where the mesh has none.

        Args:
          name: its public key, in hexadecimal digits.
        """
        status, answer = self._answer("GET", f"/api/entities/{name}", None)
        if status == HTTPStatus.NOT_FOUND and self.entity_days():
            return None
        return self._checked(status, answer)

    def keep_entity(self, name: str, row: dict[str, Any]) -> None:
        """Have the mesh keep a sealed row. Args: as `entity` has them."""
        self._ask("POST", f"/api/entities/{name}", json.dumps(row).encode())

    def invite(self, wish: dict[str, Any]) -> dict[str, Any]:
        """Have people judge a pool; return the answer of /api/judging: a link for each.

        Args:
          wish: the JSON of POST /api/judging.
        """
        return self._ask("POST", "/api/judging", json.dumps(wish).encode())

    def judging(self, name: str, assessor: str = "") -> dict[str, Any]:
        """Return how far the assessors of a pool are: the answer of GET /api/judging.

        Args:
          assessor: whose judgements are told, too; "" for nobody's.
        """
        return self._ask("GET", "/api/judging?" + urlencode({"name": name, "assessor": assessor}))

    def drain(self, peer: str, *, is_draining: bool = True) -> dict[str, Any]:
        """Have a peer give its slots away, or take its share again; return the answer of /api/drain.

        Args:
          peer: its id or the beginning of it.
        """
        body = json.dumps({"peer": peer, "is_draining": is_draining}).encode()
        return self._ask("POST", "/api/drain", body)

    def keywords(self, url: str) -> dict[str, Any]:
        """Return the words that a stored page is about: the answer of /api/keywords."""
        return self._ask("GET", "/api/keywords?" + urlencode({"url": url}))

    def page(self, url: str) -> dict[str, Any]:
        """Return the text of a stored page, with title, dates and links: the answer of /api/page."""
        return self._ask("GET", "/api/page?" + urlencode({"url": url}))

    def why(self, url: str) -> dict[str, Any]:
        """Return the facts that are known of a URL: the answer of /api/why."""
        return self._ask("GET", "/api/why?" + urlencode({"url": url}))

    def why_idle(self, peer: str = "", since_s: float = 0.0, until_s: float = 0.0) -> dict[str, Any]:
        """Return the fetches of every peer, and the reasons why the rest waits: the answer of /api/why/idle.

        Args:
          peer: id of a member, for what that one alone has told in this time, as far as it is found.
        """
        about = {"peer": peer, "since_s": since_s, "until_s": until_s}
        return self._ask("GET", f"/api/why/idle?{urlencode(about)}" if peer else "/api/why/idle")

    def log(self, peer: str = "", after: str = "") -> dict[str, Any]:
        """Return a part of the log of searches: the answer of /api/log.

        Args:
          peer: whose part; "" for the first of them.
          after: `next` of the answer before.
        """
        return self._ask("GET", "/api/log?" + urlencode({"peer": peer, "after": after}))

    def decrees(self, kind: str, subject: str) -> dict[str, Any]:
        """Return the decrees of a kind about a subject: the answer of GET /api/decrees."""
        return self._ask("GET", "/api/decrees?" + urlencode({"kind": kind, "subject": subject}))

    def next_number(self, kind: str, subject: str) -> int:
        """Ask for the number of a decree that shall replace all those of a kind about a subject."""
        return int(self.decrees(kind, subject)["next_number"])

    def publish(self, decree: Decree) -> None:
        """Have the whole mesh know a decree."""
        self._ask("POST", "/api/decrees", msgspec.msgpack.encode(decree))

    def import_pages(self, body: bytes) -> dict[str, Any]:
        """Give pages of files to their owners; return the answer of /api/import.

        Args:
          body: MessagePack of `peers.importing.messages.ImportedPage`; of none, to ask for leave.
        """
        return self._ask("POST", "/api/import", body)

    def close(self) -> None:
        self._connection.close()

    def _ask(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        return self._checked(*self._answer(method, path, body))

    def _checked(self, status: int, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer. GatewayError, GatewayBusy: it is a refusal."""
        if status >= 400:
            is_busy = status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS)
            kind = GatewayBusy if is_busy else GatewayError
            raise kind(str(answer.get("error", f"{self.url} answered {status}")), status)
        return answer

    def _answer(self, method: str, path: str, body: bytes | None) -> tuple[int, dict[str, Any]]:
        """Return the status and the JSON of an answer, also of a refusal."""
        status, answer = self._raw_answer(method, path, body)
        try:
            decoded: dict[str, Any] = _decoder.decode(answer)
        except msgspec.MsgspecError as error:
            raise GatewayError(f"{self.url} is no gateway of ours: its answer is no JSON object") from error
        return status, decoded

    def _raw_answer(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Return the status and the bytes of an answer."""
        headers = self._headers()
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            try:
                status, answer = self._exchange(method, path, body, headers)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self._connection.close()  # kept alive too long for the server: once more, anew
                status, answer = self._exchange(method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise GatewayUnreachable(
                f"no answer from {self.url} ({error}); is a peer running there? "
                "`tianmesh start` or `tianmesh up` starts some, --gateway names another"
            ) from error
        return status, answer

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if token := self._token if isinstance(self._token, str) else self._token():
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        """Ask, again when it is told to come back (RFC 6585, 4)."""
        until = time.monotonic() + PATIENCE_S
        while True:
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            answer = response.read(ANSWER_BYTES_MAX)
            pause_s = _pause_of(response)
            if pause_s is None or time.monotonic() + pause_s > until:
                return response.status, answer
            time.sleep(pause_s)


_decoder = msgspec.json.Decoder(dict[str, Any])


def _pause_of(response: http.client.HTTPResponse) -> float | None:
    """In how many seconds to ask again; None when not."""
    after = response.getheader("Retry-After", "")
    is_told = response.status == HTTPStatus.TOO_MANY_REQUESTS and after.isascii() and after.isdigit()
    return float(after[:6]) if is_told else None


class _PinnedConnection(http.client.HTTPSConnection):
    """A connection to the holder of one certificate, regardless of its fields; others are told nothing."""

    def __init__(self, host: str, port: int, pin: bytes) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        super().__init__(host, port, timeout=TIMEOUT_S, context=context)
        self._pin = pin

    def connect(self) -> None:
        super().connect()
        shown = hashlib.sha256(self.sock.getpeercert(binary_form=True) or b"").digest()
        if not hmac.compare_digest(shown, self._pin):
            self.close()
            raise GatewayError(
                f"https://{self.host}:{self.port} shows another certificate than it is known by, "
                f"#sha256={shown.hex()}: if that is yours, as after a renewal, write this one down instead"
            )


class GatewayAddress(NamedTuple):
    """Where a gateway is."""

    scheme: str  # http or https
    host: str
    port: int
    pin: bytes = b""  # SHA-256 of the one certificate that it may show; empty for any that is good


def place_in(url: str) -> GatewayAddress:
    """Return where a gateway is.

    Args:
      url: http://host:port, also without the scheme, or https://host, whose certificate has to be good;
        https://host#sha256=... is believed by its certificate, in DER, with that digest only.

    Raises:
      ConfigError: it is none of these.
    """
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        port = parts.port or (443 if parts.scheme == "https" else 0)
        pin = _PIN.fullmatch(parts.fragment) if parts.scheme == "https" else None
        if parts.scheme in ("", "http", "https") and parts.hostname and port and (pin or not parts.fragment):
            digest = bytes.fromhex(pin[1].replace(":", "")) if pin else b""
            return GatewayAddress(parts.scheme or "http", parts.hostname, port, digest)
    except ValueError:  # a port that is none, or half a pair of brackets
        pass
    raise ConfigError(
        f"{url!r} is no gateway: give http://host:port as `tianmesh up` prints it, or https://host, with "
        "#sha256= and 64 digits of its certificate if no authority vouches for that"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def error_count(fetch_status: dict[str, int]) -> int:
    """How many fetches of a report went wrong: no answer, one that the server failed to give, or no room.

    That a page is not there (404) is an answer, and what is left out on purpose no failure.
    """
    return sum(
        count
        for what, count in fetch_status.items()
        if not what.startswith(("2", "3", "4")) and what not in _LEFT_OUT
    )


# By rules of the site or of ours.
_LEFT_OUT: Final = (
    "robots",
    "host_budget",
    "domain_budget",
    "policy",
    "policy_budget",
    "address_busy",
    "dns_open",
    "alias",
    "silent",
    "busy",
)
