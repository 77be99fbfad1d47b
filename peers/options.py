"""Shared by several commands: options with one meaning, and answers to programs. [io]"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
import typer

from mesh.client.admin_token import tokens_by, tokens_for
from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.errors import ConfigError, unreadable
from mesh.keys.decree import Signer
from mesh.keys.signed_token import TokenRight

Told = TypeVar("Told")

GATEWAY: Final = "http://127.0.0.1:8017"
EVERYWHERE: Final = ("0.0.0.0", "[::]")  # addresses of all interfaces
_DATA_NAME: Final = "TIANMESH_DATA"


def gateway_in(config: Path) -> str:
    """Return where the peer of a configuration answers, http://host:port; "" when that is not known."""
    try:
        listen = tomllib.loads(config.read_text(encoding="utf-8"))["gateway"].get("listen", GATEWAY[7:])
        return "" if listen.endswith(":0") else f"http://{near(listen)}"
    except (OSError, ValueError, KeyError, AttributeError):  # a bootstrap node, or a slip of a person
        return ""


def near(listen: str) -> str:
    """Return where a machine itself asks a gateway that listens there, host:port."""
    host, _, port = listen.rpartition(":")
    return f"127.0.0.1:{port}" if host in EVERYWHERE else listen


def _gateway_here(context: typer.Context, parameter: typer.CallbackParam, gateway: str) -> str:
    """Return the gateway that is named, else that of the first peer in --data, else where most are.

    Raises:
      ConfigError: the folder that is named is none: what is asked elsewhere would be another mesh.
    """
    source = context.get_parameter_source(str(parameter.name))
    if source is not None and source.name != "DEFAULT":
        return gateway
    data = context.params.get("data") or data_here(Path(os.environ.get(_DATA_NAME) or DATA))
    _check_folder(data)
    found = map(gateway_in, [data / "config.toml", *sorted(data.glob("*/config.toml"))])
    return next(filter(None, found), gateway)


