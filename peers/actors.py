"""The actors that make a member of the mesh a peer: the same ones live and simulated."""

from __future__ import annotations

from typing import Final

from mesh.actor import Actor
from mesh.table import Table, TableSection
from peers.crawler.controller import Controller
from peers.crawler.settings import CrawlSettings
from peers.gateway.searcher import Searcher
from peers.handover.handover import Handover, HandoverSettings
from peers.importing.importer import Importer
from peers.index.indexer import Indexer, IndexView
from peers.storage.cell import Cell

CELL_SECTION: Final = b"S"  # of the table of a peer


def make_actors(
    me: str,
    table: Table,
    settings: CrawlSettings,
    index: IndexView,
    life: int = 1,
    handover: HandoverSettings | None = None,
) -> list[Actor]:
    """Make the actors of a peer, which take up what the table remembers.

    Args:
      me: id of the peer.
      table: of the whole peer; each actor gets its own section.
      index: what the indexer searches.
      life: of the peer, as `mesh.lives` counts them; the numbers of its questions follow from it.
    """
    return [
        Controller(me, TableSection(table, b"C"), settings, life),
        Cell(me, TableSection(table, CELL_SECTION), life=life),
        Indexer(me, index),
        Searcher(me, life),
        Handover(me, life, handover),
        Importer(me, life),
    ]
