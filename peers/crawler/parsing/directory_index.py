"""Directories that servers list: Apache, nginx, Caddy, IIS and others, and `ls -lR`. Pure.

A page is one only if all agrees: a title that names the directory of its URL, or rows, as these servers write
them, and links that name what is in it and have its names as their texts, with few others. Else it stays the
page that it is. Dates are of a clock without a zone: they are read as UTC. Months are English, as servers
have them by default; in another language a date is left out. Sizes are in units of 1,024, as servers round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from html import unescape
from itertools import pairwise
from typing import Final, Literal, NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes, urlsplit

import msgspec

from mesh.urls import canonical_links
from peers.crawler.fetching.content_encoding import DOCUMENT_BYTES_MAX
from peers.crawler.parsing.charset import decode_text
from peers.crawler.parsing.dates import seconds_of
from peers.crawler.parsing.link_lists import PACKED_LS
from peers.crawler.parsing.parser import LINKS_MAX, Link, ParsedPage, resolved_links, robots_wish
from peers.engine.pages.directory_entries import (
    ENTRIES_MAX,
    NAME_CHARS_MAX,
    SIZE_MAX,
    Entry,
    entries_in,
    is_address,
    lines_of,
)
from peers.engine.pages.kinds import LISTING

_TITLES: Final = ("Index of /", "Directory listing for /")
_SERVE: Final = "Files within "  # then the name of the folder that is served, and the path below
_CADDY_ROW: Final = '<tr class="file">'
_H5AI_CELL: Final = '<td class="fb-n">'
OTHERS_MAX: Final = 4  # links to elsewhere: of a footer, or a README above
READ_CHARS_MAX: Final = 4_000_000  # of markup: 10,000 rows have 250 characters each, with large icons 400
TAG_CHARS_MAX: Final = 4_000
TAIL_CHARS_MAX: Final = 1_000  # behind a link, of what may be its date and size; Caddy has 600
HEAD_CHARS_MAX: Final = 100  # before a link, likewise
PATH_OCTETS_MAX: Final = (
    4 * NAME_CHARS_MAX
)  # of a directory in `ls -lR`: below a longer one nothing has a name
SOUND_SHARE_MIN: Final = 0.9  # of the lines of `ls -lR`
# Files of which nothing is read here: the mesh finds them by their names, and fetches none.
_UNREAD: Final = (
    "7z aac apk appimage asc avi avif bak bin bmp br bz2 cab class deb dll dmg dylib eot exe flac "
    "flv gem gif gpg gz h5 ico img iso jar jpeg jpg lz lz4 lzma m4a m4v mkv mov mp2 mp3 mp4 mpeg mpg "
    "msi npy npz o ogg ogv opus otf parquet pkg png psd pyc qcow2 rar rpm so sqlite sig tar tbz tgz "
    "tif tiff ttf txz vhd vmdk wav webm webp whl wim wma wmv woff woff2 xz z zip zst "
)
UNREAD_ENDINGS: Final = frozenset(_UNREAD.split())

_CODECS: Final = ("utf-8", "gb18030")
# Controls, and what is written between letters and not seen, such as marks of the direction of writing.
_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\uffff]"
)

_LINK: Final = re.compile(r"<a(?=\s)", re.IGNORECASE)
_LINK_END: Final = re.compile("</a>", re.IGNORECASE)
_HREF: Final = re.compile(r"""\shref\s?=\s?(?:"([^"<>]*)"|'([^'<>]*)')""", re.IGNORECASE)
_TAG: Final = re.compile("<[^<>]*>")
_ROW: Final = re.compile(
    r"\s*(?:/\s*)?(?:(?P<year>\d{4})-(?P<month>\d\d|[A-Z][a-z]{2})-(?P<day>\d\d)"
    r"|(?P<d>\d\d)-(?P<m>[A-Z][a-z]{2})-(?P<y>\d{4}))"
    r"[ ](?P<hour>\d\d):(?P<minute>\d\d)(?P<second>:\d\d)?"
    r"(?:\s{1,60}(?P<size>-|\d{1,19}(?:\.\d{1,3})?)[ ]?(?P<unit>[KMGTP]?)(?:i?B)?(?=\s|$))?",
    re.ASCII,
)
# Caddy has them in attributes, the size only of files.
_CADDY_SIZE: Final = re.compile(r'data-size="(?P<size>\d{1,19})"', re.ASCII)
_CADDY_DATE: Final = re.compile(
    r'<time datetime="(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)'
    r'T(?P<hour>\d\d):(?P<minute>\d\d)(?P<second>:\d\d)Z"',
    re.ASCII,
)
# IIS, before the link: as its country writes dates, of which these two can be told apart.
_IIS: Final = re.compile(
    r"(?:(?P<m>\d\d?)/(?P<d>\d\d?)/(?P<y>\d{4})|(?P<year>\d{4})[-/](?P<month>\d\d?)[-/](?P<day>\d\d?))"
    r"[ ]{1,4}(?P<hour>\d\d?):(?P<minute>\d\d)(?:[ ](?P<half>[AP])M)?[ ]{1,40}"
    r"(?:(?P<size>\d{1,19})|&lt;dir&gt;)[ ]$",
    re.ASCII,
)
_LONG: Final = re.compile(
    r"(?P<kind>[-dlbcps])[-rwxsStT]{9}[.+@]?[ ]+\d+[ ]+\S+[ ]+\S+[ ]+(?P<size>\d{1,19})(?:,[ ]*\d+)?[ ]+"
    r"(?:(?P<m>[A-Z][a-z]{2})[ ]+(?P<d>\d{1,2})[ ]+(?:(?P<y>\d{4})|\d\d:\d\d)"
    r"|(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[ ](?P<hour>\d\d):(?P<minute>\d\d)(?P<second>:\d\d)?"
    r"(?:\.\d{1,9})?(?:[ ][+-]\d{4})?)[ ](?P<name>\S[^\r\n]*)",
    re.ASCII,
)
_TOTAL: Final = re.compile(r"total[ ][\d.]{1,20}[KMGT]?", re.ASCII)
MONTHS: Final = dict(
    zip(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
        range(1, 13),
        strict=True,
    )
)
_UNITS: Final = {unit: 1_024**power for power, unit in enumerate(("", "K", "M", "G", "T", "P"))}
_MARKS: Final = "/@*"  # behind names: of directories, links and programs
_CUT_ENDS: Final = ("..>", "...", "…")  # of names that are too long for their column


