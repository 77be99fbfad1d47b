"""Settings of a configuration that a person may have edited: set them, and leave the rest as it is written.

Only the value itself is replaced; comments, order and whatever else is in the file stay. How far a value
goes is found by reading it, so that no second understanding of TOML is needed: every result is read and
compared with what it has to say before it is given back.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from bootstrap.toml_text import toml_value
from mesh.errors import ConfigError


def with_settings(text: str, settings: Mapping[str, object], where: str) -> str:
    """Set values in a configuration.

    Args:
      text: valid TOML.
      settings: values by `table.key`; those that the text has already change nothing.
      where: names the text in errors.

    Raises:
      ConfigError: a setting is written in a way that this does not understand, as a dotted key or in
        an inline table; the text names it.
    """
    for name, value in settings.items():
        path = name.split(".")
        before = tomllib.loads(text)
        wanted = tomllib.loads(f"x = {toml_value(value)}")["x"]
        if _value_at(before, path) != wanted:
            text = _with_setting(text, path, toml_value(value))
            if _read(text) != _with_value(before, path, wanted):
                table, key = ".".join(path[:-1]), path[-1]
                raise ConfigError(
                    f"{where}: cannot set {name}: write it as a line `{key} = ...` of [{table}]"
                )
    return text


class _Statement(NamedTuple):
    """A setting or the head of a table, or a line without either."""

    start: int  # lines of the text,
    end: int  # the last one not included
    table: tuple[str, ...]  # in which it stands; the one that it begins, for a head
    keys: tuple[str, ...]  # what it sets


def _with_setting(text: str, path: list[str], value: str) -> str:
    lines = text.splitlines()
    *names, key = path
    table = tuple(names)
    statements = list(_statements(lines))
    ours = [each for each in statements if each.table == table and (each.keys or _is_head(lines[each.start]))]
    if table and not ours:
        return "\n".join([*lines, "", f"[{'.'.join(table)}]", f"{key} = {value}", ""])
    setting = next((each for each in ours if each.keys == (key,)), None)
    if setting is None:
        start = end = ours[-1].end if ours else 0
        new = f"{key} = {value}"
    else:
        start, end = setting.start, setting.end
        new = f"{key} = {value}{_comment_behind(lines[start:end])}"
    return "\n".join([*lines[:start], new, *lines[end:], ""])


def _statements(lines: list[str]) -> Iterator[_Statement]:
    """Cut a valid text into what can be read by itself."""
    table: tuple[str, ...] = ()
    start = 0
    while start < len(lines):
        end, values = _read_from(lines, start)
        keys: tuple[str, ...] = ()
        if _is_head(lines[start]):
            table = _names_in(values)
        else:
            keys = tuple(values)
        yield _Statement(start, end, table, keys)
        start = end


def _read_from(lines: list[str], start: int) -> tuple[int, dict[str, Any]]:
    """The end of the shortest statement that begins with this line, and what it says."""
    for end in range(start + 1, len(lines) + 1):
        values = _read("\n".join(lines[start:end]))
        if values is not None:
            return end, values
    raise AssertionError("a valid text ends with the end of a statement")


def _is_head(line: str) -> bool:
    return line.lstrip().startswith("[")


def _names_in(head: Any) -> tuple[str, ...]:
    """The names in the head of a table; those of an array of tables stand behind a "", as no table's do."""
    names = []
    while isinstance(head, dict) and head:
        ((name, head),) = head.items()
        names.append(name)
    return tuple(names) if head == {} else ("", *names)


def _comment_behind(lines: list[str]) -> str:
    """The comment behind a value, with the space before it."""
    whole = "\n".join(lines)
    meant = tomllib.loads(whole)
    last = len(whole) - len(lines[-1])
    for at in (n for n in range(last, len(whole)) if whole[n] == "#"):
        if _read(whole[:at]) == meant:
            bare = whole[:at].rstrip()
            return whole[len(bare) :]
    return ""


def _read(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _value_at(values: Any, path: list[str]) -> object:
    for name in path:
        values = values.get(name) if isinstance(values, dict) else None
    return values


def _with_value(values: dict[str, Any], path: list[str], value: object) -> dict[str, Any]:
    changed = deepcopy(values)
    inner = changed
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    inner[path[-1]] = value
    return changed
