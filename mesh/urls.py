"""The canonical form of URLs, and values all peers derive from it: host, origin, fingerprint, path traps.

The form is that of the WHATWG URL standard (ada-url), narrowed to what a crawler may fetch and to one
spelling per resource: no fragment, no credentials, percent-encoding normalised. What pages say is of the web;
where URLs of directories of FTP servers may stand as well, `canonical_with_ftp` reads them. Peers agree on
owners and on what was seen by comparing these strings, so a change here is a change of the mesh's protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ada_url import join_url, normalize_url
from xxhash import xxh3_128_digest

URL_CHARS_MAX = 2083  # characters of the canonical form; Scrapy's URLLENGTH_LIMIT, once Internet Explorer's
RAW_URL_CHARS_MAX = 8 * URL_CHARS_MAX  # what is parsed at all: dot segments and tabs may still shrink a URL
HOST_CHARS_MAX = 253  # of a name without the dot of the root: RFC 1035, 2.3.4, less length octets
LABEL_CHARS_MAX = 63  # of a name, between two dots; RFC 1035, 2.3.4
PATH_SEGMENTS_MAX = 20  # Heritrix, TooManyPathSegmentsDecideRule
SEGMENT_REPEATS_MAX = 2  # Heritrix, PathologicalPathDecideRule
# Names below it are of folders of files on somebody's machine: no name server knows them (RFC 6761, 6.3).
FILES_DOMAIN = "files.localhost"
NO_URL = "is no URL of a page, which begins with http://, https:// or ftp://"  # behind what is none
WITH_LOGIN = "was given with a login, and none is ever used: give it without"  # behind a URL
FTP = "ftp://"  # how URLs of directories of FTP servers begin
URLS_CACHED_MAX = 1024  # whose hosts are remembered: of hits, links and visits each is asked several times
LINKS_CACHED_MAX = 32768  # about 12 MB; the navigation of a site repeats on all pages of a directory

# RFC 3986, 2.3.
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_C0_OR_SPACE = "".join(map(chr, range(0x21)))  # what WHATWG trims from both ends
_ESCAPES = {f"%{octet:02X}": chr(octet) if octet in _UNRESERVED else f"%{octet:02X}" for octet in range(256)}
_CONTROL = re.compile("%[01][0-9A-F]|%7F")
_PERCENT = re.compile("%(?:[0-9A-Fa-f]{2})?")
# What is surely as it should be, in a tenth of the time: a name that is no IP address and has no escaped
# letters (`xn--`), and a path without dot segments, empty ones, escapes and characters that are escaped.
_PLAINLY_CANONICAL = re.compile(
    r"https?://(?:(?!xn--)[a-z0-9][a-z0-9-]{0,62}+\.)++[a-z]{2,63}(?=/)(?:/[\w~-][\w.~-]*+)*+/?", re.ASCII
)
# A reference that is surely resolved by cutting and joining, likewise: how many folders up, and a plain path.
_PLAIN_REFERENCE = re.compile(r"((?:\.\./)*+|/)((?:[\w~-][\w.~-]*+/)*+(?:[\w~-][\w.~-]*+)?)", re.ASCII)
# A query, another scheme or `http:` without slashes, or white space that WHATWG removes or encodes.
_NEEDS_WHOLE_BASE = re.compile(r"\?|(?!https?:[/\\])[a-z][a-z0-9+.\-]*:|[^\0-\x20]*[\0-\x20]", re.IGNORECASE)


def canonical(url: str, base: str | None = None) -> str | None:
    """Bring a URL, absolute or relative to `base`, into its one canonical spelling.

    Scheme and host are lower case (host in its ASCII form, odd IPv4 spellings as dotted decimals), dot
    segments resolved; default port, fragment and credentials are dropped; escapes of unreserved characters
    are undone, the hexadecimal digits of others are upper case (RFC 3986, 6.2.2), an empty query goes, and a
    `%` that escapes nothing becomes `%25`, which makes the form stable: canonical(canonical(u)) ==
    canonical(u). Order and meaning of query parameters, double slashes and a dot after the host name are
    the site's own business and stay.

    Returns:
      `http://` or `https://`, authority, a path of at least `/` and the query if there is one: ASCII only,
      at most `URL_CHARS_MAX` characters. None when the URL is invalid, too long or of another scheme, or its
      host has a name that DNS cannot hold.
    """
    if len(url) > RAW_URL_CHARS_MAX:
        return None
    try:
        parsed = normalize_url(url) if base is None else join_url(base, url)
    except ValueError:  # UnicodeEncodeError too: a lone surrogate has no UTF-8 form
        return None
    if not parsed.startswith(("http://", "https://")):
        return None
    parsed = parsed.partition("#")[0]
    if parsed.endswith("?") and parsed.index("?") == len(parsed) - 1:  # of `??` the second is the query
        parsed = parsed[:-1]
    path_at = parsed.find("/", 8)
    credentials_end = parsed.rfind("@", 0, path_at)
    if credentials_end >= 0:
        parsed = f"{parsed[: parsed.index('/') + 2]}{parsed[credentials_end + 1 :]}"
    may_be_odd = path_at > LABEL_CHARS_MAX or ".." in parsed or "/." in parsed
    if may_be_odd and not _has_possible_name(parsed):
        return None
    if "%" in parsed:
        parsed = _PERCENT.sub(_normal_escape, parsed)
    return parsed if len(parsed) <= URL_CHARS_MAX else None


def canonical_with_ftp(url: str, base: str | None = None) -> str | None:
    """Return the canonical form of a URL of the web, or of a directory of an FTP server.

    An `ftp://` URL is cut behind its last slash: it is that of the directory, in which a file is an entry.
    Credentials go, since nobody but anonymous is asked for; names with control characters are none.

    Returns:
      as `canonical`, or `ftp://`, authority, and a path that begins and ends with `/`.
    """
    return canonical(url, base) or _canonical_directory(url, base)


def is_canonical(url: str) -> bool:
    """Tell whether `canonical_with_ftp` leaves a URL as it is; of most by a look at their characters."""
    is_plain = len(url) <= HOST_CHARS_MAX and _PLAINLY_CANONICAL.fullmatch(url) is not None
    return is_plain or (canonical(url) or _canonical_directory(url, None)) == url


def has_login(url: str) -> bool:
    """Tell whether a URL as it was typed names a user, or a password: canonical ones leave them out."""
    authority = url.partition("://")[2]
    for end in "/\\?#":
        authority = authority.partition(end)[0]
    return "@" in authority


def canonical_links(base: str, hrefs: Iterable[str], *, with_ftp: bool = False) -> list[str | None]:
    """Return `canonical(href, base)` for each link of a page, in order, faster than one by one.

    What an href without its fragment resolves to depends on the directory of the base only, unless it is
    empty or a bare query; so the answers are cached per directory, not per page.

    Args:
      base: a canonical URL, of the page or of its `<base href>`.
      with_ftp: links to FTP servers are some, too: `canonical_with_ftp(href, base)`.
    """
    directory = base[: base.rfind("/", 0, base.find("?") if "?" in base else None) + 1]
    found: list[str | None] = []
    for href in hrefs:
        reference = href.strip(_C0_OR_SPACE).partition("#")[0]
        if len(href) > RAW_URL_CHARS_MAX:
            found.append(None)
        elif not reference:
            found.append(base)
        elif _NEEDS_WHOLE_BASE.match(reference):
            found.append(canonical_with_ftp(href, base) if with_ftp else canonical(href, base))
        else:
            found.append(_canonical_in(directory, reference))
    return found


@lru_cache(maxsize=URLS_CACHED_MAX)
def host_of(url: str) -> str:
    """Return the *host* of a canonical URL or origin: its name, without scheme, port and dot of the root.

    An IP address is its own name, an IPv6 one in brackets as in the URL. All URLs of a name share a slot, a
    politeness clock, budgets and the one connection, whatever scheme and port they are served on.

    Source: Li, Yan, Wang 2004, section 6.2.
    """
    authority = url.split("/", 3)[2]
    if ":" in authority and authority[-1] != "]":
        authority = authority[: authority.rindex(":")]
    return authority.removesuffix(".")


def is_of_files(url: str) -> bool:
    """Tell whether a canonical URL is a name of a file on somebody's machine, which nobody can ask for it."""
    return FILES_DOMAIN in url and host_of(url).endswith(f".{FILES_DOMAIN}")


