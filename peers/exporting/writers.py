"""Files that are exported: WARC, JSON lines, links, errors, Parquet. [io]

A file has another name until it is whole, so that nobody takes half of one for all of it.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, ClassVar, Final, Protocol, Self

import msgspec
from isal import igzip

from mesh.errors import ConfigError
from mesh.tables.private_files import put_in_place
from peers.exporting.rows import ExportedPage, LinkRow, Taken
from peers.storage.archive.warc import ANSWERS, WarcRecord, parse_response, read_records, warcinfo_record

STDOUT: Final = Path("-")
FILE_BYTES: Final = 1 << 30  # of one file, as annex C of the WARC standard advises
ROW_GROUP: Final = 4_096  # documents in one group of Parquet: about 20 MB of text in memory
PART: Final = ".part"  # behind the name of what is not whole


# What the name of one file of a format ends with; any other name is that of a folder.
ENDINGS: Final = {
    "warc": (".warc.gz",),
    "jsonl": (".jsonl.gz", ".jsonl"),
    "links": (".tsv.gz", ".tsv"),
    "archive-links": (".tsv.gz", ".tsv"),
    "syntax": (".tsv.gz", ".tsv"),
    "parquet": (".parquet",),
    "graph": (),  # several files, as those of the two that follow
    "graph-parquet": (),
    "webgraph": (),
    "tianwang": (".raw",),
    "webobjects": (".webop", ".spf"),
    "soif": (".soif",),
}
_OF_FILES: Final = frozenset(
    (".warc", ".gz", ".zst", ".jsonl", ".tsv", ".parquet", ".raw", ".webop", ".spf", ".soif", ".graph-txt")
)


def make_place(out: Path, form: str) -> None:
    """Make the folder that files go to: that of this name, unless it is the name of one file.

    Raises:
      ConfigError: there is no writing, or the name is that of a file of another format.
    """
    is_file = out.name.endswith(ENDINGS[form]) and not out.is_dir()
    if out.suffix in _OF_FILES and not is_file and not out.is_dir():
        endings = "".join(f"end it in {' or '.join(ENDINGS[form])}, or " for _ in ENDINGS[form][:1])
        raise ConfigError(f"{out} is no name for {form}: {endings}name a folder")
    try:
        (out.parent if is_file else out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot write to {out}: {error.strerror or error}") from error


def _file_in(out: Path, name: str) -> Path:
    """The file of this name in a folder; a path that is no folder is a file, or stdout, itself."""
    return out / name if out != STDOUT and out.is_dir() else out


class Writer(Protocol):
    """Takes the records or rows to be exported and makes files of them."""

    needs_rows: ClassVar[bool]  # False: it takes records as they are stored
    has_revisits: ClassVar[bool]  # and those of revisits, which refer to others
    has_archive_links: ClassVar[bool]  # of rows: those are wanted
    files: list[Path]

    def write_records(self, records: bytes) -> None: ...

    def write_taken(self, taken: Taken) -> None: ...

    def close(self) -> None:
        """Finish the files and give them their names."""


class Output:
    """One file on its way, or stdout."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_bytes = 0
        self._part = path.with_name(path.name + PART)
        self.file: BinaryIO = sys.stdout.buffer if path == STDOUT else self._part.open("wb")

    def write(self, data: bytes) -> None:
        self.file.write(data)
        self.n_bytes += len(data)

    def close(self) -> None:
        if self.path == STDOUT:
            self.file.flush()
        else:
            self.file.close()
            put_in_place(self._part, self.path)


class RecordsWriter(ABC):
    """Takes records as they are stored, and goes on in another file when one is long."""

    needs_rows: ClassVar[bool] = False
    has_revisits: ClassVar[bool] = False  # of the format: a version may refer to another one
    has_archive_links: ClassVar[bool] = False
    name: ClassVar[str]  # of a file, with `{}` for its number
    begin: ClassVar[bytes] = b""

    def __init__(self, out: Path, bytes_max: int = FILE_BYTES) -> None:
        self.files: list[Path] = []
        self._out = out
        self._bytes_max = bytes_max
        self._output: Output | None = None

    def write_records(self, records: bytes) -> None:
        written = self.written(records)
        output = self._output
        if output is None or output.n_bytes + len(written) > self._bytes_max:
            output = self._begin()
        output.write(written)

    def write_taken(self, taken: Taken) -> None:
        raise AssertionError("records are exported as they are")

    def close(self) -> None:
        if self._output is None:
            self._begin()
        assert self._output is not None
        self._output.close()

    def written(self, records: bytes) -> bytes:
        """Records of a version as the format has them: by default one for each page that was answered."""
        found = (each for each in read_records(records) if each.kind in ANSWERS)
        return b"".join(self.record(each) for each in found if parse_response(each).status == 200)

    @abstractmethod
    def record(self, record: WarcRecord) -> bytes:
        """Write the response of a page."""

    def beginning(self, name: str) -> bytes:
        """Return the first bytes of a file of this name."""
        return self.begin

    def _begin(self) -> Output:
        if self._output is not None:
            if self._output.path == self._out:  # one file, or stdout
                return self._output
            self._output.close()
        name = self.name.format(f"{len(self.files):05d}")
        path = _file_in(self._out, name)
        self._output = Output(path)
        self.files.append(path)
        self._output.write(self.beginning(name))
        return self._output


class WarcWriter(RecordsWriter):
    """Records as they are stored, each a gzip member: any WARC tool reads them."""

    has_revisits: ClassVar[bool] = True
    name: ClassVar[str] = "pages-{}.warc.gz"

    def written(self, records: bytes) -> bytes:
        return records

    def record(self, record: WarcRecord) -> bytes:
        raise AssertionError("records are packed already")

    def beginning(self, name: str) -> bytes:
        fields = {"software": f"tianmesh/{version('tianmesh')}", "format": "WARC File Format 1.1"}
        return warcinfo_record(name, time.time(), fields)


