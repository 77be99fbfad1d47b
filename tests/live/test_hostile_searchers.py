"""Eight hostile clients ask the most expensive things without a pause: nobody else waits for that.

Three peers and all clients share the machine here. HOSTILE_PAGES, HOSTILE_SECONDS and HOSTILE_HONEST_PER_S
ask for more than the suite has time for, HOSTILE_HONEST_P99_MS, HOSTILE_HEALTH_P99_MS and
HOSTILE_SUSPICIONS_MAX judge more strictly; with TIANMESH_BENCH_WEB the pages are those of the benchmarks,
else copies of the demo web. HOSTILE_QUOTAS=0 lets each client have as much as it wants.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
import numpy as np
import pytest
import trio

from mesh.client.admin_token import tokens_for
from peers.engine.pages.document import Document
from peers.gateway.model.settings import GatewaySettings
from tests.benchmarks.filled_mesh import fill, spread
from tests.benchmarks.real_documents import real_documents
from tests.demo_texts import demo_documents
from tests.live.hostile import Attack, Client, Reply, ask_at_rate
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.web import ServedWeb

pytestmark = [pytest.mark.live, pytest.mark.timed, pytest.mark.timeout(3_600)]

PEERS: Final = 3
PAGES: Final = int(os.environ.get("HOSTILE_PAGES", "3000"))
SECONDS: Final = float(os.environ.get("HOSTILE_SECONDS", "10"))
ALONE_S: Final = SECONDS / 5  # without hostile clients before, to be told beside the other figures
HONEST_PER_S: Final = float(os.environ.get("HOSTILE_HONEST_PER_S", "20"))
HAS_QUOTAS: Final = os.environ.get("HOSTILE_QUOTAS", "1") != "0"
HOSTILE: Final = int(os.environ.get("HOSTILE_CLIENTS", "8"))
REQUESTS_EACH: Final = int(os.environ.get("HOSTILE_REQUESTS", "4"))  # under way, at each gateway
HEALTH_PER_S: Final = 20.0
CONNECTIONS: Final = 480  # of honest people to each gateway: made when all others wait
PEOPLE: Final = 16  # as many clients, so that none is over its quota
HONEST_P99_MS: Final = float(os.environ.get("HOSTILE_HONEST_P99_MS", "3000"))
# Of each peer. On two cores three have little left for each other; 0 where each has its own.
SUSPICIONS_MAX: Final = int(os.environ.get("HOSTILE_SUSPICIONS_MAX", "3"))
HEALTH_P99_MS: Final = float(os.environ.get("HOSTILE_HEALTH_P99_MS", "1000"))
QUOTA: Final = "client_queries_per_s"  # the others of a client follow from it


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mesh]:
    """Peers that have all pages, with the quotas of a gateway that nobody has configured."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "resolver.json").write_text("{}")
    documents = _documents(PAGES)
    hosts = sorted({document.url.split("/")[2] for document in documents})
    web = ServedWeb(folder, [], dict.fromkeys(hosts, "127.0.0.1"))
    defaults = GatewaySettings()
    quotas = {f"gateway.{QUOTA}": getattr(defaults, QUOTA)} if HAS_QUOTAS else {}
    with mesh_of(folder / "mesh", web, PEERS, settings=quotas) as mesh:
        mesh.start(*range(1, PEERS + 1))
        mesh.wait_until_met()
        mesh.wait_until_balanced()
        fill(mesh.gateways(), tokens_for(mesh.folder)(), documents)
        mesh.wait_until_idle(1_800)
        yield mesh


async def test_nobody_waits_for_hostile_searchers(mesh: Mesh) -> None:
    n_alone, n_beside = round(HONEST_PER_S * ALONE_S), round(HONEST_PER_S * SECONDS)
    paths = _honest_paths(n_alone + n_beside)
    alone = await _searches(mesh, Attack([], 0, 0), paths[:n_alone], ALONE_S)
    attack = Attack(mesh.gateways(), HOSTILE, REQUESTS_EACH)
    before = [_metrics(mesh, number) for number in mesh.running()]
    beside = await _searches(mesh, attack, paths[n_alone:], SECONDS)
    after = [_metrics(mesh, number) for number in mesh.running()]
    print(f"\n{PAGES:,} pages, {HOSTILE} hostile clients: {dict(attack.statuses)}")
    for name, seen in (("alone", alone), ("beside them", beside)):
        print(f"  {name}: honest {_told(seen.honest)}\n  {name}: /healthz {_told(seen.health)}")
    for was, now in zip(before, after, strict=True):
        print(f"  {_shown(was, now)}")

    assert {reply.status for reply in beside.honest + beside.health} == {200}
    for reply in beside.honest:
        _assert_whole_or_said(json.loads(reply.body))
    assert _percentile_ms(beside.health, 99) < HEALTH_P99_MS
    assert _percentile_ms(beside.honest, 99) < HONEST_P99_MS
    for was, now in zip(before, after, strict=True):
        for name in ("dead", "holdings_revoked"):
            assert now[f"tianmesh_membership_{name}"] == was[f"tianmesh_membership_{name}"], name
        suspicions = "tianmesh_membership_false_suspicions"
        assert now[suspicions] - was[suspicions] <= SUSPICIONS_MAX
    assert 200 in attack.statuses
    mesh.assert_logs_are_clean()