def has_host(url: str) -> bool:
    """Tell whether `host_of` would find a host in a string, which need not be a URL."""
    return url.startswith(("http://", "https://", FTP)) and "/" in url[8:]


def hostname_of(url: str) -> str:
    """Return the host of a canonical URL as resolvers and certificates name it: IPv6 without brackets."""
    return host_of(url).strip("[]")


def origin_of(url: str) -> str:
    """Return scheme and authority of a canonical URL, `https://a.org:8080`: the scope of a robots.txt."""
    return url[: url.index("/", 8)]


def fingerprint(url: str) -> bytes:
    """Return the 16 bytes by which the mesh knows a canonical URL: XXH3-128 of its ASCII form."""
    digest: bytes = xxh3_128_digest(url.encode())
    return digest


def fingerprints(urls: Iterable[str]) -> list[bytes]:
    """Return the `fingerprint` of each of many URLs."""
    return [xxh3_128_digest(url.encode()) for url in urls]


def looks_like_trap(url: str) -> bool:
    """Tell whether the path of a canonical URL looks endless: very deep, or a run of segments repeating.

    True for more than 20 segments, or a group of one or more segments that stands more than twice in a row
    (`/a/a/a/`, `/a/b/a/b/a/b/`).

    Source: Heritrix 3, TooManyPathSegmentsDecideRule and PathologicalPathDecideRule with their defaults.
    """
    path, _, _ = url.partition("?")
    segments = path.split("/")[3:]
    if segments[-1] == "":
        segments.pop()
    if len(segments) > PATH_SEGMENTS_MAX:
        return True
    times = SEGMENT_REPEATS_MAX + 1
    for size in range(1, len(segments) // times + 1):
        for start in range(len(segments) - size * times + 1):
            group = segments[start : start + size]
            if segments[start : start + size * times] == group * times:
                return True
    return False


def _canonical_directory(url: str, base: str | None) -> str | None:
    if len(url) > RAW_URL_CHARS_MAX:
        return None
    try:
        parsed = normalize_url(url) if base is None else join_url(base, url)
    except ValueError:
        return None
    if not parsed.startswith(FTP):
        return None
    parsed = parsed.partition("#")[0].partition("?")[0]
    authority, _, path = parsed[len(FTP) :].partition("/")
    parsed = f"{FTP}{authority.rpartition('@')[2]}/{path[: path.rfind('/') + 1]}"
    parsed = _PERCENT.sub(_normal_escape, parsed)
    # A host of one letter is of no registry, and `origin_of` would not find its end.
    if parsed.index("/", len(FTP)) < 8 or not _has_possible_name(parsed) or _CONTROL.search(parsed):
        return None
    return parsed if len(parsed) <= URL_CHARS_MAX else None


def _has_possible_name(url: str) -> bool:
    """RFC 1035, 2.3.4; an empty label is the root's alone."""
    host = host_of(url)
    return len(host) <= HOST_CHARS_MAX and all(0 < len(label) <= LABEL_CHARS_MAX for label in host.split("."))


def _normal_escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match.group().upper(), "%25")


@lru_cache(maxsize=LINKS_CACHED_MAX)
def _canonical_in(directory: str, reference: str) -> str | None:
    match = _PLAIN_REFERENCE.fullmatch(reference)
    if match is None or directory.startswith(FTP):
        return canonical(reference, directory)
    up, path = match.groups()
    root = directory.index("/", 8) + 1
    if up == "/":
        directory = directory[:root]
    # WHATWG URL, 4.4: above the root is the root. Hostile references go up thousands of times.
    for _ in range(min(len(up) // len("../"), directory.count("/"))):
        directory = directory[: max(root, directory.rfind("/", 0, -1) + 1)]
    return directory + path if len(directory) + len(path) <= URL_CHARS_MAX else None
