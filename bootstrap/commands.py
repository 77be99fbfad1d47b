"""The commands that found a mesh and start nodes of it: init, bootstrap, up, demo. [io]"""

from __future__ import annotations

import json
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import trio
import typer
from rich.console import Console
from rich.markup import escape

from bootstrap.demo_web import serve_demo_web
from bootstrap.fleet.plan import relay_ports
from bootstrap.invitation import DOORS_MAX, doors_in
from bootstrap.lab import CrawlScope, Lab, LabOptions, Report, gateway_of, running_lab
from bootstrap.provision import (
    BOOTSTRAP,
    MeshFolder,
    Settings,
    check_founding,
    create_mesh,
    draw_serials,
    make_administrator,
    open_mesh,
    ports_from,
    private_names_in,
    write_bootstrap,
    write_peer,
)
from bootstrap.rendezvous import BootstrapConfig, run_bootstrap
from bootstrap.screen import Screen
from bootstrap.standstill import LEFT_FOR_LATER, WAIT_S, LeftForLater
from mesh.client.gateway_client import GatewayClient
from mesh.config import DoorConfig, load_config
from mesh.counts import counted
from mesh.errors import ConfigError, TianmeshError, unreadable
from mesh.port_leases import RELAYED_MAX
from mesh.process.places import check_place
from mesh.process.process import first_error, run_node
from mesh.trace import merge_traces
from mesh.trace_blocks import TraceDamage
from mesh.transport.tcp_endpoint import checked_host
from mesh.urls import WITH_LOGIN, canonical, has_login
from peers.config import PeerConfig, setting_value
from peers.crawler.fetching.contact import ADVICE, visitor_of
from peers.crawler.model.settings import CrawlConfig
from peers.gateway.model.settings import GatewaySettings, checked_listen
from peers.options import DATA, AnywhereOption, JsonOption, PagesMaxOption, WithinOption, seconds_in
from peers.policy.edits import ALL_ELSE
from peers.policy.rules import Action, Rule

INIT_EPILOG: Final = "Example: tianmesh init mymesh --peers 3"
BOOTSTRAP_EPILOG: Final = "Example: tianmesh bootstrap --config mymesh/bootstrap/config.toml"
UP_EPILOG: Final = (
    "Examples: tianmesh up https://www.debian.org/ --contact you@example.org   "
    "tianmesh up --seeds seeds.txt --data lab --once --report report.json   "
    "tianmesh up --data lab --set crawl.revisit=optimal --set crawl.revisit_after_s=86400   "
    "tianmesh up https://intra.example/ --allow-private --set machine.memory_max_bytes=4000000000"
)
DEMO_EPILOG: Final = "Example: tianmesh demo --once --json"
DEMO_QUERIES: Final = ("软件包 安装", "virtual host")
DEMO_ASKED_MAX: Final = 5  # times each
LAB_PEERS: Final = 3
REPLICAS_DEFAULT: Final = 2
# First pause after a failure, or the delay if that is longer. Somebody waits for a lab: five failures in
# a row, and with them a host that is not there, are over in 5 s.
LAB_BACKOFF_S: Final = 0.3
REVISIT_AFTER_S: Final = 86_400.0  # where a policy is given without an interval
FIRST_PORT: Final = 7_400  # of a node that others reach: inbox, multicast, door

# What is None is not given, and the configurations say it; shown are the defaults of these.
PeersOption = Annotated[
    int | None, typer.Option(min=1, help="How many peers to start: 3, or as many as --data has.")
]
DelayOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Seconds between two requests to one host.",
        show_default=f"{CrawlConfig().delay_s:g}",
    ),
]
PrivateOption = Annotated[
    bool | None,
    typer.Option(
        "--allow-private/--no-allow-private",
        help="Allow private addresses to the seeds' hosts and the table's.",
    ),
]
ReplicasOption = Annotated[
    int | None,
    typer.Option(
        min=1, max=8, help="Copies of every page, in a new mesh.", show_default=str(REPLICAS_DEFAULT)
    ),
]
FirstPortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        min=1_024,
        max=60_000,
        help="First port of the bootstrap node; all others count from it: ten on for each peer, gateways 617 "
        "on. Two meshes on one machine are a hundred apart.",
        show_default=f"{FIRST_PORT}, or that of the mesh",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of all peers, as in config.toml: crawl.revisit_after_s=86400; may be given again.",
        show_default=False,
    ),
]
ContactOption = Annotated[
    str | None,
    typer.Option(help="Where webmasters reach you, an e-mail address or a URL; to crawl public hosts."),
]
OnceOption = Annotated[bool, typer.Option("--once", help="End when nothing is left to do.")]
WaitOption = Annotated[
    float | None,
    typer.Option(
        "--wait",
        parser=seconds_in,
        metavar="TIME",
        help="With --once: how long to wait for what is due later, or for a full disk; then it ends with 3.",
        show_default="10m",
    ),
]


