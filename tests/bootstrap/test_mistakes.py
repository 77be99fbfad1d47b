"""Mistakes that people make at the command line: each is answered by one sentence that says what to do."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from errno import EACCES
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from bootstrap.provision import create_mesh, write_bootstrap, write_peer
from mesh.errors import INTERRUPTED, ConfigError
from mesh.keys.decree import WRITE_OFF, number_body
from mesh.process.places import MARK, check_disk, check_place, mark_disk
from peers import application
from peers.cli import main
from peers.gateway.http_port import listen
from peers.importing.checkpoint import Checkpoint, checkpoint_path
from tests.peers.fake_gateway import fake_gateway

SENTENCE_CHARS_MAX: Final = 400
ASKING: Final = ("drain", "expel", "renew", "seed", "search", "pause")  # a gateway


class Mistake(NamedTuple):
    """What a person types in a folder with the mesh `lab`, and what they have to be told."""

    typed: str  # split at blanks; '' stands for an argument that is empty, _ for a blank
    told: str  # regular expression
    leaves: str = ""  # what must not be there afterwards


MISTAKES: Final = (
    Mistake("drain o", r"'o' names no peer: give its id, or its first 4 letters or more, or its name"),
    Mistake("drain ''", r"'' names no peer: give its id, or its first 4 letters or more, or its name"),
    Mistake("drain a.*b", r"'a\.\*b' names no peer"),
    Mistake("expel a --data lab", r"'a' names no peer"),
    Mistake(
        "renew zzzz --data lab", r"'zzzz' has to be the beginning of the id of one member; none begin so"
    ),
    Mistake("renew zzzz --data nowhere", r"no mesh in nowhere: give --data the folder that .*init"),
    Mistake(
        "up --data new --set gateway.listen=8017",
        r"'8017' is no HOST:PORT .* give --set gateway\.listen=127\.0\.0\.1:8017",
        "new",
    ),
    Mistake("up --data new --set gateway.listen=0.0.0.0:99999", r"is no HOST:PORT", "new"),
    Mistake("up --data new --set gateway.listen=localhost:", r"is no HOST:PORT", "new"),
    Mistake("up --data new --set gateway.listen=http://localhost:80", r"is no HOST:PORT", "new"),
    Mistake("status --gateway 8017", r"'8017' is no gateway: give http://host:port"),
    Mistake("up http://ann:secret@a.test/ --data new", r"http://a\.test/ was given with a login", "new"),
    Mistake("up --data /dev/null", r"/dev/null is no folder: name one"),
    Mistake("status --data /dev/null", r"--data /dev/null is no folder: give that of the mesh"),
    *(
        Mistake(f"{typed} --data nowhere", r"--data nowhere is no folder: give that of the mesh")
        for typed in ("status", "seed http://a.test/", "pause a.test", "why idle", "watch list", "log stats")
    ),
    Mistake("init /dev/null", r"/dev/null is no folder: name one"),
    Mistake(
        "init new --host not_a_host!", r"'not a host!' is neither a host name nor an address: give", "new"
    ),
    Mistake(
        "init new --host 300.1.2.3", r"'300\.1\.2\.3' is neither a host name nor an address: give", "new"
    ),
    Mistake(
        "init new --host 0.0.0.0", r"others cannot connect to 0\.0\.0\.0: give the address of this", "new"
    ),
    Mistake("init lab --replicas 3", r"'lab' was founded with 2 copies of every page, for ever: leave out"),
    Mistake(
        "up --data lab --set mesh.replicas=3", r"founded with 2 copies of every page, for ever: leave out"
    ),
    Mistake("init lab --name other", r"is called 'lab': leave out --name"),
    Mistake("init absent/new", r"no folder .*absent: mount the disk that it is on, or `mkdir -p", "absent"),
    Mistake("up --data absent/new", r"no folder .*absent: mount the disk that it is on, or `mkdir", "absent"),
    Mistake(
        "peer --config edited", r"replicas in .* is 3, .* founded with 2 for ever: write replicas = 2 again"
    ),
    Mistake("peer --config strange", r"not for this peer.key in mesh 'lab': use those two that were made"),
    Mistake("peer --config lab", r"lab holds nodes in folders of their own: `tianmesh start lab` runs"),
    Mistake("bootstrap --config lab", r"lab holds nodes in folders of their own: `tianmesh start lab` runs"),
    Mistake(
        "peer", r"no node in tianmesh-data: `tianmesh init FOLDER` founds .* `tianmesh start FOLDER` runs"
    ),
    Mistake(
        "start", r"no node in tianmesh-data: `tianmesh init FOLDER` founds .* `tianmesh start FOLDER` runs"
    ),
    Mistake("start lab", r"door of lab has another port at each start.*: `tianmesh up --data lab` goes on"),
    Mistake("peer --config lab/bootstrap", r"is that of a bootstrap node: start it with `tianmesh bootstrap"),
    Mistake("bootstrap --config lab/peer-1", r"is that of a peer: start it with `tianmesh peer --config"),
    Mistake("peer --config /dev/null", r"/dev/null: .*missing required field `mesh`"),
    Mistake(
        "seed www.example.org --data lab", r"'www\.example\.org' is no URL: .*http://, https:// or ftp://"
    ),
    Mistake("search ''", r"give the words to search for, as `tianmesh search"),
    Mistake("export warc --config nowhere", r"cannot read nowhere .*: give a config\.toml"),
    Mistake("restore nowhere", r"nowhere is no folder of a backup"),
    Mistake("import nowhere.warc", r"there is no file .*nowhere\.warc"),
    Mistake("policy check /dev/null/x", r"cannot read /dev/null/x"),
    Mistake("policy set nowhere", r"cannot read nowhere"),
    Mistake("pause not_a_host", r"'not a host' is neither a host name, nor a URL"),
)


@pytest.fixture(scope="module")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mesh") / "lab"
    mesh = create_mesh(folder, "lab", 2)
    write_bootstrap(mesh)
    write_peer(mesh, 1)
    return folder


@pytest.fixture
def lab(founded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the mesh `lab`, and two peers of it that somebody has spoilt."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIANMESH_DATA", raising=False)
    shutil.copytree(founded, "lab")
    text = Path("lab/peer-1/config.toml").read_text().replace(":8017", ":0")
    text = re.sub(r"(?m)_port = .*", "_port = 0", text)
    for name, old, new in (("edited", "replicas = 2", "replicas = 3"), ("strange", "[mesh]\n", "[mesh]\n")):
        Path(name).mkdir()
        Path(name, "config.toml").write_text(text.replace(old, new))
        key = Path("lab", "peer-1" if name == "edited" else "bootstrap", "peer.key")
        os.link(key, Path(name, "peer.key"))
    return tmp_path


def run(arguments: list[str]) -> int:
    """Run a command as `tianmesh` does; return its exit code."""
    before = sys.argv
    sys.argv = ["tianmesh", *arguments]
    try:
        application.run()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    finally:
        sys.argv = before
    return 0


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.typed)
def test_a_mistake_is_answered_by_one_sentence_that_says_what_to_do(
    mistake: Mistake, lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [word.strip("'").replace("_", " ") for word in mistake.typed.split()]
    with fake_gateway() as gateway:
        if arguments[0] in ASKING and "--gateway" not in arguments:
            arguments += ["--gateway", gateway.url]
        code = run(arguments)
    [sentence] = capsys.readouterr().err.strip().splitlines()[-1:]
    assert code in (1, 2)
    assert re.search(mistake.told, sentence), sentence
    assert sentence.startswith("tianmesh: ")
    assert len(sentence) < SENTENCE_CHARS_MAX + len(str(lab))
    assert not gateway.orders
    assert not gateway.decrees
    assert not mistake.leaves or not Path(mistake.leaves).exists()


def test_a_folder_that_is_named_and_is_not_there_is_a_fault(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "nowhere"]) == 1
    assert "FAULT   machine nodes: there is no folder nowhere" in capsys.readouterr().out
    run(["doctor"])
    assert "none in tianmesh-data" in capsys.readouterr().out


@pytest.mark.parametrize(
    "typed", ["init closed/new", "up --data closed/new", "status --data closed/new", "import closed/new"]
)
def test_a_folder_that_is_closed_to_this_user_is_named(
    lab: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    stat = os.stat

    def refusing(path: Any, **options: Any) -> os.stat_result:  # as to all but root, who may run this
        if "closed/" in str(path):
            raise PermissionError(EACCES, os.strerror(EACCES), str(path))
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", refusing)
    assert run(typed.split()) == 2
    [sentence] = capsys.readouterr().err.strip().splitlines()
    assert re.fullmatch(r"tianmesh: .*closed/new.*", sentence)


def test_a_dead_peer_is_written_off_only_when_that_is_confirmed(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_gateway() as gateway:
        gateway.to_decree = {"kind": WRITE_OFF, "body": number_body(1).hex()}
        gateway.is_written_off = True
        order = ["drain", "abcd", "--data", "lab", "--gateway", gateway.url]
        assert run(order) == 2
        assert "start it again, or write it off with `tianmesh drain abcdef" in capsys.readouterr().err
        assert gateway.decrees == []
        assert run([*order, "--yes"]) == 0
        assert len(gateway.decrees) == 1


def test_a_peer_that_does_not_start_leaves_no_socket_open(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def noted(host: str, port: int) -> socket.socket:
        opened.append(listen(host, port))
        return opened[-1]

    monkeypatch.setattr("peers.peer.listen", noted)
    assert run(["peer", "--config", "strange"]) == 1
    assert [each.fileno() for each in opened] == [-1]


@pytest.mark.parametrize("module", ["typer", "mesh.process.process", "peers.peer"])
def test_ctrl_c_while_a_command_begins_ends_it_without_a_traceback(lab: Path, module: str) -> None:
    command = [
        sys.executable,
        "-c",
        INTERRUPTED_START.replace("MODULE", module),
        "peer",
        "--config",
        "edited",
    ]
    process = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=lab)
    assert process.returncode != 0
    assert process.stderr.strip() in ("", "tianmesh: stopped", "Aborted!", "Aborted."), process.stderr


# Interrupts itself as soon as a module is looked for that is loaded late.
INTERRUPTED_START: Final = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts tests in the background ignores it
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "MODULE":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from peers.cli import main
main()
"""


