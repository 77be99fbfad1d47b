"""The extra `evaluation`, without which most of this room cannot be imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mesh.errors import ConfigError


@contextmanager
def needed_extra() -> Iterator[None]:
    """Name the extra to install when an import fails. ConfigError."""
    try:
        yield
    except ImportError as error:
        raise ConfigError(f"{error}; in the folder of the project: pip install '.[evaluation]'") from error