class Seen(NamedTuple):
    """What came back while something was going on."""

    honest: list[Reply]
    health: list[Reply]


async def _searches(mesh: Mesh, attack: Attack, paths: Sequence[str], seconds: float) -> Seen:
    """Search, and ask how the gateways are, while clients attack."""
    gateways = mesh.gateways()
    people = [
        [Client(gateway, f"127.0.2.{number % PEOPLE + 1}") for number in range(CONNECTIONS)]
        for gateway in gateways
    ]
    probes = [[Client(gateway, "127.0.3.1") for _ in range(CONNECTIONS)] for gateway in gateways]
    seen = Seen([], [])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(attack.run)
        async with trio.open_nursery() as honest:
            honest.start_soon(ask_at_rate, probes, ["/healthz"], HEALTH_PER_S, seconds, seen.health)
            await ask_at_rate(people, paths, HONEST_PER_S, seconds, seen.honest)
        nursery.cancel_scope.cancel()
    return seen


def _honest_paths(count_max: int) -> list[str]:
    """Return searches for words of titles, none of them twice: what was asked before a cache answers."""
    titles = [re.findall(r"\w{3,}", document.title) for document in _documents(min(PAGES, 2_000))]
    titles = [words for words in titles if words]
    draw = random.Random(3)
    queries: dict[str, None] = {}
    for _ in range(20 * count_max):
        words = draw.choice(titles)
        chosen = sorted(draw.sample(range(len(words)), min(len(words), draw.randint(1, 4))))
        queries[" ".join(words[place] for place in chosen)] = None
        if len(queries) == count_max:
            break
    return [f"/api/search?q={quote(query)}" for query in queries]


def _assert_whole_or_said(answer: Mapping[str, Any]) -> None:
    """People ask for words of titles: who shows nothing says that not all was looked at."""
    coverage = answer["coverage"]
    assert coverage["answered"] + coverage["missing"] == coverage["slots"], coverage
    is_cut = any(remark["kind"] == "cut_short" for remark in answer["remarks"])
    assert answer["hits"] or is_cut or coverage["missing"], answer


def _documents(count_max: int) -> list[Document]:
    """Real pages, of hosts enough that all peers have as many."""
    if os.environ.get("TIANMESH_BENCH_WEB"):
        return [spread(document) for document in real_documents(count_max)]
    return list(islice(_demo_copies(), count_max))


def _demo_copies() -> Iterator[Document]:
    for copy in count():
        for document in demo_documents():
            url = document.url.replace("://", f"://copy{copy}.", 1)
            yield msgspec.structs.replace(document, url=url)


def _metrics(mesh: Mesh, number: int) -> dict[str, float]:
    place = urlsplit(mesh.gateway(number))
    connection = http.client.HTTPConnection(place.netloc, timeout=30)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {tokens_for(mesh.folder)()}"})
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in lines) if name[0] != "#"
    }


def _percentile_ms(replies: Sequence[Reply], percent: float) -> float:
    return float(np.percentile([reply.seconds for reply in replies], percent)) * 1e3


def _told(replies: Sequence[Reply]) -> str:
    percentiles = ", ".join(f"p{p} {_percentile_ms(replies, p):.1f}" for p in (50, 90, 99, 100))
    return f"{len(replies)}: {percentiles} ms, {dict(Counter(reply.status for reply in replies))}"


def _shown(was: Mapping[str, float], now: Mapping[str, float]) -> str:
    """What has grown of that which may tell why something was late."""
    telling = re.compile(
        "loop_held|suspi|refut|http_(busy|refused|turned|over)|searcher_(searches|incompl)|n_"
    )
    grown = {name: now[name] - was.get(name, 0.0) for name in now if telling.search(name)}
    return ", ".join(f"{name.removeprefix('tianmesh_')} {value:g}" for name, value in grown.items() if value)
