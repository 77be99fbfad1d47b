"""Set named values in a configuration that a person may have edited, and leave the rest as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from bootstrap.toml_text import toml_value
from mesh.errors import ConfigError


def with_settings(text: str, settings: Mapping[str, object], where: str) -> str:
    """Set values in a configuration; comments, order and all other values stay.

    Args:
      text: TOML.
      settings: values by `table.key`; those that the text has already change nothing.
      where: names the text in errors.

    Raises:
      ConfigError: the text is no TOML, or has a value where a setting has its table.
    """
    try:
        document = tomlkit.parse(text)
        for name, value in settings.items():
            *tables, key = name.split(".")
            table = _table(document, tables)
            wanted = tomlkit.value(toml_value(value))
            if key not in table or table[key] != wanted:
                table[key] = wanted
        return document.as_string()
    except (TOMLKitError, TypeError, AttributeError) as error:
        raise ConfigError(f"{where}: cannot set {', '.join(settings)}: {error}") from error


def _table(document: tomlkit.TOMLDocument, names: list[str]) -> Any:
    """The table of that name, made if there is none."""
    inner: Any = document
    for name in names:
        if name not in inner:
            inner[name] = tomlkit.table()
        inner = inner[name]
    return inner
