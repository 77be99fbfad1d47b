"""Memory of a peer of its own while it crawls, imports, and rests afterwards. [io]

    pytest tests/benchmarks/bench_peer_memory.py --benchmark-enable -s

Private bytes as the status tells them: of the peer and of the processes that take pages apart for it. Crawled
is the dev web of the live tests, without delay; imported are texts of `real_documents`, BENCH_IMPORTED of
them (default 50,000). At rest is a minute after the last page is found.

Wanted, in MB: with 5,000 pages crawled 200, a minute after 50,000 imported pages 300. Measured: 4,623 pages
of the dev web 306 and 329 at most, 199 and 206 after 15 s (380 and 409, 204 and 238 in turn before link texts
were merged in); 50,000 texts made of theirs 324 and 228; `mesh.process.allocator` has what it was before,
and with other settings.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.benchmarks.real_documents import each_real_document
from tests.live.dev_web import dev_sites
from tests.live.lab_process import Up, setting, tianmesh, up
from tests.live.web import served_web

IMPORTED: Final = int(os.environ.get("BENCH_IMPORTED", "50000"))
REST_S: Final = float(os.environ.get("BENCH_REST_S", "60"))
LOOK_S: Final = 0.5
WAIT_S: Final = 3_600.0
LAB: Final = ("--peers", "1", *setting("mesh.replicas", 1))


def private_mb(mesh: Up) -> float:
    return float(mesh.status()["total"]["private_bytes"] / 1e6)


@contextmanager
def watched(mesh: Up, name: str) -> Iterator[None]:
    """Print the most memory while something is done, and what there is after a rest."""
    looks = [private_mb(mesh)]
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(LOOK_S):
            looks.append(private_mb(mesh))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()
    time.sleep(REST_S)
    total = mesh.status()["total"]
    resting, resident = total["private_bytes"] / 1e6, total["rss_bytes"] / 1e6
    print(f"\n{name}, {total['pages_indexed']:,} pages: private {looks[0]:.0f} MB before,", end=" ")
    print(f"at most {max(looks):.0f}, {resting:.0f} at rest; resident {resident:.0f};", end=" ")
    print(f"CPU {total['cpu_seconds']:.0f} s")


@pytest.mark.timeout(0)
def test_memory_of_a_peer_that_has_crawled(tmp_path: Path) -> None:
    with served_web(dev_sites()) as web, up(tmp_path, web, *LAB, seeds=web.seeds) as mesh:
        with watched(mesh, "crawled"):
            mesh.wait_until_idle(timeout=WAIT_S)


@pytest.mark.timeout(0)
def test_memory_of_a_peer_that_has_imported(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    with file.open("w", encoding="utf-8", errors="replace") as lines:
        for page in each_real_document(IMPORTED):
            lines.write(json.dumps({"url": page.url, "title": page.title, "text": page.text}) + "\n")
    with up(tmp_path, None, *LAB) as mesh, watched(mesh, "imported"):
        options: list[str | Path] = ["--checkpoint", tmp_path / "checkpoint", "--data", mesh.folder]
        done = tianmesh("import", file, *options, "--gateway", mesh.gateways()[0], timeout=WAIT_S)
        assert done.returncode == 0, done.stderr
        mesh.wait_until_idle(timeout=WAIT_S)
