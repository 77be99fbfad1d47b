"""The commands `tianmesh submit` and `tianmesh submissions`. [io]"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape

from mesh.client.admin_token import signer_in
from mesh.client.gateway_client import GatewayClient
from mesh.counts import counted
from mesh.errors import ConfigError
from mesh.keys.decree import Signer
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
    print_told,
    printable,
)
from peers.policy.submission_rules import SITE_PAGES_MAX
from peers.submissions.submission import SubmissionState, code_in
from peers.submissions.verdict import WHY_CHARS_MAX, Verdict, sign_verdict, verdict_bytes

EPILOG: Final = (
    "Examples: tianmesh submit https://www.example.org/   tianmesh submit aajx3k7c2q5d4e6f7g2h3i4j --json"
)
LIST_EPILOG: Final = (
    "Examples: tianmesh submissions list   tianmesh submissions list --state moderated --json"
)
ACCEPT_EPILOG: Final = (
    "Examples: tianmesh submissions accept aajx3k7c2q5d4e6f7g2h3i4j   "
    "tianmesh submissions accept aajx3k7c2q5d4e6f7g2h3i4j --pages 2000   "
    "tianmesh submissions accept aajx3k7c2q5d4e6f7g2h3i4j --no-limit"
)
REFUSE_EPILOG: Final = (
    "Example: tianmesh submissions refuse aajx3k7c2q5d4e6f7g2h3i4j --why 'only sites about the climate'"
)
_STATES: Final = {
    SubmissionState.MODERATED: "waits for an administrator",
    SubmissionState.PROVING: "waits for its proof",
    SubmissionState.QUEUED: "waits for its turn",
    SubmissionState.CRAWLED: "is being visited",
    SubmissionState.DONE: "is done",
    SubmissionState.REFUSED: "was refused",
}
_NONE: Final = "there are no submissions of this kind"
_OFF: Final = "no site can be submitted: the policy of this mesh has no [submissions]"
CodeArgument = Annotated[
    str, typer.Argument(help="The code of a submission, as `submissions list` shows it.")
]

app = typer.Typer(no_args_is_help=True, help="The sites that people have submitted: list, accept, refuse")


def submit(
    site: Annotated[str, typer.Argument(help="A page of the site, best its start page; or a code.")],
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Submit a site to a mesh that takes submissions, or see how one stands.

    The policy of the mesh says whether it takes any, of how many pages, and whether an administrator looks at
    them first. Without a key you are one of its readers, with the quota of these.
    """
    with GatewayClient(gateway) as client:
        told = client.submission(site) if code_in(site) is not None else client.submit(site)
    if as_json:
        print_json(told)
        return
    _show(told)
    if told["state"] in (SubmissionState.MODERATED, SubmissionState.PROVING) and not told["is_proven"]:
        console = Console(highlight=False, soft_wrap=True)
        console.print(f"Show that it is yours: put the code as text at {escape(told['proof_file'])}")
        console.print(f"or into the head of its start page: {escape(told['proof_element'])}")


@app.command("list", epilog=LIST_EPILOG)
def list_submissions(
    state: Annotated[
        SubmissionState | None, typer.Option(help="Only those at this step.", show_default="all")
    ] = None,
    key: KeyOption = None,
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """List the sites that were submitted, by the peers that crawl them."""
    with administrator_of(gateway, token, data, key) as client:
        listed = [told for told in client.submissions() if state is None or told["state"] == state]
        is_on = bool(listed) or client.takes_submissions()
    if as_json:
        print_json({"submissions": listed})
        return
    for told in listed:
        _show(told)
    if not listed:
        Console(stderr=True, highlight=False, markup=False).print(_NONE if is_on else _OFF)


@app.command("accept", epilog=ACCEPT_EPILOG)
def accept(
    code: CodeArgument,
    pages: Annotated[
        int, typer.Option(min=0, max=SITE_PAGES_MAX, help="Pages at most, if more than the policy says.")
    ] = 0,
    no_limit: Annotated[
        bool, typer.Option("--no-limit", help="Its pages are not limited, as those of a site with links.")
    ] = False,
    key: KeyOption = None,
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Accept a submission: the mesh looks for its proof, and visits it.

    The verdict is signed by an administrator's key; of several on one submission the last one counts.
    """
    judgement = partial(sign_verdict, is_accepted=True, pages=pages, is_unlimited=no_limit)
    _judge(code, judgement, gateway, token, data, key, as_json=as_json)


@app.command("refuse", epilog=REFUSE_EPILOG)
def refuse(
    code: CodeArgument,
    why: Annotated[str, typer.Option(help="The reason, which its status page shows.")] = "",
    key: KeyOption = None,
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Refuse a submission; pages of the site that were visited stay, and no further ones are.

    The verdict is signed by an administrator's key; of several on one submission the last one counts.
    """
    if len(why) > WHY_CHARS_MAX:
        raise typer.BadParameter(f"give a reason of up to {WHY_CHARS_MAX} characters")
    judgement = partial(sign_verdict, is_accepted=False, why=why)
    _judge(code, judgement, gateway, token, data, key, as_json=as_json)


def _judge(
    text: str,
    judgement: Callable[[Signer, bytes, float], Verdict],
    gateway: str,
    token: str,
    data: Path,
    key: Path | None,
    *,
    as_json: bool,
) -> None:
    """Sign a verdict on a submission and hand it in. ConfigError: there is no key for that."""
    code = code_in(text)
    if code is None:
        raise ConfigError(f"{text!r} is no code of a submission: `tianmesh submissions list` shows them")
    signer = signer_in(data, key)
    if signer is None:
        raise ConfigError(
            f"a verdict is signed by an administrator's key, and none is in {data}: "
            "give --data FOLDER of the mesh, or --key FILE"
        )
    verdict = judgement(signer, code, time.time())
    with administrator_of(gateway, token, data, key, signer) as client:
        done = client.judge(verdict_bytes(verdict))
    print_told(as_json, done, f"{done['code']} is {'accepted' if done['accepted'] else 'refused'}")


def _show(told: dict[str, Any]) -> None:
    made = datetime.fromtimestamp(told["made_s"], UTC)
    pages = f", {told['visited']} of at most {counted(told['pages_max'], 'page')}" if told["visited"] else ""
    why = f": {told['why']}" if told["why"] else ""
    state = _STATES[SubmissionState(told["state"])]
    line = f"{told['code']}  {made:%Y-%m-%d}  {told['url']}  {state}{pages}{why}"
    Console(highlight=False, soft_wrap=True).print(escape(printable(line)))  # a member that lies may tell it