def init(
    folder: Annotated[Path, typer.Argument(help="Folder for the keys and configurations of the mesh.")],
    peers: Annotated[
        int, typer.Option(min=0, help="How many peers there shall be; 0 for a bootstrap node alone.")
    ] = 1,
    host: Annotated[str, typer.Option(help="Address of this machine for the others.")] = "127.0.0.1",
    name: Annotated[str, typer.Option(help="Name of the mesh; by default that of the folder.")] = "",
    replicas: ReplicasOption = None,
    relays: Annotated[
        int,
        typer.Option(
            min=0,
            max=RELAYED_MAX,
            help="How many peers that can only dial out the bootstrap node relays, from port 9400 up "
            "(2000 above --port).",
        ),
    ] = 0,
    contact: ContactOption = None,
    port: FirstPortOption = None,
) -> None:
    """Found a mesh: write its keys and a commented configuration for every node.

    Run again with more --peers it adds nodes; existing keys and configurations stay, but for a --contact,
    which counts from the next start on. Where admin.key was taken away, as its holder is expelled, it makes
    another one.
    """
    checked_host(host)
    if (folder / "mesh.toml").exists():
        mesh_folder = open_mesh(folder)
        check_founding(mesh_folder, name, replicas)
        make_administrator(mesh_folder)
    else:
        mesh_folder = create_mesh(folder, name or folder.resolve().name, replicas or REPLICAS_DEFAULT)
    everywhere = "127.0.0.1" if host == "127.0.0.1" else "0.0.0.0"
    address = {"member.listen": everywhere, "member.announce": host}
    shift = _first_port(mesh_folder, port) - FIRST_PORT
    lent = relay_ports(relays)
    relaying = {"member.relay_ports": f"{lent.start + shift}-{lent.stop - 1 + shift}"} if relays else {}
    if not (folder / BOOTSTRAP / "config.toml").exists():
        write_bootstrap(mesh_folder, {**address, **ports_from(FIRST_PORT + shift), **relaying})
    elif relays:
        write_bootstrap(mesh_folder, relaying)
    numbers = range(1, peers + 1)
    new = [number for number in numbers if not (folder / f"peer-{number}" / "config.toml").exists()]
    for number in new:
        ports = ports_from(FIRST_PORT + shift + 10 * number)
        gateway = {"gateway.listen": gateway_of(number + shift, GatewaySettings().listen)}
        write_peer(mesh_folder, number, {**address, **ports, **gateway, **_contact(contact)})
    doors = doors_in(mesh_folder)[:DOORS_MAX]  # its own among them, where no node knocks
    for number in new:
        write_peer(mesh_folder, number, {"member.doors": doors})
    _give_contact(mesh_folder, set(numbers) - set(new), contact)
    _tell_founded(mesh_folder, doors, peers)


def _give_contact(mesh_folder: MeshFolder, numbers: Iterable[int], contact: str | None) -> None:
    for number in numbers if contact is not None else ():
        write_peer(mesh_folder, number, _contact(contact))


def _first_port(mesh_folder: MeshFolder, port: int | None) -> int:
    """The port that all others count from.

    Raises:
      ConfigError: the mesh has another one.
    """
    config = mesh_folder.folder / BOOTSTRAP / "config.toml"
    has = load_config(config, BootstrapConfig).member.inbox_port if config.exists() else 0
    if port is not None and has and has != port:
        raise ConfigError(f"the ports of this mesh count from {has}: leave out --port, or found another mesh")
    return port or has or FIRST_PORT


