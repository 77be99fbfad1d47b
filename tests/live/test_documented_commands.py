"""Commands of README and docs, run as they are printed in a shell where there is nothing but `tianmesh`.

The mesh that they speak to has crawled two hosts of the demo web. What stands for something of the reader's
own is replaced: the example host by one of the demo, folders and files by some that there are, the gateway by
one at a free port.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import pytest

from peers.engine.read_recorder import RecordedRead
from tests.documented import ROOT, Documented, documented, is_elsewhere
from tests.live.lab_process import up
from tests.live.sites import demo_sites
from tests.live.web import served_web

pytestmark = pytest.mark.live

HOST: Final = "www.debian.org"
HOSTS: Final = (HOST, "httpd.apache.org")  # pages enough for all of them, in both languages
PAGE: Final = f"http://{HOST}/doc/manuals/debian-faq/basic-defs.en.html"

# What a command says when it has done what the text beside it tells: its beginning, and a pattern in what it
# prints. Of those that are not here the exit code alone is judged.
SAYS: Final = {
    "tianmesh status": r"peer-1|steady",
    "tianmesh why https": r"stored",
    "tianmesh why idle": r"nothing|idle|due",
    "tianmesh doctor": r"well|machine",
    "tianmesh search": r"\d+ pages|\d+ queries",
    "curl 'http://127.0.0.1:8017/cdx": rf"http://{HOST}/doc/",
    "curl 'http://127.0.0.1:8017/api/search": r'"hits":\[\{',
    "curl http://127.0.0.1:8017/openapi.json": r'"openapi":"3.1',
    "curl -s http://127.0.0.1:8017/readyz": r'"status":"ready"',
    'curl -s -H "$token"': r"# TYPE tianmesh_\w+ counter",
    'curl -H "$token" --data': r'"accepted":1',
    "tianmesh trace info": r"pages",
    "tianmesh eval queries": r"transactional: 1 of 1",
    "tianmesh eval pool": r"1 pages of 1 queries|pages of 2 queries",
    "tianmesh eval invite": r"bob: http://[^ ]+/judge/pool/bob/\d+-[0-9a-f]{32}",
    "tianmesh eval judgements": r"nobody has judged any of \d+ pages yet",
    "tianmesh eval agreement": r"kappa",
    "tianmesh log rankings": r"no ranking was compared",
    "tianmesh eval error-rate": r"error rate 0.00%: 1,000 repetitions",
    "tianmesh graph report": r"strong components",
    "tianmesh sim plan": r"machines",
    "tianmesh policy show": r"rule|policy",
    "tianmesh seed": r"accepted",
    "tianmesh token": r"tianmesh-token1-",
    "tianmesh events": r"\d",
    "tianmesh audit politeness": r"\d s|pause",
}


STANDS_FOR: Final = {
    "www.example.org": HOST,
    "example.org/guide/": f"{HOST}/doc/",
    "/mnt/disk": "disk",
    "FOLDER": "mymesh",
    "curl ": "curl --fail ",  # else a refusal would be an answer like any
    "--pages 1000000": "--pages 2000",
}
# The line by which docs/api.md has the token that others of its lines send.
[TOKEN] = re.findall(r"^ {4}(token=.*)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M)
LOGGED: Final = (
    '192.0.2.7 - - [10/Oct/2026:13:55:{second} +0000] "GET {path} HTTP/1.1" 200 2326 '
    f'"http://{HOST}/" "tianmesh/0.1 (+me@a.test)"\n'
)


class Shell(NamedTuple):
    """A folder in which a person types."""

    folder: Path
    gateway: str

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        typed = command.replace("http://127.0.0.1:8017", self.gateway).replace(
            "https://www.example.org/page", PAGE
        )
        typed = re.sub(r"https?://www\.example\.org/(?:\S*\.html)?", f"http://{HOST}/", typed)
        for shown, real in STANDS_FOR.items():
            typed = typed.replace(shown, real)
        if "$token" in typed:
            typed = f"{TOKEN}\n{typed}"
        environment = {
            "HOME": str(self.folder / "home"),
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TIANMESH_GATEWAY": self.gateway,
        }
        return subprocess.run(
            ["bash", "-c", typed],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("documented")
    (folder / "bin").mkdir()
    (folder / "home").mkdir()
    program = folder / "bin" / "tianmesh"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m peers.cli "$@"\n')
    program.chmod(0o755)
    sites = [site for site in demo_sites() if site.host in HOSTS]
    with served_web(sites) as web, up(folder, web, seeds=web.seeds) as lab:
        lab.wait_until_idle()
        for name in ("mymesh", "tianmesh-data"):
            (folder / name).symlink_to(lab.folder)
        (folder / "access.log").write_text(
            LOGGED.format(second=30, path="/") + LOGGED.format(second=40, path="/a")
        )
        (folder / "topics.tsv").write_text("1\tpackages\n2\t软件包\n", encoding="utf-8")
        (folder / "SogouQ.sample").write_text(
            "00:00:00\t1\t[软件包]\t1 1\thttp://a.test/\n", encoding="gb18030"
        )
        read = RecordedRead(0, 0, "segment-0000000001", "postings", "packages", 4_096, 510)
        (folder / "reads.jsonl").write_bytes(msgspec.json.encode(read) + b"\n")
        for engine in ("ours", "theirs"):
            (folder / f"{engine}.run").write_text(f"1 Q0 {PAGE} 1 1.0 {engine}\n")
        for name in ("pool.ann", "pool.bob", "pool"):
            (folder / f"{name}.qrels").write_text(f"1 0 {PAGE} 1\n")
        shell = Shell(folder, lab.gateways()[0])
        for name in ("papers/note.txt", "mirror/index.html"):
            (folder / name).parent.mkdir()
            (folder / name).write_text("a note about crawlers")
        exports = (("jsonl", "pages.jsonl.gz"), ("warc", "site.warc.gz"))
        older = (("tianwang", "Tianwang.raw.1"), ("webobjects", "pages.webop"))
        for kind, name in (*exports, *older, ("graph", "graph")):
            done = shell.run(f"tianmesh export {kind} --config mymesh --out {name}")
            assert done.returncode == 0, done.stderr
        (folder / "crawl-1.warc.gz").symlink_to("site.warc.gz")
        done = shell.run("tianmesh trace from-warc site.warc.gz --out web.trace")
        assert done.returncode == 0, done.stderr
        for name in ("peer-1", "peer-2"):
            (folder / name).mkdir()
            shutil.copy(folder / "web.trace", folder / name / "trace")
        yield shell


HERE: Final = [each for each in documented() if not is_elsewhere(each.command)]


@pytest.mark.parametrize("shown", HERE, ids=lambda shown: f"{shown.page}: {shown.command[:60]}")
def test_a_command_does_what_the_text_says(shell: Shell, shown: Documented) -> None:
    done = shell.run(shown.command)
    assert done.returncode == 0, f"{shown.command}\n{done.stdout}{done.stderr}"
    said = [pattern for beginning, pattern in SAYS.items() if shown.command.startswith(beginning)]
    for pattern in said if " > " not in shown.command else ():
        assert re.search(pattern, done.stdout + done.stderr), f"{shown.command}\n{done.stdout}{done.stderr}"
