"""Files that somebody gives to a command, a policy or a trace, are read or refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from mesh.errors import ConfigError
from mesh.trace import TracedPage, read_trace, write_trace
from mesh.trace_blocks import TraceDamage
from peers.policy.policy_file import read_policy
from tests.fuzzing.harness import Fuzzer, unharmed

POLICIES = [
    b"""pages_max = 1000
[[rules]]
domains = ["edu.cn", "example.org"]
action = "crawl"
delay_s = 2.5
[[rules]]
urls = ["http://*.example.org/private/*"]
action = "skip"
""",
    b"""ends_at = 2027-01-02T03:04:05Z
[[rules]]
networks = ["162.105.0.0/16", "2001:da8::/32"]
action = "crawl"
depth_max = 3
[[pins]]
host = "www.pku.edu.cn"
peer = "m1"
[ordering]
by = ["depth", "guide_words"]
guide_words = ["\xe5\xa4\xa9\xe7\xbd\x91", "search"]
""",
]


@pytest.mark.inputs(10_000)
def test_no_text_of_a_policy_harms_who_reads_it(fuzzer: Fuzzer) -> None:
    with unharmed():
        fuzzer.check(
            lambda data: read_policy(data.decode(errors="surrogateescape"), "policy.toml"),
            POLICIES,
            refusals=(ConfigError,),
        )


@pytest.mark.inputs(3_000)
def test_no_trace_harms_who_reads_it(fuzzer: Fuzzer, tmp_path: Path) -> None:
    pages = [
        TracedPage(f"http://a.test/{n}", 1e9 + n, 0.1, 1_000, ("http://b.test/", f"http://a.test/{n + 1}"))
        for n in range(20)
    ]
    trace, mutated = tmp_path / "a.trace", tmp_path / "b.trace"
    write_trace(trace, pages, {"about": "test"})

    def read(data: bytes) -> None:
        mutated.write_bytes(data)
        for damages in (None, list[TraceDamage]()):
            for page in read_trace(mutated, damages):
                assert page.url.startswith("http")

    with unharmed():
        fuzzer.check(read, [trace.read_bytes()], refusals=(ConfigError,))
