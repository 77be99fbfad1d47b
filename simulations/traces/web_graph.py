"""A trace of a public crawl graph in the format of WebGraph: the links between pages, nothing else. [io]

The format is that of Boldi and Vigna 2004, "The WebGraph framework I", with the codes that it has by default.
Pages have numbers there, in the order of their URLs, so that those of a host follow each other: a page's URL
is made of its number, and so many pages in a row are a host. Sizes and seconds are drawn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path
from typing import Final

import numpy as np

from mesh.errors import ConfigError, unreadable
from mesh.trace import TracedPage

BYTES_MEDIAN: Final = 12_000  # of a page, as `simulations.webs.web` has it
BYTES_SIGMA: Final = 0.8
SECONDS_SIGMA: Final = 1.0  # of the logarithm of the seconds of a page

Successors = Sequence[Sequence[int]]


def pages_of_graph(
    successors: Successors, pages_per_host: int, seconds_median: float, seed: int
) -> Iterator[TracedPage]:
    """Yield the pages of a graph in an order in which a crawl could find them: breadth first.

    What no page before it links to is a seed, the first page among them.
    """
    random = np.random.default_rng(seed)
    seconds = random.lognormal(log(seconds_median), SECONDS_SIGMA, len(successors)).round(6).tolist()
    n_bytes = random.lognormal(log(BYTES_MEDIAN), BYTES_SIGMA, len(successors)).astype(int).tolist()
    urls = [f"http://h{number // pages_per_host}.test/p{number}" for number in range(len(successors))]
    for at, page in enumerate(_breadth_first(successors)):
        links = tuple([urls[target] for target in successors[page]])
        yield TracedPage(urls[page], float(at), seconds[page], n_bytes[page], links)


def read_graph(basename: Path) -> Successors:
    """Read `basename`.graph by `basename`.properties; return the pages that each page links to, in order.

    Raises:
      ConfigError: a file cannot be read, or has another format.
    """
    try:
        text = Path(f"{basename}.properties").read_text(encoding="latin-1")
        data = Path(f"{basename}.graph").read_bytes()
        properties = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        if not properties["graphclass"].endswith("BVGraph") or properties.get("compressionflags"):
            raise ConfigError(f"{basename} is no BVGraph with the codes that it has by default")
        return _unpacked(
            data,
            int(properties["nodes"]),
            int(properties["windowsize"]),
            int(properties["minintervallength"]),
            int(properties["zetak"]),
        )
    except OSError as error:
        raise unreadable(f"the graph {basename}", error) from error
    except (KeyError, ValueError, IndexError) as error:
        raise ConfigError(f"the graph {basename} is damaged, or no BVGraph: {error}") from error


def _breadth_first(successors: Successors) -> Iterator[int]:
    is_found = bytearray(len(successors))
    for seed in range(len(successors)):
        waiting = deque([seed] if not is_found[seed] else [])
        is_found[seed] = 1
        while waiting:
            page = waiting.popleft()
            yield page
            for target in successors[page]:
                if not is_found[target]:
                    is_found[target] = 1
                    waiting.append(target)


def _unpacked(data: bytes, nodes: int, window: int, interval_min: int, zeta_k: int) -> list[list[int]]:
    bits = _Bits(data)
    successors: list[list[int]] = []
    for page in range(nodes):
        degree = bits.gamma()
        if not degree:
            successors.append([])
            continue
        reference = bits.unary() if window else 0
        found = _copied(bits, successors[page - reference]) if reference else []
        rest = degree - len(found)
        if rest and interval_min:
            behind = page
            for number in range(bits.gamma()):
                left = page + _signed(bits.gamma()) if not number else behind + 1 + bits.gamma()
                behind = left + interval_min + bits.gamma()
                found += range(left, behind)
                rest -= behind - left
        last = page
        for number in range(rest):
            gap = bits.zeta(zeta_k)
            last = last + 1 + gap if number else page + _signed(gap)
            found.append(last)
        found.sort()
        if len(found) != degree or found[0] < 0 or found[-1] >= nodes:
            raise ValueError(f"page {page} links to what there is not")
        successors.append(found)
    return successors


def _copied(bits: _Bits, reference: Sequence[int]) -> list[int]:
    """The successors that are those of a page before: runs that are copied and left out take turns."""
    found: list[int] = []
    at, count = 0, bits.gamma()
    for number in range(count):
        end = at + bits.gamma() + (1 if number else 0)
        if number % 2 == 0:
            found += reference[at:end]
        at = end
    return found + list(reference[at:]) if count % 2 == 0 else found


def _signed(value: int) -> int:
    return -(value + 1) // 2 if value % 2 else value // 2


class _Bits:
    """Reads codes from bits, the high one of a byte first."""

    def __init__(self, data: bytes) -> None:
        self._text = bin(int.from_bytes(b"\1" + data))[3:]  # a character a bit: `index` finds ones fast
        self._at = 0

    def unary(self) -> int:
        """Zeros before a one."""
        begin = self._at
        one = self._text.index("1", begin)
        self._at = one + 1
        return one - begin

    def gamma(self) -> int:
        length = self.unary()
        return (1 << length | self._number(length)) - 1

    def zeta(self, k: int) -> int:
        """Boldi and Vigna 2005, "Codes for the World Wide Web": the rest is in minimal binary."""
        low = self.unary() * k
        value = self._number(low + k - 1)
        if value < 1 << low:
            return value + (1 << low) - 1
        return (value << 1 | self._number(1)) - 1

    def _number(self, length: int) -> int:
        begin = self._at
        self._at = begin + length
        return int(self._text[begin : self._at], 2) if length else 0
