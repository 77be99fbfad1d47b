"""Batches of records of a file, from records read to requests to be sent, in worker processes. [io]"""

from __future__ import annotations

from time import process_time
from typing import Final, NamedTuple

import msgspec

from mesh.errors import CorruptionError
from peers.crawler.model.wire_messages import LinkUse
from peers.importing.folder import Gone
from peers.importing.importer import bytes_of
from peers.importing.json_lines import Line, entry_of
from peers.importing.messages import ImportedPage
from peers.importing.page import NoPage, PageNotKept, is_private, page_gone, page_of_entry, page_of_record
from peers.importing.positions import FileDamage, Position
from peers.importing.warc_file import Record

BODY_BYTES: Final = 2 << 20  # of one request, unless one page is larger


class ImportTask(NamedTuple):
    """The order to a worker: records, or lines, and how to make pages of them."""

    found: list[Record | Line | Gone]
    damages: list[FileDamage]  # that were found between them
    after: Position  # where to go on reading when all of it is done
    changed_at: float  # when the file was last changed
    use: LinkUse
    is_own: bool = False  # an export of this mesh, whose numbers of visits are believed


class Made(NamedTuple):
    """The result of an order: encoded pages, and counts of the records by outcome."""

    after: Position
    bodies: list[bytes]  # encoded pages, of one request each
    n_read: int  # records or lines
    n_pages: int
    n_noindex: int  # pages that ask not to be indexed: kept, and not found
    n_private: int  # pages whose host is an address that is not public
    refused: dict[str, int]
    examples: dict[str, str]  # for each reason one URL or place
    damages: list[FileDamage]
    cpu_s: float
    n_gone: int = 0  # pages whose files are gone


def make(order: ImportTask) -> Made:
    """Make pages of records; records that cannot be pages are counted by reason."""
    began = process_time()
    bodies: list[bytes] = []
    pages: list[ImportedPage] = []
    refused: dict[str, int] = {}
    examples: dict[str, str] = {}
    damages = list(order.damages)
    n_bytes = n_pages = n_noindex = n_private = n_gone = 0
    for found in order.found:
        try:
            page = _page(found, order)
        except NoPage:
            continue
        except CorruptionError as error:
            damages.append(FileDamage(found.offset, str(error)))
            continue
        except PageNotKept as error:
            refused[str(error)] = refused.get(str(error), 0) + 1
            examples.setdefault(str(error), _named(found))
            continue
        n_pages += 1
        n_gone += isinstance(found, Gone)
        n_noindex += page.document is None and not isinstance(found, Gone)
        n_private += is_private(page.url)
        if pages and n_bytes + bytes_of(page) > BODY_BYTES:
            bodies.append(encode(pages))
            pages, n_bytes = [], 0
        pages.append(page)
        n_bytes += bytes_of(page)
    if pages:
        bodies.append(encode(pages))
    return Made(
        order.after,
        bodies,
        len(order.found),
        n_pages,
        n_noindex,
        n_private,
        refused,
        examples,
        damages,
        process_time() - began,
        n_gone,
    )


def encode(pages: list[ImportedPage]) -> bytes:
    return _encoder.encode(pages)


def decode(body: bytes) -> list[ImportedPage]:
    return _decoder.decode(body)


def _page(found: Record | Line | Gone, order: ImportTask) -> ImportedPage:
    """Never raises anything else: a page that breaks the parser is our bug, and must cost that page only."""
    try:
        if isinstance(found, Gone):
            return page_gone(found.url, found.at)
        if isinstance(found, Record):
            return page_of_record(found, order.use, is_own=order.is_own)
        return page_of_entry(entry_of(found.text), order.changed_at, order.use)
    except (NoPage, PageNotKept, CorruptionError):
        raise
    except Exception as error:
        raise PageNotKept(f"our parser failed ({type(error).__name__})") from error


def _named(found: Record | Line | Gone) -> str:
    if isinstance(found, Record):
        return found.headers.get("warc-target-uri", "")[:300] or f"at byte {found.offset}"
    return f"at byte {found.offset}"


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(list[ImportedPage])
