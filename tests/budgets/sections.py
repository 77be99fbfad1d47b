"""Which function measures which section of `tests/budgets.toml`. [io]

Each is measured in a process of its own, in which nothing else has been loaded and remembered:
`python -m tests.budgets.sections SECTION` prints the counts as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from mesh.process.collector import relax_collector
from tests.budgets import crawled, simulated, static

Costs: TypeAlias = dict[str, float]

SECTIONS: Final[dict[str, Callable[[], Costs]]] = {
    **{
        f"simulated_page_{mesh}": partial(simulated.page_costs, *sizes)
        for mesh, sizes in simulated.MESHES.items()
    },
    "query": simulated.query_costs,
    "idle_peer_minute": simulated.idle_costs,
    "parsed_page": crawled.parsed_costs,
    "static": static.static_costs,
}
LIVE: Final = "live_page"  # is measured in a folder of its own


def measured(section: str) -> Costs:
    """Measure one in another process."""
    command = [sys.executable, "-m", "tests.budgets.sections", section]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    costs: Costs = json.loads(done.stdout)
    return costs


if __name__ == "__main__":
    relax_collector()
    print(json.dumps(SECTIONS[sys.argv[1]]()))
