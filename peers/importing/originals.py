"""Records of revisits, replaced by the responses that they refer to.

Who archives often writes of a page that was found as before only that it was, and where the response is. To
us that is a version like others, of the time of that visit: the response is read once more, as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from xxhash import xxh3_128_digest

from peers.importing.packed_file import Packing
from peers.importing.positions import FileDamage, Position
from peers.importing.warc_file import Record, read_warc

# Names of responses, three of each, with their places in the file: about 60 MB. Older ones are forgotten.
NAMES_MAX: Final = 300_000


def with_originals(
    found: Iterator[Record | FileDamage], packing: Packing, names_max: int = NAMES_MAX
) -> Iterator[Record | FileDamage]:
    """Yield the records of a file; revisits as responses, if the responses they refer to are before them.

    Others are yielded as they are. Responses that have no gzip member of their own are not found again: all
    that is packed with them would have to be unpacked for each.
    """
    places: dict[bytes, int] = {}
    last = -1
    for each in found:
        if isinstance(each, Record):
            kind = each.headers.get("warc-type")
            if kind == "response" and each.offset != last:
                for name in _names_of(each.headers, "warc-record-id", "warc-target-uri", "warc-date"):
                    places.pop(name, None)
                    places[name] = each.offset
                while len(places) > names_max:
                    del places[next(iter(places))]
            last = each.offset
            if kind == "revisit":
                each = _as_response(each, places, packing)
        yield each


def _as_response(revisit: Record, places: Mapping[bytes, int], packing: Packing) -> Record:
    names = _names_of(revisit.headers, "warc-refers-to", "warc-refers-to-target-uri", "warc-refers-to-date")
    offset = next((places[name] for name in names if name in places), None)
    original = None if offset is None else next(read_warc(packing, Position(offset)), None)
    if not isinstance(original, Record):
        return revisit
    told = {name: original.headers.get(name, "") for name in ("content-type", "warc-truncated")}
    return revisit._replace(
        headers={**revisit.headers, **told, "warc-type": "response"}, block=original.block
    )


def _names_of(headers: Mapping[str, str], record: str, url: str, date: str) -> Iterator[bytes]:
    """Yield hashes by which a response is known: of its id, of URL and time, of its digest."""
    of_page = headers.get(url, headers.get("warc-target-uri", ""))
    for parts in (
        (headers.get(record, ""),),
        (of_page, headers.get(date, "")),
        (headers.get("warc-payload-digest", ""),),
    ):
        if all(parts):
            yield xxh3_128_digest("\n".join(parts).encode())
