"""Real members on loopback: they find each other through a bootstrap node, or say why not."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
import trio

from bootstrap.provision import MeshFolder, create_mesh, write_bootstrap, write_peer
from bootstrap.rendezvous import run_bootstrap
from mesh.actors.actor import Actor, Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.config import DoorConfig, load_config
from mesh.errors import ConfigError, StorageError
from mesh.keys.certificate import Grant, issue
from mesh.keys.decree import RENEWAL, REVOCATION, Signer
from mesh.membership.membership import MembershipStatistics
from mesh.membership.model.messages import (
    CrawlLicensed,
    DecreePublished,
    HoldingsRevoked,
    PublishDecree,
)
from mesh.process.member import Member
from mesh.tables.lmdb_table import LmdbTable
from peers.config import PeerConfig
from tests.frames import DECODER

SECONDS_MAX = 100.0  # they take far less; a slow machine is no failure


class Listener(Actor):
    """Remembers who owns what, and until when it may crawl."""

    name: ClassVar[str] = "controller"

    def __init__(self) -> None:
        self.ownership: Ownership | None = None
        self.licensed_until = 0.0

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case OwnershipChanged(ownership):
                self.ownership = ownership
            case HoldingsRevoked():
                pass  # this process stood still for so long that others may hold it for dead
            case CrawlLicensed(until):
                self.licensed_until = until
            case DecreePublished(_, _, refusal):
                assert not refusal
            case _:
                raise AssertionError(f"the controller does not take {message}")
        return []

    @property
    def alive(self) -> set[str]:
        return set() if self.ownership is None else set(self.ownership.alive)

    @property
    def weights(self) -> dict[str, int]:
        return {} if self.ownership is None else dict(self.ownership.table.weights)


def incarnation_of(member: Member) -> int:
    assert member.runtime is not None
    seen = member.runtime.observe()["membership"]
    assert isinstance(seen, MembershipStatistics)
    return seen.incarnation


def is_licensed(member: Member) -> bool:
    """Has it heard from most of a mesh whose members are all known to each other?"""
    assert member.runtime is not None
    seen = member.runtime.observe()["membership"]
    assert isinstance(seen, MembershipStatistics)
    return seen.licence_until > 0.0


async def until(is_so: Callable[[], bool]) -> None:
    with trio.fail_after(SECONDS_MAX):
        while not is_so():
            await trio.sleep(0.01)


@asynccontextmanager
async def bootstrapped(mesh: MeshFolder, **settings: Any) -> AsyncIterator[dict[str, Any]]:
    """A running bootstrap node with these settings of `[member]`; its description."""
    write_bootstrap(mesh, {f"member.{name}": value for name, value in settings.items()})
    told: list[dict[str, Any]] = []
    stop = trio.Event()
    with trio.fail_after(2 * SECONDS_MAX):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_bootstrap, mesh.folder / "bootstrap" / "config.toml", stop, told.append)
            await until(lambda: bool(told))
            yield told[0]
            stop.set()


def config_of(
    mesh: MeshFolder, number: int, door: dict[str, Any] | None = None, **changes: Any
) -> PeerConfig:
    doors = (DoorConfig(endpoint=door["door"], key=door["key"]),) if door else ()
    write_peer(mesh, number, {"member.doors": doors})
    config = load_config(mesh.folder / f"peer-{number}" / "config.toml", PeerConfig)
    return msgspec.structs.replace(config, member=msgspec.structs.replace(config.member, **changes))


def member_of(mesh: MeshFolder, number: int, config: PeerConfig) -> Member:
    folder = mesh.folder / f"peer-{number}"
    table = LmdbTable(folder / "table")
    try:
        return Member(folder, config.mesh, config.member, table)
    except ConfigError:
        table.close()
        raise


@asynccontextmanager
async def running(
    mesh: MeshFolder,
    number: int,
    door: dict[str, Any],
    before_stop: Callable[[], Awaitable[bool]] | None = None,
    **changes: Any,
) -> AsyncIterator[tuple[Member, Listener, trio.Event]]:
    """A member that ends with the block at the latest."""
    config = config_of(mesh, number, door, **changes)
    member, listener, stop = member_of(mesh, number, config), Listener(), trio.Event()
    member.assemble([listener], [], DECODER)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(member.run, stop, before_stop)
        yield member, listener, stop
        stop.set()


@pytest.fixture
def mesh(tmp_path: Path) -> MeshFolder:
    return create_mesh(tmp_path / "mesh", "test", replicas=2)


async def test_each_start_is_another_life_though_the_clock_is_set_back(
    mesh: MeshFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, lives = config_of(mesh, 1), []
    for now in (2_000_000_000.0, 1_000_000_000.0):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        member = member_of(mesh, 1, config)
        lives.append(member.life)
        await member.transport.aclose()
        member.table.close()  # as a process that was killed: nothing more is committed
    assert lives[1] == lives[0] + 1


async def test_members_find_each_other_and_notice_when_one_goes(mesh: MeshFolder) -> None:
    async with AsyncExitStack() as stack:
        door = await stack.enter_async_context(bootstrapped(mesh))
        one, hears_one, _ = await stack.enter_async_context(running(mesh, 1, door))
        two, hears_two, stop_two = await stack.enter_async_context(running(mesh, 2, door))
        everybody = {door["id"], one.peer_id, two.peer_id}
        weights = {door["id"]: 0, one.peer_id: 100, two.peer_id: 100}
        await until(lambda: hears_one.weights == hears_two.weights == weights)
        await until(lambda: hears_one.alive == hears_two.alive == everybody)
        assert hears_one.ownership is not None
        assert hears_two.ownership is not None
        assert hears_one.ownership.epoch == hears_two.ownership.epoch
        await until(lambda: hears_one.licensed_until > 0.0 and hears_two.licensed_until > 0.0)
        stop_two.set()
        await until(lambda: hears_one.alive == everybody - {two.peer_id})


async def test_a_member_that_comes_back_is_the_one_it_was(mesh: MeshFolder) -> None:
    async with AsyncExitStack() as stack:
        door = await stack.enter_async_context(bootstrapped(mesh))
        one, hears_one, _ = await stack.enter_async_context(running(mesh, 1, door))
        async with running(mesh, 2, door) as (two, _, _):
            await until(lambda: two.peer_id in hears_one.alive)
        await until(lambda: two.peer_id not in hears_one.alive)
        async with running(mesh, 2, door) as (again, hears_again, _):
            await until(lambda: two.peer_id in hears_one.alive and one.peer_id in hears_again.alive)
            assert again.peer_id == two.peer_id


async def test_a_member_that_leaves_is_missed_by_nobody_and_may_come_back(mesh: MeshFolder) -> None:
    """As a drained peer does. One that stops may come back with what nobody else has: slots wait for it."""

    async def is_empty() -> bool:
        return True

    async with AsyncExitStack() as stack:
        door = await stack.enter_async_context(bootstrapped(mesh))
        _, hears_one, _ = await stack.enter_async_context(running(mesh, 1, door))
        for finish, missed in ((None, 1), (is_empty, 0)):
            async with running(mesh, 2, door, finish) as (two, hears_two, _):
                await until(lambda two=two: two.peer_id in hears_one.alive)  # type: ignore[misc]
                await until(lambda hears=hears_two: hears.alive == hears_one.alive)  # type: ignore[misc]
            await until(lambda two=two: two.peer_id not in hears_one.alive)  # type: ignore[misc]
            assert hears_one.ownership is not None
            assert hears_one.ownership.missed == missed


async def test_what_is_to_be_finished_is_finished_while_everything_runs(mesh: MeshFolder) -> None:
    member, listener, stop = member_of(mesh, 1, config_of(mesh, 1)), Listener(), trio.Event()
    member.assemble([listener], [], DECODER)
    steps: list[str] = []

    async def finish() -> bool:
        await trio.sleep(0.01)
        assert member.runtime is not None
        steps.append(f"controller is {'up' if listener.alive else 'down'}")
        return False

    stop.set()
    with trio.fail_after(SECONDS_MAX):
        await member.run(stop, finish)
    assert steps == ["controller is up"]


async def test_an_expelled_member_is_gone_from_all_and_ends_and_who_was_away_hears_of_it(
    mesh: MeshFolder,
) -> None:
    ended: list[pytest.ExceptionInfo[BaseExceptionGroup[BaseException]]] = []

    async def be_guest(guest: Member) -> None:
        with pytest.raises(BaseExceptionGroup) as caught:
            await guest.run(trio.Event())
        ended.append(caught)

    async with AsyncExitStack() as stack:
        door = await stack.enter_async_context(bootstrapped(mesh))
        one, hears_one, _ = await stack.enter_async_context(running(mesh, 1, door))
        guest = member_of(mesh, 3, config_of(mesh, 3, door))
        guest.assemble([Listener()], [], DECODER)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(be_guest, guest)
            async with running(mesh, 2, door) as (two, hears_two, _):
                await until(lambda: guest.peer_id in hears_one.alive & hears_two.alive)
                # Before, who goes away counts against the majority that has to hear of the expulsion.
                await until(lambda: all(map(is_licensed, (one, two, guest))))
            await until(lambda: two.peer_id not in hears_one.alive)
            expulsion = Signer(mesh.root, mesh.mesh.digest()).decree(REVOCATION, guest.peer_id, 1, b"")
            assert one.runtime is not None
            one.runtime.deliver(Address(one.peer_id, "controller"), "membership", PublishDecree(1, expulsion))
            await until(lambda: guest.peer_id not in hears_one.alive)
            async with running(mesh, 2, door) as (_, hears_again, _):
                # The bootstrap node that lets it in may have heard of the decree a moment later than we.
                away = {guest.peer_id}
                await until(lambda: one.peer_id in hears_again.alive and not away & hears_again.alive)
            await until(lambda: bool(ended))
    assert ended[0].group_contains(ConfigError, match="was expelled from the mesh")


# --- What is wrong is one sentence ---


async def test_the_member_of_another_mesh_is_refused(mesh: MeshFolder, tmp_path: Path) -> None:
    other = create_mesh(tmp_path / "other", "other", replicas=2)
    async with bootstrapped(mesh) as door:
        stranger = member_of(other, 1, config_of(other, 1, door))
        stranger.assemble([Listener()], [], DECODER)
        with trio.fail_after(SECONDS_MAX), pytest.raises(BaseExceptionGroup) as caught:
            await stranger.run(trio.Event())
    assert caught.group_contains(ConfigError, match=r"^the mesh refused this peer: ")


async def test_a_certificate_of_another_mesh_is_found_out_before_the_start(
    mesh: MeshFolder, tmp_path: Path
) -> None:
    other = create_mesh(tmp_path / "other", "other", replicas=2)
    theirs = config_of(other, 1).member.certificate
    with pytest.raises(ConfigError, match=r"not for this peer\.key in mesh 'test': use those two"):
        member_of(mesh, 1, config_of(mesh, 1, certificate=theirs))


async def test_more_weight_than_the_certificate_allows_is_found_out_before_the_start(
    mesh: MeshFolder,
) -> None:
    with pytest.raises(ConfigError, match=r"allows a weight of 1000: set member\.weight to that"):
        member_of(mesh, 1, config_of(mesh, 1, weight=1_001))


async def test_a_member_that_was_renewed_starts_again_with_what_its_renewal_allows(mesh: MeshFolder) -> None:
    """Before, its configuration had to be given the new certificate by hand."""
    async with running(mesh, 1, {}) as (member, _, _):
        assert member.runtime is not None
        keys = member.identity.curve_public, member.identity.signing_public
        grant = Grant(member.peer_id, time.time() + 1e9, weight_max=5_000)
        certificate = issue(mesh.root, mesh.mesh.digest(), *keys, grant).encoded()
        renewal = Signer(mesh.root, mesh.mesh.digest()).decree(RENEWAL, member.peer_id, 1, certificate)
        before = incarnation_of(member)
        member.runtime.deliver(Address(member.peer_id, "controller"), "membership", PublishDecree(1, renewal))
        await until(lambda: incarnation_of(member) > before)
    async with running(mesh, 1, {}, weight=4_000) as (again, hears, _):
        assert again.record.certificate == certificate
        await until(lambda: hears.weights == {again.peer_id: 4_000})


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda path: path.unlink(), "cannot read the key file"),
        (lambda path: path.chmod(0o644), "others can read the key file"),
        (lambda path: path.write_text('peer_secret = "00"'), "is damaged"),
        (lambda path: path.write_bytes(b"\xff\xff"), "is no key file"),
    ],
)
async def test_a_bad_key_file_is_named(
    mesh: MeshFolder, spoil: Callable[[Path], Any], complaint: str
) -> None:
    config = config_of(mesh, 1)
    path = mesh.folder / "peer-1" / "peer.key"
    spoil(path)
    with pytest.raises(ConfigError, match=complaint) as caught:
        member_of(mesh, 1, config)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("which", ["inbox_port", "multicast_port", "door_port"])
async def test_a_port_in_use_is_named(mesh: MeshFolder, which: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"^tcp://127\.0\.0\.1:{port} is in use: stop"):
            member_of(mesh, 1, config_of(mesh, 1, **{which: port}))


@pytest.mark.parametrize("listen", ["203.0.113.77", "not an address", ""])
async def test_an_address_of_another_machine_is_named(mesh: MeshFolder, listen: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot listen on|write the endpoint"):
        member_of(mesh, 1, config_of(mesh, 1, listen=listen))


async def test_a_member_that_listens_everywhere_has_to_say_where_it_is_found(mesh: MeshFolder) -> None:
    with pytest.raises(ConfigError, match=r"^others cannot connect to 0\.0\.0\.0: set member\.announce"):
        member_of(mesh, 1, config_of(mesh, 1, listen="0.0.0.0"))


async def test_what_is_announced_is_the_address_of_a_name(mesh: MeshFolder) -> None:
    member = member_of(mesh, 1, config_of(mesh, 1, listen="0.0.0.0", announce="localhost"))
    for endpoint in (member.record.endpoint, member.record.multicast, member.record.door):
        assert endpoint.startswith("tcp://127.0.0.1:")
    await member.transport.aclose()
    member.table.close()


async def test_a_name_that_leads_nowhere_is_not_announced(mesh: MeshFolder) -> None:
    with pytest.raises(ConfigError, match=r"member\.announce: 'no\.such\.name\.invalid' leads to no address"):
        member_of(mesh, 1, config_of(mesh, 1, announce="no.such.name.invalid"))


def test_a_table_that_another_version_wrote_is_refused_and_left_as_it_is(mesh: MeshFolder) -> None:
    table = LmdbTable(mesh.folder / "peer-1" / "table")
    table.put(b"\x00life", b"\0\0\0\7")
    table.commit()
    config = config_of(mesh, 1)
    with pytest.raises(StorageError, match="start with an empty data folder"):
        Member(mesh.folder / "peer-1", config.mesh, config.member, table)
    assert list(table.scan(b"")) == [(b"\x00life", b"\0\0\0\7")]
    table.close()


def test_a_table_in_use_is_named(mesh: MeshFolder, tmp_path: Path) -> None:
    table = LmdbTable(tmp_path / "table")
    with pytest.raises(ConfigError, match="is in use: stop the peer"):
        LmdbTable(tmp_path / "table")
    table.close()
