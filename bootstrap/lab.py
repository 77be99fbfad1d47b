"""A mesh of several peers on this machine, each a process of its own. [io]

The lab only starts, watches and stops; the peers are those that run on real machines, found by the
same bootstrap node and asked through the same gateways.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Final

import trio

from bootstrap.nodes import NodeError, Nodes
from bootstrap.provision import (
    BOOTSTRAP,
    MeshFolder,
    Settings,
    create_mesh,
    doors_of,
    open_mesh,
    write_bootstrap,
    write_peer,
)
from bootstrap.standstill import Standstill, check_due
from mesh.client.admin_token import tokens_for
from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.config import NAME_CHARS_MAX, DoorConfig, load_config
from mesh.counts import counted
from mesh.errors import ConfigError
from mesh.urls import canonical
from peers.config import PeerConfig
from peers.gateway.model.settings import GatewaySettings
from peers.policy.edits import ALL_ELSE
from peers.policy.policy_issuer import PolicyIssuer
from peers.policy.rules import Rule

JOIN_S: Final = 30.0
REST_S: Final = 10.0  # peers without pages are at rest within a second or two
POLL_S: Final = 0.5
SECOND_LOOK_S: Final = 0.1  # after the first report of a mesh at rest
# While nothing happens all peers are asked less and less often, but a person sees what begins within this.
REST_POLL_S_MAX: Final = 5.0

Report = dict[str, Any]


class NoReport(NodeError):
    """No gateway has answered just now; that may pass."""


@dataclass(frozen=True, slots=True)
class LabOptions:
    """The options of `tianmesh up`."""

    folder: Path
    peers: int
    replicas: int
    settings: Settings = field(default_factory=dict)  # of every peer
    first_settings: Settings = field(
        default_factory=dict
    )  # of peers that have no configuration yet, under the others
    gateway: str = ""  # of the first peer, the others count up; "" for what their configurations say
    is_traced: bool = False
    is_supervised: bool = False  # who ends by itself is started again, while the lab is watched


@dataclass(frozen=True, slots=True)
class CrawlScope:
    """Where the crawl of a lab stays."""

    within: tuple[str, ...]  # see `peers.policy.edits.target`; none for the domains of the seeds
    limits: Rule  # without conditions
    is_anywhere: bool
    pages_max: int | None = None  # of the whole mesh

    @property
    def is_given(self) -> bool:
        """Did a person say anything of it?"""
        is_of_pages = bool(self.within) or self.is_anywhere or self.limits != ALL_ELSE
        return is_of_pages or self.pages_max is not None


class Lab:
    """Running nodes and a way to talk to them; made by `running_lab`."""

    def __init__(self, options: LabOptions) -> None:
        self._options = options
        self._is_silent = False  # no gateway has answered the last poll
        self._standstill = Standstill()
        self.mesh_folder = self._found_or_open()
        folders = {name: self.mesh_folder.folder / name for name in (BOOTSTRAP, *self._names)}
        self._tokens = tokens_for(self.mesh_folder.folder)  # one for all that is asked in some minutes
        self._nodes = Nodes(folders, is_supervised=options.is_supervised)

    @property
    def peers(self) -> dict[str, dict[str, Any]]:
        """Return the description of each peer at its start (id, pid, gateway) by its name, peer-1 first."""
        descriptions = self._nodes.descriptions
        return {name: descriptions[name] for name in self._names if name in descriptions}

    @property
    def gateways(self) -> list[str]:
        """URLs of the gateways, peer-1 first."""
        return [at["gateway"] for at in self.peers.values()]

    async def report(self) -> Report:
        """The status of the whole mesh, asked of the first gateway that answers.

        Raises:
          NoReport: none does.
        """
        for url in self.gateways:
            with GatewayClient(url, self._tokens) as client:
                try:
                    return await trio.to_thread.run_sync(client.status)
                except GatewayError:
                    continue
        raise NoReport("no peer answers")

    async def widen(self, urls: list[str], scope: CrawlScope) -> str:
        """Have the mesh crawl these URLs and pages around them; return the bounds of the crawl in words."""
        pages = [url for url in map(canonical, urls) if url is not None]
        folder = self.mesh_folder.folder
        with GatewayClient(self.gateways[0], self._tokens) as client:
            issuer = PolicyIssuer(client, folder / "admin.key")
            widen = partial(
                issuer.widen,
                pages,
                scope.within,
                scope.limits,
                is_anywhere=scope.is_anywhere,
                pages_max=scope.pages_max,
            )
            return await trio.to_thread.run_sync(widen)

    async def add_seeds(self, urls: list[str]) -> dict[str, Any]:
        """Hand seeds to their owners through the first gateway, once slots have come to rest.

        Where a crawl begins while peers still compare what they keep, what they compare changes all the time:
        slots change hands under the crawl, and pages have a third copy.
        """
        await self._rest()
        with GatewayClient(self.gateways[0], self._tokens) as client:
            return await trio.to_thread.run_sync(client.add_seeds, urls)

    async def _rest(self) -> None:
        """Wait for a while until no slots move."""
        with trio.move_on_after(REST_S):
            while not _are_at_rest(await self._peers_seen()):
                await trio.sleep(0.1)

    async def wait_until_done(
        self, show: Callable[[Report], None], tell: Callable[[str], None], wait_s: float
    ) -> Report:
        """Wait until nothing is due any more anywhere; return the last report.

        Args:
          tell: of gateways that do not answer for a while, and why nothing is fetched.
          wait_s: for what is due later nobody waits.

        Raises:
          LeftForLater: all that is left is due later, or a disk is full.

        Two rounds in a row must find every peer idle, the same peers, and nothing that happened in
        between (Mattern 1987, the four counter method): then no message can have been on its way.
        """
        before: Report | None = None
        while True:
            self._nodes.check()
            report = await self._report_if_any(tell)
            if report is None:
                await trio.sleep(POLL_S)
                continue
            show(report)
            if before is not None and self._is_done(before, report):
                return report
            await self._look_for_standstill(report, tell, wait_s)
            is_first_rest = report["total"]["idle"] and not (before and before["total"]["idle"])
            before = report
            await trio.sleep(SECOND_LOOK_S if is_first_rest else POLL_S)

    async def watch(self, show: Callable[[Report], None], tell: Callable[[str], None]) -> None:
        """Show reports until cancelled; `tell` of nodes that have ended, without which the others go on.

        Raises:
          NodeError: the last peer has ended, and none is started again.
        """
        pause_s = asks_at = 0.0  # until all peers are asked again
        before: Report | None = None
        while True:
            self._nodes.look(tell)
            if self._nodes.lost.issuperset(self.peers):
                raise NodeError("all peers have ended; start again with the same --data to go on")
            for name in await self._nodes.start_due(tell):
                if name == BOOTSTRAP:
                    self.configure(self._door)
            if trio.current_time() >= asks_at:
                report = await self._report_if_any(tell)
                if report is not None:
                    show(report)
                    await self._look_for_standstill(report, tell, inf)
                is_at_rest = before is not None and report is not None and self._is_done(before, report)
                pause_s = min(2 * pause_s, REST_POLL_S_MAX) if is_at_rest else POLL_S
                asks_at, before = trio.current_time() + pause_s, report
            await trio.sleep(POLL_S)

    async def _look_for_standstill(self, report: Report, tell: Callable[[str], None], wait_s: float) -> None:
        """Where nothing has been fetched for a while, tell why, and wait no longer than is wanted."""
        now = trio.current_time()
        if not self._standstill.is_to_ask(report, now):
            return
        try:
            with GatewayClient(self.gateways[0], self._tokens) as client:
                answer = await trio.to_thread.run_sync(client.why_idle)
        except GatewayError:
            return  # which is told of as soon as no report comes either
        if why := self._standstill.news(answer["why"]):
            tell(why)
        check_due(answer, wait_s)
        self._standstill.check_space(report, wait_s, now)

    async def _report_if_any(self, tell: Callable[[str], None]) -> Report | None:
        """Ask for a report; one that does not come is told of, once until one comes again."""
        try:
            report = await self.report()
        except NoReport as error:
            if not self._is_silent:
                tell(f"{error}: the status is asked for again until one does, the mesh goes on")
            self._is_silent = True
            return None
        self._is_silent = False
        return report

    async def start(self) -> None:
        """Start the bootstrap node, then the peers, and wait until all have found each other."""
        write_bootstrap(self.mesh_folder)
        await self._nodes.load_all()
        await self._nodes.start(BOOTSTRAP)
        self.configure(self._door)
        # Where all begin at once slots still change hands when the crawl begins, and pages have a third copy.
        first, *others = self._names
        await self._nodes.start(first)
        await self._nodes.start(*others)
        await self._wait_for_members()

    def configure(self, door: DoorConfig) -> list[str]:
        """Write the configurations of all peers, or change them to this start's options; return the names.

        Args:
          door: of the bootstrap node.
        """
        for number in range(1, self._options.peers + 1):
            write_peer(self.mesh_folder, number, self._settings_of(number, door))
        return self._names

    async def stop(self) -> None:
        """Stop all nodes cleanly, the peers first; kill those that do not end in time."""
        await self._nodes.stop()

    # --- details ---

    @property
    def _door(self) -> DoorConfig:
        """Return the door of the bootstrap node; its port may be another one at each start."""
        said = self._nodes.descriptions[BOOTSTRAP]
        return DoorConfig(endpoint=said["door"], key=said["key"])

    @property
    def _names(self) -> list[str]:
        return [f"peer-{number}" for number in range(1, self._options.peers + 1)]

    def _found_or_open(self) -> MeshFolder:
        options = self._options
        if not (options.folder / "mesh.toml").exists():
            name = options.folder.resolve().name[:NAME_CHARS_MAX] or "lab"
            return create_mesh(options.folder, name, options.replicas)
        mesh_folder = open_mesh(options.folder)
        there = len(mesh_folder.peers)
        if options.peers < there:
            raise ConfigError(
                f"the mesh in {options.folder} has {counted(there, 'peer')} that hold a share each: "
                f"give --peers {there}, or leave it out"
            )
        return mesh_folder

    def _settings_of(self, number: int, door: DoorConfig) -> Settings:
        options = self._options
        folder = self.mesh_folder.folder / f"peer-{number}"
        config = folder / "config.toml"
        settings: dict[str, object] = {"member.doors": doors_of(config, door)}
        if not config.exists():
            settings.update(options.first_settings)
        if options.gateway or not config.exists():
            settings["gateway.listen"] = gateway_of(number, options.gateway or GatewaySettings().listen)
        trace = str((folder / "trace").resolve())
        if options.is_traced:
            settings |= {"web.trace": trace}
        elif config.exists() and load_config(config, PeerConfig).web.trace == trace:
            # What --record of an earlier start has switched on ends with it.
            settings |= {"web.trace": ""}
        return {**settings, **options.settings}

    async def _wait_for_members(self) -> None:
        """Wait until all know all, and somebody answers for every slot."""
        have_met = False
        with trio.move_on_after(JOIN_S):
            while True:
                self._nodes.check()
                peers = await self._peers_seen()
                have_met = self._have_met(peers)
                answered = sum(peer["slots"]["answered"] for peer in peers)
                if have_met and answered == self.mesh_folder.mesh.slot_count:
                    return
                await trio.sleep(0.1)
        if not have_met:
            raise NodeError(f"the peers did not find each other in {JOIN_S:g} s" + self._nodes.ends_of_logs())

    def _have_met(self, peers: list[dict[str, Any]]) -> bool:
        """Do all see the same mesh, with all peers of the lab and the bootstrap node in it?"""
        views = {(peer["members"], peer["epoch"]) for peer in peers}
        is_one = len(peers) == self._options.peers and len(views) == 1
        return is_one and peers[0]["members"] == self._options.peers + 1

    async def _peers_seen(self) -> list[dict[str, Any]]:
        """The peers in the report; none while no peer is a member yet."""
        try:
            peers: list[dict[str, Any]] = (await self.report())["peers"]
        except NodeError:
            return []
        return peers

    def _is_done(self, before: Report, after: Report) -> bool:
        def activity(report: Report) -> dict[str, int]:
            return {peer["id"]: peer["activity"] for peer in report["peers"]}

        return (
            len(after["peers"]) == self._options.peers
            and all(peer["idle"] for peer in before["peers"] + after["peers"])
            and activity(before) == activity(after)
        )


def gateway_of(number: int, first: str) -> str:
    """Where peer `number` (1, 2, ...) answers: ports count up from the first one's; 0 takes any."""
    host, _, port = first.rpartition(":")
    return f"{host}:{int(port) + number - 1 if int(port) else 0}"


@asynccontextmanager
async def running_lab(options: LabOptions) -> AsyncIterator[Lab]:
    """Start a lab, and stop it when the block is left, for any reason.

    Raises:
      ConfigError: the folder or an option is of no use.
      NodeError: a node did not start.
    """
    if options.peers < 1:
        raise ConfigError("a mesh has at least one peer: give --peers 1 or more")
    lab = Lab(options)
    try:
        await lab.start()
        yield lab
    finally:
        await lab.stop()


def _are_at_rest(peers: list[dict[str, Any]]) -> bool:
    """Does each peer crawl all that is its own, and have all that it keeps?"""
    slots = [peer["slots"] for peer in peers]
    return bool(slots) and all(
        each["held"] == each["owned"] and each["complete"] == each["kept"] and not each["wanted"]
        for each in slots
    )
