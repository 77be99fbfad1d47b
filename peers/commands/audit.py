"""The command `tianmesh audit`: promises to others, from logs and archives, and a member's word. [io]"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from mesh.config import load_config
from mesh.counts import counted
from mesh.errors import ConfigError, CorruptionError
from mesh.urls import host_of
from peers.commands.members import ids_of, only
from peers.commands.undone_visits import CLOCK_AHEAD_MAX, idle_of, told_alone, told_alone_lines
from peers.config import PeerConfig
from peers.crawler.access_lines import access_in
from peers.crawler.addresses.addresses import is_public
from peers.crawler.gaps import Audit, Gap, LoggedFetch, audit
from peers.exporting.command import configs_in
from peers.gateway.model.member_lines import called
from peers.gateway.model.time_words import utc
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    TokenOption,
    print_json,
    reader_of,
)
from peers.storage.archive.warc import read_records

app = typer.Typer(no_args_is_help=True)
EPILOG: Final = (
    "Examples: tianmesh audit politeness --config mymesh   "
    "tianmesh audit politeness /var/log/nginx/access.log --delay 1"
)
MEMBER_EPILOG: Final = "Example: tianmesh audit member k3v2 --since 2027-01-31T08:00 --json"
SHOWN_MAX: Final = 20


@app.callback()
def _app() -> None:
    """Prove that promises to others were kept, or list the word of one member."""


@app.command(epilog=EPILOG)
def politeness(
    logs: Annotated[
        list[Path] | None, typer.Argument(help="Logs of web servers, each of one address; - for stdin.")
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            help="Configuration of a peer, or a folder with peers: archives to audit, unless logs are."
        ),
    ] = None,
    delay: Annotated[
        float | None,
        typer.Option(
            min=0, help="Seconds that were to pass.", show_default="delay_s of the configurations, or 1"
        ),
    ] = None,
    agent: Annotated[
        str, typer.Option(help="Whose lines count: what their User-Agent contains.")
    ] = "tianmesh",
    as_json: JsonOption = False,
) -> None:
    """Tell the shortest pause between two requests to each host, and to each address.

    From the logs of web servers it is from the end of one answer to the beginning of the next request, as far
    as they note both. From archives it is from beginning to beginning, of the pages that were stored; private
    addresses are judged only where `spares_private` promises them a pause. The exit code is 1 when one is
    shorter than it may be.
    """
    if logs:
        questions = _of_logs(logs, agent)
        allowed_s = 1.0 if delay is None else delay
    else:
        configs = configs_in(config or [DATA])
        questions = _of_archives(configs)
        allowed_s = _delay_of(configs) if delay is None else delay
    found = audit(questions, allowed_s)
    if as_json:
        print_json(_told(found))
    else:
        _show(found)
    if found.too_short:
        sys.exit(1)


@app.command(epilog=MEMBER_EPILOG)
def member(
    name: Annotated[str, typer.Argument(help="Id of the member, its first letters, or its name.")],
    since: Annotated[
        datetime | None, typer.Option(help="UTC; what it has told from then on.", show_default="all")
    ] = None,
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """List all that the others have by the word of one member alone, before you expel it; nothing changes.

    That is what `tianmesh expel MEMBER --undo-since TIME` has visited again or forgets: pages that it has
    visited last, and link texts that nobody else has told. A page is told by each peer that keeps it, up to
    five of them with their addresses. The member itself is not believed, and not listed.
    """
    since_s = 0.0 if since is None else since.replace(tzinfo=UTC).timestamp()
    until_s = (datetime.now(UTC) + CLOCK_AHEAD_MAX).timestamp()
    with reader_of(gateway, token, data) as client:
        idle = idle_of(client)
        members = {*idle.peers, *idle.silent, *idle.down, *idle.names}
        names = {peer: idle.names.get(peer, "") for peer in members}
        peer = only(names, name, ids_of(names, name))
        told = told_alone(client, peer, since_s, until_s)
    if as_json:
        told_since = None if since is None else since_s
        print_json({"member": peer, "since_s": told_since, "told": msgspec.to_builtins(told)})
        return
    since_when = "" if since is None else f" since {since:%Y-%m-%d %H:%M}"
    print(f"told by {called(idle.names, peer)} alone{since_when}")
    for line in told_alone_lines(told):
        print(line)


def _of_logs(logs: list[Path], agent: str) -> Iterator[LoggedFetch]:
    for path in logs:
        try:
            file = sys.stdin if str(path) == "-" else path.open(encoding="utf-8", errors="replace")
        except OSError as error:
            raise ConfigError(
                f"cannot read {path}: {error.strerror}; name the log of a web server"
            ) from error
        with file:
            for line in file:
                access = access_in(line)
                if access is None or agent not in access.agent:
                    continue
                name = access.host or path.stem
                url = f"http://{name}{access.target}" if access.target.startswith("/") else access.target
                yield LoggedFetch(access.began_s, access.ended_s, name, str(path), url, access.resolution_s)


def _of_archives(configs: list[Path]) -> Iterator[LoggedFetch]:
    """The visits that peers of this machine have noted, each once; not those of files that were imported."""
    from peers.exporting.peer_files import PeerFiles

    seen: set[tuple[str, float]] = set()
    for config in configs:
        peer = PeerFiles(config)
        spares_private = load_config(config, PeerConfig).web.spares_private
        try:
            for version in peer.versions():
                place = version.place
                if place.visit and (place.url, place.fetched_at) not in seen:
                    seen.add((place.url, place.fetched_at))
                    address = judged_address(_address_in(peer.read(place)), spares_private=spares_private)
                    name, at_s = host_of(place.url), place.fetched_at
                    yield LoggedFetch(at_s, at_s, name, address, place.url)
        finally:
            peer.close()


def judged_address(address: str, *, spares_private: bool) -> str:
    """Return an address that was promised a pause of its own; "" for one of which only the hosts were."""
    return address if spares_private or is_public(address) else ""


def _address_in(records: bytes) -> str:
    """Where a page was fetched from; "" when its records do not say, or cannot be read."""
    try:
        return next((record.headers.get("warc-ip-address", "") for record in read_records(records)), "")
    except CorruptionError:
        return ""


def _delay_of(configs: list[Path]) -> float:
    return min(load_config(config, PeerConfig).crawl.delay_s for config in configs)


def _told(found: Audit) -> dict[str, object]:
    return {
        "allowed_s": found.allowed_s,
        "requests": found.questions,
        "too_short": len(found.too_short),
        "names": [_gap(gap) for gap in found.names],
        "addresses": [_gap(gap) for gap in found.addresses],
    }


def _gap(gap: Gap) -> dict[str, object]:
    return {
        "of": gap.of,
        "requests": gap.questions,
        "smallest_gap_s": gap.smallest_s,
        "is_too_short": gap.is_too_short,
        "before": gap.before,
        "after": gap.after,
        "at_s": gap.at_s,
    }


def _show(found: Audit) -> None:
    for kind, gaps in (("host", found.names), ("address", found.addresses)):
        for gap in [gap for gap in gaps if gap.smallest_s is not None][:SHOWN_MAX]:
            at = utc(gap.at_s)
            mark = "TOO SHORT" if gap.is_too_short else "fine"
            when = f"{at:%Y-%m-%d %H:%M:%S}Z" if at else "?"
            print(f"{mark:9} {gap.smallest_s:10.3f} s  {kind} {gap.of}  {when}  {gap.after}")
    names, addresses = len(found.names), len(found.addresses)
    print(
        f"{counted(found.questions, 'request')} to {counted(names, 'host')} at "
        f"{counted(addresses, 'address')}; "
        f"{len(found.too_short):,} of these were asked again before {found.allowed_s:g} s were over"
    )
