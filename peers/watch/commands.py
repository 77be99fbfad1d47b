"""The commands `tianmesh watch`: set, add, remove, list, show, follow. [io]"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from mesh.client.admin_token import key_in
from mesh.client.gateway_client import GatewayUnreachable
from mesh.counts import counted
from mesh.errors import ConfigError, unreadable
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    KeyOption,
    TokenOption,
    administrator_of,
    minute_of,
    print_json,
    print_told,
    printable,
    reader_of,
)
from peers.policy.decree_issuer import ruling_of
from peers.user_state import replace_whole
from peers.watch.issuer import WatchIssuer, list_of_decree
from peers.watch.list_file import added, entry_in, line_of, read_list
from peers.watch.watch_list import WatchEntry

AGAIN_S: Final = 5.0  # after a gateway has gone away
SIGNER_CHARS: Final = 16  # of a public key, that people see

watch_app: Final = typer.Typer(
    no_args_is_help=True,
    help="Tell administrators when a page that is new to the mesh has a word of a list. So has a page with "
    "another text than before. The list is signed by an administrator and known to all members of the mesh; "
    "searchers never see it. Case, width, accents and traditional characters make no difference; a word is "
    "found as a whole, Chinese ones anywhere; a phrase as in a search with quotation marks.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@watch_app.command("set", epilog="Example: tianmesh watch set words.txt")
def set_list(
    file: Annotated[
        Path, typer.Argument(help="A word or phrase a line, or NAME, tab, TEXT; # begins a remark.")
    ],
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Have the mesh watch for the words of a file, instead of those before; an empty one ends the watch."""
    entries = read_list(file)
    with administrator_of(gateway, token, data, key) as client:
        number = WatchIssuer(client, key_in(data, key)).issue(entries)
    _tell_issued(as_json, number, entries)


@watch_app.command(epilog='Examples: tianmesh watch add 台湾   tianmesh watch add "climate change"')
def add(
    texts: Annotated[list[str], typer.Argument(help="Words or phrases.", metavar="TEXT...")],
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Watch for more words; the counts of those before go on."""
    new = [entry_in(text) for text in texts]
    with administrator_of(gateway, token, data, key) as client:
        issuer = WatchIssuer(client, key_in(data, key))
        entries = added(issuer.in_force(), new)
        number = issuer.issue(entries)
    _tell_issued(as_json, number, entries)


@watch_app.command(epilog="Example: tianmesh watch remove 台湾")
def remove(
    names: Annotated[list[str], typer.Argument(help="As `watch list` shows them.", metavar="NAME...")],
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Watch for some words no more; after the last one for nothing."""
    with administrator_of(gateway, token, data, key) as client:
        issuer = WatchIssuer(client, key_in(data, key))
        entries = issuer.in_force()
        if unknown := set(names) - {entry.name for entry in entries}:
            raise ConfigError(
                f"{', '.join(sorted(unknown))}: not in the list; `tianmesh watch list` shows it"
            )
        left = tuple(entry for entry in entries if entry.name not in names)
        number = issuer.issue(left)
    _tell_issued(as_json, number, left)


@watch_app.command("list", epilog="Examples: tianmesh watch list > words.txt   tianmesh watch list --history")
def list_entries(
    history: Annotated[bool, typer.Option("--history", help="All lists: who has set them, when.")] = False,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Print the list in force, as `watch set` reads it, and its signer."""
    with reader_of(gateway, token, data) as client:
        decrees = WatchIssuer(client, key_in(data)).decrees()
    ruling = ruling_of(decrees, time.time())
    shown = decrees if history else (ruling,) if ruling is not None else ()
    if as_json:
        print_json([_list_json(decree, is_ruling=decree is ruling) for decree in shown])
        return
    if not shown:
        print("# nothing is watched for: `tianmesh watch add WORD` begins")
    for decree in shown:
        watch_list = list_of_decree(decree)
        in_force = ", in force" if decree is ruling else ""
        signer = decree["signer"][:SIGNER_CHARS]
        print(f"# list {decree['number']} of {minute_of(watch_list.issued_at)}, signed by {signer}{in_force}")
        for entry in watch_list.entries:
            print(printable(line_of(entry)))


@watch_app.command(epilog="Examples: tianmesh watch show   tianmesh watch show --json")
def show(
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Print how often each word was noticed, and the last notices of all peers, the newest at the end."""
    with reader_of(gateway, token, data) as client:
        told = client.watch()
    if as_json:
        print_json(told)
        return
    for entry in told["entries"]:
        print(f"{entry['notices']:8}  {printable(entry['entry'])}")
    for notice in reversed(told["notices"]):
        print(_line(notice))
    if told["silent"]:
        print(f"no answer from {', '.join(told['silent'])}", file=sys.stderr)


@watch_app.command(epilog="Example: tianmesh watch follow --after @last")
def follow(
    after: Annotated[
        str,
        typer.Option(
            help="The `id` of the last notice that you have; @FILE has it, and gets that of each new one.",
            show_default="from now on",
        ),
    ] = "",
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
) -> None:
    """Print notices of all peers as they come, a JSON object a line, until it is stopped.

    A notice may come twice, as after a crash: then its url, mark and entry are those of the one before.
    """
    file = Path(after[1:]) if after.startswith("@") else None
    if file is not None:
        after = _last_in(file)
    with reader_of(gateway, token, data) as client:
        while True:
            try:
                for place, notice in client.watch_events(after):
                    after = place
                    if notice is not None:
                        print_json({"id": after, **notice})
                        sys.stdout.flush()
                    if file is not None:
                        _keep_last(file, after)
            except GatewayUnreachable as error:
                print(f"tianmesh: {error}; again in {AGAIN_S:.0f} s", file=sys.stderr)
            time.sleep(AGAIN_S)


def _last_in(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, error) from error


def _keep_last(file: Path, place: str) -> None:
    """Note the last notice; a kill leaves this place or the one before, so that none is passed over."""
    try:
        replace_whole(file, place.encode())
    except OSError as error:
        raise ConfigError(
            f"cannot write {file}: {error.strerror}; give another file by --after @FILE"
        ) from error


def _list_json(decree: Any, *, is_ruling: bool) -> dict[str, Any]:
    watch_list = list_of_decree(decree)
    shown = {name: decree[name] for name in ("number", "effective_from", "valid_until", "signer")}
    entries = [{"name": each.name, "kind": each.kind, "text": each.text} for each in watch_list.entries]
    return {**shown, "issued_at": watch_list.issued_at, "is_in_force": is_ruling, "entries": entries}


def _line(notice: dict[str, Any]) -> str:
    shown = (minute_of(notice["at_s"]), notice["entry"], notice["url"], notice["excerpt"])
    return printable("  ".join(shown))


def _tell_issued(as_json: bool, number: int, entries: tuple[WatchEntry, ...]) -> None:
    sentence = f"list {number} with {counted(len(entries), 'entry')} is on its way to all peers"
    if not entries:
        sentence = f"nothing is watched for any more (list {number})"
    print_told(as_json, {"number": number, "entries": len(entries)}, sentence)
