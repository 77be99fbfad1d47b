"""Small files of Office before 2007, made by hand: as much of each as its readers look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from struct import pack, pack_into

SECTOR = 512
STREAM_BYTES_MIN = 4_096  # smaller ones are in another place, [MS-CFB] 2.2
_END, _FREE, _TABLE, _NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF


def compound(streams: Mapping[str, bytes]) -> bytes:
    """A compound file with these streams, each with zeros behind it."""
    contents = [content.ljust(max(STREAM_BYTES_MIN, -(-len(content) // SECTOR) * SECTOR), b"\0")
                for content in streams.values()]  # fmt: skip
    n_sectors = [len(content) // SECTOR for content in contents]
    n_directory = -(-(1 + len(streams)) // 4)
    chains = [n_directory, *n_sectors]
    begins = [0, *accumulate(chains)]
    table = [_FREE] * 128
    for begin, count in zip(begins, chains, strict=False):
        table[begin : begin + count] = [*range(begin + 1, begin + count), _END]
    assert begins[-1] < 128, "one sector of the table is enough for what is small"
    table[begins[-1]] = _TABLE
    head = pack("<8s16x5H6x8I", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6,
                0, 1, 0, 0, STREAM_BYTES_MIN, _END, 0, _END)  # fmt: skip
    head += pack("<2I", 0, begins[-1]) + pack("<I", _FREE) * 108
    directory = _entry("Root Entry", 5, _NONE, 1 if streams else _NONE, _END, 0)
    for index, (name, content) in enumerate(zip(streams, contents, strict=True), 1):
        right = index + 1 if index < len(streams) else _NONE
        directory += _entry(name, 2, right, _NONE, begins[index], len(content))
    body = directory.ljust(SECTOR * n_directory, b"\0") + b"".join(contents)
    return head.ljust(SECTOR, b"\0") + body + pack("<128I", *table)


def _entry(name: str, kind: int, right: int, child: int, begin: int, n_bytes: int) -> bytes:
    encoded = name.encode("utf-16-le")
    head = pack("<64sHBB3I", encoded, len(encoded) + 2, kind, 1, _NONE, right, child)
    return head + pack("<36xIQ", begin, n_bytes)


def summary(title: bytes, code_page: int = 1252, more: Sequence[tuple[int, bytes]] = ()) -> bytes:
    """The stream of properties: some more, a title, and when it was saved."""
    saved = 132_484_032_000_000_000  # 2020-10-29
    values = [
        *more,
        (1, pack("<2I", 2, code_page)),
        (2, pack("<2I", 30, len(title) + 1) + title.ljust(len(title) // 4 * 4 + 4, b"\0")),
        (13, pack("<IQ", 64, saved)),
    ]
    at, places = 8 + 8 * len(values), b""
    for number, value in values:
        places += pack("<2I", number, at)
        at += len(value)
    section = pack("<2I", at, len(values)) + places + b"".join(value for _, value in values)
    return pack("<2HI16xI16xI", 0xFFFE, 0, 0, 1, 48) + section


def old_word(
    pieces: Sequence[str | bytes], counts: Sequence[int] = (), *, flags: int = 0, headings: Sequence[str] = ()
) -> bytes:
    """A DOC of Word 97 with these pieces: `str` is kept as UTF-16, `bytes` in a code page.

    Args:
      counts: how many characters the main text has, the footnotes, the headers and so on.
      headings: pieces that are paragraphs with a style of headings.
    """
    stream, ends, places, ranges = bytearray(2_048), [0], b"", []
    for piece in pieces:
        encoded = piece.encode("utf-16-le") if isinstance(piece, str) else piece
        at = len(stream)
        places += pack("<HIH", 0, at if isinstance(piece, str) else at * 2 | 1 << 30, 0)
        ranges.append((at, at + len(encoded), 1 if piece in headings else 0))
        ends.append(ends[-1] + len(piece))
        stream += encoded
    lengths = [*(counts or [ends[-1]]), *[0] * 8][:8]
    places = pack(f"<{len(ends)}I", *ends) + places
    pieces_at = pack("<BHxxBI", 1, 2, 2, len(places)) + places  # behind what was changed in them
    bins = pack("<3I", 0, len(stream), 1)
    pack_into("<6H", stream, 0, 0xA5EC, 0xC1, 0, 0x0409, 0, 0x200 | flags)
    pack_into("<8i", stream, 0x4C, *lengths)
    pack_into("<2I", stream, 0x102, len(pieces_at), len(bins))
    pack_into("<2I", stream, 0x1A2, 0, len(pieces_at))
    page = bytearray(SECTOR)  # of paragraphs
    pack_into(f"<{len(ranges) + 1}I", page, 0, *(begin for begin, _, _ in ranges), ranges[-1][1])
    for index, (_, _, style) in enumerate(ranges):
        page[4 * (len(ranges) + 1) + 13 * index] = (300 + 4 * index) // 2
        pack_into("<BH", page, 300 + 4 * index, 2, style)
    page[-1] = len(ranges)
    stream[SECTOR : 2 * SECTOR] = page
    return compound({
        "WordDocument": bytes(stream), "1Table": pieces_at + bins,
        "\x05SummaryInformation": summary("Größe".encode("cp1252")),
    })  # fmt: skip


def word_6(text: bytes, language: int, charsets: Sequence[int] = ()) -> bytes:
    """A DOC of Word 6, which has its text in one place and in a code page; and fonts of these sets."""
    fonts = b"".join(pack("<2BH2B6s", 11, 0, 400, charset, 0, b"Arial\0") for charset in charsets)
    stream = bytearray(1_024) + text + pack("<H", len(fonts) + 2) + fonts
    pack_into("<2I", stream, 0xD0, 1_024 + len(text), len(fonts) + 2)
    pack_into("<6H", stream, 0, 0xA5DC, 101, 0, language, 0, 0)
    pack_into("<2I", stream, 0x18, 1_024, 1_024 + len(text))
    pack_into("<8i", stream, 0x34, len(text), *[0] * 7)
    return compound({"WordDocument": bytes(stream)})


def record(kind: int, content: bytes = b"", instance: int = 0, *, is_container: bool = False) -> bytes:
    """A record of a presentation."""
    return pack("<2HI", instance << 4 | (0xF if is_container else 0), kind, len(content)) + content


def container(kind: int, *inside: bytes, instance: int = 0) -> bytes:
    return record(kind, b"".join(inside), instance, is_container=True)


def text_of_slide(text: str, kind: int | None = None) -> bytes:
    """A text, after what kind it is of where that is said: 0 for a title, 1 for what is below."""
    is_wide = not text.isascii()
    encoded = record(0xFA0, text.encode("utf-16-le")) if is_wide else record(0xFA8, text.encode())
    return encoded if kind is None else record(0xF9F, pack("<I", kind)) + encoded


def old_slides(
    outlines: Sequence[bytes], boxes: Sequence[str], links: Sequence[tuple[str, str]] = ()
) -> bytes:
    """A PPT whose slides have these outlines and boxes; it was saved twice, before as something else."""
    stream = b""
    places: dict[int, int] = {}

    def save(number: int, content: bytes) -> None:
        nonlocal stream
        places[number] = len(stream)
        stream += content

    def edit(earlier: int) -> int:
        nonlocal stream
        directory = len(stream)
        entries = b"".join(pack("<2I", number | 1 << 20, place) for number, place in places.items())
        stream += record(0x1772, entries)
        at = len(stream)
        stream += record(0xFF5, pack("<8x4I4x", earlier, directory, 1, 9))
        return at

    save(2, container(0x3EE, text_of_slide("what was there before")))
    first = edit(0)
    for number, box in enumerate(boxes, 2):
        save(number, container(0x3EE, container(0x40C, text_of_slide(box))))
    listed = (record(0x3F3, pack("<I16x", number)) + outline for number, outline in enumerate(outlines, 2))
    objects = (
        container(
            0xFD7, record(0xFBA, name.encode("utf-16-le"), 0), record(0xFBA, url.encode("utf-16-le"), 1)
        )
        for name, url in links
    )
    masters = container(0xFF0, record(0x3F3, pack("<I16x", 2)), text_of_slide("Click to edit"), instance=1)
    save(1, container(0x3E8, container(0x409, *objects), masters, container(0xFF0, *listed)))
    last = edit(first)
    user = pack("<8x3I", 20, 0xE391C05F, last)
    return compound({"PowerPoint Document": stream, "Current User": user})
