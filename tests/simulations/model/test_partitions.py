"""How many keys move when a peer comes or goes, by each way of mapping them."""

from __future__ import annotations

import numpy as np
import pytest

from simulations.model.partitions import (
    HostTable,
    Jump,
    Mapping,
    ModN,
    Rendezvous,
    Ring,
    SlotArray,
    hashes_of,
)

KEYS = hashes_of([f"host{number}.test" for number in range(20_000)])
N = 10


def mappings() -> dict[str, Mapping]:
    return {
        "mod": ModN(N),
        "table": HostTable(N, KEYS),
        "array": SlotArray(N, 50_000),
        "rendezvous": Rendezvous(N, 50_000),
        "ring": Ring(N),
        "jump": Jump(N),
    }


@pytest.mark.parametrize("name", mappings())
def test_keys_are_spread_over_all_peers(name: str) -> None:
    counts = np.bincount(mappings()[name].peers_of(KEYS), minlength=N)
    assert len(counts) == N
    most = 1.35 if name == "ring" else 1.1  # a ring of 100 points has a coefficient of variation of 0.1
    assert counts.max() < most * counts.mean()


@pytest.mark.parametrize("name", ["table", "array", "rendezvous", "ring", "jump"])
def test_book_6_2_a_newcomer_takes_its_share_and_nothing_else_moves(name: str) -> None:
    mapping = mappings()[name]
    before, after = mapping.peers_of(KEYS), mapping.resized(N + 1).peers_of(KEYS)
    moved = before != after
    assert (after[moved] == N).all()
    assert moved.mean() == pytest.approx(1 / (N + 1), rel=0.25)


@pytest.mark.parametrize("name", ["table", "array", "rendezvous", "ring", "jump"])
def test_book_6_2_who_leaves_gives_its_share_and_nothing_else_moves(name: str) -> None:
    mapping = mappings()[name]
    before, after = mapping.peers_of(KEYS), mapping.resized(N - 1).peers_of(KEYS)
    assert ((before == N - 1) == (before != after)).all()
    assert after.max() == N - 2


def test_book_6_2_with_the_hash_mod_n_ten_of_eleven_move() -> None:
    moved = ModN(N).peers_of(KEYS) != ModN(N).resized(N + 1).peers_of(KEYS)
    assert moved.mean() == pytest.approx(10 / 11, abs=0.02)


def test_a_host_table_grows_with_what_is_elsewhere() -> None:
    table = HostTable(N, KEYS)
    assert table.entries == 0
    assert table.resized(N + 1).entries == pytest.approx(len(KEYS) / (N + 1), rel=0.05)


def jump(key: int, n: int) -> int:
    """Lamping and Veach 2014, figure 1, line by line."""
    b, j = -1, 0
    while j < n:
        b = j
        key = (key * 2862933555777941757 + 1) % 2**64
        j = int((b + 1) * (float(1 << 31) / float((key >> 33) + 1)))
    return b


@pytest.mark.parametrize("n", [1, 2, 17, 1_000])
def test_jump_hash_is_that_of_its_paper(n: int) -> None:
    keys = KEYS[:200]
    assert Jump(n).peers_of(keys).tolist() == [jump(int(key), n) for key in keys]