def _tell_founded(mesh_folder: MeshFolder, doors: Sequence[DoorConfig], peers: int) -> None:
    """Print the folder, keys and doors of a new mesh, and the commands to run next."""
    console = Console(highlight=False, soft_wrap=True)
    folder = mesh_folder.folder
    console.print(f"mesh [bold]{escape(mesh_folder.mesh.name)}[/bold] in {escape(str(folder))}")
    console.print(f"keep {escape(str(folder / 'root.key'))} safe: it admits new peers")
    console.print(
        f"{escape(str(folder / 'admin.key'))} signs orders: `tianmesh seed URL --data {escape(str(folder))}`"
    )
    for door in doors:
        console.print(f"door {escape(door.endpoint)}={escape(door.key)}")
    invite = f"tianmesh invite --data {escape(str(folder))}"
    console.print(f"other machines join by what `{invite}` prints; on this one run")
    console.print(f"  tianmesh start {escape(str(folder))}")
    console.print("or each of its nodes where it is to be")
    console.print(f"  tianmesh bootstrap --config {escape(str(folder / BOOTSTRAP / 'config.toml'))}")
    for number in range(1, peers + 1):
        console.print(f"  tianmesh peer --config {escape(str(folder / f'peer-{number}' / 'config.toml'))}")


def bootstrap(
    config: Annotated[Path, typer.Option(help="Configuration written by `tianmesh init`.")],
    while_stdin: Annotated[bool, typer.Option("--while-stdin", hidden=True)] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log what happens.")] = False,
) -> None:
    """Run a bootstrap node in the foreground: newcomers find the mesh at its door."""
    main = partial(run_bootstrap, config)
    raise typer.Exit(run_node(main, while_stdin=while_stdin, verbose=verbose))


def up(
    seed_urls: Annotated[list[str] | None, typer.Argument(help="Pages to start from.")] = None,
    seeds: Annotated[Path | None, typer.Option(help="File of pages to start from, one a line.")] = None,
    peers: PeersOption = None,
    data: Annotated[Path, typer.Option(help="Folder of the mesh; an existing one goes on.")] = DATA,
    contact: ContactOption = None,
    within: WithinOption = None,
    anywhere: AnywhereOption = False,
    pages_max: PagesMaxOption = None,
    delay: DelayOption = None,
    allow_private: PrivateOption = None,
    given: SetOption = None,
    once: OnceOption = False,
    wait: WaitOption = None,
    report: Annotated[Path | None, typer.Option(help="Write the report of all peers here.")] = None,
    record: Annotated[Path | None, typer.Option(help="Record a trace for `tianmesh sim replay`.")] = None,
    as_json: JsonOption = False,
    restart: Annotated[bool, typer.Option(hidden=True)] = True,
) -> None:
    """Start several peers of one mesh on this machine and crawl from the seeds.

    The crawl stays on the domains of the seeds: --within names others, --anywhere follows every link.
    Ctrl-C ends cleanly with nothing lost; the same --data without seeds goes on. A peer that ends by itself
    is started again, which the screen tells; with --once it ends all.

    What is given here is written into the peers' config.toml and holds from then on. All else there stays.
    A new mesh without seeds waits for `tianmesh seed` or `tianmesh import`.
    """
    urls = _seeds_of(seed_urls, seeds)
    wanted = _settings_of(given or [])
    replicas, gateway = wanted.pop("mesh.replicas", None), wanted.pop("gateway.listen", "")
    _check_lab(data, replicas, is_for_nothing=once and not urls)
    resolver = Path(wanted["web.resolver"]).resolve() if wanted.get("web.resolver") else None
    if contact is None and resolver is None and "crawl.contact" not in wanted:
        _check_contact(urls, data, is_private=bool(allow_private))
    told = {
        "crawl.delay_s": delay,
        "crawl.contact": contact,
        "web.resolver": None if resolver is None else str(resolver),
        "web.allow_private": _private_names(urls, resolver, data, is_allowed=allow_private),
    }
    options = LabOptions(
        data,
        peers or _peer_count(data),
        replicas or REPLICAS_DEFAULT,
        wanted | {name: value for name, value in told.items() if value is not None},
        first_settings={"crawl.backoff_s": _first_backoff_s(delay)},
        gateway=gateway,
        is_traced=record is not None,
        is_supervised=restart,
    )
    scope = CrawlScope(
        tuple(within or ()), Rule(action=Action.CRAWL), is_anywhere=anywhere, pages_max=pages_max
    )
    _crawl(options, urls, scope, _wait_s(once, wait), report=report, record=record, as_json=as_json)


