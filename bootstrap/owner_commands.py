"""The commands by which the holder of a root key decides on members: expel, renew, invite; and join. [io]

The root key is read on the machine where they run and goes nowhere: what reaches the mesh is signed.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from getpass import getpass
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.markup import escape

from bootstrap.invitation import doors_in, invite_to, is_near, read_token
from bootstrap.newcomer import join_by
from bootstrap.provision import (
    CERTIFICATE_DAYS,
    MeshFolder,
    certificate_of,
    member_in,
    members_by_key,
    note_member,
    open_mesh,
    renewed,
)
from mesh.client.admin_token import mesh_folder_of
from mesh.config import DoorConfig, load_config
from mesh.counts import counted
from mesh.errors import ConfigError
from mesh.keys.certificate import peer_in
from mesh.keys.decree import RENEWAL, REVOCATION, Signer
from mesh.keys.voucher import USES_MAX
from mesh.reach import Reach
from peers.commands.members import named
from peers.commands.undone_visits import CLOCK_AHEAD_MAX, undone_lines, undone_visits
from peers.config import PeerConfig
from peers.gateway.model.settings import checked_listen
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    KeyOption,
    TokenOption,
    administrator_of,
    print_json,
    token_given,
)
from peers.policy.policy_issuer import PolicyIssuer

EXPEL_EPILOG: Final = (
    "Examples: tianmesh expel k3v2 --reason 'it answers with spam'   tianmesh expel mill   "
    "tianmesh expel $KEY, the 64 hexadecimal digits in the first line of an administrator's admin.key"
)
RENEW_EPILOG: Final = "Examples: tianmesh renew k3v2 --weight-max 200   tianmesh renew --all"
INVITE_EPILOG: Final = (
    "Examples: tianmesh invite --data mymesh   tianmesh invite --uses 10 --expires 1 --data mymesh"
)
JOIN_EPILOG: Final = (
    "Examples: tianmesh join   (asks for the token)   tianmesh join @token.txt --host 10.0.0.7"
)
INVITATION_DAYS: Final = 7.0

DaysOption = Annotated[float, typer.Option(min=0.0, help="Days from now for which the certificate is valid.")]
WeightMaxOption = Annotated[
    int | None,
    typer.Option(min=0, max=65_536, help="The largest weight that it may have.", show_default="as before"),
]


def expel(
    peer: Annotated[
        str,
        typer.Argument(
            help="Id of the member, its first letters, or its name; or the public key of an administrator."
        ),
    ],
    reason: Annotated[str, typer.Option(help="For those who look it up.")] = "",
    undo_since: Annotated[
        datetime | None,
        typer.Option(help="UTC; visit again what it has visited since, as `tianmesh policy undo --by` does."),
    ] = None,
    key: KeyOption = None,
    data: DataOption = DATA,
    token: TokenOption = "",
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Expel a member for ever: nothing is accepted from it any more; others take over its slots and pages.

    It takes the root.key of the mesh, which is in the folder --data, or around or beside that of a peer.

    Expel an administrator, and all that its key has signed is void, policies and take-downs too: have another
    one sign them anew. `tianmesh init` makes a new admin.key where there is none.
    """
    mesh_folder = open_mesh(mesh_folder_of(data))
    root = _root_of(mesh_folder)
    is_administrator = bool(re.fullmatch("[0-9a-fA-F]{64}", peer))
    if peer.lower() == mesh_folder.mesh.root_key:
        raise ConfigError("that is the root key of this mesh, which nobody can expel: found another mesh")
    undone = None
    with administrator_of(gateway, token, data, key, root if key is None else None) as client:
        whole = peer.lower() if is_administrator else member_in(mesh_folder, named(client, peer)).stem
        number = client.next_number(REVOCATION, whole)
        client.publish(root.decree(REVOCATION, whole, number, reason.encode()))
        if undo_since is not None:
            why = reason or f"{whole} was expelled"
            issuer, by = PolicyIssuer(client, root), None if is_administrator else whole
            until = datetime.now(UTC) + CLOCK_AHEAD_MAX
            _, until_s = issuer.undo(undo_since.replace(tzinfo=UTC), until, why, by)
            undone = undone_visits(client, until_s)
    if as_json:
        told = {"expelled": whole, "number": number}
        print_json(told if undone is None else {**told, "undone": msgspec.to_builtins(undone)})
        return
    what = f"the administrator {whole}" if is_administrator else whole
    Console(soft_wrap=True).print(
        f"{what} is expelled: the mesh knows within seconds, members that are away when they are back"
    )
    for line in undone_lines(undone or {}):
        print(line)


def renew(
    peer: Annotated[str, typer.Argument(help="Id of the member, its first letters, or its name.")] = "",
    everybody: Annotated[bool, typer.Option("--all", help="Renew the certificates of all members.")] = False,
    days: DaysOption = CERTIFICATE_DAYS,
    weight_max: WeightMaxOption = None,
    data: DataOption = DATA,
    token: TokenOption = "",
    gateway: GatewayOption = GATEWAY,
) -> None:
    """Let members stay for longer, without a stop: their new certificates reach them through the mesh."""
    if bool(peer) == everybody:
        raise typer.BadParameter("name one member, or give --all")
    mesh_folder = open_mesh(mesh_folder_of(data))
    root = _root_of(mesh_folder)
    with administrator_of(gateway, token, data, signer=root) as client:
        members = (
            members_by_key(mesh_folder) if everybody else [certificate_of(mesh_folder, named(client, peer))]
        )
        certificates = [renewed(mesh_folder, each, days, weight_max) for each in members]
        for certificate in certificates:
            whole = certificate.grant.serial
            number = client.next_number(RENEWAL, whole)
            decree = root.decree(RENEWAL, whole, number, certificate.encoded())
            client.publish(decree)
            note_member(mesh_folder, certificate)
            Console().print(f"{whole} is a member for {counted(days, 'day')} more")


