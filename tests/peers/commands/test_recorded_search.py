"""`tianmesh search --record-reads`: the index of a peer that is not running."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from bootstrap.provision import create_mesh, write_peer
from mesh.errors import ConfigError
from peers import application
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.read_recorder import RecordedRead


@pytest.fixture
def peer(tmp_path: Path) -> Path:
    """The folder of a peer that has indexed some pages."""
    mesh_folder = create_mesh(tmp_path / "mesh", "mesh", 1)
    write_peer(mesh_folder, 1)
    folder = tmp_path / "mesh" / "peer-1"
    with Index.open(folder / "data" / "index") as index:
        texts = (f"common page {'rare' * (n == 3)}" for n in range(300))
        index.add([(0, Document(f"http://a.test/{n}", text=text)) for n, text in enumerate(texts)])
        index.commit()
    return folder


def recorded(*arguments: str | Path) -> Result:
    return CliRunner().invoke(application.app, ["search", *map(str, arguments)], env={"COLUMNS": "80"})


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries"
    path.write_text("q1\tcommon\nq2\trare\nq3\tnowhere\nq4\tcommon\n")
    return path


def test_the_reads_of_a_peer_are_written_a_line_each(peer: Path, queries: Path, tmp_path: Path) -> None:
    out = tmp_path / "reads.jsonl"
    result = recorded("--queries", queries, "--record-reads", out, "--data", peer, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    reads = [msgspec.json.decode(line, type=RecordedRead) for line in out.read_bytes().splitlines()]
    assert (told["queries"], told["reads"], told["documents"]) == (4, len(reads), 300)
    assert told["reads_each"] == len(reads) / 4
    assert told["read_kb"] == pytest.approx(sum(read.length for read in reads) / len(reads) / 1e3)
    assert {(read.query, read.first) for read in reads} == {(0, 0), (1, 1), (3, 0)}
    files = {read.segment: peer / "data" / "index" / read.segment for read in reads}
    assert all(read.offset + read.length <= files[read.segment].stat().st_size for read in reads)


def test_a_file_stays_as_it_is_when_a_line_of_the_log_does_not_fit(peer: Path, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("00:00:01\t1\t[common]\t1 1\ta.test/\nno such line\n")
    (tmp_path / "reads").write_text("of yesterday")
    result = recorded("--queries", tmp_path / "log", "--record-reads", tmp_path / "reads", "--data", peer)
    assert isinstance(result.exception, ConfigError)
    assert "line 2" in str(result.exception)
    assert (tmp_path / "reads").read_text() == "of yesterday"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "mesh", "reads"]


def test_an_index_that_is_damaged_is_for_its_peer_to_mend(peer: Path, queries: Path, tmp_path: Path) -> None:
    [segment] = (peer / "data" / "index").glob("segment-*")
    with Index.open(peer / "data" / "index") as index:
        (place,) = (each.segment.place_of("postings") for each in index.snapshot().segments)
    content = bytearray(segment.read_bytes())
    content[place.start : place.stop] = bytes(len(place))
    segment.write_bytes(content)
    result = recorded("--queries", queries, "--record-reads", tmp_path / "reads", "--data", peer)
    assert isinstance(result.exception, ConfigError)
    assert "mends it when it is started" in str(result.exception)
    assert not (tmp_path / "reads").exists()


def test_people_are_told_how_much_a_query_reads(peer: Path, queries: Path, tmp_path: Path) -> None:
    result = recorded("--queries", queries, "--record-reads", tmp_path / "reads", "--data", peer.parent)
    assert "4 queries, of each " in result.stdout


@pytest.mark.parametrize("wrong", [("common",), ("--run", "run"), ()])
def test_reads_are_recorded_of_a_file_of_queries_alone(
    wrong: tuple[str, ...], peer: Path, queries: Path
) -> None:
    given: tuple[str | Path, ...] = ("--queries", queries, *wrong) if wrong else ()
    result = recorded(*given, "--record-reads", "reads", "--data", peer)
    assert result.exit_code == 2
    assert "--queries FILE" in " ".join(result.output.split())


def test_a_peer_that_runs_is_to_be_stopped_first(peer: Path, queries: Path, tmp_path: Path) -> None:
    with Index.open(peer / "data" / "index"):
        result = recorded("--queries", queries, "--record-reads", tmp_path / "reads", "--data", peer)
    assert isinstance(result.exception, ConfigError)
    assert "stop it first" in str(result.exception)
    assert not (tmp_path / "reads").exists()


def test_a_folder_without_an_index_or_with_two_peers_is_refused(
    peer: Path, queries: Path, tmp_path: Path
) -> None:
    other = peer.parent / "peer-2"
    other.mkdir()
    (other / "config.toml").write_bytes((peer / "config.toml").read_bytes())
    for data, says in ((other, "no index"), (peer.parent, "has 2 peers")):
        result = recorded("--queries", queries, "--record-reads", tmp_path / "reads", "--data", data)
        assert isinstance(result.exception, ConfigError)
        assert says in str(result.exception)
