"""Find out which encoding a page is in and decode it. Never raises.

Whoever declares an encoding may be wrong: servers name one by default, and templates are copied. So a byte
order mark, Content-Type, a `<meta>` near the top (WHATWG HTML, 13.2.3.2) and an XML declaration are heard,
but where they disagree, or the text reads badly as they say, the bytes decide: UTF-8 is never valid by
chance, and of other encodings that is taken in which fewest characters are misfits (`plausibility`); of those
of Latin letters, and of East Asia, that in which the letters are likeliest (`likelihood`).

Of the samples of chardet 5.2.0, without their labels, 394 of 395 in an encoding of the web come out right,
and 28 of 29 in others.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from itertools import chain, filterfalse, islice
from typing import Final, NamedTuple
from urllib.parse import quote

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

from peers.crawler.parsing.likelihood import EAST_ASIAN, LATIN, SAMPLE_BYTES, likeliest
from peers.crawler.parsing.plausibility import DOUBLE_BYTE, misfit_share

PRESCAN_BYTES: Final = 10_240  # the standard asks for 1,024 and lets a later <meta> win all the same
DETECTION_BYTES_MAX: Final = 65_536  # half from the start, half from the end
# So many continuation bytes in valid UTF-8 are no accident: whatever the label says, it is wrong.
UTF8_EVIDENCE_BYTES_MIN: Final = 12
# Labelled UTF-8 with fewer replacements than this share is UTF-8 with damage, such as a character cut.
DAMAGE_SHARE_MAX: Final = 0.01
# Of the characters near the top of a page in UTF-16 at least this share is ASCII: its markup.
ASCII_SHARE_MIN: Final = 0.125
STRAY_NULS_TO_ONE: Final = 16  # at least so many NULs beside an ASCII character to one in another
MISFIT_SHARE_MAX: Final = 0.25  # what reads worse than this, as it is declared, is read in other ways too
EVIDENCE_CHARS_MIN: Final = 3  # different ones, from which that may be told
MISFIT_MARGIN: Final = 0.1  # by which one reading is better than another
TRUST_MARGIN: Final = 0.5  # and than the only one that is named
GUESS_BITS: Final = 10.0  # by which an encoding is likelier that is read and not a guess: 1,000 to 1
TRUST_BITS: Final = 20.0  # and that is read and not the only one that is named: a million to 1
SAMPLED_BYTES: Final = 3_072  # of words that are not ASCII
# A text that reads worse than this in all encodings is in none that is known here.
NOISE_SHARE_MIN: Final = 0.5
NOISE_CHARS_MIN: Final = 16


class DecodedText(NamedTuple):
    """Text and how it came about."""

    text: str
    encoding: str  # name of Python's codec
    replacement_count: int  # U+FFFD that stand for bytes which meant nothing
    is_noise: bool = False  # the encoding is none that is known here


def decode_text(body: bytes, content_type: str | None = None) -> DecodedText:
    """Decode a page or a text file; bytes that cannot be decoded become U+FFFD.

    Args:
      content_type: the response header's value, with or without charset.
    """
    mark = _byte_order_mark(body)
    if mark is not None:
        marked = _decoded(body, mark)
        if mark != "utf-8-sig" or _is_sound(marked):
            return marked
        body = body.removeprefix(codecs.BOM_UTF8)  # put there by a program that did not look
    utf8 = _strict_utf8(body)
    if utf8 is None and b"\xed" in body:
        body = _SURROGATES.sub(_joined, body)
        utf8 = _strict_utf8(body)
    if utf8 is not None and _is_surely_utf8(body, utf8):
        return DecodedText(utf8, "utf-8", 0)
    if (escaped := _with_nuls_or_escapes(body)) is not None:
        return escaped
    labels = _labels(body, content_type)
    named = [codec for codec in map(codec_of, labels) if codec is not None]
    if utf8 is not None and _reads_as_utf8(utf8, body, named):
        return DecodedText(utf8, "utf-8", 0)
    if len(set(named)) == 1:
        labelled = _decoded(body, named[0])
        if _is_sound(labelled) and (
            (len(named) > 1 and named[0] != "cp1252")  # two who do not look never agree on another one
            or misfit_share(labelled.text, named[0]) <= MISFIT_SHARE_MAX
            or len({*"".join(_NOT_ASCII.findall(labelled.text))}) < EVIDENCE_CHARS_MIN
        ):
            return _or_likelier(labelled, body, named)
    read = _or_likelier(_best_reading(body, named), body, named)
    return read if _UNREADABLE.isdisjoint(labels) else read._replace(is_noise=True)


def codec_of(label: str) -> str | None:
    """Return Python's codec for an encoding label of the web; None for unknown and unsafe ones.

    Labels mean what the WHATWG Encoding standard says (latin1 is windows-1252), and the old Chinese sets
    their superset: what is called gb2312 or gbk is decoded as gb18030.
    """
    return _codec_of(label.strip().lower()) if len(label) <= 40 else None


def with_query_in(href: str, codec: str) -> str:
    """Return a link with the non-ASCII characters of its query escaped as bytes of the encoding of its page.

    The other parts of a URL are UTF-8, whatever the page is in. What the encoding lacks is written as a
    reference, as forms do. Unlike browsers, all bytes of a character are escaped, also those that are ASCII
    by themselves: so do programs that write such links, and a URL has one spelling.

    Source: WHATWG URL, 4.4 (query state) and 1.3; Encoding, 4.3: pages in UTF-16 have queries in UTF-8.
    """
    head, mark, rest = href.partition("?")
    query, fragment, after = rest.partition("#")
    if query.isascii() or "#" in head:
        return href
    encoding = _QUERY_CODECS.get(codec, codec)
    query = _NOT_ASCII.sub(lambda run: quote(run[0].encode(encoding, "xmlcharrefreplace"), safe=""), query)
    return f"{head}{mark}{query}{fragment}{after}"


def has_wide_or_shifted(head: bytes) -> bool:
    """Tell whether there are bytes found only in UTF-16, UTF-32 or encodings that shift in and out."""
    is_marked = _byte_order_mark(head) not in (None, "utf-8-sig")
    is_shifted = any(sign and sign in head for *_, sign in _SHIFTS)
    return is_marked or is_shifted or head.startswith((b"<\0", b"\0<", b"\0\0\0<"))


def meta_encoding(body: bytes) -> str | None:
    """Return the codec that a `<meta>` near the top of a page names."""
    return codec_of(_meta_label(body))


# How queries are encoded where that is not how the page is decoded: no superset of a set is sent.
_QUERY_CODECS: Final = {
    "gb18030": "gbk",
    "big5hkscs": "cp950",
    **dict.fromkeys(("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"), "utf-8"),
    **dict.fromkeys(("hz", "gb2312", "iso2022_kr"), "utf-8"),  # to the standard, no encodings
}
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as that of UTF-16 does
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
)
_CHARSET_PARAMETER: Final = re.compile(r"charset\s*=[\s\"']*([^\s\"';,]+)", re.IGNORECASE)
_CHARSET_IN_CONTENT: Final = re.compile(
    rb"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\"'\t\n\f\r ;][^\t\n\f\r ;]*))",
    re.IGNORECASE,
)
_XML_DECLARATION: Final = re.compile(
    rb"[\t\n\r ]*<\?xml[\t\n\r ][^>]*?\bencoding[\t\n\r ]*=[\t\n\r ]*[\"']([A-Za-z][A-Za-z0-9._:-]*)[\"']"
)
_TAG_NAME: Final = re.compile(rb"</?([A-Za-z][^\t\n\f\r />]*)")
_ATTRIBUTE: Final = re.compile(
    rb"[\t\n\f\r /]*([^\t\n\f\r />][^\t\n\f\r />=]*)"
    rb"(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\"'\t\n\f\r >][^\t\n\f\r >]*)|(?=>)))?"
)
_WITH_EIGHTH_BIT: Final = bytes(octet | 0x80 if 0x20 < octet < 0x7F else octet for octet in range(256))
_TAG: Final = re.compile("<[^<>]*>")
_TAG_END: Final = re.compile(rb"[\t\n\f\r /]*>")
# Python's names of the sets that browsers use in place of what resiliparse maps a label to.
_SUPERSETS: Final = {
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "iso8859-11": "cp874",
}
# Labels of the standard that resiliparse does not map.
_MORE_LABELS: Final = {
    "x-user-defined": "cp1252",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-mac-ukrainian": "mac-cyrillic",
}
# What the detector calls encodings that the standard knows by no such label, those of DOS not at all.
_DETECTED: Final = {each: each for each in ("cp949", "mac-cyrillic", "cp852", "cp855", "iso8859-16")}
_NO_GUESS: Final = ("iso8859-3", "iso8859-4", "iso8859-10")  # next to no page is in them
_RUN: Final = re.compile(rb"[\x00-\x7f]?(?:[\x80-\xff]+[\x00-\x7f]?)+")
# The euro, and letters that ISO 8859-15 has where windows-1252 has signs seen within no word.
_LATIN_9: Final = re.compile(rb"\xa4|(?<=[A-Za-z])[\xa8\xb8\xbd](?=[a-z])|(?<!\S)\xbd(?=[a-z])")
# Letters of DOS where windows-1252 has signs seen within no word.
_LETTERS_OF_DOS: Final = re.compile(rb"(?<=[a-z])[\x80-\x84\x86-\x91\x93-\x95\x98\x99\x9b\x9d\x9f](?=[a-z])")
_WINDOWS: Final = re.compile(rb"[\x80-\x9f]")  # bytes of its sets that are of no ISO 8859
# Greek Alpha with tonos at the beginning of a word: the two sets of Greek differ in where it is.
_GREEK_ALPHA: Final = {
    "cp1253": re.compile(rb"(?<![\xb8-\xfe])\xa2(?=[\xdc-\xfe])"),
    "iso8859-7": re.compile(rb"(?<![\xb8-\xfe])\xb6(?=[\xdc-\xfe])"),
}
_DEFAULTS: Final = frozenset(("cp1252", "utf-8"))  # named by those who have not looked
# Read when a text reads badly as it is declared and as the detector has it, the commonest first.
_OTHERS: Final = (
    *("gb18030", "cp949", "cp932", "euc_jp", "big5hkscs", "cp1252", "cp1251", "koi8-r"),
    *("cp1250", "cp1253", "cp1255", "cp1256", "cp874", "johab"),
)
# CNS 11643, for which there is no codec. Of ISO-2022-CN what is GB 2312 can be read.
_UNREADABLE: Final = frozenset(("euc-tw", "x-euc-tw", "euctw", "cns11643", "iso-2022-cn-ext"))
_TAIWANESE_ESCAPES: Final = (b"\x1b$)G", b"\x1b$*H")
_JAPANESE_ESCAPES: Final = (b"\x1b$B", b"\x1b$@")
# Between what shifts in and out the bytes of these have no eighth bit: RFC 1843, 1557 and 1922.
_SHIFTS: Final = (
    ("hz", "gb2312", b"~{", b"~}", b""),
    ("iso2022_kr", "euc_kr", b"\x0e", b"\x0f", b"\x1b$)C"),
    ("gb2312", "gb2312", b"\x0e", b"\x0f", b"\x1b$)A"),
)
# UTF-16's way to write what is beyond U+FFFF, put into UTF-8: CESU-8 (Unicode Technical Report 26).
_SURROGATES: Final = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")


def _byte_order_mark(body: bytes) -> str | None:
    return next((codec for mark, codec in _MARKS if body.startswith(mark)), None)


def _joined(pair: re.Match[bytes]) -> bytes:
    halves = pair[0].decode("utf-8", "surrogatepass")
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le").encode()


def _labels(body: bytes, content_type: str | None) -> list[str]:
    """Return the labels in header, page and XML declaration, in small letters, those that mean most first.

    ISO 8859-1 is named by servers and editors that were not told: it comes after the others.
    """
    match = _CHARSET_PARAMETER.search(content_type or "")
    header = match[1].strip().lower() if match else ""
    labels = [label for label in (header, _meta_label(body), _xml_label(body)) if label]
    return sorted(labels, key=lambda label: codec_of(label) == "cp1252")


def _meta_label(body: bytes) -> str:
    """Return the label of the first `<meta>` near the top of a page that names a known encoding; "" for none.

    Source: WHATWG HTML, 13.2.3.2, "prescan a byte stream to determine its encoding".
    """
    head = body[:PRESCAN_BYTES]
    last = head.lower().rfind(b"charset")  # behind which no <meta> begins that names one
    at = head.find(b"<", 0, max(0, last))
    while at >= 0:
        if head.startswith(b"<!--", at):
            end = head.find(b"-->", at + 2)  # `<!-->` is a whole comment
            at = end if end >= 0 else len(head)
        elif match := _TAG_NAME.match(head, at):
            attributes, at = _attributes(head, match.end())
            if match.group(1).lower() == b"meta" and _TAG_END.match(head, at):
                label = _readable_as_ascii(_label_in(attributes) or b"")
                if label in _UNREADABLE or codec_of(label) is not None:
                    return label
        elif head[at + 1 : at + 2] in (b"!", b"/", b"?"):
            end = head.find(b">", at)
            at = end if end >= 0 else len(head)
        else:
            at += 1
        at = head.find(b"<", at, last)
    return ""


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Return the attributes of the tag with its name ending at `at`, and where reading stopped."""
    attributes: dict[bytes, bytes] = {}
    while match := _ATTRIBUTE.match(head, at):
        name, double, single, bare = match.groups()
        attributes.setdefault(name.lower(), double or single or bare or b"")
        at = match.end()
    return attributes, at


