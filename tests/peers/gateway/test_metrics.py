from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mesh.actor import Statistics
from peers.gateway.metrics import exposition


class Sample(Statistics, frozen=True):
    pages: int = 3
    share: float = 0.5
    is_idle: bool = True
    name: str = "left out"
    by_reason: Mapping[str, int] = MappingProxyType({"dns": 1, 'odd"\n\\': 2})


def test_numbers_become_samples() -> None:
    assert exposition({"cell": Sample(), "my-port": {"a.b": 1}}).splitlines() == [
        "# TYPE tianmesh_cell_pages untyped",
        "tianmesh_cell_pages 3",
        "# TYPE tianmesh_cell_share untyped",
        "tianmesh_cell_share 0.5",
        "# TYPE tianmesh_cell_is_idle untyped",
        "tianmesh_cell_is_idle 1",
        "# TYPE tianmesh_cell_by_reason untyped",
        'tianmesh_cell_by_reason{key="dns"} 1',
        r'tianmesh_cell_by_reason{key="odd\"\n\\"} 2',
        "# TYPE tianmesh_my_port_a_b untyped",
        "tianmesh_my_port_a_b 1",
    ]


def test_peer_without_counters_has_no_samples() -> None:
    assert exposition({}) == "\n"
