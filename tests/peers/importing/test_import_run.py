"""An import from files to a gateway that is late, busy or gone; and its checkpoint."""

from __future__ import annotations

import gzip
import io
import json
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mesh.client.gateway_client import GatewayError
from mesh.errors import ConfigError
from peers.crawler.model.wire_messages import LinkUse
from peers.importing.batch import decode
from peers.importing.checkpoint import Checkpoint, checkpoint_path
from peers.importing.import_run import ImportFailed, ImportPlan, ImportSummary, run
from peers.importing.messages import KNOWN, LATE, REFUSED, STORED
from peers.importing.positions import Position
from peers.importing.tianwang import DESCRIPTION_BEGIN, PACKAGE_BEGIN
from tests.peers.importing.test_tianwang import described, web_object
from tests.warc_maker import record_of


def zipped(name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, content)
    return out.getvalue()


N_PAGES = 700  # three orders


class FakeGateway:
    """Keeps pages; `misbehave` may say something else first: a status, or outcomes."""

    def __init__(self) -> None:
        self.given: Counter[str] = Counter()
        self.kept: set[str] = set()
        self.misbehave: Callable[[list[str]], int | list[str] | None] = lambda urls: None
        self._lock = threading.Lock()
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                urls = [page.url for page in decode(body)]
                with gateway._lock:
                    said = gateway.misbehave(urls)
                    outcomes = [] if isinstance(said, int) else gateway._keep(urls, said)
                status = said if isinstance(said, int) else 200
                answer = {"peer": "me", "outcomes": outcomes} if status == 200 else {"error": "not now"}
                encoded = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(encoded)))
                self.end_headers()
                self.wfile.write(encoded)

            def log_message(self, *given: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def _keep(self, urls: list[str], outcomes: list[str] | None) -> list[str]:
        self.given.update(urls)
        said = outcomes or [KNOWN if url in self.kept else STORED for url in urls]
        self.kept |= {url for url, outcome in zip(urls, said, strict=True) if outcome in (STORED, KNOWN)}
        return said

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    started = FakeGateway()
    yield started
    started.close()


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    path = tmp_path / "pages.warc.gz"
    path.write_bytes(b"".join(record_of(url, b"<p>words", 1_000.0) for url in urls()))
    return path


def urls() -> list[str]:
    return [f"http://a.test/{number}" for number in range(N_PAGES)]


def import_file(file: Path, gateway: FakeGateway, silence_s: float = 60.0) -> ImportSummary:
    plan = ImportPlan([file], gateway.url, "", LinkUse.TEXT, 0, silence_s, pause_s=0.0)
    return run(plan, Checkpoint(file.with_name("checkpoint"), "me"), lambda file, done, summary: None)


def test_every_page_is_given_once_and_the_checkpoint_is_gone(warc: Path, gateway: FakeGateway) -> None:
    summary = import_file(warc, gateway)
    assert (summary.read, summary.stored, summary.known) == (N_PAGES, N_PAGES, 0)
    assert gateway.given == Counter(urls())
    assert not warc.with_name("checkpoint").exists()


def test_late_pages_are_given_again_and_nothing_else(warc: Path, gateway: FakeGateway) -> None:
    was_late: set[str] = set()

    def misbehave(given: list[str]) -> list[str]:
        late = {url for url in given if url.endswith("7")} - was_late
        was_late.update(late)
        return [LATE if url in late else STORED for url in given]

    gateway.misbehave = misbehave
    assert import_file(warc, gateway).stored == N_PAGES
    assert {url for url, times in gateway.given.items() if times > 1} == was_late
    assert set(gateway.given) == set(urls())


def test_a_busy_gateway_is_asked_again(warc: Path, gateway: FakeGateway) -> None:
    refusals = iter((503, 503, 503))
    gateway.misbehave = lambda given: next(refusals, None)
    assert import_file(warc, gateway).stored == N_PAGES


def test_refusals_of_owners_are_counted_by_reason(warc: Path, gateway: FakeGateway) -> None:
    gateway.misbehave = lambda given: [f"{REFUSED}its date makes no sense"] * len(given)
    summary = import_file(warc, gateway)
    assert (summary.stored, summary.refused) == (0, {"its date makes no sense": N_PAGES})


def test_an_import_that_fails_goes_on_where_it_was(warc: Path, gateway: FakeGateway) -> None:
    last = urls()[-1]
    gateway.misbehave = lambda given: 400 if last in given else None
    with pytest.raises(GatewayError, match="not now"):
        import_file(warc, gateway)
    done = json.loads(warc.with_name("checkpoint").read_text())["files"][0]
    assert 0 < done["offset"] < warc.stat().st_size
    before, gateway.misbehave = gateway.given.copy(), lambda given: None
    summary = import_file(warc, gateway)
    assert summary.stored + summary.known == summary.read < N_PAGES
    assert gateway.kept == set(urls())
    assert gateway.given[urls()[0]] == before[urls()[0]] == 1


def test_a_gateway_that_is_gone_ends_the_import_after_a_while(warc: Path, gateway: FakeGateway) -> None:
    gateway.misbehave = lambda given: 503
    with pytest.raises(ImportFailed, match="took nothing"):
        import_file(warc, gateway, silence_s=0.0)


def test_a_checkpoint_of_a_file_that_has_changed_or_of_another_mesh_does_not_count(tmp_path: Path) -> None:
    file, path = tmp_path / "a", tmp_path / "state" / "checkpoint"
    file.write_text("one")
    checkpoint = Checkpoint(path, "me")
    checkpoint.note(file, Position(2, 1))
    checkpoint.save()
    assert Checkpoint(path, "me").position_in(file) == Position(2, 1)
    assert Checkpoint(path, "other").position_in(file) == Position(0)
    file.write_text("other")
    assert Checkpoint(path, "me").position_in(file) == Position(0)
    checkpoint.note(file, Position(0), is_whole=True)
    assert checkpoint.position_in(file) is None


def test_what_is_no_checkpoint_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "letter"
    path.write_text("dear user")
    with pytest.raises(ConfigError, match="is no checkpoint"):
        Checkpoint(path, "me")
    assert path.read_text() == "dear user"


def test_imports_of_other_files_have_other_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    one, other = (checkpoint_path([Path(name)], "http://a:1") for name in ("a", "b"))
    assert one != other != checkpoint_path([Path("b")], "http://a:2")
    assert one.parent == tmp_path / "tianmesh"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x04\x22\x4d\x18\x64\x40\xa7", "lz4"),
        (b"BZh91AY&SY", "bzip2"),
        (b"something else", "neither"),
        (zipped("pages.txt", b"words"), "no .webop in it"),
        (zipped("pages.webop", b"words" * 99)[:-40], "cannot be unpacked"),
        (zipped("pages.webop", b"words" * 99).replace(b"words", b"wordy"), "cannot be unpacked"),
        (DESCRIPTION_BEGIN + bytes(22), "no file pages beside it"),
    ],
    ids=["lz4", "bzip2", "neither", "zip", "torn", "changed", "alone"],
)
def test_files_of_other_kinds_are_named_and_counted(
    content: bytes, said: str, tmp_path: Path, gateway: FakeGateway
) -> None:
    file = tmp_path / "pages"
    file.write_bytes(content)
    summary = import_file(file, gateway)
    assert (summary.unreadable, summary.n_damaged, summary.pages) == (1, 1, 0)
    assert said in summary.damaged[0]["what"]