def _label_in(attributes: dict[bytes, bytes]) -> bytes | None:
    """The label in the attributes of a `<meta>`."""
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        match = _CHARSET_IN_CONTENT.search(attributes.get(b"content", b""))
        label = next((group for group in match.groups() if group is not None), None) if match else None
    return label


def _xml_label(body: bytes) -> str:
    """The label in the XML declaration of a page, as "get an XML encoding" of the standard; "" for none."""
    match = _XML_DECLARATION.match(body[:PRESCAN_BYTES])
    return _readable_as_ascii(match[1]) if match else ""


def _readable_as_ascii(label: bytes) -> str:
    name = label.decode("latin-1").strip().lower()
    is_wide = codec_of(name) in ("utf-16-le", "utf-16-be")
    return "utf-8" if is_wide else name  # who could read the label has no UTF-16


@lru_cache(maxsize=1024)
def _codec_of(label: str) -> str | None:
    if label in _MORE_LABELS:
        return _MORE_LABELS[label]
    codec: str | None = map_encoding_to_html5(label, False)
    return None if codec is None else _SUPERSETS.get(codec, codec)


def _detected(body: bytes) -> str:
    found: str | None = detect_encoding(body, max_len=DETECTION_BYTES_MAX, html5_compatible=False)
    codec = None if found is None else _DETECTED.get(found) or codec_of(found)
    head = body[:DETECTION_BYTES_MAX]
    if codec in _GREEK_ALPHA:
        counts = {each: len(alpha.findall(head)) for each, alpha in _GREEK_ALPHA.items()}
        codec = max(_GREEK_ALPHA, key=lambda each: (counts[each], each == codec))
    elif codec == "iso8859-16":  # so it calls Romanian, of which next to no page is in that
        codec = min(("cp1250", codec), key=lambda each: _badness(_decoded(head, each)))
    elif codec in _NO_GUESS:
        codec = likeliest(_sample(head), "cp1252", 0.0)
    elif codec == "koi8-r":
        codec = min((codec, "koi8-u"), key=lambda each: _badness(_decoded(head, each)))
    elif codec in (None, "utf-8") or (codec == "cp852" and not _LETTERS_OF_DOS.search(head)):
        codec = "cp1252"  # UTF-8 it is not
    if codec == "cp1252" and _LATIN_9.search(head) and not _WINDOWS.search(head):
        latin_9 = _badness(_decoded(head, "iso8859-15"))
        codec = "iso8859-15" if latin_9 <= min(MISFIT_MARGIN, _badness(_decoded(head, codec))) else codec
    return codec