# Beside it stands --data, by which it is found where nobody names one.
GatewayOption = Annotated[
    str,
    typer.Option(
        "--gateway",
        envvar="TIANMESH_GATEWAY",
        callback=_gateway_here,
        help="Gateway of any peer, http://host:port.",
        show_default=f"that of the peer in --data, or {GATEWAY}",
    ),
]
KeyOption = Annotated[
    Path | None,
    typer.Option(
        "--key",
        envvar="TIANMESH_ADMIN_KEY",
        help="The administrator's key, as `init` makes it.",
        show_default="admin.key of --data, or of the mesh that is around or beside it",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
TOKEN_CHARS_MAX: Final = 4_096


def token_given(context: typer.Context, parameter: typer.CallbackParam, value: str) -> str:
    """Return a secret from where it is said to be; other users of a machine can read the words of a command.

    Raises:
      ConfigError: it is on the command line, or not where it is said to be.
    """
    if value == "-":
        return sys.stdin.readline(TOKEN_CHARS_MAX).strip()
    if value.startswith("@"):
        try:
            with open(value[1:], encoding="ascii") as file:
                return file.readline(TOKEN_CHARS_MAX).strip()
        except (OSError, ValueError) as error:
            raise unreadable(f"the {parameter.name} in {value[1:]}", error) from error
    source = context.get_parameter_source(str(parameter.name))
    if value and source is not None and source.name == "COMMANDLINE":
        option = f"{parameter.opts[0]} " if parameter.param_type_name == "option" else ""
        name = parameter.name
        raise ConfigError(
            f"other users of this machine could read the {name} on the command line: give {option}@FILE, or "
            f"{option}- and the {name} on standard input, or set {parameter.envvar}"
        )
    return value


TokenOption = Annotated[
    str,
    typer.Option(
        envvar="TIANMESH_ADMIN_TOKEN",
        callback=token_given,
        metavar="@FILE|-",
        help="A file with what `tianmesh token` prints, or - for standard input; without it the admin.key of "
        "--data signs one, or what stands in admin.token there is sent.",
    ),
]
_SPAN: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)?\s*", re.ASCII)
_UNITS_S: Final = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


def seconds_in(text: str) -> float:
    """Read a time as people write one: `90`, `15m`, `12h`, `1d`, `2w`.

    Raises:
      typer.BadParameter: it is none, or less than a second.
    """
    match = _SPAN.fullmatch(text)
    seconds = 0.0 if match is None else float(match[1]) * _UNITS_S[match[2] or "s"]
    if seconds < 1.0:
        raise typer.BadParameter(
            f"{text!r} is no time: give seconds, or a number with m, h, d or w, such as 1d"
        )
    return seconds


TOKEN_IN_CLEAR: Final = "TIANMESH_TOKEN_IN_CLEAR"  # name of the variable that lets tokens go over plain http
_ON_THE_WAY: Final = (
    "others on the way could read a token. Give https://, run the command on that machine (`tianmesh lab ...`"
    f" does), or set {TOKEN_IN_CLEAR}=1 where all on the way are trusted"
)
DATA: Final = Path("tianmesh-data")
LAB_PEER: Final = Path("tianmesh") / "peer"  # in the home folder of a machine of a lab


def data_here(data: Path) -> Path:
    """Return the folder that is meant; that of a lab's machine where none is named and none is here."""
    lab = Path.home() / LAB_PEER
    return lab if data == DATA and not data.exists() and (lab / "config.toml").exists() else data


DataOption = Annotated[
    Path,
    typer.Option(
        "--data",
        envvar=_DATA_NAME,
        callback=data_here,
        help="Folder of the mesh, or of a peer on this machine.",
        show_default="tianmesh-data, or ~/tianmesh/peer of a lab's machine",
    ),
]


def administrator_of(
    gateway: str, token: str, data: Path, key: Path | None = None, signer: Signer | None = None
) -> GatewayClient:
    """Return a client that may give orders, as far as the rights to that are known.

    Args:
      token: to be sent; "" for one that is signed, or found.
      signer: who signs it; None for who can in the folder.

    Raises:
      ConfigError: the gateway or the folder is none, or a key or token in it is open to others.
    """
    _check_folder(data)
    if not token:
        return client_with(gateway, tokens_for(data, key) if signer is None else tokens_by(signer))
    return client_with(gateway, token)


def reader_of(gateway: str, token: str, data: Path) -> GatewayClient:
    """Return a client that sees all that administrators see, likewise. Raises as `administrator_of` does.

    Where others could read a token on the way none is made for that: it sees what everybody sees.
    """
    _check_folder(data)
    if token:
        return client_with(gateway, token)
    tokens = tokens_for(data, right=TokenRight.READ)
    client = GatewayClient(gateway, tokens)
    if not _would_show(client, tokens):
        return client
    print(f"tianmesh: asking {client.url} as everybody does: {_ON_THE_WAY}", file=sys.stderr)
    return GatewayClient(gateway)


def client_with(gateway: str, token: str | Callable[[], str]) -> GatewayClient:
    """Return a client that sends a token, or the one that a function gives each time; "" for none.

    Raises:
      ConfigError: others could read it on the way, and nobody has said that they may; the gateway is none.
    """
    client = GatewayClient(gateway, token)
    if _would_show(client, token):
        raise ConfigError(f"no token is sent to {client.url}: {_ON_THE_WAY}")
    return client


def _would_show(client: GatewayClient, token: str | Callable[[], str]) -> bool:
    """Would a client show a token to others that may not see it?"""
    if not client.is_readable or os.environ.get(TOKEN_IN_CLEAR) == "1":
        return False
    return bool(token if isinstance(token, str) else token())


def _check_folder(data: Path) -> None:
    if not data.is_dir() and (data != DATA or data.exists()):
        raise ConfigError(f"--data {data} is no folder: give that of the mesh, or of the peer that is asked")


WithinOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Crawl this domain, host, network (as 162.105.0.0/16) or pattern of URLs with *; several go.",
        show_default="the domains of the seeds",
    ),
]
AnywhereOption = Annotated[bool, typer.Option("--anywhere", help="Follow links to any site.")]
DepthOption = Annotated[
    int | None, typer.Option(min=0, max=65_535, help="Clicks from a seed at most.", show_default="1000")
]


PagesMaxOption = Annotated[
    int | None,
    typer.Option(
        "--pages-max", min=1, help="Pages that the whole mesh visits, about.", show_default="no limit"
    ),
]


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(value, ensure_ascii=False))


def print_told(as_json: bool, value: Any, sentence: str) -> None:
    """Print a JSON document to programs, a sentence to people."""
    if as_json:
        print_json(value)
    else:
        print(sentence)


def printable(text: str) -> str:
    """Return a text of strangers without characters that a terminal carries out, or that turn the text."""
    return "".join(filter(str.isprintable, text))


def minute_of(seconds: float) -> str:
    """Return a time since 1970 as people read it, to the minute, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def read_told(told: dict[str, Any], kind: type[Told]) -> Told:
    """Decode the answer of a gateway.

    Raises:
      GatewayError: another version says it otherwise.
    """
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as error:
        raise GatewayError(
            f"the gateway is of another version ({error}); --json shows what it says"
        ) from error
