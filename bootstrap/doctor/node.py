"""Whether a node of this machine can run: its configuration, keys, disk, addresses, and the doors. [io]"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from math import inf
from pathlib import Path
from typing import Final

from bootstrap.doctor.finding import DoctorFinding, fault, good, warning
from bootstrap.provision import BOOTSTRAP
from bootstrap.rendezvous import BootstrapConfig
from mesh.config import NODE_KEY, DoorConfig, MemberConfig, MeshConfig, load_config
from mesh.errors import ConfigError, RemoteProtocolError
from mesh.keys.certificate import Certificate, read_certificate
from mesh.keys.key_file import load_identity
from mesh.process.places import check_disk, check_place
from mesh.reach import Reach
from mesh.transport.tcp_endpoint import endpoint_of, host_and_port
from peers.config import PeerConfig

DAY_S: Final = 86_400.0
DAYS_LEFT_MIN: Final = 30.0  # of a certificate: time enough for whoever holds the root key to be on holiday
FREE_MIN: Final = 1 << 30  # bytes: less is gone within an hour of a crawl
FREE_SHARE_MIN: Final = 0.05
# What is acknowledged was synchronised: a disk that takes longer sets the pace of the crawl.
SYNC_S_MAX: Final = 0.1
SYNCS: Final = 5
SYNC_BYTES: Final = 64 << 10
CONNECT_S: Final = 3.0


def node_findings(config_file: Path) -> Iterator[DoctorFinding]:
    """Look at the node of a configuration, whether it runs or not."""
    folder = config_file.parent
    about = folder.name
    is_door = about == BOOTSTRAP
    try:
        config = _loaded(config_file, is_door=is_door)
    except ConfigError as error:
        yield fault(about, "configuration", str(error))
        return
    yield good(about, "configuration", str(config_file))
    member = config.member
    storage = config.storage.folder if isinstance(config, PeerConfig) else "data"
    yield from _certificate_findings(about, folder, config.mesh, member)
    yield from _disk_findings(about, folder, folder / storage)
    is_running = _is_running(config)
    yield run_finding(about, is_running=is_running, kind=BOOTSTRAP if is_door else "peer", config=config_file)
    if not is_running:
        yield from _port_findings(about, member)
    yield address_finding(about, member)
    doors = [door for door in member.doors if not _is_own(door, member)]
    yield from door_findings(about, doors, [_why_closed(door) for door in doors])


def certificate_finding(
    about: str, certificate: Certificate | None, mesh: MeshConfig, now: float
) -> DoctorFinding:
    """Judge a certificate; `now` in seconds since the epoch."""
    again = "have another made: `tianmesh invite` where the root key is, `tianmesh join` here"
    if certificate is None or not certificate.is_valid(bytes.fromhex(mesh.root_key)):
        return fault(about, "certificate", "not of this mesh and this key", again)
    days = (certificate.grant.valid_until - now) / DAY_S
    if days == inf:
        return good(about, "certificate", "for ever")
    renew = f"`tianmesh renew {certificate.grant.serial}` where the root key is"
    if days < 0:
        return fault(about, "certificate", f"ended {-days:.0f} days ago", renew)
    if days < DAYS_LEFT_MIN:
        return warning(about, "certificate", f"ends in {days:.0f} days", renew)
    return good(about, "certificate", f"for {days:,.0f} days more")


def space_finding(about: str, free: int, total: int) -> DoctorFinding:
    """Judge the space that a disk has left, in bytes."""
    said = f"{free / 1e9:,.1f} of {total / 1e9:,.1f} GB free"
    if free < FREE_MIN or free < FREE_SHARE_MIN * total:
        advice = "make room or move the folder to a larger disk: a full one stops the crawl, not the searches"
        return warning(about, "disk", said, advice)
    return good(about, "disk", said)


def sync_finding(about: str, seconds: float) -> DoctorFinding:
    """Judge how long the disk takes until something is durable."""
    said = f"{1e3 * seconds:.0f} ms until a page is durable"
    if seconds > SYNC_S_MAX:
        advice = "put storage.folder on another disk: every page waits for that, here and at its standby"
        return warning(about, "disk speed", said, advice)
    return good(about, "disk speed", said)


def run_finding(about: str, *, is_running: bool, kind: str, config: Path) -> DoctorFinding:
    if is_running:
        return good(about, "process", "runs")
    advice = f"`tianmesh {kind} --config {config}`, or `tianmesh service install {config.parent}`"
    return warning(about, "process", "does not run", advice)


def address_finding(about: str, member: MemberConfig) -> DoctorFinding:
    """Judge the address under which others are to find a node."""
    announced = member.announce or member.listen
    said = f"others find it at {announced}"
    others = [door for door in member.doors if not _is_near(_host_of(door))]
    if member.relay is Reach.ALWAYS and member.doors:
        return good(about, "address", "others reach it over a relay, at one of its doors")
    if _is_near(announced):
        if others:
            advice = "set member.announce to the address that other machines have of this one"
            return fault(about, "address", f"{said}, which is this machine alone", advice)
        return good(about, "address", f"{said}: a mesh of this machine alone")
    if _is_unspecified(announced):
        advice = "set member.announce to the address that other machines have of this one"
        return fault(about, "address", "listens everywhere and announces no address", advice)
    try:
        socket.getaddrinfo(announced, None)
    except OSError:
        advice = "correct member.announce, or have that name resolve on every machine"
        return fault(about, "address", f"{announced} resolves to nothing here", advice)
    return good(about, "address", said)


def door_findings(
    about: str, doors: Sequence[DoorConfig], why_closed: Sequence[str]
) -> Iterator[DoctorFinding]:
    """Judge the doors of the mesh that are not its own; one is enough to come in.

    Args:
      why_closed: for each of them, "" for one that opens.
    """
    if not doors:
        yield good(about, "doors", "none but its own: others come to it")
        return
    n_open = why_closed.count("")
    if n_open:
        yield good(about, "doors", f"{n_open} of {len(doors)} open")
    for door, why in zip(doors, why_closed, strict=True):
        if why:
            grade = warning if n_open else fault
            yield grade(about, "door", f"{door.endpoint}: {why}", _advice_on(door))


def _is_own(door: DoorConfig, member: MemberConfig) -> bool:
    announced = member.announce or member.listen
    return member.door_port > 0 and door.endpoint == endpoint_of((announced, member.door_port))


def _advice_on(door: DoorConfig) -> str:
    host = _host_of(door)
    start = "start the node that has it"
    return start if _is_near(host) else f"{start}, and let this machine through to {host}"


def _loaded(config_file: Path, *, is_door: bool) -> PeerConfig | BootstrapConfig:
    return load_config(config_file, BootstrapConfig) if is_door else load_config(config_file, PeerConfig)


def _certificate_findings(
    about: str, folder: Path, mesh: MeshConfig, member: MemberConfig
) -> Iterator[DoctorFinding]:
    try:
        identity = load_identity(folder / NODE_KEY)
    except ConfigError as error:
        yield fault(about, "key", str(error))
        return
    keys = identity.curve_public, identity.signing_public
    certificate = read_certificate(mesh.digest(), *keys, bytes.fromhex(member.certificate))
    yield certificate_finding(about, certificate, mesh, time.time())


def _disk_findings(about: str, home: Path, data: Path) -> Iterator[DoctorFinding]:
    try:
        check_place(data)
        check_disk(home, data)
    except ConfigError as error:
        yield fault(about, "disk", str(error))
        return
    place = data if data.is_dir() else data.parent
    usage = shutil.disk_usage(place)
    yield space_finding(about, usage.free, usage.total)
    try:
        yield sync_finding(about, _sync_s(place))
    except OSError as error:
        advice = f"give {place} to the user who runs the node, or set storage.folder to another"
        yield fault(about, "disk", f"no writing in {place}: {error.strerror}", advice)


def _sync_s(place: Path) -> float:
    """Return the median duration of a few synchronised writes; the trial file is removed again."""
    trial = place / f".doctor-{os.getpid()}"
    file = os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        taken = []
        for _ in range(SYNCS):
            began = time.perf_counter()
            os.write(file, bytes(SYNC_BYTES))
            os.fsync(file)
            taken.append(time.perf_counter() - began)
    finally:
        os.close(file)
        trial.unlink()
    return sorted(taken)[SYNCS // 2]


def _is_running(config: PeerConfig | BootstrapConfig) -> bool:
    """Does anybody answer where the node would? A port that is drawn at each start tells nothing."""
    member = config.member
    places = [(member.listen, member.door_port), (member.listen, member.inbox_port)]
    if isinstance(config, PeerConfig):
        host, _, port = config.gateway.listen.rpartition(":")
        places.append((host, int(port)))
    return any(not _why_unreachable(_reachable(host), port) for host, port in places if port)


def _port_findings(about: str, member: MemberConfig) -> Iterator[DoctorFinding]:
    own = {each: getattr(member, each) for each in ("inbox_port", "multicast_port", "door_port")}
    for name, port in (*own.items(), *(("relay_ports", port) for port in member.ports_lent())):
        family = socket.AF_INET6 if ":" in member.listen else socket.AF_INET
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((member.listen, port))
            except OSError as error:
                yield _port_finding(about, name, member.listen, port, error)


def _port_finding(about: str, name: str, listen: str, port: int, error: OSError) -> DoctorFinding:
    if error.errno == errno.EADDRINUSE:
        advice = f"end the program that has it, or set member.{name} to another port"
        return fault(about, "port", f"{port} is taken", advice)
    advice = "set member.listen to an address of this machine, or to 0.0.0.0 for all"
    return fault(about, "address", f"cannot listen at {listen}: {error.strerror}", advice)


def _why_closed(door: DoorConfig) -> str:
    try:
        return _why_unreachable(*host_and_port(door.endpoint))
    except RemoteProtocolError as error:
        return str(error)


def _why_unreachable(host: str, port: int) -> str:
    """Why no connection comes about, in words; "" when one does."""
    try:
        socket.create_connection((host, port), CONNECT_S).close()
    except TimeoutError:
        return f"no answer within {CONNECT_S:.0f} s, a firewall or a wrong address"
    except ConnectionRefusedError:
        return "nobody listens there"
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _host_of(door: DoorConfig) -> str:
    try:
        return host_and_port(door.endpoint)[0]
    except RemoteProtocolError:
        return ""


def _reachable(host: str) -> str:
    """Return the address at which this machine connects to a listener on `host`."""
    return "127.0.0.1" if _is_unspecified(host.strip("[]")) else host


def _is_unspecified(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _is_near(host: str) -> bool:
    """Does an address lead to this machine from wherever it is asked?"""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
