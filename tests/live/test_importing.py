"""Real files into a real mesh by the command, killed and gone on; every page is found afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from bootstrap.demo_web import DEMO_WARC
from bootstrap.provision import create_mesh, write_bootstrap, write_peer
from mesh.client.gateway_client import GatewayClient
from mesh.config import DoorConfig
from peers.importing.packed_file import packing_of
from peers.importing.warc_file import Record, read_warc
from peers.storage.archive.warc import WarcRecord, parse_response, response_record
from tests.helpers import seen
from tests.live.archives import archived_urls
from tests.live.lab_process import COMMAND, PATIENCE, node, search, tianmesh, up, wait_for
from tests.live.loaded_processes import Popen
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.live

COPIES = 3  # of the demo web, each under hosts of its own: 750 pages, some seconds of importing


@contextmanager
def two_peers(folder: Path) -> Iterator[tuple[list[str], Any]]:
    """A mesh of two peers that crawls nothing; yields its gateways, and what kills the second."""
    mesh = create_mesh(folder, "import", 2)
    write_bootstrap(mesh)
    with ExitStack() as stack:
        door = stack.enter_context(node("bootstrap", folder / "bootstrap" / "config.toml"))
        doors = (DoorConfig(endpoint=door["door"], key=door["key"]),)
        for number in (1, 2):
            settings = {"member.doors": doors, "gateway.listen": "127.0.0.1:0", "machine.patience": PATIENCE}
            write_peer(mesh, number, settings | {"gateway.client_queries_per_s": 0.0})  # 750 in a row
        first = stack.enter_context(node("peer", folder / "peer-1" / "config.toml"))
        second = Restarted(folder / "peer-2" / "config.toml")
        stack.callback(second.stop)
        client = GatewayClient(first["gateway"])
        wait_for(lambda: len(client.status()["peers"]) == 2, "two peers that know each other")
        client.close()
        yield [first["gateway"], second.gateway], second


class Restarted:
    """A peer that is killed and started again."""

    def __init__(self, config: Path) -> None:
        self._config = config
        self.start()

    def start(self) -> None:
        with (self._config.parent / "log").open("ab") as log:
            self._process = Popen(
                [*COMMAND, "peer", "--config", str(self._config)], stdout=subprocess.PIPE, stderr=log
            )
        assert self._process.stdout is not None
        self.gateway = str(json.loads(self._process.stdout.readline())["gateway"])

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def stop(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=PATIENCE_S)


def demo_copies(warc: Path, lines: Path) -> dict[str, str]:
    """Write real pages as WARC and, of more hosts, as JSON lines; return by URL a word of that page only."""
    words: dict[str, str] = {}
    found = [each for each in read_warc(packing_of(DEMO_WARC.read_bytes())) if isinstance(each, Record)]
    pages = [
        (record.headers["warc-target-uri"], response)
        for record in found
        if record.headers["warc-type"] == "response"
        and (response := parse_response(WarcRecord(record.headers, record.block))).status == 200
        and (response.header("content-type") or "").startswith("text/html")
    ]
    with warc.open("wb") as out, lines.open("w", encoding="utf-8") as entries:
        for copy in range(COPIES):
            for number, (url, response) in enumerate(pages):
                word = f"zzz{copy}x{number}q"
                url_here = url.replace("://", f"://copy{copy}.", 1)
                words[url_here] = word
                if copy == COPIES - 1:
                    title, text = f"Page {number}", f"a page with {word}"
                    entries.write(json.dumps({"url": url_here, "title": title, "text": text}) + "\n")
                else:
                    body = response.body + f"<p>{word}</p>".encode()
                    kind = response.header("content-type") or ""
                    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode()
                    out.write(response_record(url_here, head, body, seen(1_700_000_000.0 + number)))
    return words


def start_import(file: Path, gateway: str, checkpoint: Path) -> subprocess.Popen[bytes]:
    command = [*COMMAND, "import", str(file), "--gateway", gateway, "--checkpoint", str(checkpoint), "--json"]
    return Popen([*command, "--workers", "1"], stdout=subprocess.PIPE, start_new_session=True)


def end_of(process: subprocess.Popen[bytes]) -> Mapping[str, Any]:
    out, _ = process.communicate(timeout=3 * PATIENCE_S)
    assert process.returncode == 0
    summary: Mapping[str, Any] = json.loads(out)
    return summary


def offset_in(checkpoint: Path) -> int:
    """How far a checkpoint says that the import is; 0 before there is one."""
    try:
        return int(json.loads(checkpoint.read_text())["files"][0]["offset"])
    except FileNotFoundError:
        return 0


def assert_found(gateways: Sequence[str], words: Mapping[str, str]) -> None:
    """Wait until each word finds its page, and nothing else; the gateways are asked in turn."""
    lost = dict(words)

    def are_found() -> bool:
        for gateway, (url, word) in zip(cycle(gateways), list(lost.items()), strict=False):
            if [hit["url"] for hit in search(gateway, word)["hits"]] == [url]:
                del lost[url]
        return not lost

    try:
        wait_for(are_found, "page of every word")
    except AssertionError:
        raise AssertionError(f"{len(lost)} of {len(words)} not found, as {sorted(lost)[:3]}") from None


def test_import_goes_on_after_kills_and_every_page_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIANMESH_DATA", str(tmp_path / "mesh"))
    warc, lines, checkpoint = tmp_path / "a.warc.gz", tmp_path / "b.jsonl", tmp_path / "state" / "import.json"
    words = demo_copies(warc, lines)
    with two_peers(tmp_path / "mesh") as (gateways, second):
        killed = start_import(warc, gateways[0], checkpoint)
        wait_for(lambda: offset_in(checkpoint) > 0, "a checkpoint")
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
        offset = offset_in(checkpoint)
        assert 0 < offset < warc.stat().st_size, "it was over before it was killed"

        summary = end_of(start_import(warc, gateways[0], checkpoint))
        n_warc = sum(not url.startswith(f"http://copy{COPIES - 1}.") for url in words)
        assert 0 < summary["pages"] < n_warc  # what the checkpoint says is done was not given again
        assert summary["stored"] + summary["known"] == summary["pages"]
        assert not checkpoint.exists()
        assert Counter(archived_urls(tmp_path / "mesh").values()) == {2: n_warc}  # each once at each peer

        going_on = start_import(lines, gateways[0], checkpoint)
        second.kill()
        second.start()
        summary = end_of(going_on)
        assert summary["stored"] + summary["known"] == len(words) - n_warc
        assert_found([gateways[0], second.gateway], words)

        again = tianmesh("import", warc, lines, "--gateway", gateways[0], "--json")
        told = json.loads(again.stdout)
        assert (told["stored"], told["known"]) == (0, len(words))


def test_files_that_are_none_are_told_with_file_and_offset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIANMESH_DATA", str(tmp_path / "mesh" / "mesh"))
    garbage, words = tmp_path / "garbage.bin", tmp_path / "two.jsonl"
    garbage.write_bytes(bytes((7 * n * n + 3) % 256 for n in range(10_000)))
    good = '{"url": "http://a.test/", "text": "one"}\n'
    bad = '{"url": "ftp://b.test/", "text": "two"}\n'
    words.write_text(good + bad + "three\n")
    with up(tmp_path / "mesh", None, "--peers", "2") as lab:
        gateways = lab.gateways()
        done = tianmesh("import", garbage, words, "--gateway", gateways[0], "--json")
        assert done.returncode == 1, "a file is nothing that can be read"
        told = json.loads(done.stdout)
        assert (told["stored"], told["refused"]) == (1, {"no http or https URL": 1})
        damages = [(each["file"], each["offset"]) for each in told["damaged"]]
        assert damages == [(str(garbage), 0), (str(words), len(good + bad))]
        nothing = tianmesh("import", garbage, "--gateway", gateways[0])
        assert nothing.returncode == 1
        assert "at byte 0: this is neither a WARC file nor JSON lines" in " ".join(nothing.stdout.split())
        missing = tianmesh("import", tmp_path / "none.warc", "--gateway", gateways[0])
        assert missing.returncode == 2
        assert "there is no file" in missing.stderr
        assert "an empty mesh: give it pages" in lab.messages
