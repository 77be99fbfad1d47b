"""The commands for the policy of crawling and showing pages: policy, takedown, pause, resume. [io]"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.console import Console
from rich.markup import escape

from mesh.client.admin_token import key_in
from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.counts import counted
from mesh.errors import ConfigError, unreadable
from mesh.urls import host_of
from peers.commands.members import named
from peers.commands.undone_visits import undone_lines, undone_visits
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
    reader_of,
)
from peers.policy import edits
from peers.policy.crawl_order import Order
from peers.policy.decree_issuer import ruling_of
from peers.policy.guide_pages import guide_by_pages
from peers.policy.policy_file import difference, read_policy, write_policy
from peers.policy.policy_issuer import PolicyIssuer, policy_of_decree
from peers.policy.rule_explanations import explained
from peers.policy.rules import OF_SEEDS, Policy, Rule

TAKEDOWN_EPILOG: Final = (
    "Examples: tianmesh takedown https://a.org/page --reason 'asked by its author'   "
    "tianmesh takedown 'https://a.org/private/*'   tianmesh takedown a.org --undo"
)
PAUSE_EPILOG: Final = "Examples: tianmesh pause   tianmesh pause www.pku.edu.cn"
RESUME_EPILOG: Final = "Examples: tianmesh resume   tianmesh resume www.pku.edu.cn"

app: Final = typer.Typer(
    no_args_is_help=True,
    help="What the mesh crawls, how gently, and what it does not show: ordered rules, the first that matches "
    "a URL decides. A rule has an action (crawl, pause, skip, take_down), conditions (hosts, domains, urls "
    "with *; but for take_down also addresses, networks such as 162.105.0.0/16 where hosts are, which is "
    "decided when a host is looked up; for crawl and skip also media_types and languages, which a visit "
    "tells: what is skipped then is not kept, nor are its links) and, for crawl, limits (delay_s, "
    "pages_a_day and requests_a_day of each host in the whole mesh, hours, depth_max, pages_per_host_max, "
    "within_domain: only seeds and what is linked to from their own domain, as without any policy). What "
    "takes nothing down can have an end (until). Besides, pins say which peer crawls a host, with all else "
    "in its slot, as long as that peer is there; inside says of which domains pages are shown to people in "
    "some networks only; synonyms and user_words, by which gateways read queries; next_at, by when another "
    "policy follows; undo, when visits were made that are made again.",
)

FileArgument = Annotated[Path, typer.Argument(help="A policy in TOML; - for standard input.")]
TargetArgument = Annotated[str, typer.Argument(help="A URL, a pattern of URLs with *, or a host or domain.")]
HostArgument = Annotated[str | None, typer.Argument(help="A host or domain.", show_default="the whole mesh")]


@app.command(epilog="Examples: tianmesh policy show > policy.toml   tianmesh policy show --history")
def show(
    gateway: GatewayOption = GATEWAY,
    history: Annotated[bool, typer.Option("--history", help="All that there were, with dates.")] = False,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Print the policy in force, as `policy set` reads it."""
    with reader_of(gateway, token, data) as client:
        decrees = PolicyIssuer(client, key_in(data)).decrees()
    ruling = ruling_of(decrees, time.time())
    shown = decrees if history else (ruling,) if ruling is not None else ()
    if as_json:
        print_json([_as_json(decree, is_ruling=decree is ruling) for decree in shown])
        return
    if not shown:
        print("# there is no policy: seeds are crawled, and what they lead to on their registrable domains")
    for decree in shown:
        print(_heading(decree, is_ruling=decree is ruling))
        print(write_policy(policy_of_decree(decree)))


@app.command(
    epilog="Examples: tianmesh policy check policy.toml   "
    "tianmesh policy check policy.toml https://www.pku.edu.cn/ --address 162.105.1.1"
)
def check(
    file: FileArgument,
    urls: Annotated[
        list[str] | None, typer.Argument(help="What becomes of these?", metavar="[URL]...")
    ] = None,
    address: Annotated[str, typer.Option(help="Where their hosts are.", show_default="not known")] = "",
) -> None:
    """Tell whether a policy can be used, and which rule decides about a URL, without a mesh."""
    policy = _read(file)
    if not urls:
        Console().print(f"{escape(str(file))} is a policy of {counted(len(policy.rules), 'rule')}")
    for text in urls or ():
        for line in explained(policy, text, address, time.time()):
            print(line)


@app.command(epilog="Example: tianmesh policy diff policy.toml")
def diff(
    file: FileArgument, gateway: GatewayOption = GATEWAY, token: TokenOption = "", data: DataOption = DATA
) -> None:
    """Print the changes that a policy would make to the one in force."""
    new = _read(file)
    with reader_of(gateway, token, data) as client:
        old = PolicyIssuer(client, key_in(data)).in_force()
    print(difference(write_policy(old or OF_SEEDS), write_policy(new)))


