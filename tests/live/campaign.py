"""One mesh to which everything happens in turn, and the books that are kept over all of it. [io]

Five peers are founded once, each with an address of its own in a small internet where the user may build it.
Every step of `test_campaign.py` crawls another part of the web while something happens to the peers, and
leaves the mesh whole; a step by itself founds a mesh for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.live.chaos import Chaos
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.namespaces import SmallInternet, small_internet, why_impossible
from tests.live.sites import split_sites
from tests.live.truth import Truth
from tests.live.web import ServedWeb, served_web

PEERS: Final = 5
GUEST: Final = PEERS + 1  # who comes and goes for good
NEWCOMER: Final = PEERS + 2
SPARE: Final = PEERS + 3  # a place where no peer lives
DELAY_S: Final = 0.25

# What is crawled while something happens: enough for some seconds at every peer that has to do with it.
PARTS: Final = {
    "upgrade": ("www.postgresql.test",),
    "kill": ("reference.debian.test", "vhosts.httpd.test"),
    "pause": ("faq.debian.test",),
    "partition": ("rewrite.httpd.test", "gbk.maint-guide.test"),
    "drain": ("howto.httpd.test", "zh-cn.httpd.test"),
    # The largest host takes a minute, so that others of some size cost nothing beside it.
    "chaos": ("manual.httpd.test", "help.libreoffice.test", "debmake.debian.test"),
}


class Campaign:
    """The mesh, its web and its internet, and whether they are still fit for the next step."""

    def __init__(self, web: ServedWeb, mesh: Mesh, chaos: Chaos, internet: SmallInternet | None) -> None:
        self.web = web
        self.mesh = mesh
        self.chaos = chaos
        self.internet = internet
        self.broken_by = ""  # the step that failed first
        self._crawled: set[str] = set()

    def crawl(self, part: str) -> None:
        """Begin with a part of the web."""
        self._crawled.add(part)
        self.chaos.crawl(PARTS[part])

    def crawl_the_rest(self) -> None:
        """Have all parts crawled, and wait until every page is found and kept twice."""
        rest = PARTS.keys() - self._crawled
        if rest:
            self._crawled |= rest
            self.chaos.crawl([host for part in rest for host in PARTS[part]])
        self.chaos.wait_until_whole()

    def audit(self) -> None:
        """Hold the mesh against all that has happened so far."""
        self.chaos.wait_until_whole()
        self.chaos.assert_all_found()
        self.chaos.assert_archived()
        self.chaos.assert_log(self.web.accesses(), DELAY_S)


@contextmanager
def campaign(folder: Path, truth: Truth) -> Iterator[Campaign]:
    """Serve the web, and found a mesh of which no peer is started."""
    with ExitStack() as stack:
        internet = stack.enter_context(small_internet(SPARE)) if not why_impossible() else None
        web = stack.enter_context(served_web(split_sites(), place=internet.web if internet else None))
        mesh = stack.enter_context(
            mesh_of(
                folder / "mesh",
                web,
                internet.peers[:NEWCOMER] if internet else NEWCOMER,
                delay_s=DELAY_S,
                has_bootstrap=internet is None,
            )
        )
        yield Campaign(web, mesh, Chaos(mesh, truth), internet)