class _Stop:
    """Says Ctrl-C while the class is made that has it."""

    def __set_name__(self, owner: type, name: str) -> None:
        raise KeyboardInterrupt


def _begin_a_class() -> None:
    type("Interrupted", (), {"field": _Stop()})


def _fail() -> None:
    raise RuntimeError("a bug")


def test_ctrl_c_while_a_class_is_made_ends_a_command_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("peers.application.run", _begin_a_class)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == INTERRUPTED
    assert capsys.readouterr().err == "tianmesh: stopped\n"
    monkeypatch.setattr("peers.application.run", _fail)
    with pytest.raises(RuntimeError, match="a bug"):
        main()


def test_the_disk_of_a_peer_is_known_again(tmp_path: Path) -> None:
    home, data, other = (tmp_path / name for name in ("home", "data", "other"))
    for folder in (home, data):
        folder.mkdir()
    check_disk(home, data)
    mark_disk(home, data, lambda *_: True)
    check_disk(home, data)
    data.rename(other)
    for _ in range(2):  # not mounted, and its mount point is there or not
        with pytest.raises(ConfigError, match=r"on another disk than the one at .*: mount that; .*`rm "):
            check_disk(home, data)
        data.mkdir(exist_ok=True)
    (home / MARK).unlink()
    check_disk(home, data)


def test_what_is_on_one_disk_with_its_configuration_is_not_marked(tmp_path: Path) -> None:
    mark_disk(tmp_path, tmp_path)
    assert not (tmp_path / MARK).exists()


def test_nothing_is_made_below_a_mount_point_that_is_empty(tmp_path: Path) -> None:
    fstab = tmp_path / "fstab"
    (tmp_path / "a disk").mkdir()
    fstab.write_text(f"# a comment\n/dev/sdb1 {tmp_path}/a\\040disk ext4 defaults 0 2\n/swap none swap\n")
    check_place(tmp_path / "mesh", fstab)
    with pytest.raises(ConfigError, match=r"on a disk that is not there: `mount .*a disk` first"):
        check_place(tmp_path / "a disk" / "mesh", fstab)


@pytest.mark.parametrize("home", ["", "/dev/null"])
def test_an_import_without_a_home_is_told_where_else_to_keep_its_checkpoint(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    if home:
        monkeypatch.setenv("HOME", home)
    else:
        monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(ConfigError, match="--checkpoint FILE"):
        Checkpoint(checkpoint_path([Path("a.warc")], "http://127.0.0.1:1"), "abc")


def nowhere() -> Path:
    raise RuntimeError("Could not determine home directory.")
