"""Measure everything, beside its limits: `python -m tests.budgets`; `--toml` as a new file. [io]"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.budgets.budgets import limits
from tests.budgets.crawled import crawled_costs
from tests.budgets.sections import LIVE, SECTIONS, measured


def main() -> None:
    costs = {section: measured(section) for section in SECTIONS}
    with tempfile.TemporaryDirectory() as folder:
        costs[LIVE] = crawled_costs(Path(folder))
    for section, counts in costs.items():
        print(f"\n[{section}]")
        for name, count in counts.items():
            limit = limits().get(section, {}).get(name)
            print(f"{name} = {count}" if "--toml" in sys.argv else f"{name:32} {count:12} of {limit}")


if __name__ == "__main__":
    main()
