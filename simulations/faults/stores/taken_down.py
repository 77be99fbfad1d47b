"""Pages that the owner of the mesh takes down in the middle of a run: nothing is shown of them any more.

What must hold of them is judged where it is for all other pages: see `StoreUse` and `final_checks`.
"""

from __future__ import annotations

from typing import Final

from peers.policy.rules import Action, Rule
from simulations.faults.stores.store_use import StoreUse, UsedRun
from simulations.webs.changing_web import ChangingWeb

PAGES: Final = 2


class TakeDownUse(StoreUse):
    """The take-down of some pages, at a moment of the run.

    Attributes:
      urls: pages that are taken down by now; none of them is the only way to others.
    """

    chance = "taken down"

    def __init__(self, run: UsedRun) -> None:
        super().__init__(run)
        self.urls: tuple[str, ...] = ()

    def rules(self) -> tuple[Rule, ...]:
        return (Rule(action=Action.TAKE_DOWN, urls=self.urls),) if self.urls else ()

    def begin(self, until: float) -> None:
        at_s = self._random.uniform(self._world.now, until)
        self._world.plan(at_s, self._take_down)

    def end_faults(self) -> None:
        """Say it once more, for it may have been lost with the only member that had heard of it."""
        self._take_down()

    def lacking(self) -> list[str]:
        return [] if self.urls else ["any page to take down"]

    def insist(self) -> None:
        self._take_down()

    def _take_down(self) -> None:
        if not self.urls:
            leaves = [url for url in self._run.watch.stored if self._is_leaf(url)]
            self.urls = tuple(self._random.sample(leaves, min(PAGES, len(leaves))))
        if self.urls:
            self._run.tell(f"the owner of the mesh takes down {', '.join(self.urls)}")
            self._run.legislate()

    def _is_leaf(self, url: str) -> bool:
        web = self._run.web
        assert isinstance(web, ChangingWeb)
        return web.is_leaf(url)
