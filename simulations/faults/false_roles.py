"""The malicious member's lies about copies: which page is shown for others that say the same.

It calls pages of others copies, be their contents its own to answer for or not; and it tells those who answer
for contents of pages in its own slots that say the same, stand before all, and are nowhere. As long as it
answers for slots the former may be hidden by the latter. It has its own draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from mesh.actors.actor import Address, Message
from mesh.tables.table import TableSection
from mesh.urls import fingerprint, host_of
from peers.actors import COPIES_SECTION
from peers.copies.content_row import VERSION_BYTES, domain_of, row_in
from peers.copies.wire_messages import ContentsTold, PageRole, RolesNoted, RolesTold, ToldContent
from peers.engine.segments.live_segment import COPY
from simulations.world.chance import random_of

if TYPE_CHECKING:
    from mesh.actors.ownership import Ownership
    from simulations.faults.machine import Machine
    from simulations.world.world import World

PAUSE_S: Final = 3.0  # mean, between two lies
PAGES: Final = 10  # of one member, that it lies of at once
ACTOR: Final = "copies"
LAST_VERSION: Final = b"\xff" * VERSION_BYTES
BEST_STANDING: Final = bytes(4)


class _Page(NamedTuple):
    """A page of somebody else."""

    url: str
    slot: int
    content: int
    keeper: str  # who answers for the content


class FalseRoles:
    """The lies about copies of one malicious member."""

    def __init__(
        self,
        seed: int,
        machine: Machine,
        others: Callable[[], Sequence[Machine]],
        world: World,
        tell: Callable[[str], None],
        urls: Sequence[str],
    ) -> None:
        """Begin.

        Args:
          machine: that of the liar.
          others: machines of which it may speak.
          tell: takes lines of the transcript.
          urls: of pages of the web.
        """
        self._random = random_of(seed, "false names")
        self.machine = machine
        self._others = others
        self._world = world
        self._tell = tell
        self._urls = {fingerprint(url): url for url in urls}
        self._until_s = 0.0
        self._hidden: set[str] = set()

    def lie(self, until_s: float) -> None:
        """Begin, and go on until that time of the world."""
        self._until_s = until_s
        self._later()

    def may_hide(self, url: str) -> bool:
        """Was anything said of this page that others had to believe? Until the liar has no slots any more."""
        return url in self._hidden

    def end(self) -> None:
        """It has had no slots for a while: its words on others' pages count no more."""
        self._hidden.clear()

    def twisted(self, message: Message) -> Message:
        """Confirm the names of all pages, even of those that are not there."""
        if self._world.now < self._until_s and isinstance(message, RolesNoted):
            return replace(message, unlike=())
        return message

    def _later(self) -> None:
        self._world.plan(self._world.now + self._random.expovariate(1 / PAUSE_S), self._lie_now)

    def _lie_now(self) -> None:
        if self._world.now >= self._until_s:
            return
        self._later()
        ownership = self.machine.ownership
        others = [each for each in self._others() if each.is_running and each is not self.machine]
        if not self.machine.is_running or ownership is None or not others:
            return
        victim = self._random.choice(others)
        pages = list(self._pages_of(victim, ownership))
        for page in self._random.sample(pages, min(PAGES, len(pages))):
            if page.keeper == self.machine.peer:
                self._hidden.add(page.url)
            elif self._random.random() < 0.5:
                self._claim_content(page, ownership)
            self._call_copy(page, victim)

    def _pages_of(self, victim: Machine, ownership: Ownership) -> Iterator[_Page]:
        """Pages that another member answers for."""
        rows = TableSection(TableSection(victim.disk.table, COPIES_SECTION), b"c")
        for key, value in rows.scan(b""):
            slot, url = int.from_bytes(key[:2], "big"), self._urls.get(key[2:])
            content = row_in(value).content
            keeper = ownership.answerer_of(content % ownership.table.slot_count)
            if url is not None and content and keeper and ownership.answerer_of(slot) == victim.peer:
                yield _Page(url, slot, content, keeper)

    def _call_copy(self, page: _Page, victim: Machine) -> None:
        """Say that another page is shown for this one, with or without the right to say so."""
        self._tell(f"{self.machine.name} calls {page.url} a copy")
        naming = PageRole(page.slot, fingerprint(page.url), page.content, COPY)
        named = RolesTold(self._random.randrange(1 << 40), (naming,))
        self._world.forge(self.machine.peer, Address(victim.peer, ACTOR), named)

    def _claim_content(self, page: _Page, ownership: Ownership) -> None:
        """Say that a page of its own has this content, and one of others has it no more."""
        own = [
            url for url in self._urls.values() if self._answers(ownership, ownership.slot_of(host_of(url)))
        ]
        if not own:
            return
        self._hidden.add(page.url)
        url = f"{self._random.choice(own)}/made-up"
        best = BEST_STANDING, b"", 0, domain_of(url)
        slot, name = ownership.slot_of(host_of(url)), fingerprint(url)
        claimed = ToldContent(slot, name, page.content, LAST_VERSION, True, 0, *best)
        gone = ToldContent(page.slot, fingerprint(page.url), page.content, LAST_VERSION, is_there=False)
        for told in (claimed, gone):
            number = self._random.randrange(1 << 40)
            self._world.forge(self.machine.peer, Address(page.keeper, ACTOR), ContentsTold(number, (told,)))

    def _answers(self, ownership: Ownership, slot: int) -> bool:
        return ownership.answerer_of(slot) == self.machine.peer
