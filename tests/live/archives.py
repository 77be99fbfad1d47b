"""The WARC files of a mesh, read by a reader that is not ours. [io]"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator


def archived_urls(mesh: Path) -> Counter[str]:
    """How many copies of each page the peers of a mesh hold; every record is read to its end."""
    copies: Counter[str] = Counter()
    for path in sorted(mesh.glob("peer-*/data/archive/**/*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type == "response":
                    copies[record.rec_headers.get_header("WARC-Target-URI")] += 1
    return copies
