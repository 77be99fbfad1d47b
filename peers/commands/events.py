"""The command `tianmesh events`: the events of the mesh, as its peers tell them. [io]"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Final

import typer

from peers.gateway.model.member_lines import called, printable
from peers.gateway.model.time_words import utc
from peers.gateway.site.history_view import HistorySpan, HistoryView, ToldEvent, events_of
from peers.gateway.site.history_words import TEXTS_OF_KINDS, event_text
from peers.gateway.site.texts import text_in
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    TokenOption,
    print_json,
    read_told,
    reader_of,
)

EPILOG: Final = "Examples: tianmesh events   tianmesh events --last month --json"
_say: Final = partial(text_in, "en")


def events(
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    last: Annotated[HistorySpan, typer.Option("--last", help="How far back.")] = HistorySpan.DAY,
    as_json: JsonOption = False,
) -> None:
    """Show the events of the mesh, the last at the end.

    Members that came and went, slots that changed hands, full disks, quarantines, policies and take-downs.
    What several peers tell of the same is one line. Who is in quarantine is for administrators.
    """
    with reader_of(gateway, token, data) as client:
        told = client.history(last.value)
    if as_json:
        print_json({"events": told["events"], "silent": told["silent"], "names": told.get("names", {})})
        return
    view = read_told(told, HistoryView)
    for event in reversed(events_of(view, TEXTS_OF_KINDS)):
        print(_line(event, view.names))
    if view.silent:
        peers = ", ".join(called(view.names, peer) for peer in view.silent)
        print(_say("history_silent", peers=peers), file=sys.stderr)


def _line(event: ToldEvent, names: Mapping[str, str]) -> str:
    at = utc(event.at_s)
    time = f"{at:%Y-%m-%d %H:%M:%S}Z" if at else "?"
    return f"{time}  {printable(event_text(event, names, _say))}"
