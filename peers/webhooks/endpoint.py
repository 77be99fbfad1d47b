"""The URL that gets deliveries, each signed: posts, and looks at the address before it connects. [io]

The address that was looked at is the one that is connected to, so that a name which changes its address in
between (DNS rebinding) leads nowhere else. Redirects are not followed.

Source: Standard Webhooks 1.0, "Webhook Metadata" and "Signature scheme"; an answer of 410 ends the webhook.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import http.client
import socket
import ssl
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from mesh.errors import ConfigError, TianmeshError
from mesh.urls import canonical
from peers.crawler.addresses.addresses import is_public
from peers.webhooks.saved_search import HookDelivery

TIMEOUT_S: Final = 15.0  # Standard Webhooks: 15 to 30
ANSWER_BYTES_MAX: Final = 1_024  # that are read to keep the peace; nothing in them counts
SECRET_BYTES: Final = range(24, 65)
SECRET_PREFIX: Final = "whsec_"


class NotDelivered(TianmeshError):
    """The endpoint has not taken a delivery; it may later."""


class EndpointGone(ConfigError):
    """The endpoint wants no deliveries any more."""


def key_in(secret: str) -> bytes:
    """Return the key in a secret as Standard Webhooks writes it: `whsec_`, if it likes, and Base64.

    Raises:
      ConfigError: it is none, or too short or long.
    """
    try:
        key = base64.b64decode(secret.strip().removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) not in SECRET_BYTES:
        raise ConfigError(
            "the secret has to be 24 to 64 bytes in Base64: `openssl rand -base64 32` makes one"
        )
    return key


def signature_of(key: bytes, delivery: HookDelivery, at_s: int) -> str:
    """signature = base64(HMAC-SHA256(key, id "." timestamp "." body)), Standard Webhooks."""
    signed = f"{delivery.id}.{at_s}.{delivery.body}".encode()
    return f"v1,{base64.b64encode(hmac.digest(key, signed, 'sha256')).decode()}"


class Endpoint:
    """Posts deliveries to one URL."""

    def __init__(self, url: str, key: bytes, *, may_be_private: bool) -> None:
        """Check the URL.

        Raises:
          ConfigError: it is none that could be posted to.
        """
        known = canonical(url)
        if known is None:
            raise ConfigError(f"{url!r} is no URL that can be posted to: give one with https:// or http://")
        self.url = known
        parts = urlsplit(known)
        assert parts.hostname is not None
        self._host, self._is_encrypted = parts.hostname, parts.scheme == "https"
        self._port = parts.port or (443 if self._is_encrypted else 80)
        self._target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        self._key = key
        self._may_be_private = may_be_private

    def post(self, delivery: HookDelivery, at_s: int) -> None:
        """Post a delivery, signed with the time of this try.

        Raises:
          NotDelivered: it has not been taken.
          EndpointGone: there will be none any more (410).
          ConfigError: the endpoint is at a private address, and nobody has said that it may be.
        """
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "tianmesh-webhook",
            "webhook-id": delivery.id,
            "webhook-timestamp": str(at_s),
            "webhook-signature": signature_of(self._key, delivery, at_s),
        }
        connection: http.client.HTTPConnection | None = None
        try:
            connection = self._connection()
            connection.request("POST", self._target, delivery.body.encode(), headers)
            response = connection.getresponse()
            response.read(ANSWER_BYTES_MAX)
        except (OSError, http.client.HTTPException) as error:
            raise NotDelivered(f"no answer from {self.url}: {error}") from error
        finally:
            if connection is not None:
                connection.close()
        if response.status == HTTPStatus.GONE:
            raise EndpointGone(f"{self.url} wants no deliveries any more (410)")
        if not 200 <= response.status < 300:
            raise NotDelivered(f"{self.url} answered {response.status}")

    def _connection(self) -> http.client.HTTPConnection:
        """Connect to the first address that lets us, once all were looked at."""
        found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        private = [each for each in addresses if not is_public(each)]
        if private and not self._may_be_private:
            raise ConfigError(
                f"{self.url} is at {private[0]}, which is no public address: --private lets it be there"
            )
        error = OSError("no address")
        for address in addresses:
            try:
                stream = socket.create_connection((address, self._port), TIMEOUT_S)
            except OSError as failure:
                error = failure
                continue
            return self._over(stream)
        raise error

    def _over(self, stream: socket.socket) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        if self._is_encrypted:
            try:
                stream = ssl.create_default_context().wrap_socket(stream, server_hostname=self._host)
            except OSError:
                stream.close()
                raise
            connection.default_port = 443  # which `Host` leaves out
        connection.sock = stream
        return connection
