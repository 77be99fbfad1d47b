"""A folder of files of this machine, each as the answer that a web server would give for it. [io]

Where a file lies on the machine is nobody else's business: its page is named by its place below the folder,
at a host that nobody can ask (`mesh.urls.FILES_DOMAIN`), and is shown as the stored copy. That host has a
number made of machine and folder, so that two folders of one name do not replace each other's pages. Or the
folder is the copy of a site, whose URL is given.

The date of a page is when its file was last changed, and so is its version (a minute later, so that the date
is believed): what has not changed is known. Pages whose files are gone leave the index as those do whose
server says so.
Hidden files, links, and what is no file are passed over.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from hashlib import blake2b
from mimetypes import guess_type
from pathlib import Path
from stat import S_ISREG
from typing import Final, NamedTuple
from urllib.parse import quote

from mesh.errors import ConfigError
from mesh.urls import FILES_DOMAIN, canonical
from peers.crawler.fetching.content_encoding import DOCUMENT_BYTES_MAX
from peers.crawler.parsing.dates import FRESH_S
from peers.importing.inventory import FolderInventory
from peers.importing.positions import BEGINNING, FileDamage, Position
from peers.importing.warc_file import Record
from peers.storage.archive.warc import warc_date

LABEL_CHARS_MAX: Final = 40  # of the name of a folder in that of its host
_WORD: Final = re.compile(r"\w+")
_UNKNOWN: Final = "application/octet-stream"


class Gone(NamedTuple):
    """A page of a deleted file."""

    offset: int
    after: Position
    url: str
    at: float  # version of its absence, seconds since the epoch


class Seen(NamedTuple):
    """The size and time of change of a file when it was read."""

    size: int
    changed_ns: int


def site_of(folder: Path, url: str = "") -> str:
    """The URL below which the files of a folder are pages.

    Args:
      url: of the site that it is a copy of; "" for one that nothing but this folder has.

    Raises:
      ConfigError: that is no URL of a folder.
    """
    if url:
        site = canonical(url)
        if site is None or "?" in site:
            raise ConfigError(f"{url} is no http or https URL that files could be below")
        return site if site.endswith("/") else site + "/"
    label = "-".join(_WORD.findall(folder.name.lower()))[:LABEL_CHARS_MAX]
    place = f"{platform.node()}\n{folder}".encode("utf-8", "surrogateescape")
    number = blake2b(place, digest_size=4).hexdigest()
    named = canonical(f"http://{label}-{number}.{FILES_DOMAIN}/") if label else None
    return named or f"http://folder-{number}.{FILES_DOMAIN}/"


def bytes_in(folder: Path) -> int:
    """How large the files are together."""
    return sum(seen.size for _, seen in _files_in(folder))


def read_folder(
    folder: Path,
    site: str,
    start: Position = BEGINNING,
    seen: dict[Path, Seen] | None = None,
    inventory: FolderInventory | None = None,
) -> Iterator[Record | Gone | FileDamage]:
    """Yield the files, in the order of their names, from a position on; then the pages of deleted files.

    Args:
      seen: what files were like when they were read before; those that are still like that are passed over,
        and others are noted.
      inventory: of the pages that were given before.
    """
    inventory = inventory or FolderInventory()
    unread: list[OSError] = []
    files = list(_files_in(folder, unread.append))
    urls = {path: site + quote(os.fsencode(path.relative_to(folder))) for path, state in files if state.size}
    versions = {
        urls[path]: inventory.version_of(urls[path], state.changed_ns / 1e9 + FRESH_S)
        for path, state in files
        if path in urls
    }
    inventory.note(versions)
    if seen is not None:
        for path in [each for each in seen if each not in urls and each.is_relative_to(folder)]:
            del seen[path]
    n_bytes = 0
    for number, (path, state) in enumerate(files):
        offset, n_bytes = n_bytes, n_bytes + state.size
        if number < start.skip or path not in urls or (seen is not None and seen.get(path) == state):
            continue
        if state.size > DOCUMENT_BYTES_MAX:
            yield FileDamage(offset, f"{path} is larger than {DOCUMENT_BYTES_MAX >> 20} MiB")
            continue
        try:
            body = path.read_bytes()
        except OSError as error:
            yield FileDamage(offset, f"{path} cannot be read: {error.strerror or error}")
            continue
        if seen is not None:
            seen[path] = state
        after = Position(n_bytes, number + 1)
        yield _record(urls[path], body, path.name, state.changed_ns / 1e9, versions[urls[path]], after)
    if not unread:  # what is in a folder that cannot be read may be there
        for url, at in inventory.missing(site, versions, time.time()).items():
            yield Gone(n_bytes, Position(n_bytes, len(files)), url, at)


def _record(url: str, body: bytes, name: str, changed_at: float, seen_at: float, after: Position) -> Record:
    media_type, packing = guess_type(name)
    head = f"Content-Type: {_UNKNOWN if packing or media_type is None else media_type}\r\n"
    head += f"Last-Modified: {formatdate(changed_at, usegmt=True)}\r\n"
    headers = {"warc-type": "response", "warc-target-uri": url, "warc-date": warc_date(seen_at)}
    return Record(after.offset, after, headers, f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + body)


def _files_in(folder: Path, on_error: Callable[[OSError], None] | None = None) -> Iterator[tuple[Path, Seen]]:
    for where, folders, names in os.walk(folder, onerror=on_error):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            path = Path(where, name)
            if name.startswith("."):
                continue
            try:
                state = path.lstat()
            except OSError:  # it is gone
                continue
            if S_ISREG(state.st_mode):
                yield path, Seen(state.st_size, state.st_mtime_ns)
