"""Random and mutated input for what hears strangers, and the proof that it takes no harm from that. [io]

A fuzzer of something is a test that takes the fixture `fuzzer` (of `tests/conftest.py`). What is a plain
function of bytes:

    def test_no_archive_crashes_the_reader(fuzzer: Fuzzer) -> None:
        with unharmed():
            fuzzer.check(read_archive, [real_archive], refusals=(ArchiveError,))

What listens, in this process or in another, is told in a loop and asked something honest behind it:

    async def test_no_request_crashes_the_gateway(fuzzer: Fuzzer) -> None:
        await exchange(honest)  # so that what is made once is there before it is measured
        with unharmed(pid):
            for data in fuzzer.inputs([honest]):
                await send(data)
            await exchange(honest)

Of the samples some are handed in as they are, some are mutated, and some inputs are pure noise. Each run
tries others, as many as the marker `inputs` of the test says, which is what takes a second or two, or
`--fuzz-inputs`; with `CI` set, or by `--fuzz-seed`, always the same ones. The seed of a run and its last
input are printed when a test fails.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

INPUTS: Final = 4_000  # of a fuzzer whose test does not say
INPUT_BYTES_MAX: Final = 64 << 10  # of a mutated input, unless a test asks for another bound
GROWTH_BYTES_MAX: Final = (
    64 << 20
)  # allocators keep some of what they had; a leak of inputs is more than that
CLOSING_S: Final = 30.0  # until all that was opened for somebody who has gone must be closed
CLOSING_POLL_S: Final = 0.05
SHOWN_BYTES: Final = 512  # of the last input
NOISE_PART: Final = 10  # one input in so many is noise, one in so many a sample as it is
CHANGES_MAX: Final = 4  # of one sample

# What goes wrong where a length, a number or a text is read: ends of integers, and heads of MessagePack that
# announce four thousand million items, of JSON, HTTP and archives.
SPECIAL: Final = (
    *(bytes([byte]) * n for byte in (0x00, 0x7F, 0x80, 0xFF) for n in (1, 2, 4, 8)),
    *(head + b"\xff" * 4 for head in (b"\xdd", b"\xdf", b"\xc6", b"\xdb", b"\xc9")),
    b"\xcb\x7f\xf8" + bytes(6),  # not a number
    b"\xcb\x7f\xf0" + bytes(6),  # infinity
    b"\xed\xa0\x80",  # half of a surrogate pair
    b"\x91" * 64,
    b"[" * 64,
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b'"',
    b"%00",
    b"%",
    b"../",
    b"-1",
    b"1e999",
    b"99999999999999999999",
)


class Footprint(NamedTuple):
    """What a process holds."""

    descriptors: int
    resident_bytes: int

    @classmethod
    def of(cls, pid: int) -> Footprint:
        folder = Path("/proc") / str(pid)
        pages = int((folder / "statm").read_text().split()[1])
        return cls(len(os.listdir(folder / "fd")), pages * os.sysconf("SC_PAGE_SIZE"))


class Fuzzer:
    """Makes so many inputs."""

    def __init__(self, count: int, seed: int) -> None:
        self.count = count
        self.seed = seed
        self.random = Random(seed)
        self.n_inputs = 0
        self.last = b""

    def inputs(self, samples: Sequence[bytes], bytes_max: int = INPUT_BYTES_MAX) -> Iterator[bytes]:
        """Yield inputs, none longer than `bytes_max` but for the samples themselves."""
        for _ in range(self.count):
            self.last = self.input(samples, bytes_max)
            self.n_inputs += 1
            yield self.last

    def check(
        self,
        call: Callable[[bytes], object],
        samples: Sequence[bytes],
        refusals: tuple[type[Exception], ...] = (),
        bytes_max: int = INPUT_BYTES_MAX,
    ) -> None:
        """Call with one input after the other; only these exceptions are proper refusals."""
        for data in self.inputs(samples, bytes_max):
            try:
                call(data)
            except refusals:
                pass

    def input(self, samples: Sequence[bytes], bytes_max: int = INPUT_BYTES_MAX) -> bytes:
        """One input."""
        kind = self.random.randrange(NOISE_PART)
        if kind == 0:
            return self.noise(bytes_max)
        sample = self.random.choice(samples)
        return sample if kind == 1 else self.mutated(sample, samples, bytes_max)

    def noise(self, bytes_max: int) -> bytes:
        """Random bytes; short ones are as likely as long ones."""
        return self.random.randbytes(
            self.random.randint(0, 1 << self.random.randrange(bytes_max.bit_length()))
        )

    def mutated(self, sample: bytes, others: Sequence[bytes], bytes_max: int = INPUT_BYTES_MAX) -> bytes:
        """A sample with some changes."""
        data = bytearray(sample)
        for _ in range(self.random.randint(1, CHANGES_MAX)):
            self._change(data, others)
        return bytes(data[:bytes_max])

    def describe(self) -> str:
        shown = self.last[:SHOWN_BYTES]
        return f"fuzz: seed {self.seed}, {self.n_inputs} inputs, last of {len(self.last)} bytes: {shown!r}"

    def _change(self, data: bytearray, others: Sequence[bytes]) -> None:
        random = self.random
        at = random.randint(0, len(data))
        end = random.randint(at, min(len(data), at + (1 << random.randrange(12))))
        match random.randrange(8):
            case 0 if data:
                data[at % len(data)] ^= 1 << random.randrange(8)
            case 1:
                data[at:end] = random.randbytes(end - at)
            case 2:
                special = random.choice(SPECIAL)
                data[at : at + len(special)] = special
            case 3:
                data[at:at] = random.choice(SPECIAL)
            case 4:
                del data[at:end]
            case 5:
                data[at:at] = bytes(data[at:end]) * random.choice((1, 2, 16, 256))
            case 6:
                other = random.choice(others)
                data[at:] = other[random.randint(0, len(other)) :]
            case _:
                del data[at:]


@contextmanager
def unharmed(
    pid: int | None = None,
    *,
    growth_bytes_max: int = GROWTH_BYTES_MAX,
    descriptors_more_max: int = 0,
    closing_s: float = CLOSING_S,
) -> Iterator[None]:
    """Have the process (this one by default) live on, with no more descriptors and not much more memory.

    Some descriptors more are those of files that are opened when there is something to write.

    Another process closes a connection a little after who had it is gone, and so long is waited. What tasks
    of this process have open they must have closed before the end of the block: they do not run meanwhile.
    """
    watched = os.getpid() if pid is None else pid
    before = Footprint.of(watched)
    yield
    deadline = time.monotonic() + closing_s
    descriptors_max = before.descriptors + descriptors_more_max
    while Footprint.of(watched).descriptors > descriptors_max and time.monotonic() < deadline:
        time.sleep(CLOSING_POLL_S)
    after = Footprint.of(watched)
    print(f"fuzz: process held {before} before, {after} after")
    assert after.descriptors <= descriptors_max, f"{before} before, {after} after"
    assert after.resident_bytes - before.resident_bytes <= growth_bytes_max, f"{before} before, {after} after"
