"""What is installed, imported and configured: counts of things that stay when nothing happens."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import requires

import msgspec
from packaging.requirements import Requirement

from peers.config import PeerConfig

# All that `tianmesh peer` has loaded when it begins to run.
_IMPORTS = """
import json, sys
import peers.application, peers.cli, peers.peer
print(json.dumps(sorted(sys.modules)))
"""


def static_costs() -> dict[str, float]:
    """Return the counts."""
    done = subprocess.run([sys.executable, "-c", _IMPORTS], capture_output=True, text=True, check=True)
    return {
        "modules_of_a_peer": len(json.loads(done.stdout)),
        "settings_of_a_peer": settings_in(PeerConfig),
        "packages": len(_needed("tianmesh")),
    }


def settings_in(config: type[msgspec.Struct]) -> int:
    """Count the settings of a configuration, those of its sections too."""
    inside = [each.type for each in msgspec.structs.fields(config)]
    return sum(
        settings_in(kind) if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else 1
        for kind in inside
    )


def _needed(name: str, seen: set[str] | None = None) -> set[str]:
    """The distributions that are installed with one, itself left out."""
    seen = set() if seen is None else seen
    for each in map(Requirement, requires(name) or []):
        needed = each.name.lower().replace("_", "-")
        if needed not in seen and (each.marker is None or each.marker.evaluate({"extra": ""})):
            seen.add(needed)
            _needed(needed, seen)
    return seen
