"""The commands by which the holder of a root key says who is a member: expel, renew, invite; and join. [io]

The root key is read on the machine where they run and goes nowhere: what reaches the mesh is signed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape

from bootstrap.invitation import accept, invitation_to
from bootstrap.provision import (
    CERTIFICATE_DAYS,
    MEMBERS,
    MeshFolder,
    certificate_of,
    open_mesh,
    renewed,
)
from mesh.config import DoorConfig
from mesh.decree import RENEWAL, REVOCATION, Signer
from peers.options import DATA, GATEWAY, GatewayOption, TokenOption, administrator_of

INVITATION_DAYS: Final = 7.0

DataOption = Annotated[Path, typer.Option("--data", help="Folder of the mesh, with its root key.")]
DaysOption = Annotated[float, typer.Option(min=0.0, help="Days from now for which the certificate is valid.")]
WeightMaxOption = Annotated[
    int | None,
    typer.Option(min=0, max=65_536, help="The largest weight that it may have.", show_default="as before"),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the application."""
    app.command(epilog="Example: tianmesh expel k3v2 --reason 'it answers with spam'")(expel)
    app.command(epilog="Examples: tianmesh renew k3v2 --days 365   tianmesh renew --all")(renew)
    app.command(epilog="Example: tianmesh invite guest.invitation --door tcp://192.0.2.7:7402=KEY")(invite)
    app.command(epilog="Example: tianmesh join guest.invitation --folder guest")(join)


def expel(
    peer: Annotated[str, typer.Argument(help="Id of the member, or its first letters.")],
    reason: Annotated[str, typer.Option(help="For those who look it up.")] = "",
    data: DataOption = DATA,
    token: TokenOption = "",
    gateway: GatewayOption = GATEWAY,
) -> None:
    """Expel a member for ever: nothing is taken from it any more, and others take over what it has."""
    mesh_folder = open_mesh(data)
    whole = certificate_of(mesh_folder, peer).grant.serial
    with administrator_of(gateway, token, data) as client:
        number = client.next_number(REVOCATION, whole)
        client.publish(_root_of(mesh_folder).decree(REVOCATION, whole, number, reason.encode()))
    Console().print(
        f"{whole} is expelled: the mesh knows within seconds, members that are away when they are back"
    )


def renew(
    peer: Annotated[str, typer.Argument(help="Id of the member, or its first letters.")] = "",
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
    mesh_folder = open_mesh(data)
    members = sorted(path.stem for path in (data / MEMBERS).glob("*.toml")) if everybody else [peer]
    with administrator_of(gateway, token, data) as client:
        for each in members:
            certificate = renewed(mesh_folder, certificate_of(mesh_folder, each), days, weight_max)
            whole = certificate.grant.serial
            number = client.next_number(RENEWAL, whole)
            decree = _root_of(mesh_folder).decree(RENEWAL, whole, number, certificate.encoded())
            client.publish(decree)
            Console().print(f"{whole} is a member for {days:g} days more")


def invite(
    file: Annotated[Path, typer.Argument(help="Where to write the invitation: whoever has it can join.")],
    door: Annotated[
        list[str], typer.Option(help="Door of a member, tcp://host:port=KEY; several may be given.")
    ],
    days: DaysOption = INVITATION_DAYS,
    weight_max: Annotated[int, typer.Option(min=0, max=65_536, help="The largest weight it may have.")] = 100,
    data: DataOption = DATA,
) -> None:
    """Make an invitation for one machine: keys, a certificate and the way to the mesh in one file.

    It is good for one peer and until its certificate ends: `tianmesh renew` lets the peer stay,
    `tianmesh expel` makes the invitation void, used or not. Of two machines with the same one the later ends.
    """
    mesh_folder = open_mesh(data)
    whole = invitation_to(mesh_folder, file, tuple(map(_door_in, door)), days, weight_max)
    Console().print(f"{escape(str(file))} lets one machine join as {whole}, for {days:g} days if not renewed")


def join(
    file: Annotated[Path, typer.Argument(help="An invitation.")],
    folder: Annotated[Path, typer.Option(help="Where the new peer shall live.")] = Path("peer"),
    host: Annotated[str, typer.Option(help="Address of this machine for the others.")] = "127.0.0.1",
) -> None:
    """Use an invitation: write the configuration of a new peer, which joins when it is started."""
    accept(file, folder, host)
    config = escape(str(folder / "config.toml"))
    Console(highlight=False).print(f"start it with\n  tianmesh peer --config {config}")


def _root_of(mesh_folder: MeshFolder) -> Signer:
    return Signer(mesh_folder.root, mesh_folder.mesh.digest())


def _door_in(text: str) -> DoorConfig:
    endpoint, _, key = text.partition("=")
    if not endpoint.startswith("tcp://") or len(key) != 40:
        raise typer.BadParameter(f"{text!r} is no door: give tcp://host:port=KEY, KEY of 40 characters")
    return DoorConfig(endpoint=endpoint, key=key)
