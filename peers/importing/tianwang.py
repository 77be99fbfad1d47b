"""Files of older engines: Tianwang's raw store, packages of web objects, SOIF. Pure.

Raw store, version 1.0 (Li, Yan, Wang 2004, 3.2): a head of lines `name: value`, the first of which is
`version: 1.0` and the last `length: n`, a blank line, n bytes of an HTTP response, perhaps packed by zlib,
and a blank line. Where there is no record, the next is looked for as the book does: a `version:` from which
three heads follow each other, or as many as there are until the file ends.

Web objects (Li Wei's thesis, 3.6.3): big-endian numbers, times in milliseconds since 1970; a description of
a package has a line for each, its URL, offset and size. SOIF (the book, 6.1): objects of attributes whose
values have their lengths before them, so that they may be anything.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from struct import Struct
from typing import Final, NamedTuple

import msgspec

from mesh.errors import CorruptionError
from peers.crawler.parsing.dates import http_seconds_of
from peers.importing.json_lines import LINE_BYTES_MAX, Line, LineEntry
from peers.importing.packed_file import Data
from peers.importing.positions import BEGINNING, FileDamage, Position
from peers.importing.warc_file import Record
from peers.storage.archive.warc import RECORD_BYTES_MAX, warc_date

RAW_BEGIN: Final = b"version:"
PACKAGE_BEGIN: Final = b"\xff\xffWOP\x01\r\n"
DESCRIPTION_BEGIN: Final = b"\xffWOPD\x01"
SOIF_BEGIN: Final = re.compile(rb"@[A-Za-z-]{1,40}[ \t]{0,8}\{")
HEAD_BYTES_MAX: Final = 8_192
PROPERTIES_MAX: Final = 64
HEADS_WANTED: Final = 3  # that follow each other, until a place is believed
OBJECT_BEGIN: Final = b"\xffWEBO\x01"
OBJECT: Final = Struct(">6sHHIIqq")  # begin; length of type, URL and data; time spent, fetched, expected
DESCRIPTION: Final = Struct(">6shhqq2s")  # begin; base and exponent of the expiry, built, last expiry; CRLF
_DESCRIBED: Final = re.compile(rb"(\S{1,4096})[\t ]{1,8}(\d{1,15})[\t ]{1,8}(\d{1,10})[\t ]{0,8}\r?\n?")
LINE_MAX: Final = 8_192  # bytes of a line of a description
_PROPERTY: Final = re.compile(rb"([a-z][a-z-]{0,40}):[ \t]?([^\r\n]{0,4096}+)\r?\n")
_BLANK: Final = re.compile(rb"\r?\n")
_TEMPLATE: Final = re.compile(rb"\s{0,64}@[A-Za-z-]{1,40}[ \t]{0,8}\{\s{0,8}([^\s{}]{1,4096})\s{0,64}")
_ATTRIBUTE: Final = re.compile(rb"([A-Za-z][A-Za-z0-9-]{0,60})\{(\d{1,9})\}:[\t ]")
_SPACE: Final = re.compile(rb"\s{0,64}")
_TEXTS: Final = ("full-text", "body", "abstract", "description", "partial-text")


class _Raw(NamedTuple):
    properties: Mapping[str, str]
    begin: int  # of the data
    end: int
    after: int


def read_raw(data: Data, start: Position = BEGINNING) -> Iterator[Record | FileDamage]:
    """Read a raw store from a position on."""
    at = start.offset
    while at < len(data):
        raw = _raw_at(data, at)
        if raw is None:
            found = _next_raw(data, at + 1)
            if bytes(data[at : min(found, at + HEAD_BYTES_MAX)]).strip():
                yield FileDamage(at, f"no record: {found - at} bytes are passed over")
            at = found
            continue
        try:
            yield _record_of(data, at, raw)
        except CorruptionError as error:
            yield FileDamage(at, str(error))
        at = raw.after


def _is_end(data: Data, at: int) -> bool:
    """Is there nothing but white space behind a record?"""
    return len(data) - at < HEAD_BYTES_MAX and not bytes(data[at:]).strip()


def _next_raw(data: Data, at: int) -> int:
    """Where the next record begins that is believed; the end of the file when there is none."""
    while (at := data.find(RAW_BEGIN, at)) >= 0:
        heads, after = 0, at
        while heads < HEADS_WANTED and after < len(data) and (raw := _raw_at(data, after)) is not None:
            heads, after = heads + 1, raw.after
        if heads == HEADS_WANTED or (heads and _is_end(data, after)):
            return at
        at += 1
    return len(data)


def _raw_at(data: Data, at: int) -> _Raw | None:
    head = bytes(data[at : at + HEAD_BYTES_MAX])
    if b"\n" not in head:  # found at once; a pattern would look at every byte, wherever a head may begin
        return None
    properties: dict[str, str] = {}
    end = 0
    while len(properties) < PROPERTIES_MAX and (match := _PROPERTY.match(head, end)):
        name = match[1].decode()
        if name in properties:
            return None
        properties[name] = match[2].strip().decode("utf-8", "replace")
        end = match.end()
    blank = _BLANK.match(head, end)
    length = properties.get("length", "")
    names = tuple(properties)
    is_sound = names[:1] == ("version",) and names[-1:] == ("length",) and "url" in properties
    if blank is None or not is_sound or not length.isdecimal() or len(length) > 9:
        return None
    if not properties["version"].startswith("1.") or not http_seconds_of(properties.get("date", "")):
        return None
    begin = at + blank.end()
    data_end = begin + int(length)
    if data_end > len(data):
        return None
    separator = _BLANK.match(bytes(data[data_end : data_end + 2]))
    if separator is None and data_end < len(data):  # it is not as long as it says
        return None
    return _Raw(properties, begin, data_end, data_end + (separator.end() if separator else 0))


def _record_of(data: Data, at: int, raw: _Raw) -> Record:
    properties = raw.properties
    block = bytes(data[raw.begin : raw.end])
    unpacked = properties.get("unzip-length", "")
    if unpacked:
        if not unpacked.isdecimal() or len(unpacked) > 9 or int(unpacked) > RECORD_BYTES_MAX:
            raise CorruptionError(f"a record of {unpacked[:20]} bytes when it is unpacked")
        try:
            block = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(block, int(unpacked) + 1)
        except zlib.error as error:
            raise CorruptionError(f"a record that is not packed by zlib: {error}") from error
        if len(block) != int(unpacked):
            raise CorruptionError("a record is not as long as it says when it is unpacked")
    headers = {
        "warc-type": "response",
        "warc-target-uri": properties["url"],
        "warc-date": warc_date(http_seconds_of(properties["date"])),
        "warc-ip-address": properties.get("ip", ""),
    }
    return Record(at, Position(raw.after), headers, block)


def read_package(data: Data, start: Position = BEGINNING) -> Iterator[Record | FileDamage]:
    """Read a package of web objects from a position on."""
    at = start.offset or len(PACKAGE_BEGIN)
    while at < len(data):
        record = _object_at(data, at, len(data))
        if record is None:
            found = data.find(OBJECT_BEGIN, at + 1)
            found = found if found >= 0 else len(data)
            yield FileDamage(at, f"no web object: {found - at} bytes are passed over")
            at = found
            continue
        yield record
        at = record.after.offset


def read_described(
    description: Data, package: Data, start: Position = BEGINNING
) -> Iterator[Record | FileDamage]:
    """Read the objects that the description of a package names, at the places where it says that they are.

    So each object that is missing or damaged is told by its URL, and what lies between them is not looked at.
    Positions are those in the description. An object begins behind the one before, so that no byte is
    taken for two.
    """
    if description[len(DESCRIPTION_BEGIN) : DESCRIPTION.size][-2:] != b"\r\n":
        yield FileDamage(0, "no description of a package")
        return
    at, free = start.offset or DESCRIPTION.size, 0
    while at < len(description):
        line = bytes(description[at : at + LINE_MAX])
        end = line.find(b"\n") + 1 or len(line)
        match = _DESCRIBED.fullmatch(line[:end])
        if match is None:
            if line[:end].strip():
                yield FileDamage(at, "a line that describes no object")
        else:
            begin = int(match[2])
            record = _object_at(package, begin, begin + int(match[3])) if begin >= free else None
            free = record.after.offset if record is not None else free
            url = match[1].decode("utf-8", "replace")
            if record is None or record.headers["warc-target-uri"] != url:
                yield FileDamage(at, f"{url[:300]} is not in the package where this says")
            else:
                yield record._replace(offset=at, after=Position(at + end))
        at += end


def _object_at(data: Data, at: int, end: int) -> Record | None:
    """Read the web object that begins at a place; None where there is none that is over by `end`."""
    head = bytes(data[at : at + OBJECT.size])
    if len(head) < OBJECT.size:
        return None
    magic, type_bytes, url_bytes, n_bytes, _, fetched_ms, _ = OBJECT.unpack(head)
    begin = at + OBJECT.size
    ends = begin + type_bytes + url_bytes + n_bytes
    is_sound = magic == OBJECT_BEGIN and ends <= min(end, len(data)) and ends - at <= RECORD_BYTES_MAX
    if not is_sound or not 0 < fetched_ms < 1e14:
        return None
    url = bytes(data[begin + type_bytes : begin + type_bytes + url_bytes])
    headers = {
        "warc-type": "resource",
        "content-type": bytes(data[begin : begin + type_bytes]).decode("latin-1"),
        "warc-target-uri": url.decode("utf-8", "replace"),
        "warc-date": warc_date(fetched_ms / 1_000),
    }
    return Record(at, Position(ends), headers, bytes(data[begin + type_bytes + url_bytes : ends]))


def read_soif(data: Data, start: Position = BEGINNING) -> Iterator[Line | FileDamage]:
    """Read the objects of SOIF from a position on, each as the line of JSON that says the same."""
    at = start.offset
    while at < len(data):
        found = _soif_at(data, at)
        if found is None:
            after = data.find(b"\n@", at + 1)
            after = after if after >= 0 else len(data)
            if bytes(data[at : min(after, at + HEAD_BYTES_MAX)]).strip():
                yield FileDamage(at, f"no SOIF object: {after - at} bytes are passed over")
            at = after
            continue
        entry, after = found
        yield Line(at, Position(after), msgspec.json.encode(entry))
        at = after


def _soif_at(data: Data, at: int) -> tuple[LineEntry, int] | None:
    template = _TEMPLATE.match(bytes(data[at : at + HEAD_BYTES_MAX]))
    if template is None:
        return None
    places: dict[str, tuple[int, int]] = {}  # of values, read when the object is whole
    end = at + template.end()
    while len(places) < PROPERTIES_MAX and (attribute := _ATTRIBUTE.match(bytes(data[end : end + 128]))):
        begin = end + attribute.end()
        end = begin + int(attribute[2])
        if end > len(data) or int(attribute[2]) > LINE_BYTES_MAX:
            return None
        places.setdefault(attribute[1].decode().lower(), (begin, end))
        space = _SPACE.match(bytes(data[end : end + 64]))
        end += space.end() if space else 0
    if data[end : end + 1] != b"}":
        return None
    values = {name: bytes(data[slice(*place)]).decode("utf-8", "replace") for name, place in places.items()}
    media_type = values.get("type", "")
    entry = LineEntry(
        url=template[1].decode("utf-8", "replace"),
        title=" ".join(values.get("title", "").split()),
        text=next((values[name] for name in _TEXTS if values.get(name, "").strip()), ""),
        headings=values.get("headings", ""),
        language=values.get("language", ""),
        date=_moment(values.get("last-modification-time", "")),
        fetched_at=_moment(values.get("update-time", "")),
        type=media_type if "/" in media_type else "",
        links=_references(values.get("url-references", "")),
    )
    return entry, end + 1


def _references(value: str) -> tuple[tuple[str, str], ...]:
    """Return the links of a page: a URL a line, and its text, or a number: its weight, which is left out."""
    lines = (line.split(None, 1) for line in value.split("\n") if line.strip())
    return tuple(
        (line[0], "" if line[-1].strip().isdecimal() else " ".join(line[1:]).strip()) for line in lines
    )


def _moment(value: str) -> float | None:
    value = value.strip()
    return float(value) if value.isdecimal() and len(value) < 12 else None
