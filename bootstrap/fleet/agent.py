"""The program that carries out orders on a machine of a lab, where nothing is needed but Python. [io]

This file is sent there as it stands, with a last line that calls `main` with an order; the answer is one line
of JSON. So no secret of an order stands in the arguments of a process, where others there could read it.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

NODES = {"bootstrap": "mesh/bootstrap/config.toml", "peer": "peer/config.toml"}  # in the folder of a machine
SETTINGS = (  # that are told of a peer: table, name, and what it is called in the answer
    *(("member", name, name) for name in ("certificate", "name", "announce", "weight", "inbox_port")),
    ("gateway", "listen", "gateway"),
    ("crawl", "contact", "contact"),
)
CONNECT_S = 3.0
CONNECT_AT_ONCE = 64
STOP_S = 60.0  # pages in progress are stored and neighbours told before a peer ends
LISTEN_S = 20.0
ANSWER_S = 10.0
WORDS_S = 1.0
LOG_BYTES = 200_000
LAST_WORDS = 5  # lines of a node that does not run


def main(order: dict[str, Any]) -> None:
    """Carry out an order and print its result."""
    os.umask(0o077)
    os.chdir(os.path.expanduser("~"))
    done = globals()["do_" + order.pop("do")](**order)
    print(json.dumps(done), flush=True)


def do_facts(folder: str, command: str, ports: list[int]) -> dict[str, object]:
    """Report the state of this machine, and the parts of the lab that are on it."""
    place = folder
    while place and not os.path.isdir(place):
        place = os.path.dirname(place)
    running = {name: _pid_of(folder, name) for name in NODES}
    return {
        "python": list(sys.version_info[:3]),
        "clock_s": time.time(),
        "free_bytes": shutil.disk_usage(place or ".").free,
        "version": _version_of(_tianmesh(folder, command)),
        "is_founder": os.path.exists(os.path.join(folder, "mesh", "mesh.toml")),
        "has": [name for name, config in NODES.items() if os.path.exists(os.path.join(folder, config))],
        "running": [name for name, pid in running.items() if pid],
        "taken": [port for port in ports if not any(running.values()) and not _is_free(port)],
        "settings": _settings_of(folder),
        "last_words": {
            name: _last_lines(folder, name, LAST_WORDS) for name, pid in running.items() if not pid
        },
    }


def do_install(folder: str, python: str, requirement: str, wheel: str, content: str) -> dict[str, object]:
    """Make an environment in the folder and have pip install into it; a wheel comes along."""
    os.makedirs(folder, exist_ok=True)
    if wheel:
        requirement = os.path.join(folder, wheel)
        with open(requirement, "wb") as file:
            file.write(base64.b64decode(content))
    venv = os.path.join(folder, "venv")
    pip = [os.path.join(venv, "bin", "pip"), "install", "--quiet"]
    # Once more without what it needs: else pip leaves another build of the same version as it is.
    steps = [[*pip, "--upgrade", requirement], [*pip, "--force-reinstall", "--no-deps", requirement]]
    if not os.path.exists(os.path.join(venv, "bin", "pip")):
        steps.insert(0, [python, "-m", "venv", venv])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
            return {"error": " ".join(step[-3:]) + ": " + said[-1]}
    return {"version": _version_of(_tianmesh(folder, ""))}


def do_call(folder: str, command: str, words: list[str], given: str) -> dict[str, object]:
    """Run tianmesh with these words; `given` goes to its standard input."""
    os.makedirs(folder, exist_ok=True)
    words = [word.replace("{folder}", folder) for word in words]
    done = subprocess.run(
        [_tianmesh(folder, command), *words], input=given, capture_output=True, text=True, check=False
    )
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


def do_start(folder: str, command: str) -> dict[str, object]:
    """Start those nodes of this machine that do not run: as services, or as processes of their own."""
    started = []
    for name, config in NODES.items():
        path = os.path.join(folder, config)
        if not os.path.exists(path) or _pid_of(folder, name):
            continue
        started.append(name)
        if _has_systemd():
            done = subprocess.run(
                [_tianmesh(folder, command), "service", "install", os.path.dirname(path), *_user_words()],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                return {"error": done.stderr.strip()}
            continue
        os.makedirs(os.path.join(folder, "log"), exist_ok=True)
        words = [_tianmesh(folder, command), name, "--config", path]
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, _log(folder, name), append, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        # In a session of its own it outlives this one; nobody waits for it.
        pid = os.posix_spawn(words[0], words, os.environ, file_actions=streams, setsid=True)
        with open(_pid_file(folder, name), "w", encoding="ascii") as file:
            file.write(str(pid))
        _wait_for_words(pid)
    return {"started": started}


def do_stop(folder: str, command: str) -> dict[str, object]:
    """End the nodes of this machine in good order, the peer first."""
    stopped = []
    for name in reversed(list(NODES)):
        pid = _pid_of(folder, name)
        if not pid:
            continue
        stopped.append(name)
        if _has_systemd():
            config = os.path.join(folder, NODES[name])
            words = ["service", "remove", os.path.dirname(config), *_user_words()]
            subprocess.run([_tianmesh(folder, command), *words], capture_output=True, check=False)
            continue
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + STOP_S
        while _pid_of(folder, name) and time.monotonic() < until:
            time.sleep(0.1)
        if _pid_of(folder, name):
            return {"error": f"{name} does not end within {STOP_S:.0f} s of being told to"}
    return {"stopped": stopped}


def do_reload(folder: str) -> dict[str, object]:
    """Have the peer of this machine read its settings again."""
    pid = _pid_of(folder, "peer")
    if pid:
        os.kill(pid, signal.SIGHUP)
    return {"reloaded": bool(pid)}


def do_listen(ports: list[int]) -> dict[str, object]:
    """Accept connections for a while, in a process of its own, at those of the ports that are free."""
    listeners = []
    for port in ports:
        try:
            listeners.append(socket.create_server(("", port)))
        except OSError:  # a node of ours listens there
            continue
    pid = os.fork() if listeners else 0
    if pid or not listeners:
        for listener in listeners:
            listener.close()
        return {"pid": pid}
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    time.sleep(LISTEN_S)  # the system completes connections by itself
    os._exit(0)


def do_listen_no_more(pid: int) -> dict[str, object]:
    """End the process that `do_listen` has started."""
    assert pid > 0, "0 would be this process and all others of its group"
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:  # its time was over
        return {"ended": False}
    return {"ended": True}


def do_reach(places: list[list[object]]) -> dict[str, object]:
    """Say why no connection comes about to each of these places; "" where one does.

    All at once: one after the other, those that let nothing in would take longer than anybody listens.
    """
    with ThreadPoolExecutor(CONNECT_AT_ONCE) as pool:
        asked = [pool.submit(_why_unreachable, str(host), int(str(port))) for host, port in places]
        return {"why": [each.result() for each in asked]}


def do_ask(gateway: str, path: str) -> dict[str, object]:
    """Ask the gateway of this machine."""
    try:
        with urllib.request.urlopen(f"http://{gateway}{path}", timeout=ANSWER_S) as answer:
            return {"answer": json.load(answer)}
    except urllib.error.HTTPError as error:
        try:
            return {"answer": json.load(error)}  # 503 says what is waited for
        except ValueError:
            return {"error": str(error)}
    except (OSError, ValueError) as error:
        return {"error": str(error)}


def do_logs(folder: str, lines: int) -> dict[str, object]:
    """The last lines that each node has written."""
    told = {}
    for name in NODES:
        if os.path.exists(_log(folder, name)):
            told[name] = _last_lines(folder, name, lines)
    return {"lines": told}


def do_run(words: str) -> dict[str, object]:
    """Run a command of the shell."""
    done = subprocess.run(words, shell=True, capture_output=True, text=True, check=False)
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


def do_remove(folder: str) -> dict[str, object]:
    """Delete all that the lab has on this machine."""
    if not any(os.path.exists(os.path.join(folder, each)) for each in (*NODES.values(), "venv", "log")):
        return {"removed": False}
    shutil.rmtree(folder)
    return {"removed": True}


def _tianmesh(folder: str, command: str) -> str:
    return command or os.path.join(folder, "venv", "bin", "tianmesh")


def _version_of(command: str) -> str:
    """Return the version that a command reports; "" where there is none."""
    try:
        done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.split()[-1] if done.returncode == 0 and done.stdout.split() else ""


def _settings_of(folder: str) -> dict[str, object]:
    """Return settings from the configuration of the peer, as they are written there."""
    path = os.path.join(folder, NODES["peer"])
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return {}
    found = {}
    for table, name, told_as in SETTINGS:
        lines = ("\n" + text).partition(f"\n[{table}]\n")[2].partition("\n[")[0]  # the mesh has a name, too
        match = re.search(rf'^{name} = "?([^"\n]*)"?$', lines, re.MULTILINE)
        if match:
            found[told_as] = match[1]
    return found


def _has_systemd() -> bool:
    return os.path.isdir("/run/systemd/system")


def _user_words() -> list[str]:
    return ["--user"] if os.getuid() else []


def _log(folder: str, name: str) -> str:
    return os.path.join(folder, "log", f"{name}.log")


def _last_lines(folder: str, name: str, count: int) -> list[str]:
    """Read the last lines that a node has written; none where its log is in the journal."""
    try:
        with open(_log(folder, name), "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - LOG_BYTES))
            return file.read().decode(errors="replace").splitlines()[-count:]
    except OSError:
        return []


def _pid_file(folder: str, name: str) -> str:
    return os.path.join(folder, "log", f"{name}.pid")


def _pid_of(folder: str, name: str) -> int:
    """The process of a node that runs; 0 for none."""
    config = os.path.abspath(os.path.join(folder, NODES[name]))
    if _has_systemd():
        return _service_pid(config)
    try:
        with open(_pid_file(folder, name), encoding="ascii") as file:
            pid = int(file.read())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return 0
    try:
        words = _words_of(pid)
        with open(f"/proc/{pid}/stat", "rb") as file:
            is_over = file.read().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:  # no such files on this system
        return pid
    return pid if not is_over and any(config.endswith(word) for word in words[-1:-4:-1] if word) else 0


def _words_of(pid: int) -> list[str]:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().decode(errors="replace").split("\0")


def _wait_for_words(pid: int) -> None:
    """Wait until the command line of a new process can be read, a moment after the process is made."""
    until = time.monotonic() + WORDS_S
    try:
        while _words_of(pid) == [""] and time.monotonic() < until:
            time.sleep(0.001)
    except OSError:  # it has ended, or there are no such files on this system
        return


def _service_pid(config: str) -> int:
    command = ["systemctl", *_user_words(), "list-units", "--plain", "--no-legend", "tianmesh-*.service"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for unit in (line.split()[0] for line in listed.splitlines() if line.split()):
        shown = subprocess.run(
            ["systemctl", *_user_words(), "show", "--property=MainPID,ExecStart", unit],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        match = re.search(r"^MainPID=(\d+)$", shown, re.MULTILINE)
        if match and config in shown:
            return int(match[1])
    return 0


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("", port)).close()
    except OSError:
        return False
    return True


def _why_unreachable(host: str, port: int) -> str:
    try:
        socket.create_connection((host, port), CONNECT_S).close()
    except TimeoutError:
        return "no answer"
    except OSError as error:
        return error.strerror or str(error)
    return ""
