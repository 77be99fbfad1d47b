"""The command `tianmesh` of a member that stores texts of its own in the place of those of its pages. [io]"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from mesh.actors.actor import Address, Send
from peers.storage.intake import Intake
from peers.storage.wire_messages import StoredPage

INVENTED: Final = "Nothing is so well found by everybody as a page which its author has never written at all."

_store = Intake.store


def lie(self: Intake, giver: Address, page: StoredPage, now: float) -> list[Send]:
    """Keep a page with an invented text, here and on its team."""
    if page.document is not None:
        page = replace(page, document=replace(page.document, text=INVENTED))
    return _store(self, giver, page, now)


if __name__ == "__main__":
    Intake.store = lie  # type: ignore[method-assign]
    from peers.cli import main

    main()