def _settings_of(given: list[str]) -> dict[str, Any]:
    """Read the settings that were given with --set.

    Raises:
      ConfigError: it is no NAME=VALUE, or no setting takes it.
    """
    wanted: dict[str, Any] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign:
            raise ConfigError(f"--set {each} has no value: give NAME=VALUE, such as crawl.delay_s=2.0")
        if name.startswith("mesh.") and name != "mesh.replicas":
            raise ConfigError(f"{name} cannot be set: all peers agree on it for ever")
        is_address = name == "gateway.listen"
        wanted[name] = checked_listen(value, f"--set {name}=") if is_address else setting_value(name, value)
    return wanted


def _wait_s(once: bool, wait_s: float | None) -> float | None:
    """Return within how many seconds work must be due to be waited for; None to go on when all is done."""
    if not once:
        return None
    return WAIT_S if wait_s is None else wait_s


def demo(once: OnceOption = False, as_json: JsonOption = False) -> None:
    """Crawl the bundled demo web with three peers and search it; needs no network."""
    result = _run(_demo, once, Screen(quiet=as_json), not as_json)
    if not result:
        raise typer.Exit(1)
    if as_json:
        print(json.dumps(result, ensure_ascii=False))


# --- up ---


def _crawl(
    options: LabOptions,
    urls: list[str],
    scope: CrawlScope,
    wait_s: float | None,
    *,
    report: Path | None,
    record: Path | None,
    as_json: bool,
) -> None:
    """Crawl until all is done or the user stops it, and write the results.

    Args:
      wait_s: for what is due later nobody waits; None to go on when all is done.
    """
    _check_writable(report, record)
    result = _run(_up, options, urls, scope, wait_s, Screen(quiet=as_json))
    _write_results(result["report"], options, report, record, is_printed=as_json)
    if wait_s is not None and not result["is_done"]:
        raise typer.Exit(LEFT_FOR_LATER if result["is_later"] else 1)


async def _up(
    options: LabOptions, urls: list[str], scope: CrawlScope, wait_s: float | None, screen: Screen
) -> dict[str, Any]:
    is_new = not (options.folder / "mesh.toml").exists()
    async with _lab_on(screen, options) as lab:
        warning = copies_warning(lab.mesh_folder.mesh.replicas, options.peers)
        if warning:
            screen.warn(warning)
        if not urls and is_new:
            screen.say("an empty mesh: give it pages with `tianmesh seed URL` or `tianmesh import FILE`")
        if urls or scope.is_given:
            screen.say(escape(await lab.widen(urls, scope)))
        answer = await lab.add_seeds(urls) if urls else {"accepted": None}
        for line in refusals(answer):
            screen.warn(line)
        last, is_done, later = await _watch(lab, wait_s, screen)
    if later is not None:
        screen.say("\n".join([escape(str(later)), *(f"  {escape(host)}" for host in later.hosts)]))
    if not is_done:
        command = f"tianmesh up --data {options.folder}"
        screen.say(f"stopped, nothing is lost: `{escape(command)}` goes on")
    is_begun = answer["accepted"] != 0
    return {"report": last, "is_done": is_done and is_begun, "is_later": later is not None}