class TakenWriter(ABC):
    """Takes pages that were taken apart."""

    needs_rows: ClassVar[bool] = True
    has_revisits: ClassVar[bool] = False
    has_archive_links: ClassVar[bool] = False
    files: list[Path]

    def write_records(self, records: bytes) -> None:
        raise AssertionError("pages are exported taken apart")


class LinesWriter(TakenWriter):
    """Lines of text in one file; packed, unless it goes to stdout."""

    name: ClassVar[str]

    def __init__(self, out: Path) -> None:
        self._output = PackedLines(out, self.name)
        self.files = [self._output.path]

    def write_taken(self, taken: Taken) -> None:
        self._output.write(self._lines(taken))

    def close(self) -> None:
        self._output.close()

    @abstractmethod
    def _lines(self, taken: Taken) -> bytes: ...


class JsonWriter(LinesWriter):
    """One JSON object a line for each page that has text."""

    name: ClassVar[str] = "pages.jsonl.gz"

    def _lines(self, taken: Taken) -> bytes:
        return _encoder.encode_lines(taken.rows)


class LinksWriter(LinesWriter):
    """A line for each link: source, target and text, by tabs; white space in a text is folded already."""

    name: ClassVar[str] = "links.tsv.gz"

    def _lines(self, taken: Taken) -> bytes:
        return "".join(map(_line_of, taken.links)).encode("utf-8", "replace")


class ArchiveLinksWriter(LinesWriter):
    """A line for each link to a picture, script and the like: source, target and the name of its element."""

    name: ClassVar[str] = "archive-links.tsv.gz"
    has_archive_links: ClassVar[bool] = True

    def _lines(self, taken: Taken) -> bytes:
        return "".join("\t".join(each) + "\n" for each in taken.archive_links).encode("utf-8", "replace")


class SyntaxWriter(LinesWriter):
    """A line for each page of HTML: its URL, all errors in its markup, and those of each kind."""

    name: ClassVar[str] = "syntax.tsv.gz"

    def _lines(self, taken: Taken) -> bytes:
        lines = ("\t".join(map(str, (url, sum(errors), *errors))) for url, errors in taken.syntax)
        return "".join(f"{line}\n" for line in lines).encode()


class ParquetWriter(TakenWriter):
    """A table of pages, a group of rows at a time, packed with zstd."""

    def __init__(self, out: Path) -> None:
        """Raises: ConfigError: pyarrow is not there, or the output is no folder."""
        if out == STDOUT:
            raise ConfigError("Parquet cannot be written to a pipe: name a folder with --out")
        pyarrow = self._pyarrow = pyarrow_with_parquet()
        instant = pyarrow.timestamp("us", tz="UTC")
        dates = {"date": instant, "fetched_at": instant}
        self._schema = pyarrow.schema(
            [(name, dates.get(name, pyarrow.string())) for name in ExportedPage.__struct_fields__]
        )
        path = _file_in(out, "pages.parquet")
        self.files = [path]
        self._part = path.with_name(path.name + PART)
        self._file: Any = pyarrow.parquet.ParquetWriter(self._part, self._schema, compression="zstd")
        self._rows: list[ExportedPage] = []

    def write_taken(self, taken: Taken) -> None:
        self._rows += taken.rows
        while len(self._rows) >= ROW_GROUP:
            self._write_group(self._rows[:ROW_GROUP])
            del self._rows[:ROW_GROUP]

    def close(self) -> None:
        if self._rows:
            self._write_group(self._rows)
        self._file.close()
        self._part.replace(self.files[0])

    def _write_group(self, rows: Sequence[ExportedPage]) -> None:
        columns = []
        for field in self._schema:
            values = [getattr(row, field.name) for row in rows]
            if field.type == self._pyarrow.string():
                values = [text.encode("utf-8", "replace").decode() for text in values]
                columns.append(self._pyarrow.array(values, field.type))
            else:
                moments = [None if value is None else _naive(value) for value in values]
                columns.append(self._pyarrow.array(moments, self._pyarrow.string()).cast(field.type))
        table = self._pyarrow.Table.from_arrays(columns, schema=self._schema)
        self._file.write_table(table, row_group_size=ROW_GROUP)


def pyarrow_with_parquet() -> Any:
    """Load pyarrow.

    Raises:
      ConfigError: it is not there.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ConfigError(
            "Parquet needs pyarrow: pip install pyarrow, or pipx inject tianmesh pyarrow"
        ) from error
    return pyarrow


class PackedLines:
    """Lines in gzip, a member for each call; as they are on stdout, and in files of a name without .gz."""

    def __init__(self, out: Path, name: str) -> None:
        self.path = _file_in(out, name)
        self._is_packed = self.path.suffix == ".gz"
        self._output = Output(self.path)

    def write(self, lines: bytes) -> None:
        if lines:
            self._output.write(igzip.compress(lines) if self._is_packed else lines)

    def close(self) -> None:
        if not self._output.n_bytes and self._is_packed:
            self._output.write(igzip.compress(b""))
        self._output.close()


class Writing:
    """Closes a writer only when all went well: else its output keeps the name of a part."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._writer.close()


def _line_of(link: LinkRow) -> str:
    text = " ".join(link.text.split())
    return f"{link.source}\t{link.target}\t{text}\n"


def _naive(moment: str) -> str:
    return moment.removesuffix("Z") + "+00:00" if moment.endswith("Z") else moment


_encoder: Final = msgspec.json.Encoder()
