"""The shape of the keys in the table of a cell.

Every key is one letter for the kind of entry, then the slot in two bytes, then the fingerprint of the URL.
So all entries of a kind and a slot stand together, and a slot is compared, handed over or forgotten by a
few scans. *Identity* below means those 18 bytes of slot and fingerprint.

    p identity           newest version of a page: item id, place
    p identity stamp     older versions, newest first
    t identity           digest of the link texts that the index has, or is given, with a page; none for none
    g identity           the newest version has no document: the page is not to be found
    u identity stamp     mark: this version is not yet in a durable commit of the index
    x identity           mark: the index has this page with other link texts
    i identity           the index got this version (its stamp) from another peer, in that export
    d identity           the index has, or is given, nothing of this page: it is taken down
    y identity stamp     damaged: this version could not be read back, and is to come from another peer
    k slot host          until when versions of this host that were followed by others are let go
    s segment            bytes of a segment of the archive that are referred to, and that are not
    f                    slots that are being forgotten
    w                    the take-downs that the index follows, and whether all pages have been looked through
    #                    totals
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from mesh.stamp import Stamp
from mesh.urls import fingerprint

IDENTITY_BYTES: Final = 18

PLACE: Final = b"p"
TEXTS: Final = b"t"
GONE: Final = b"g"
PAGE_MARK: Final = b"u"
TEXTS_MARK: Final = b"x"
ADOPTED: Final = b"i"
HIDDEN: Final = b"d"
DAMAGE: Final = b"y"
CUT: Final = b"k"
SEGMENT: Final = b"s"
FORGOTTEN: Final = b"f"
FOLLOWED: Final = b"w"
TOTALS: Final = b"#"
# Of a slot, in the order of forgetting: a mark never outlives its page.
OF_SLOT: Final = (TEXTS_MARK, PAGE_MARK, ADOPTED, HIDDEN, DAMAGE, GONE, TEXTS, CUT, PLACE)

pack_slot = Struct(">H").pack
_stamp = Struct(">Id")
STAMP_BYTES: Final = _stamp.size
_ALL_BITS: Final = (1 << 8 * STAMP_BYTES) - 1


def identity_of(slot: int, url: str) -> bytes:
    """Return the slot and the fingerprint of a page: 18 bytes."""
    return pack_slot(slot) + fingerprint(url)


def slot_in(key: bytes) -> int:
    """Return the slot that an identity, or the key of a mark, begins with."""
    return int.from_bytes(key[:2], "big")


def segment_key(number: int) -> bytes:
    """Return the key of the counts of a segment."""
    return SEGMENT + number.to_bytes(4, "big")


def newest_first(stamp: Stamp) -> bytes:
    """Twelve bytes that fall as the stamp grows: doubles from 0 on are ordered as their bit patterns."""
    bits = int.from_bytes(_stamp.pack(*stamp), "big")
    return (bits ^ _ALL_BITS).to_bytes(STAMP_BYTES, "big")


def stamp_in(key_end: bytes) -> Stamp:
    """Read a stamp that `newest_first` wrote."""
    bits = int.from_bytes(key_end, "big")
    return Stamp(*_stamp.unpack((bits ^ _ALL_BITS).to_bytes(STAMP_BYTES, "big")))