def _best_reading(body: bytes, named: list[str]) -> DecodedText:
    """Read a page that is not valid UTF-8 in the encodings named, or another, and return the best reading."""
    damaged = _decoded(body, "utf-8")
    if _is_damaged_utf8(body, damaged) or (set(named) == {"utf-8"} and _is_sound(damaged)):
        return damaged
    readings = [_decoded(body, codec) for codec in dict.fromkeys(named)]
    shares = list(map(_badness, readings))
    clear = sorted(shares)
    if len(clear) > 1 and clear[0] <= MISFIT_SHARE_MAX and clear[1] > clear[0] + MISFIT_MARGIN:
        return readings[shares.index(clear[0])]
    detected = _detected(body)
    readings += [_decoded(body, detected)] if detected not in named else []
    shares += map(_badness, readings[len(shares) :])
    if min(shares) > NOISE_SHARE_MIN and set(named) <= _DEFAULTS:
        others = (_decoded(body, codec) for codec in _OTHERS)
        readings += (other for other in others if _badness(other) <= MISFIT_MARGIN)
        shares = list(map(_badness, readings))
    # Who names one encoding is believed unless another one is far better; of several, and of what is named
    # by default, the better one.
    margin = MISFIT_MARGIN if len(set(named)) > 1 or set(named) <= _DEFAULTS else TRUST_MARGIN
    best = min(shares)
    equal = [each for each, share in zip(readings, shares, strict=True) if share <= best + margin]
    by_detector = (each for each in equal if each.encoding == detected and detected in named)
    chosen = next(by_detector, equal[0])
    is_guessed = chosen.encoding == "cp1252" and _badness(chosen) >= NOISE_SHARE_MIN
    return chosen._replace(is_noise=is_guessed and _is_much(chosen.text))


