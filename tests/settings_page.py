"""The page `docs/settings.md`, made from the declarations of the settings. [io]

python -m tests.settings_page      writes it
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getdoc
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import FieldInfo, fields

from bootstrap.toml_text import explanation_of, toml_value
from peers.config import PeerConfig

PAGE: Final = Path(__file__).parents[1] / "docs" / "settings.md"
_HEAD: Final = """# Settings

All that can be set for a peer, in its `config.toml`, by `tianmesh config set NAME VALUE`, or for the peers of
one machine by `tianmesh up --set NAME=VALUE`. Names end in units: `_s` are seconds. Settings of `[gateway]`
count after SIGHUP, others from the next start on. `[mesh]` is the same on all peers for ever. Windows,
queues, caches and the patience of a peer cannot be set one by one: they follow from `[machine]`.
"""


def settings_page() -> str:
    return "\n".join([_HEAD, *_tables()]) + "\n"


def _tables() -> Iterator[str]:
    for table in fields(PeerConfig):
        kind = table.type
        assert issubclass(kind, msgspec.Struct)
        yield f"## [{table.name}]\n\n{(getdoc(kind) or '').partition(chr(10))[0]}\n"
        yield "| setting | default | meaning |\n|---|---|---|"
        yield "\n".join(
            f"| `{each.name}` | {_default(each)} | {_cell(explanation_of(each))} |" for each in fields(kind)
        )
        yield ""


def _line(field: FieldInfo) -> str:
    return f"| `{field.name}` | {_default(field)} | {_cell(explanation_of(field))} |"


def _default(field: FieldInfo) -> str:
    return "" if field.required else f"`{toml_value(field.default)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(settings_page(), encoding="utf-8")