class _Read(NamedTuple):
    """The entries of a directory, and the links that are not to be followed, as the page has them."""

    entries: tuple[Entry, ...]
    left_out: tuple[str, ...] = ()


class _JsonEntry(msgspec.Struct, frozen=True):
    """An entry as nginx writes it in JSON."""

    name: str
    type: Literal["directory", "file", "other"]
    mtime: str
    size: int = -1


def with_entries(
    page: ParsedPage, body: bytes, content_type: str | None, robots_tags: Sequence[str] = ()
) -> ParsedPage:
    """Return a page as a directory with its entries, if it is one; else as it is.

    Args:
      page: a page as `parse_page` reads it, of which title or beginning are as `page_reader` has them.
      body, content_type, robots_tags: as `parse_page` was given.
    """
    if page.type == "application/json":
        read = _of_json(body)
    elif page.type == "text/plain":
        read = _of_long_lines(body[:READ_CHARS_MAX]) if page.title.startswith("ls-lR") else None
    else:
        read = _of_markup(page, decode_text(body, content_type).text[:READ_CHARS_MAX])
    if read is None or not read.entries:
        return page
    barred = set(canonical_links(page.base or page.url, list(read.left_out)))
    links = (
        _links_of_json(page.url, read.entries, robots_tags)
        if page.type == "application/json"
        else tuple(link for link in page.links if link.url not in barred)
    )
    title = page.title if page.title.startswith(_TITLES) else unquote(urlsplit(page.url).path)
    return as_listing(msgspec.structs.replace(page, title=title, links=links), read.entries)