def _or_likelier(reading: DecodedText, body: bytes, named: list[str]) -> DecodedText:
    """Return a reading, or that in an encoding of the same family in which its letters are far likelier."""
    if reading.encoding not in LATIN and reading.encoding not in EAST_ASIAN:
        return reading
    is_trusted = reading.encoding in named and not set(named) <= _DEFAULTS
    codec = likeliest(_sample(body), reading.encoding, TRUST_BITS if is_trusted else GUESS_BITS)
    return reading if codec == reading.encoding else _decoded(body, codec)


def _sample(body: bytes) -> bytes:
    """Return the bytes above 0x7F of the beginning of a page, with one of ASCII on each side of them."""
    lines = filterfalse(bytes.isascii, body[:DETECTION_BYTES_MAX].splitlines())
    words = filterfalse(bytes.isascii, chain.from_iterable(map(bytes.split, lines)))
    first = b" ".join(islice(words, SAMPLE_BYTES))[:SAMPLED_BYTES]
    return b" ".join(_RUN.findall(first))[:SAMPLE_BYTES]


def _badness(reading: DecodedText) -> float:
    share = misfit_share(reading.text, reading.encoding)
    return share if _is_sound(reading) else share + MISFIT_SHARE_MAX


def _is_sound(reading: DecodedText) -> bool:
    return reading.replacement_count <= DAMAGE_SHARE_MAX * len(reading.text)


