"""The message of the controller to the watcher of its peer."""

from __future__ import annotations

from mesh.actors.actor import Message
from peers.watch.watched import PageWatch


class PageWatched(Message, frozen=True):
    """Controller to watcher: a page that is new, or has another text than before, has entries of the list."""

    url: str
    at_s: float  # mesh clock, when it was fetched
    mark: bytes  # of its title and text; of its body where that is not known
    watch: PageWatch