def invite(
    uses: Annotated[int, typer.Option(min=1, max=USES_MAX, help="How many machines may join with it.")] = 1,
    expires: Annotated[float, typer.Option(min=0.0, help="Days in which they may join.")] = INVITATION_DAYS,
    days: DaysOption = CERTIFICATE_DAYS,
    weight_max: Annotated[
        int, typer.Option(min=0, max=65_536, help="The largest weight of each; 0 answers queries only.")
    ] = 100,
    door: Annotated[
        list[str] | None,
        typer.Option(
            help="Door of a member, tcp://host:port=KEY; several may be given.",
            show_default="those of the nodes in --data",
        ),
    ] = None,
    data: DataOption = DATA,
) -> None:
    """Print a token with which other machines join: `tianmesh join` asks for it there.

    Whoever has it can join, so hand it on like a password. A machine that joins makes its own key.
    `tianmesh expel` of the ids that it prints makes the token void, also of those that have joined.
    """
    mesh_folder = open_mesh(mesh_folder_of(data))
    doors = tuple(map(_door_in, door)) if door else doors_in(mesh_folder)
    if not doors:
        raise ConfigError(
            f"no node in {data} has a door that is always at the same port: give --door "
            "tcp://HOST:PORT=KEY, as the node prints it when it starts"
        )
    invitation = invite_to(mesh_folder, doors, uses, expires, days, weight_max)
    remarks = Console(stderr=True, highlight=False, soft_wrap=True)
    machines = counted(uses, "machine")
    remarks.print(
        f"good for {machines} and {counted(expires, 'day')}; ids: {' '.join(invitation.voucher.serials())}"
    )
    if all(map(is_near, doors)):
        remarks.print(
            "[yellow]its doors are on this machine only: other machines need a mesh founded with "
            "`tianmesh init --host ADDRESS`[/yellow]"
        )
    remarks.print("on each other machine run `tianmesh join`, give it this token, then run `tianmesh start`:")
    print(invitation.token())


def join(
    token: Annotated[
        str,
        typer.Argument(
            envvar="TIANMESH_INVITATION",
            callback=token_given,
            metavar="@FILE|-",
            help="A file with what `tianmesh invite` printed, or - for standard input.",
            show_default="asks for it",
        ),
    ] = "",
    folder: Annotated[
        Path, typer.Option(envvar="TIANMESH_DATA", help="Where the new peer shall live.")
    ] = DATA,
    host: Annotated[
        str,
        typer.Option(help="Address of this machine for the others.", show_default="that towards the door"),
    ] = "",
    gateway: Annotated[
        str, typer.Option(help="HOST:PORT where it answers people.", show_default="127.0.0.1, a free port")
    ] = "",
    weight: Annotated[
        int | None,
        typer.Option(
            min=0, max=65_536, help="Its share of the slots; 0 answers queries only.", show_default="100"
        ),
    ] = None,
    relay: Annotated[
        bool, typer.Option("--relay", help="Have others reach it over a relay of the mesh only.")
    ] = False,
    contact: Annotated[
        str,
        typer.Option(help="Where webmasters reach you, an e-mail address or a URL; to crawl public hosts."),
    ] = "",
    name: Annotated[
        str, typer.Option(help="What people call it.", show_default="the name of its machine")
    ] = "",
) -> None:
    """Join a mesh: make the keys and the configuration of a new peer on this machine.

    It asks a door of the mesh which id is free and by which address this machine is known there. When it
    starts, and others do not reach it at that address, they do over a relay if a door offers one.
    """
    if gateway:
        checked_listen(gateway, "--gateway ")
    invitation = read_token(token or _asked_for_token())
    reach = Reach.ALWAYS if relay else Reach.AUTO
    given = {"gateway": gateway, "contact": contact, "name": name}
    join_by(invitation, folder, host, weight=weight, relay=reach, **given)
    config = folder / "config.toml"
    member = load_config(config, PeerConfig).member
    ports = f"{member.inbox_port} to {member.door_port}"
    console = Console(highlight=False, soft_wrap=True)
    peer = peer_in(member.certificate)
    if relay:
        console.print(f"{peer}, over a relay: nothing has to be let in")
    else:
        console.print(f"{peer} at {escape(member.announce)}; let its ports {ports} through")
    console.print(f"start it with\n  tianmesh start {escape(str(folder))}")


def _asked_for_token() -> str:
    """Return the token that a person types, or else the text in standard input."""
    if sys.stdin.isatty():
        return getpass("Token that `tianmesh invite` printed (it is not shown): ")
    return sys.stdin.read()


def _root_of(mesh_folder: MeshFolder) -> Signer:
    return Signer(mesh_folder.root, mesh_folder.mesh.digest())


def _door_in(text: str) -> DoorConfig:
    endpoint, _, key = text.partition("=")
    if not endpoint.startswith("tcp://") or len(key) != 40:
        raise typer.BadParameter(f"{text!r} is no door: give tcp://host:port=KEY, KEY of 40 characters")
    return DoorConfig(endpoint=endpoint, key=key)
