"""The version of this program; apart, so that commands that compare versions load nothing of a peer."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

VERSION: Final = version("tianmesh")