def _is_much(text: str) -> bool:
    """Is more of a text than of its words in ASCII other than that?"""
    plain = _TAG.sub(" ", text)
    letters = sum(map(str.isalpha, filter(str.isascii, plain)))
    others = len(plain) - sum(map(str.isascii, plain))
    return others >= max(NOISE_CHARS_MIN, letters)


def _with_nuls_or_escapes(body: bytes) -> DecodedText | None:
    """Read an encoding known by its NULs or escapes: UTF-16 without a mark, and sets with shifts."""
    if b"\0" not in body:
        return _with_shifts(body) if body.isascii() else None
    codec = _wide_codec(body)
    return None if codec is None else _decoded(body, codec)


def _wide_codec(body: bytes) -> str | None:
    """The codec of UTF-16 or UTF-32 without a mark: of its ASCII all bytes but one are NUL."""
    head = body[:PRESCAN_BYTES]
    quarters = [head[at::4].count(0) for at in range(4)]
    for codec, (highest, high, _, lowest) in ("utf-32-be", quarters), ("utf-32-le", quarters[::-1]):
        if len(body) % 4 == 0 and highest == len(head) // 4 and high > highest / 2 and not lowest:
            return codec
    even, odd = quarters[0] + quarters[2], quarters[1] + quarters[3]
    fewer, more = sorted((even, odd))
    is_wide = (
        more > fewer * STRAY_NULS_TO_ONE and more >= ASCII_SHARE_MIN * len(head) / 2 and len(body) % 2 == 0
    )
    return ("utf-16-be" if even > odd else "utf-16-le") if is_wide else None