def test_packages_are_taken_by_their_descriptions_and_out_of_transfer_files(
    tmp_path: Path, gateway: FakeGateway
) -> None:
    first, second = web_object(1), web_object(2)
    package = PACKAGE_BEGIN + first + b"\0" + second
    line = b"http://a.test/2 %d %d\r\n" % (len(package) - len(second), len(second))
    (tmp_path / "a.webop").write_bytes(package)
    (tmp_path / "a.webop.desc").write_bytes(described(line))
    (tmp_path / "a.spf").write_bytes(zipped("a.webop", package))
    summary = import_file(tmp_path / "a.webop.desc", gateway)
    assert (summary.n_damaged, summary.pages, gateway.kept) == (0, 1, {"http://a.test/2"})
    summary = import_file(tmp_path / "a.spf", gateway)
    assert (summary.n_damaged, summary.pages, len(gateway.kept)) == (1, 2, 2)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_pages_of_arc_files_are_taken(
    pack: Callable[[bytes], bytes], tmp_path: Path, gateway: FakeGateway
) -> None:
    about, page = b"1 0 x\n", b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>a page of 2004"
    file = tmp_path / "a.arc"
    file.write_bytes(
        pack(b"filedesc://a.arc 0.0.0.0 20040101000000 text/plain %d\n%s\n" % (len(about), about))
        + pack(b"http://a.test/ 127.0.0.1 20040101000000 text/html %d\n%s\n" % (len(page), page))
    )
    summary = import_file(file, gateway)
    assert (summary.unreadable, summary.n_damaged, summary.pages) == (0, 0, 1)
