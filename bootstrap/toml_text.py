"""Configurations as TOML with comments, written from the schema that reads them.

What a setting means stands at its field, as the description of its `msgspec.Meta`; the first line of a
struct's docstring heads its table. So a new setting is one edit, and what is written reads as it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from inspect import getdoc
from math import isinf, isnan
from textwrap import wrap
from typing import Final

import msgspec
from msgspec.inspect import FloatType, IntType, Metadata, Type, type_info
from msgspec.structs import FieldInfo, fields

COMMENT_CHARS: Final = 100  # width of a line of comment
UNITS: Final = "Names end in units: _s are seconds. What is not here has its default."


def toml_of(config: msgspec.Struct) -> str:
    """The whole configuration as commented TOML: settings first, then a table for each struct in it."""
    head = [*_comment(_first_line(type(config))), f"# {UNITS}", ""]
    return "\n".join([*head, *_table(config, ())]) + "\n"


def toml_value(value: object) -> str:
    """One value on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _number(value)
        case str():
            return quoted(value)
        case msgspec.Struct():
            return toml_value(msgspec.structs.asdict(value))
        case Mapping():
            return "{" + ", ".join(f"{key} = {toml_value(each)}" for key, each in value.items()) + "}"
        case Sequence():
            return "[" + ", ".join(map(toml_value, value)) + "]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def quoted(value: str) -> str:
    """A TOML string: as in JSON, which does not escape DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: float) -> str:
    if isnan(value):
        return "nan"
    return repr(value) if not isinf(value) else "inf" if value > 0 else "-inf"


def _table(config: msgspec.Struct, path: tuple[str, ...]) -> Iterator[str]:
    inner: list[tuple[str, msgspec.Struct]] = []
    for field in fields(type(config)):
        value = getattr(config, field.name)
        if isinstance(value, msgspec.Struct):
            inner.append((field.encode_name, value))
        else:
            yield from _comment(explanation_of(field))
            # TOML has no value for "not set": the line is there to be filled in.
            yield (
                f"# {field.encode_name} =" if value is None else f"{field.encode_name} = {toml_value(value)}"
            )
    for name, value in inner:
        yield ""
        yield from _comment(_first_line(type(value)))
        yield f"[{'.'.join((*path, name))}]"
        yield from _table(value, (*path, name))


def _first_line(kind: type[msgspec.Struct]) -> str:
    return (getdoc(kind) or "").partition("\n")[0]


def explanation_of(field: FieldInfo) -> str:
    """Return the description of a setting at its field, and the range of its values."""
    info = type_info(field.type)
    description = ""
    if isinstance(info, Metadata):
        description = str((info.extra_json_schema or {}).get("description", ""))
        info = info.type
    limits = _range(info)
    return " ".join(filter(None, (description, f"({limits})" if limits else "")))


def _range(info: Type) -> str:
    if not isinstance(info, IntType | FloatType):
        return ""
    match info.ge, info.gt, info.le:
        case None, None, None:
            return ""
        case None, None, most:
            return f"at most {most:,}"
        case None, above, None:
            return f"more than {above:,}"
        case least, _, None:
            return f"{least:,} or more"
        case least, above, most:
            return f"{least:,} to {most:,}" if above is None else f"more than {above:,}, at most {most:,}"
    return ""


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in wrap(text, COMMENT_CHARS)]
