"""The harness finds what it is there for."""

from __future__ import annotations

import os
from mmap import mmap

import pytest

from tests.fuzzing.harness import INPUT_BYTES_MAX, Fuzzer, unharmed

SAMPLES = [b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", b"\x93\x01\x02\x03"]


def test_inputs_follow_from_the_seed_and_keep_their_bound() -> None:
    drawn = [[fuzzer.input(SAMPLES) for _ in range(2_000)] for fuzzer in (Fuzzer(1, 7), Fuzzer(1, 7))]
    assert drawn[0] == drawn[1] != [Fuzzer(1, 8).input(SAMPLES) for _ in range(2_000)]
    assert max(map(len, drawn[0])) <= INPUT_BYTES_MAX
    assert len(set(drawn[0])) > 1_000
    assert set(SAMPLES) <= set(drawn[0])


def test_an_error_that_is_no_refusal_is_found_and_its_input_is_told(fuzzer: Fuzzer) -> None:
    def read(data: bytes) -> None:
        if not data.startswith(b"GET"):
            raise ValueError("refused")
        assert b"\xff" not in data

    with pytest.raises(AssertionError):
        fuzzer.check(read, SAMPLES, refusals=(ValueError,))
    assert b"\xff" in fuzzer.last
    assert str(fuzzer.seed) in fuzzer.describe()


def test_a_descriptor_that_stays_open_is_found() -> None:
    kept: list[int] = []
    with unharmed():
        os.close(os.dup(0))
    with pytest.raises(AssertionError, match="before"):
        with unharmed(closing_s=0.1):
            kept.append(os.dup(0))
    os.close(kept.pop())


def test_memory_that_is_kept_is_found() -> None:
    # Memory from the system, not what tests before this one have given back to the process.
    with mmap(-1, 8 << 20) as kept, pytest.raises(AssertionError, match="before"):
        with unharmed(growth_bytes_max=1 << 20):
            kept.write(bytes(len(kept)))
