"""The way to web hosts through a proxy: SOCKS 4 and 5, or HTTP. [io]

The proxy looks names up (SOCKS 4a and 5, CONNECT), so nobody here knows the addresses that are asked: that
they are public, and that one address is asked one thing at a time, is up to the proxy. What is refused before
it is asked are names that say themselves where they lead: addresses, and those of the machine itself.

Pages of http:// are asked of an HTTP proxy as a whole URL (RFC 9112, 3.2.2), since many take CONNECT for
https:// alone.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Final
from urllib.parse import unquote, urlsplit

import trio
from python_socks import ProxyConnectionError, ProxyError, ProxyTimeoutError
from python_socks.async_.trio import Proxy as Tunnels

from mesh.errors import ConfigError
from peers.crawler.fetching.connection import ExchangeError
from peers.crawler.model.web_request import FailureReason

SCHEMES: Final = ("http", "socks4", "socks5")


class Proxy:
    """A proxy that all is asked through."""

    def __init__(self, url: str) -> None:
        """Take the URL of a proxy: `socks5://host:port`, or `http://user:password@host:port`.

        Raises:
          ConfigError: it is none.
        """
        parts = urlsplit(url)
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if parts.scheme not in SCHEMES or not host or not port:
            raise ConfigError(
                f"web.proxy {url!r} names no proxy: write it as socks5://host:port or http://host:port"
            )
        self.host = host
        self.port = port
        self._is_http = parts.scheme == "http"
        # SOCKS 4 has only a user, and no names but by the extension 4a.
        self._tunnels = Tunnels.from_url(url, rdns=True)
        credentials = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        self._credentials = b64encode(credentials.encode()).decode() if parts.username else ""

    def takes_whole_urls(self, url: str) -> bool:
        """Is this URL asked of the proxy itself, rather than of its host through a tunnel?"""
        return self._is_http and url.startswith("http:")

    def headers(self) -> list[tuple[str, str]]:
        """Return the additional headers of a request to the proxy itself."""
        return [("Proxy-Authorization", f"Basic {self._credentials}")] if self._credentials else []

    async def connect(self, url: str, host: str, port: int, seconds: float) -> trio.socket.SocketType:
        """Connect to the proxy for a URL, and through it to the host if need be.

        Raises:
          ExchangeError: the proxy is not there, or cannot reach the host.
        """
        try:
            with trio.fail_after(seconds):
                if self.takes_whole_urls(url):
                    return (await trio.open_tcp_stream(self.host, self.port)).socket
                return await self._tunnels.connect(host, port, timeout=seconds)
        except (trio.TooSlowError, ProxyTimeoutError) as error:
            raise ExchangeError(FailureReason.TIMEOUT, f"no connection in {seconds:g} s") from error
        except ProxyError as error:
            reason = FailureReason.LOCAL if _is_our_fault(error) else FailureReason.UNREACHABLE
            raise ExchangeError(reason, f"the proxy says: {error}") from error
        except (ProxyConnectionError, OSError) as error:
            raise ExchangeError(FailureReason.LOCAL, f"the proxy is not there: {error}") from error


def _is_our_fault(error: ProxyError) -> bool:
    """Tell whether the proxy refuses us altogether, not only the host we ask for."""
    return error.error_code == 407 or "auth" in str(error).lower()