def as_listing(page: ParsedPage, entries: Sequence[Entry]) -> ParsedPage:
    """Return a page as a directory with these entries; its title and links stay."""
    lines = lines_of(sorted(entries))  # in whatever order they are asked for, they are the same page
    latest = max((entry.date for entry in entries), default=0)
    return msgspec.structs.replace(
        page,
        headings="",
        text=lines.names,
        heading_ids=lines.details,
        boilerplate="",
        language="",
        type=LISTING,
        dates=(datetime.fromtimestamp(latest, UTC).isoformat(),) if latest else (),
        published=(),
        is_cut=page.is_cut or len(entries) > lines.names.count("\n") + 1,
    )


def _links_of_json(url: str, entries: Iterable[Entry], robots_tags: Sequence[str]) -> tuple[Link, ...]:
    if robots_wish(robots_tags).is_nofollow:
        return ()
    hrefs = [(f"./{entry.href}", entry.name) for entry in entries if not is_left_unread(entry)]
    return resolved_links(url, hrefs[:LINKS_MAX])


def entries_mark(page: ParsedPage) -> bytes:
    """Return bytes that two visits of a directory have in common exactly when its entries are the same."""
    entries = list(entries_in(page.text, page.heading_ids))
    return msgspec.msgpack.encode((page.title, entries))


def is_left_unread(entry: Entry) -> bool:
    """Tell whether nothing would be read of a file, so that it is not worth a fetch."""
    ending = entry.name.rpartition(".")[2].lower()
    if f"/{entry.name}" in PACKED_LS:  # see `packed_list`
        return False
    return entry.size > DOCUMENT_BYTES_MAX or ending in UNREAD_ENDINGS


def _of_markup(page: ParsedPage, markup: str) -> _Read | None:
    path = urlsplit(page.url).path.rpartition("/")[0] + "/"
    style = _style_of(page.title, path, markup)
    if style is None:
        return None
    entries: dict[tuple[str, str], Entry] = {}
    left_out: list[str] = []
    n_others = 0
    pieces = _LINK.split(markup, ENTRIES_MAX + 100)
    for before, piece in pairwise(pieces):
        tag, _, rest = piece.partition(">")
        match = _HREF.search(tag[:TAG_CHARS_MAX])
        href = unescape(match[1] or match[2] or "").strip() if match else ""
        label, *tails = _LINK_END.split(rest, 1)
        if href.startswith("?"):  # the same in another order
            left_out.append(href)
            continue
        if not href or _leads_up(href, path) or href.startswith("javascript:"):
            continue
        address = _address_in(href, path)
        row = _ROWS[style](before[-HEAD_CHARS_MAX:], "".join(tails)[:TAIL_CHARS_MAX])
        entry = _entry_of(address, row) if address else None
        if entry is None or not _agrees(unescape(_TAG.sub("", label[:TAG_CHARS_MAX])), entry.name):
            n_others += 1
            continue
        entries[entry.name, entry.address] = entry
        if is_left_unread(entry):
            left_out.append(href)
    if not entries or n_others > min(OTHERS_MAX, len(entries)):
        return None
    return _Read(tuple(entries.values()), tuple(left_out))


def _style_of(title: str, path: str, markup: str) -> str | None:
    """Name the style of a page that is a directory by its title, and its rows; None where it is none."""
    if _names_directory(title, path):
        return "plain"
    name = name_of(path)
    last = name.rstrip("/").rpartition("/")[2]
    if title.startswith(_SERVE):
        return (
            "plain" if title.rstrip("/").rpartition("/")[2].removeprefix(_SERVE) == last or not last else None
        )
    if title.lower().endswith(f" - {name}".lower()):
        return "iis"
    if _CADDY_ROW in markup and title in (last, name):
        return "caddy"
    return "h5ai" if _H5AI_CELL in markup else None


def _names_directory(title: str, path: str) -> bool:
    """Tell whether a title has the path of a URL, or the part of it that a proxy has left."""
    beginning = next((each for each in _TITLES if title.startswith(each)), "")
    if not beginning:
        return False
    named, asked = title[len(beginning) :].strip().strip("/"), name_of(path).strip("/")
    if not named.isascii() or not asked.isascii():  # in whatever encoding
        return named.count("/") == asked.count("/")
    return named == asked or f"/{asked}".endswith(f"/{named}") or f"/{named}".endswith(f"/{asked}")


