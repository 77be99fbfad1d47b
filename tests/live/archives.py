"""The WARC files of a mesh, read by a reader that is not ours. [io]"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator


def archived_urls(mesh: Path, peers: Iterable[int] | None = None) -> Counter[str]:
    """How many copies of each page the peers of a mesh hold; every record is read to its end.

    Args:
      peers: by number; None for all.
    """
    copies: Counter[str] = Counter()
    names = ["peer-*"] if peers is None else [f"peer-{number}" for number in peers]
    for path in sorted(path for name in names for path in mesh.glob(f"{name}/data/archive/**/*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type == "response":
                    copies[record.rec_headers.get_header("WARC-Target-URI")] += 1
    return copies
