"""Rows of domains, as they are written."""

from __future__ import annotations

from mesh.tables.memory_table import MemoryTable
from peers.crawler.domain_budgets import DomainBudgets


class NotedTable(MemoryTable):
    """A table that notes the order in which rows are put."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[bytes] = []

    def put(self, key: bytes, value: bytes) -> None:
        self.keys.append(key)
        super().put(key, value)


def test_rows_are_written_in_the_order_of_names_whatever_the_hash_seed() -> None:
    table = NotedTable()
    budgets = DomainBudgets(table)
    for number in range(40):
        budgets.count_questions(f"{number * 7 % 40}.test", 1)
    budgets.save()
    assert len(table.keys) == 40
    assert table.keys == sorted(table.keys)
