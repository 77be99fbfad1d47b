"""Endpoints as member records and configurations write them: tcp://host:port. [io]"""

from __future__ import annotations

import errno
import re
import socket
from ipaddress import ip_address

from mesh.errors import ConfigError, RemoteProtocolError

BACKLOG = 1024  # connections that wait for accept; the system cuts it at net.core.somaxconn

# Only TCP, and none of ZeroMQ's other spellings: with ipc:// or a source address a hostile member
# record could make us touch files and interfaces of our own.
_ENDPOINT = re.compile(r"tcp://(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,253})):([0-9]{1,5})")

_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*\.?")


def host_and_port(endpoint: str) -> tuple[str, int]:
    """Take an endpoint apart; an IPv6 host loses its brackets.

    Raises:
      RemoteProtocolError: it is not tcp://host:port with a port up to 65535.
    """
    match = _ENDPOINT.fullmatch(endpoint)
    if match is None or int(match[3]) > 65_535:
        raise RemoteProtocolError(f"endpoint is not tcp://host:port: {endpoint[:300]!r}")
    return match[1] or match[2], int(match[3])


def check_address(endpoint: str) -> None:
    """Make sure that ZeroMQ can connect there without asking anybody for a name.

    libzmq resolves names in the one thread that does all its I/O: a hostile record with a name whose
    server is slow would stop all our connections for seconds at a time.

    Raises:
      RemoteProtocolError: it is not tcp://ADDRESS:PORT with a numeric address and a port from 1 on.
    """
    host, port = host_and_port(endpoint)
    try:
        ip_address(host)
    except ValueError as error:
        raise RemoteProtocolError(f"endpoint has no numeric address: {endpoint[:300]!r}") from error
    if port == 0:
        raise RemoteProtocolError(f"endpoint has port 0: {endpoint[:300]!r}")


def endpoint_of(address: tuple[str, int] | tuple[str, int, int, int]) -> str:
    """Write a socket's address as an endpoint."""
    host, port = address[:2]
    return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"


def checked_host(host: str) -> str:
    """Return the name or address of a machine, as a person has given it.

    Raises:
      ConfigError: others cannot connect to such a host.
    """
    try:
        address = ip_address(host)
    except ValueError as error:
        if _HOST_NAME.fullmatch(host) and not host.replace(".", "").isdigit():
            return host
        raise ConfigError(
            f"{host!r} is neither a host name nor an address: give that of this machine, as 192.0.2.7"
        ) from error
    if address.is_unspecified or address.is_multicast:
        raise ConfigError(f"others cannot connect to {host}: give the address of this machine, as 192.0.2.7")
    return host


def checked_own_endpoint(endpoint: str) -> str:
    """Return an endpoint of this machine's configuration as it is.

    Raises:
      ConfigError: it is not tcp://host:port.
    """
    try:
        host_and_port(endpoint)
    except RemoteProtocolError as error:
        raise ConfigError(f"write the endpoint {endpoint!r} as tcp://ADDRESS:PORT") from error
    return endpoint


def listen_on(endpoint: str) -> socket.socket:
    """Open a listening TCP socket; port 0 takes any free one.

    Raises:
      ConfigError: see `bind_error`.
    """
    host, port = host_and_port(checked_own_endpoint(endpoint))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise bind_error(endpoint, error.errno) from error


def bind_error(endpoint: str, code: int | None) -> ConfigError:
    """Return an error: one sentence on why an endpoint cannot be listened on, and the remedy."""
    match code:
        case errno.EADDRINUSE:
            return ConfigError(
                f"{endpoint} is in use: stop the program that listens there, or choose another port in "
                "[member] of config.toml"
            )
        case errno.EACCES:
            return ConfigError(f"not allowed to listen on {endpoint}: choose a port above 1023")
        case errno.EMFILE | errno.ENFILE:
            return ConfigError(f"too many open files to listen on {endpoint}: raise the limit (ulimit -n)")
        case _:
            return ConfigError(f"cannot listen on {endpoint}: give an address of this machine")
