"""What a long policy costs for each URL: the crawl, every answer and every stored copy ask it.

pytest tests/benchmarks/bench_policy.py -s

1,999 rules that take one page down each, asked about a page of each of 10,000 hosts. Microseconds of
processor time for each URL when its host is new, and again. One core of an Intel Xeon (KVM) that others use
too, CPython 3.11. In brackets when every pattern was tried on every host:

                        new             again
    page                3.4  (1,608)     2.7  (1,356)   whole URLs
    pattern             3.7  (1,564)     3.0  (1,354)   with a star behind the host
    anywhere            530  (2,431)     528  (2,181)   patterns that name no host: tried on every one
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from peers.policy.rules import Action, Policy, Rule

N_TAKE_DOWNS, N_HOSTS = 1_999, 10_000


def page(n: int) -> str:
    return f"https://www.host{n}.org/page/{n}?q=1"


def pattern(n: int) -> str:
    return f"https://www.host{n}.org/page/{n}*"


def anywhere(n: int) -> str:
    return f"*/secret/{n}/*"


@pytest.mark.parametrize("taken_down", [page, pattern, anywhere])
def test_take_downs_of_single_pages(taken_down: Callable[[int], str]) -> None:
    downs = (Rule(action=Action.TAKE_DOWN, urls=(taken_down(5 * n),)) for n in range(N_TAKE_DOWNS))
    policy = Policy(rules=(*downs, Rule(action=Action.CRAWL)))
    urls = [page(n) for n in range(N_HOSTS)]
    first = timed(lambda: [policy.is_taken_down(url) for url in urls])
    again = timed(lambda: [policy.is_taken_down(url) for url in urls])
    print(f"\n{taken_down.__name__:12}{first:10.2f}{again:10.2f}", end="")


def timed(work: Callable[[], list[bool]]) -> float:
    """Microseconds of processor time for each of the URLs."""
    start = time.process_time()
    work()
    return 1e6 * (time.process_time() - start) / N_HOSTS