def refusals(answer: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each seed that was not taken, with the remedy; `answer` is that of /api/seeds."""
    lines = [f"left out: {refused['url']} {refused['reason']}" for refused in answer.get("invalid", ())]
    seen = "`tianmesh policy show`"
    lines += [f"left out by the policy of the mesh, see {seen}: {url}" for url in answer.get("left_out", ())]
    private = answer.get("private", ())
    lines += [f"refused: {sentence}" for sentence in private]
    return lines + ["`tianmesh up` allows that to the hosts of its seeds by --allow-private"] * bool(private)


def copies_warning(replicas: int, peers: int) -> str:
    """Return a warning for the user when pages are on one disk only; "" when they are on more."""
    if replicas == 1:
        return (
            "one copy of every page: when a disk dies, what it had is lost until it is crawled again; "
            "a mesh founded with --replicas 2 loses nothing"
        )
    if peers == 1:
        return "one peer keeps the only copy of every page; with two, a disk may die and nothing is lost"
    return ""


@asynccontextmanager
async def _lab_on(screen: Screen, options: LabOptions) -> AsyncIterator[Lab]:
    """A running lab of which the screen tells."""
    async with AsyncExitStack() as stack:
        with screen.starting(options.peers):
            lab = await stack.enter_async_context(running_lab(options))
        screen.show_gateways(lab.peers)
        yield lab


async def _watch(lab: Lab, wait_s: float | None, screen: Screen) -> tuple[Report, bool, LeftForLater | None]:
    """Show progress until everything is done or the user has enough.

    Args:
      wait_s: for what is due later nobody waits; None to go on when everything is done.

    Returns:
      The last report, whether everything was done, and what was left for later.
    """
    last: Report = {}
    is_done = False
    later: LeftForLater | None = None
    with screen.progress(lab.peers) as show:

        def keep_and_show(report: Report) -> None:
            last.update(report)
            show(report)

        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with trio.open_nursery() as nursery:

                async def stop_on_signal() -> None:
                    async for _ in signals:
                        nursery.cancel_scope.cancel()

                nursery.start_soon(stop_on_signal)
                if wait_s is None:
                    await lab.watch(keep_and_show, screen.warn)
                try:
                    await lab.wait_until_done(keep_and_show, screen.warn, wait_s or 0.0)
                    is_done = True
                except LeftForLater as error:
                    later = error
                nursery.cancel_scope.cancel()
    return last, is_done, later


def _write_results(
    last: Report, options: LabOptions, report: Path | None, record: Path | None, *, is_printed: bool
) -> None:
    if report is not None:
        try:
            report.write_text(json.dumps(last, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot write {report}: {error.strerror}; give another file name") from error
    if record is not None:
        damages: list[TraceDamage] = []
        merge_traces(sorted(options.folder.glob("peer-*/trace")), record, damages)
        for damage in damages:
            print(f"tianmesh: the trace of a peer {damage}", file=sys.stderr)
    if is_printed:
        print(json.dumps(last, ensure_ascii=False))


# --- demo ---


async def _demo(once: bool, screen: Screen, is_shown: bool) -> dict[str, Any]:
    """Serve the demo web, crawl it, ask a Chinese and an English question of two different gateways."""
    with tempfile.TemporaryDirectory(prefix="tianmesh-demo-") as folder:
        async with serve_demo_web() as served:
            screen.say(
                f"the demo web: {len(served.seeds)} documentation sites on loopback, no network needed"
            )
            resolver = Path(folder) / "resolver.json"
            resolver.write_text(json.dumps(served.resolver), encoding="utf-8")
            settings = {
                "crawl.delay_s": 0.0,
                "crawl.backoff_s": LAB_BACKOFF_S,
                "web.resolver": str(resolver),
                "web.allow_private": tuple(served.resolver),
            }
            gateway = "127.0.0.1:0" if once else _demo_gateway()
            data = Path(folder) / "demo"
            draw_serials(create_mesh(data, "demo", replicas=2), LAB_PEERS, list(served.resolver))
            options = LabOptions(data, LAB_PEERS, 2, settings, gateway=gateway)
            async with _lab_on(screen, options) as lab:
                await lab.widen(served.seeds, CrawlScope((), ALL_ELSE, is_anywhere=False))
                await lab.add_seeds(served.seeds)
                report, is_done, _ = await _watch(lab, WAIT_S, screen)
                if not is_done:
                    return {}
                answers = [
                    await _ask(lab.gateways[number % 3], query) for number, query in enumerate(DEMO_QUERIES)
                ]
                if is_shown:
                    _show_answers(answers)
                if not once:
                    screen.say(
                        f"\nopen {escape(lab.gateways[0])} in your browser, or give other commands "
                        f"--data {escape(str(data))}; Ctrl-C ends the demo and deletes that folder"
                    )
                    report = (await _watch(lab, None, screen))[0] or report
                return {"report": report, "answers": answers}


def _demo_gateway() -> str:
    """The default gateway, which the other commands ask; any port when one of those needed is taken."""
    first = GatewaySettings().listen
    host, _, port = first.rpartition(":")
    try:
        for number in range(LAB_PEERS):
            socket.create_server((host, int(port) + number)).close()
    except OSError:
        return f"{host}:0"
    return first


async def _ask(gateway: str, query: str) -> dict[str, Any]:
    """Ask, and again when a peer was too late for it, as it may be on a machine with other work."""
    with GatewayClient(gateway) as client:
        for _ in range(DEMO_ASKED_MAX):
            answer = await trio.to_thread.run_sync(lambda: client.search(query, 3))
            if not answer["coverage"]["missing"]:
                break
    return answer | {"gateway": gateway}


def _show_answers(answers: list[dict[str, Any]]) -> None:
    console = Console(highlight=False)
    for answer in answers:
        console.print(
            f"\n[bold]{escape(answer['query'])}[/bold]  "
            f"[dim]{counted(answer['total'], 'page')} in {answer['took_ms']:.1f} ms, asked of "
            f"{answer['gateway']}[/dim]"
        )
        for hit in answer["hits"]:
            console.print(f"  {escape(hit['title'] or hit['url'])}")
            console.print(f"  [green]{escape(hit['url'])}[/green]")
            console.print(f"  [dim]{escape(hit['snippet'])}[/dim]")


# --- details ---


def _run(main: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Run an async command; the first error of its tasks is the one to show."""
    errors: list[Exception] = []
    result: dict[str, Any] = {}
    try:
        result = trio.run(main, *arguments)
    except* TianmeshError as group:
        errors.append(first_error(group))
    except* KeyboardInterrupt:  # while the lab was starting or stopping
        errors.append(typer.Abort())
    if errors:
        raise errors[0]
    return result


def _first_backoff_s(delay_s: float | None) -> float:
    return max(LAB_BACKOFF_S, CrawlConfig().delay_s if delay_s is None else delay_s)


def _seeds_of(given: list[str] | None, file: Path | None) -> list[str]:
    """Return all seeds that a person gave; an obvious slip is refused before anything is started."""
    urls = [*(given or []), *_read_seeds(file)]
    for url in urls:
        if not url.lower().startswith(("http://", "https://")):
            raise ConfigError(f"the seed {url!r} is no URL: it must begin with http:// or https://")
        if has_login(url):
            raise ConfigError(f"{canonical(url) or 'a seed'} {WITH_LOGIN}")
    return urls


def _read_seeds(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        lines = sys.stdin.readlines() if str(path) == "-" else path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(f"the seeds in {path}", error) from error
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _check_lab(data: Path, replicas: int | None, *, is_for_nothing: bool) -> None:
    """Refuse impossible options before anything is made.

    Args:
      is_for_nothing: a new one would have nothing to crawl, and end.
    """
    if is_for_nothing and not (data / "mesh.toml").exists():
        raise ConfigError("there is nothing to crawl: give seed URLs, or --data with a folder to go on in")
    check_place(data)
    if (data / "mesh.toml").exists():
        check_founding(open_mesh(data), "", replicas)


def _check_contact(urls: list[str], data: Path, *, is_private: bool) -> None:
    """Find out before anything is started that nobody may be asked for these seeds."""
    visitors = [
        visitor_of(config.crawl, config.web.allow_private, is_closed=bool(config.web.resolver))
        for config in (load_config(path, PeerConfig) for path in data.glob("peer-*/config.toml"))
    ] or [visitor_of(CrawlConfig(), (), is_closed=False)]
    seeds = [url for url in map(canonical, urls) if url is not None]
    if not is_private and any(visitor.refused(seeds) for visitor in visitors):
        raise ConfigError(ADVICE)


def _contact(contact: str | None) -> Settings:
    return {} if contact is None else {"crawl.contact": contact}


def _check_writable(*paths: Path | None) -> None:
    """Find out before the crawl that its results could not be written after it."""
    for path in paths:
        try:
            if path is not None:
                path.open("ab").close()
        except OSError as error:
            raise ConfigError(f"cannot write {path}: {error.strerror}; give another file name") from error


def _peer_count(data: Path) -> int:
    """As many as an existing mesh has."""
    return (len(open_mesh(data).peers) if (data / "mesh.toml").exists() else 0) or LAB_PEERS


def _private_names(
    urls: list[str], resolver: Path | None, data: Path, *, is_allowed: bool | None
) -> tuple[str, ...] | None:
    """The names that may lead to private addresses: those a person wrote down, now or in earlier starts.

    Args:
      is_allowed: None to leave it to the configurations, for which None is returned.
    """
    if not is_allowed:
        return None if is_allowed is None else ()
    names = [urlsplit(url).hostname or "" for url in urls]
    for config in data.glob("peer-*/config.toml"):
        names += private_names_in(config)
    if resolver is not None:
        try:
            names += json.loads(resolver.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise unreadable(f"the resolver table {resolver}", error) from error
    return tuple(sorted({name for name in names if name}))
