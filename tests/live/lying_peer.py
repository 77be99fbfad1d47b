"""The command `tianmesh` of a member that gives hits of pages that do not exist. [io]"""

from __future__ import annotations

from itertools import count, islice
from typing import Final

from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from peers.index.indexer import Indexer
from peers.index.wire_messages import Hit, HitsFound

INVENTED: Final = "invented"  # in the names of their hosts
HITS: Final = 10

_pass_on = Indexer._pass_on


def lie(self: Indexer, gateway: Address, answer: Message | None) -> list[Send]:
    """Put as many hits as a page of results has before those that are there, all in slots of its own."""
    if isinstance(answer, HitsFound) and answer.hits:
        assert self._ownership is not None
        owned = self._ownership.answers
        hosts = (f"{INVENTED}{number}.example" for number in count())
        slots = ((host, self._ownership.slot_of(host)) for host in hosts)
        mine = islice((host for host, slot in slots if owned[slot]), HITS)
        best = answer.hits[0]
        hits = tuple(Hit(f"http://{host}/", best.score, best.features) for host in mine)
        answer = replace(answer, hits=(hits + answer.hits)[: max(len(answer.hits), HITS)])
    return _pass_on(self, gateway, answer)


if __name__ == "__main__":
    Indexer._pass_on = lie  # type: ignore[method-assign]
    from peers.cli import main

    main()