def _leads_up(href: str, path: str) -> bool:
    return href in ("..", "../", "./", ".") or (
        href.startswith("/") and path.startswith(href.rstrip("/") + "/")
    )


def _address_in(href: str, path: str) -> str:
    """Return the address of a file in a directory itself, relative to it; "" for any other."""
    address = href.removeprefix(path) if href.startswith("/") else href.removeprefix("./")
    name = address.removesuffix("/")
    if not name or "/" in name or "?" in name or "#" in name or ":" in name.partition("%")[0]:
        return ""
    return address if is_address(address) else quote(address, safe="!$&'()*+,;=:@/~%")


def name_of(address: str) -> str:
    """Return the name that an address escapes: in UTF-8, else in GB 18030, as of older Chinese servers."""
    return _text_of(unquote_to_bytes(address))


def _text_of(octets: bytes, codecs: Sequence[str] = _CODECS) -> str:
    if b"\xed" in octets:  # Python's http.server escapes each octet that is no UTF-8 as a surrogate
        with suppress(UnicodeError):
            octets = octets.decode(errors="surrogatepass").encode(errors="surrogateescape")
    for codec in codecs:
        try:
            return octets.decode(codec)
        except UnicodeDecodeError:
            pass
    return octets.decode("latin-1")


def _shown(name: str) -> str:
    """Return a name as it is searched for and shown: by one table, whichever Unicode a peer knows."""
    return _UNSEEN.sub("", " ".join(name.split())).strip()


class _Row(NamedTuple):
    """The text around a link, as far as it tells of its target; fields as of `Entry`."""

    size: int = -1
    is_rounded: bool = False
    date: int = 0


def _row_behind(_before: str, behind: str) -> _Row:
    row = _ROW.match(unescape(_TAG.sub(" ", behind.rpartition(">")[0] or behind)))
    return _Row(*_size_of(row["size"], row["unit"]), _seconds_in(row)) if row else _Row()