@app.command(
    "set", epilog="Example: tianmesh policy set policy.toml --from 2027-01-01 --until 2027-02-01T06:00"
)
def set_policy(
    file: FileArgument,
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    begin: Annotated[
        datetime | None, typer.Option("--from", help="UTC; obeyed from then on.", show_default="now")
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(
            help="UTC; then seeds and their domains are crawled. Not for one that takes anything down.",
            show_default="for ever",
        ),
    ] = None,
    undo_takedowns: Annotated[
        bool, typer.Option("--undo-takedowns", help="Show again what it does not take down any more.")
    ] = False,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Have the whole mesh obey a policy; it replaces the one in force before."""
    policy = _read(file)
    if until is not None and policy.takes_down:
        raise ConfigError(
            "a policy with an end must not take anything down, for then it would all be shown again: set it "
            f"without --until, and say until = {until:%Y-%m-%dT%H:%M:%S}Z in the rules that are to end"
        )
    with administrator_of(gateway, token, data, key) as client:
        issuer = PolicyIssuer(client, key_in(data, key))
        old = issuer.in_force()
        if not undo_takedowns:
            _check_takedowns(old, policy)
        policy = edits.with_links_told_anew(old, policy, _now())
        number = issuer.issue(policy, effective_from=_seconds(begin, 0.0), valid_until=_seconds(until, inf))
        strangers = _strangers(client, policy)
    for peer in strangers:
        print(f"no member is called {peer}: what is pinned to it goes on as if it were not", file=sys.stderr)
    _tell(
        as_json, number, f"policy {number} of {counted(len(policy.rules), 'rule')} is on its way to all peers"
    )


def takedown(
    target: TargetArgument,
    reason: Annotated[str, typer.Option(help="Kept with it, for `policy show --history`.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Show it again.")] = False,
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Take pages out of all answers, stored copies and exports of the whole mesh, and crawl them no more."""
    what = edits.target(target)
    if what.addresses:
        raise ConfigError("what is taken down is not a matter of addresses: give hosts, domains or URLs")
    with _issuer(gateway, key, token, data) as issuer:
        policy = issuer.to_change()
        new = edits.restored(policy, what) if undo else edits.taken_down(policy, what, reason)
        number = issuer.issue(edits.with_links_told_anew(policy, new, _now()))
        remark = "" if undo else remark_on(issuer.client, what, policy)
    done = "is shown again" if undo else "is taken down: every peer obeys as soon as it hears of it"
    _tell(as_json, number, f"{target} {done} (policy {number})", remark)


def pause(
    host: HostArgument = None,
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Stop all requests to a host, or to every host; known URLs stay queued, and searches go on."""
    with _issuer(gateway, key, token, data) as issuer:
        policy, paused = issuer.to_change(), _host(host)
        number = issuer.issue(edits.paused(policy, paused))
        remark = "" if paused is None else remark_on(issuer.client, paused, policy)
    what, command = host or "the crawl", " ".join(("tianmesh resume", *([host] if host else [])))
    _tell(as_json, number, f"{what} is paused until `{command}`", remark)


def resume(
    host: HostArgument = None,
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Take a pause back."""
    with _issuer(gateway, key, token, data) as issuer:
        number = issuer.issue(edits.resumed(issuer.to_change(), _host(host)))
    _tell(as_json, number, f"{host or 'the crawl'} goes on, within half a minute")


@app.command(epilog="Example: tianmesh policy like https://www.example.org/climate.html")
def like(
    pages: Annotated[list[str], typer.Argument(help="Pages of what is wanted.", metavar="URL...")],
    order: Annotated[
        Order | None,
        typer.Option(help="weight, fish or focused.", show_default="that of the policy, else focused"),
    ] = None,
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Guide the crawl by pages like these: their main words become guide words of the policy.

    A page that the mesh has not is fetched first, and only that page.
    """
    with administrator_of(gateway, token, data, key) as client:
        words = guide_by_pages(client, PolicyIssuer(client, key_in(data, key)), pages, order)
    if as_json:
        print_json({"guide_words": words})
    else:
        Console(highlight=False).print(escape(f"the crawl goes by: {', '.join(words)}"))


@app.command(epilog="Example: tianmesh policy undo --since 2027-01-31T08:00 --reason 'a proxy served errors'")
def undo(
    since: Annotated[datetime, typer.Option(help="UTC; what was visited from then on is visited again.")],
    until: Annotated[datetime | None, typer.Option(help="UTC.", show_default="now")] = None,
    by: Annotated[
        str, typer.Option(help="Id or name of the peer whose visits.", show_default="all peers")
    ] = "",
    reason: Annotated[str, typer.Option(help="Kept with it, for `policy show --history`.")] = "",
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Visit again all pages that were visited between two times, as gently as ever, and ask for all of each.

    For when the mesh was told something else than it would be now: a member lied, a proxy was broken. Pages
    that were visited later are left alone; versions of that time stay in their history.
    """
    begin = since.replace(tzinfo=UTC)
    with _issuer(gateway, key, token, data) as issuer:
        end = datetime.now(UTC) if until is None else until.replace(tzinfo=UTC)
        peer = named(issuer.client, by) if by else None
        number, until_s = issuer.undo(begin, end, reason, peer)
        undone = undone_visits(issuer.client, until_s)
    if as_json:
        print_json({"number": number, "undone": msgspec.to_builtins(undone)})
        return
    print(f"what was visited since {begin:%Y-%m-%d %H:%M} is visited again (policy {number})")
    for line in undone_lines(undone):
        print(line)


@contextmanager
def _issuer(gateway: str, key: Path | None, token: str, data: Path) -> Iterator[PolicyIssuer]:
    with administrator_of(gateway, token, data, key) as client:
        yield PolicyIssuer(client, key_in(data, key))


def _host(text: str | None) -> Any:
    what = None if text is None else edits.target(text)
    if what is not None and what.urls:
        raise ConfigError(f"{text!r} is no host: pauses are for whole hosts, such as www.pku.edu.cn")
    return what


def _check_takedowns(old: Policy | None, new: Policy) -> None:
    """Refuse a policy that would also show again pages taken down since its file was written."""
    lost = edits.restored_by(old, new)
    if lost:
        raise ConfigError(
            f"this would show again what is taken down: {', '.join(lost)}; add the rules that "
            "`tianmesh policy show` has for it, or say --undo-takedowns"
        )


def _strangers(client: GatewayClient, policy: Policy) -> list[str]:
    """Return the peers that slots are pinned to though they are no members, sorted by id."""
    if not policy.pins:
        return []
    members = {row["id"] for row in client.status()["members"]}
    return sorted({pin.peer for pin in policy.pins} - members)


def _read(file: Path) -> Policy:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, error) from error
    return read_policy(text, str(file))


def _seconds(day: datetime | None, default: float) -> float:
    return default if day is None else day.replace(tzinfo=UTC).timestamp()


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _heading(decree: Mapping[str, Any], *, is_ruling: bool) -> str:
    from_s, until = decree["effective_from"], decree["valid_until"]
    issued_s = policy_of_decree(decree).issued_at
    issued = f" of {minute_of(issued_s)}" if issued_s else ""
    begin = f" from {minute_of(from_s)}" if from_s else ""
    end = "" if until is None else f" until {minute_of(until)}"
    return f"# policy {decree['number']}{issued}{begin}{end}{', in force' if is_ruling else ''}"


def _as_json(decree: Mapping[str, Any], *, is_ruling: bool) -> dict[str, Any]:
    shown = {name: decree[name] for name in ("number", "effective_from", "valid_until", "signer")}
    return {**shown, "is_in_force": is_ruling, **msgspec.to_builtins(policy_of_decree(decree))}


def _tell(as_json: bool, number: int, sentence: str, remark: str = "") -> None:
    if as_json:
        print_json({"number": number, **({"remark": remark} if remark else {})})
        return
    Console(highlight=False).print(escape(sentence))
    if remark:
        Console(stderr=True, highlight=False, soft_wrap=True).print(escape(f"but {remark}"), style="yellow")


LIKE_MAX: Final = 3  # names that are suggested
LIKENESS: Final = 0.7  # of 1, see `difflib`: one letter more or less, or two exchanged


def remark_on(client: GatewayClient, target: Rule, policy: Policy | None) -> str:
    """Say which hosts or pages of an order the mesh has never met, with names like theirs; "" for none.

    What has a `*` or is a network is not looked up. The order holds whatever is said of it here, so that a
    gateway that does not answer says nothing.
    """
    try:
        return _remark(client, target, policy)
    except GatewayError:
        return ""


def _remark(client: GatewayClient, target: Rule, policy: Policy | None) -> str:
    names = [*target.hosts, *target.domains]
    pages = [url for url in target.urls if "*" not in url]
    unknown = [name for name in names if not _is_host_known(client, name)]
    unknown += [url for url in pages if not _is_page_known(client, url)]
    if not unknown:
        return ""
    known = _known(client, policy)
    like = list(dict.fromkeys(found for name in unknown for found in _like(name, known)))
    hint = f" (did you mean {' or '.join(like)}?)" if like else ""
    return f"the mesh knows nothing of {', '.join(unknown)} so far{hint}"


def _is_host_known(client: GatewayClient, name: str) -> bool:
    told = client.why(f"http://{name}/")["peers"].values()
    return any(facts.get("host") for facts in told) or bool(client.search(f"site:{name}", 1)["hits"])


def _is_page_known(client: GatewayClient, url: str) -> bool:
    told = client.why(url)["peers"].values()
    return any(facts.get("state") != "unknown" or facts.get("archive") for facts in told)


def _known(client: GatewayClient, policy: Policy | None) -> list[str]:
    """Names that are easily had: of the longest queues, and those in the policy."""
    queued = [host for host, _ in client.status()["total"].get("hot_hosts", ())]
    rules = () if policy is None else policy.rules
    return [*queued, *(name for rule in rules for name in (*rule.hosts, *rule.domains))]


def _like(name: str, known: Iterable[str]) -> list[str]:
    name = host_of(name) if "/" in name else name
    others = [each for each in known if each != name]
    return get_close_matches(name, others, LIKE_MAX, LIKENESS)
