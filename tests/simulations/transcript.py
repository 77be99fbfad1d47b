"""Writes down, message by message, what the actors and ports of a simulated mesh hear, for people to read.

One line a message: when it arrived, who said it to whom, what. Peers have the names of their machines,
numbers of questions are counted from 1 by kind, sets of slots are sizes, epochs letters; what is the same in
a row is one line with how often. Gossip, which goes on all the time, is left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

import msgspec

from mesh.actors.actor import Address, Message, Send
from mesh.actors.node import Node
from mesh.actors.ownership import Ownership
from mesh.slot_set import decode_any_slots
from simulations.world.hardware import LIMITLESS, Hardware
from simulations.world.network import Network
from simulations.world.world import Clock, CommittedTable, PortAnswer, VirtualPort, World

FOLDER: Final = Path(__file__).parents[1] / "transcripts"
REWRITE: Final = "REWRITE_TRANSCRIPTS"  # environment: write the files instead of comparing with them

GOSSIP: Final = frozenset(
    {
        "CrawlLicensed",
        "MembersTold",
        "MembersWanted",
        "Ping",
        "PingAnswered",
        "PingRequested",
        "QueueMeasured",
        "RumoursSpread",
    }
)
_SLOT_SETS: Final = frozenset({"slots", "filled", "complete", "lacking", "differing", "unready", "inherited"})
_NUMBERS: Final = frozenset(
    {"batch", "claim", "handle", "number", "offer", "request", "sequence", "task", "ticket", "generation"}
)
# What tells a reader nothing, or follows from how something is packed.
_UNTOLD: Final = frozenset(
    {
        "beginning_bytes",
        "bytes_received",
        "certificate",
        "checksum",
        "curve_key",
        "endpoint",
        "headers",
        "http_version",
        "ip",
        "length",
        "mesh_digest",
        "multicast",
        "offset",
        "server_key",
        "signature",
        "signing_key",
        "user_agent",
    }
)
_TEXT_CHARS: Final = 60
_LISTED_MAX: Final = 2

Line = tuple[float, str, str, str]  # when, from, to, what


class ListeningWorld(World):
    """A world that lets a transcript hear everything."""

    def __init__(self, network: Network, hear: Callable[[Address, Address, Message], None]) -> None:
        super().__init__(network, start_s=1_000.0)
        self._hear = hear

    def add_peer(
        self,
        node: Node,
        ports: Sequence[VirtualPort],
        table: CommittedTable | None = None,
        clock: Clock | None = None,
        hardware: Hardware = LIMITLESS,
    ) -> None:
        actors: dict[str, Any] = node._actors
        for name, actor in actors.items():
            actors[name] = _Ear(actor, Address(node.peer, name), self._hear)
        heard: list[Any] = [_Ear(port, Address(node.peer, port.name), self._hear) for port in ports]
        super().add_peer(node, heard, table, clock, hardware)


class _Ear:
    """Stands before an actor or a port."""

    def __init__(self, inner: Any, here: Address, hear: Callable[[Address, Address, Message], None]) -> None:
        self._inner = inner
        self._here = here
        self._hear = hear

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | Iterable[PortAnswer]:
        self._hear(source, self._here, message)
        answers: list[Send] | Iterable[PortAnswer] = self._inner.receive(source, message, now)
        return answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Transcript:
    """What was said while it was being recorded."""

    def __init__(self, now: Callable[[], float], names: Callable[[str], str]) -> None:
        """Begin without recording.

        Args:
          names: returns what a peer is called.
        """
        self._now = now
        self._names = names
        self._start: float | None = None
        self._lines: list[Line] = []
        self._labels: dict[str, dict[object, int]] = {}

    def begin(self) -> None:
        self._start = self._now()
        self._lines, self._labels = [], {}

    def hear(self, source: Address, target: Address, message: Message) -> None:
        kind = type(message).__name__
        if self._start is not None and kind not in GOSSIP and source != target:
            line = (self._now() - self._start, self._who(source), self._who(target), self._told(message))
            self._lines.append(line)

    def text(self, title: str, actors: Collection[str], kinds: Collection[str] = ()) -> str:
        """Return the conversation of these actors and ports, of all kinds of messages or of these only."""
        chosen = [
            line
            for line in self._lines
            if {line[1].split(".")[1], line[2].split(".")[1]} <= set(actors)
            and (not kinds or line[3].split("(")[0] in kinds)
        ]
        lines = [f"# {title}", ""]
        for (at, source, target, what), count in _counted(_gathered(chosen)):
            times = f"  x{count}" if count > 1 else ""
            lines.append(f"{at:7.2f}  {source:<14} > {target:<14} {what}{times}")
        return "\n".join(lines) + "\n"

    def _who(self, address: Address) -> str:
        return f"{self._names(address.peer)}.{address.actor}"

    def _label(self, kind: str, value: object) -> int:
        """Number values of a kind in the order in which they turn up."""
        labels = self._labels.setdefault(kind, {})
        return labels.setdefault(value, len(labels) + 1)

    def _told(self, value: msgspec.Struct) -> str:
        fields = msgspec.structs.fields(type(value))
        names = (field.name for field in fields if field.name not in _UNTOLD)
        told = (self._field(name, getattr(value, name)) for name in names)
        return f"{type(value).__name__}({', '.join(filter(None, told))})"

    def _field(self, name: str, value: object) -> str:
        """Say a field; nothing of what is empty, or of use to no reader."""
        match value:
            case Ownership():
                alive = " ".join(sorted(map(self._names, value.alive)))
                epoch = chr(ord("A") - 1 + self._label("epoch", value.epoch))
                return f"{alive} at epoch {epoch}, owner of {value.owned.sum()}"
            case bytes() if name in _SLOT_SETS:
                return f"{name}: {decode_any_slots(value).sum()}"
            case bytes() if name == "epoch":
                return f"epoch {chr(ord('A') - 1 + self._label('epoch', value))}"
            case bytes():
                return name if value else ""
            case bool():
                return name if value else ""
            case int() if name in _NUMBERS:
                return f"{name} {self._label(name, value)}"
            case int():
                return _named(name, str(value)) if value else ""
            case str():
                return self._text(name, value)
            case msgspec.Struct():
                return self._told(value)
            case tuple() if value and len(value) <= _LISTED_MAX:
                told = ", ".join(filter(None, (self._field("", each) for each in value)))
                return _named(name, f"[{told}]")
            case tuple() | dict():
                return f"{name}: {len(value)}" if value else ""
            case _:
                return ""  # times, and what is none of a message's plain values

    def _text(self, name: str, value: str) -> str:
        value = self._names(value)
        shown = value if len(value) <= _TEXT_CHARS else value[:_TEXT_CHARS] + "..."
        return _named(name, shown) if value else ""


def _named(name: str, value: str) -> str:
    return f"{name}={value}" if name else value


def _gathered(lines: Iterable[Line]) -> list[Line]:
    """Put together what somebody tells several of a peer in one breath."""
    gathered: list[Line] = []
    for line in lines:
        before = gathered[-1] if gathered else None
        peer, _, actor = line[2].partition(".")
        is_same = before is not None and (before[0], before[1], before[3]) == (line[0], line[1], line[3])
        if before is not None and is_same and before[2].startswith(f"{peer}.") and actor not in before[2]:
            gathered[-1] = (*before[:2], f"{before[2]}+{actor}", line[3])
        else:
            gathered.append(line)
    return gathered


def _counted(lines: Iterable[Line]) -> list[tuple[Line, int]]:
    """Put together what is said again without anything else in between."""
    counted: list[tuple[Line, int]] = []
    for line in lines:
        if counted and counted[-1][0][1:] == line[1:]:
            counted[-1] = counted[-1][0], counted[-1][1] + 1
        else:
            counted.append((line, 1))
    return counted


def check(name: str, text: str) -> None:
    """Compare with the transcript that is kept, or keep this one if the environment says so."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get(REWRITE):
        path.write_text(text, encoding="utf-8")
    kept = path.read_text(encoding="utf-8")
    difference = unified_diff(kept.splitlines(), text.splitlines(), "as it was kept", "as it is", lineterm="")
    advice = f"the conversation {name!r} has changed; if that is meant, run its test with {REWRITE}=1"
    assert kept == text, "\n".join((advice, *difference))