def _row_of_h5ai(before: str, behind: str) -> _Row:
    row = _row_behind(before, behind)  # in kilobytes of 1,000, cut
    return row._replace(size=row.size * 1_000 // 1_024) if row.is_rounded else row


def _row_of_caddy(_before: str, behind: str) -> _Row:
    size, date = _CADDY_SIZE.search(behind), _CADDY_DATE.search(behind)
    return _Row(min(int(size["size"]), SIZE_MAX) if size else -1, date=_seconds_in(date) if date else 0)


def _row_of_iis(before: str, _behind: str) -> _Row:
    row = _IIS.search(before)
    if row is None:
        return _Row()
    return _Row(min(int(row["size"]), SIZE_MAX) if row["size"] else -1, date=_seconds_in(row))


_ROWS: Final = {"plain": _row_behind, "h5ai": _row_of_h5ai, "caddy": _row_of_caddy, "iis": _row_of_iis}


def _entry_of(address: str, row: _Row) -> Entry | None:
    """Return the entry at an address; None where the name is none."""
    name = _shown(name_of(address))
    if not name.strip("/") or len(name) > NAME_CHARS_MAX or "/" in name[:-1]:
        return None
    is_utf8 = unquote_to_bytes(address) == name.encode(errors="replace")
    return Entry(name, *row, "" if is_utf8 else address)


def _agrees(label: str, name: str) -> bool:
    """Tell whether the text of a link is the name that it leads to, perhaps shortened."""
    if not name.isascii():  # a page may be in another encoding than the names
        return bool(label.strip())
    label, name = label.strip().rstrip(_MARKS), name.rstrip(_MARKS)
    if label == name or " ".join(label.split()) == " ".join(name.split()):
        return bool(name)
    return any(
        label.endswith(end) and len(label) > len(end) and name.startswith(label.removesuffix(end))
        for end in _CUT_ENDS
    )


def _size_of(number: str | None, unit: str) -> tuple[int, bool]:
    if not number or number == "-":
        return -1, False
    size = float(number) * _UNITS[unit] if unit or "." in number else int(number)
    return min(int(size), SIZE_MAX), bool(unit)


def _seconds_in(match: re.Match[str]) -> int:
    """Return the date in a row, in seconds since the epoch; 0 where it has none that is one."""
    parts = match.groupdict()
    month = parts["month"] or parts["m"] or ""
    hour = int(parts["hour"] or 0)
    if half := parts.get("half"):
        hour = hour % 12 + (12 if half == "P" else 0)
    try:
        at = datetime(
            int(parts["year"] or parts["y"] or 0),
            int(month) if month.isdecimal() else MONTHS.get(month, 0),
            int(parts["day"] or parts["d"] or 0),
            hour,
            int(parts["minute"] or 0),
            int((parts.get("second") or ":0")[1:]),
            tzinfo=UTC,
        )
    except ValueError:
        return 0
    return max(0, int(at.timestamp()))


def _of_json(body: bytes) -> _Read | None:
    try:  # one character an octet: each name may be in an encoding of its own
        rows = msgspec.json.decode(body.decode("latin-1"), type=list[_JsonEntry])
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not all(row.name and "/" not in row.name and seconds_of(row.mtime) for row in rows):
        return None
    entries = (
        entry_named(
            f"{row.name}/" if row.type == "directory" else row.name,
            min(max(row.size, -1), SIZE_MAX) if row.type == "file" else -1,
            max(0, int(seconds_of(row.mtime))),
        )
        for row in rows[:ENTRIES_MAX]
    )
    return _Read(tuple(entry for entry in entries if entry))


def entry_named(path: str, size: int, date: int, *, is_gb: bool = False) -> Entry | None:
    """Return an entry by its path, one character an octet; None for one that is none.

    Args:
      is_gb: it is in GB 18030, though it might be taken for UTF-8.
    """
    try:
        octets = path.encode("latin-1")
    except UnicodeEncodeError:  # by an escape of JSON
        octets = path.encode(errors="replace")
    name = _shown(_text_of(octets, ("gb18030",) if is_gb else _CODECS))
    if not name.strip("/") or len(name) > NAME_CHARS_MAX or ".." in name.split("/"):
        return None
    is_utf8 = octets == name.encode(errors="replace")
    return Entry(name, size, False, date, "" if is_utf8 else quote(octets, safe="!$&'()*+,;=:@/~"))


def _of_long_lines(body: bytes) -> _Read | None:
    """Read the output of `ls -lR`: of each directory its path, a total, and a line for each entry."""
    lines = body.decode("latin-1").replace("\r", "").split("\n", 2 * ENTRIES_MAX)[: 2 * ENTRIES_MAX]
    lines = list(filter(None, lines))
    entries = list(_entries_of(lines))
    n_sound = sum(entry is not None for entry in entries)
    if n_sound < SOUND_SHARE_MIN * len(lines):
        return None
    return _Read(tuple(entry for entry in entries if entry))


def _entries_of(lines: list[str]) -> Iterator[Entry | Literal[False] | None]:
    """Yield the entry of each line, False for a line without, None for one that does not belong here."""
    root, folder = "", ""
    for line in lines:
        row = _LONG.match(line)
        if row is not None and len(folder) > PATH_OCTETS_MAX:
            yield False
        elif row is not None:
            name = row["name"].partition(" -> ")[0] if row["kind"] == "l" else row["name"].rstrip()
            path = f"{folder}{name}{'/' if row['kind'] == 'd' else ''}"
            size = min(int(row["size"]), SIZE_MAX) if row["kind"] == "-" else -1
            entry = entry_named(path, size, _seconds_in(row)) if name not in (".", "..") else None
            yield entry or False
        elif line.endswith(":"):
            path = line[:-1]
            if path.startswith("/") and not root:
                root = path.rstrip("/") + "/"
            path = (path + "/").removeprefix(root).strip("/").removeprefix(".").strip("/")
            folder = f"{path}/" if path else ""
            yield False
        else:
            yield False if _TOTAL.fullmatch(line) else None
