"""Chance in a simulation: generators that follow from a seed, and nothing else. [io]"""

from __future__ import annotations

from random import Random


def random_of(seed: int, purpose: str) -> Random:
    """Make the generator for one purpose; draws for other purposes do not change its numbers.

    The same on every machine and under every PYTHONHASHSEED: Python seeds from the SHA-512 of a string.
    """
    return Random(f"{purpose} {seed}")
