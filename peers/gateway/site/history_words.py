"""The events of a mesh in the words of a reader. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from peers.gateway.model.member_lines import Say, called, printable, span_text
from peers.gateway.site.history_view import ToldEvent
from peers.history.event import GRAVE, EventKind

TEXTS_OF_KINDS: Final[Mapping[str, str]] = {
    EventKind.STARTED: "event_started",
    EventKind.JOINED: "event_joined",
    EventKind.SUSPECTED: "event_suspected",
    EventKind.DOWN: "event_down",
    EventKind.BACK: "event_back",
    EventKind.LEFT: "event_left",
    EventKind.TOOK_OVER: "event_took_over",
    EventKind.GAVE_UP: "event_gave_up",
    EventKind.HANDOVER_BEGUN: "event_handover_begun",
    EventKind.HANDOVER_ENDED: "event_handover_ended",
    EventKind.DISK_FULL: "event_disk_full",
    EventKind.DISK_FREE: "event_disk_free",
    EventKind.QUARANTINED: "event_quarantined",
    EventKind.RELEASED: "event_released",
    EventKind.CUT_OFF: "event_cut_off",
    EventKind.UNLICENSED: "event_unlicensed",
    EventKind.CONNECTED: "event_connected",
    EventKind.DRAINING: "event_draining",
    EventKind.POLICY: "event_policy",
    EventKind.TAKEN_DOWN: "event_taken_down",
    EventKind.RESTORED: "event_restored",
    EventKind.KEPT_OUT: "event_kept_out",
}
_OF_SECONDS: Final = EventKind.HANDOVER_ENDED


def event_text(event: ToldEvent, names: Mapping[str, str], say: Say) -> str:
    """Return a sentence about an event of a kind of `TEXTS_OF_KINDS`, not yet escaped.

    Args:
      names: what people call members, by id.
    """
    is_span = event.kind == _OF_SECONDS
    amount = span_text(event.amount, say) if is_span else f"{event.amount:,.0f}"
    peer = called(names, event.peer)
    text = say(TEXTS_OF_KINDS[event.kind], peer=peer, amount=amount, text=printable(event.text))
    tellers = len(event.told_by)
    return text + say("event_also", tellers=tellers) if tellers > 1 else text


def is_grave(event: ToldEvent) -> bool:
    return event.kind in GRAVE
