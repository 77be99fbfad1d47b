"""`tianmesh eval` against a gateway that answers from memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from typer.testing import CliRunner

from peers.application import app

ANSWERS = {"red": ["http://h/x/a.html", "http://h/x/b.html"], "green": ["http://h/x/c.html"]}

ENTRIES = [(1, "a"), (2, "b"), (3, "c")]


def ready(query: str) -> dict[str, object]:
    return {"status": "ready", "waits_for": []}


def search(query: str) -> dict[str, object]:
    found = ANSWERS[parse_qs(query)["q"][0]]
    hits = [{"url": each, "score": 2.0 - place} for place, each in enumerate(found)]
    return {"hits": hits, "next": "", "coverage": {"slots": 10, "missing": 0}}


@pytest.fixture
def gateway() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            answer = {"/readyz": ready, "/api/search": search}[url.path](url.query)
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "topics").write_text("1\tred\n2\tgreen\n")
    (tmp_path / "qrels").write_text("1 0 x/b.html 1\n2 0 x/c.html 1\n3 0 x/d.html 1\n")
    return tmp_path


def run(*arguments: str | Path) -> dict[str, object]:
    """Run `tianmesh eval` with --json and return its answer."""
    result = CliRunner().invoke(app, ["eval", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    answer: dict[str, object] = json.loads(result.stdout)
    return answer


def measures(report: dict[str, object]) -> dict[str, float]:
    found = report["measures"]
    assert isinstance(found, dict)
    return found


def test_a_mesh_is_judged_by_what_its_gateway_answers(gateway: str, folder: Path) -> None:
    report = run("--queries", folder / "topics", "--qrels", folder / "qrels", "--gateway", gateway)
    assert measures(report)["MRR@10"] == pytest.approx(0.75)  # query 3 was not asked
    assert report["queries"] == 2


def test_a_run_is_written_and_judged_again_without_a_mesh(gateway: str, folder: Path) -> None:
    common = ("--qrels", folder / "qrels")
    run("--queries", folder / "topics", *common, "--gateway", gateway, "--run", folder / "run")
    assert (folder / "run").read_text().startswith("1 Q0 http://h/x/a.html 1 2.0 tianmesh\n")
    report = run("--judge", folder / "run", *common)
    assert measures(report)["MRR@10"] == pytest.approx(0.5)  # query 3 has no hits


def test_a_run_may_be_judged_by_the_pages_that_are_judged_alone(folder: Path) -> None:
    (folder / "run").write_text(
        "".join(f"1 Q0 http://h/x/{name}.html {rank} 1.0 t\n" for rank, name in ENTRIES)
    )
    common = ("--judge", folder / "run", "--qrels", folder / "pool")
    (folder / "pool").write_text("1 0 x/b.html 0\n1 0 x/c.html 1\n")
    assert measures(run(*common))["MRR@10"] == pytest.approx(1 / 3)
    assert measures(run(*common, "--condensed"))["MRR@10"] == pytest.approx(1 / 2)


def test_two_runs_are_compared(gateway: str, folder: Path) -> None:
    (folder / "old").write_text("1 Q0 http://h/x/b.html 1 1.0 t\n")
    topics = ("--queries", folder / "topics", "--qrels", folder / "qrels", "--gateway", gateway)
    report = run(*topics, "--compare", folder / "old")
    compared = report["compared"]
    assert isinstance(compared, list)
    (mrr,) = (each for each in compared if each["measure"] == "MRR@10")
    assert (mrr["mean"], mrr["other_mean"]) == (pytest.approx(0.75), pytest.approx(0.5))
    assert (mrr["better"], mrr["worse"]) == (1, 1)


def test_either_queries_or_a_run_must_be_given(folder: Path) -> None:
    result = CliRunner().invoke(app, ["eval", "--qrels", str(folder / "qrels")])
    assert result.exit_code == 2
    assert "either --queries or a run" in " ".join(result.output.replace("│", " ").split())


def test_collections_are_ranked_by_all_engines_that_are_there(tmp_path: Path) -> None:
    suite = tmp_path / "suites" / "ir" / "tiny"
    suite.mkdir(parents=True)
    texts = {"a": "red green apples", "b": "blue apples", "c": "green pears"}
    lines = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in texts.items()]
    (suite / "corpus.jsonl").write_text("\n".join(lines))
    (suite / "queries.jsonl").write_text('{"_id": "1", "text": "blue apple"}\n')
    (suite / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\tb\t1\n")
    report = run("quality", "--shared", tmp_path)
    rows = report["rows"]
    assert isinstance(rows, list)
    assert {"tianmesh", "tantivy", "bm25s"} <= {row["engine"] for row in rows}
    assert all(row["figures"]["MRR@10"] == 1.0 for row in rows)
    skipped = report["skipped"]
    assert isinstance(skipped, list)
    assert {"lo.zh-CN", "lo.en-US"} <= {each["what"] for each in skipped}