def _with_shifts(body: bytes) -> DecodedText | None:
    if any(escape in body for escape in _TAIWANESE_ESCAPES):
        return _decoded(body, "utf-8")._replace(is_noise=True)
    if any(escape in body for escape in _JAPANESE_ESCAPES):
        return _decoded(body, "iso2022_jp")
    for name, codec, begin, end, sign in _SHIFTS:
        if sign in body and begin in body and end in body:
            text = _unshifted(body.replace(sign, b"") if sign else body, codec, begin, end)
            if text is not None:
                return DecodedText(text, name, text.count("\ufffd"))
    return None


def _unshifted(body: bytes, codec: str, begin: bytes, end: bytes) -> str | None:
    """Read a text with its shifts; None when the parts between them read as nothing."""
    first, *parts = body.split(begin)
    pieces, shifted = [first.decode()], []
    for part in parts:
        inside, found, rest = part.partition(end)
        if found and b"\n" not in inside and len(inside) % 2 == 0:
            shifted.append(inside.translate(_WITH_EIGHTH_BIT).decode(codec, "replace"))
            pieces += shifted[-1], rest.decode()
        else:
            pieces.append((begin + part).decode())
    read = "".join(shifted)
    is_text = read and misfit_share(read, "cp949" if codec == "euc_kr" else "gb18030") <= MISFIT_SHARE_MAX
    return "".join(pieces) if is_text else None


def _strict_utf8(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _is_surely_utf8(body: bytes, utf8: str) -> bool:
    if utf8.isascii():  # in nearly all encodings the same; UTF-16 has NULs, others escapes
        # One byte is looked for fifty times as fast as two.
        return not (b"\0" in body or b"\x1b" in body or (b"~" in body and b"~{" in body))
    return len(body) - len(utf8) >= UTF8_EVIDENCE_BYTES_MIN


def _reads_as_utf8(utf8: str, body: bytes, named: list[str]) -> bool:
    """Is valid UTF-8 meant as such, though there is little of it?

    By chance some pairs of double-byte sets are valid UTF-8; of other sets only what is no text is.
    """
    if not named or "utf-8" in named or utf8.isascii():
        return True
    as_utf8 = misfit_share(utf8, "utf-8")
    others = (misfit_share(_decoded(body, codec).text, codec) for codec in named if codec in DOUBLE_BYTE)
    return min(others, default=1.0) > as_utf8


def _is_damaged_utf8(body: bytes, decoded: DecodedText) -> bool:
    sound = len(body) - len(decoded.text)  # continuation bytes that fit, about
    return sound >= max(UTF8_EVIDENCE_BYTES_MIN, decoded.replacement_count / DAMAGE_SHARE_MAX)


def _decoded(body: bytes, codec: str) -> DecodedText:
    try:
        text = body.decode(codec, "replace")
    except (LookupError, UnicodeError):  # a codec of the table that this Python was built without
        codec, text = "cp1252", body.decode("cp1252", "replace")
    own = body.count(b"\xef\xbf\xbd") if codec.startswith("utf-8") else 0  # U+FFFD the page itself has
    text = text.removeprefix("\ufeff")
    return DecodedText(text, codec.removesuffix("-sig"), text.count("\ufffd") - own)
