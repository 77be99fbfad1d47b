"""A watched word on real pages: noticed once by the peer that visits them, seen by administrators alone."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest

from mesh.client.admin_token import tokens_for
from mesh.client.gateway_client import GatewayClient
from tests.live.lab_process import Up, get, kill_all, setting, tianmesh, up, wait_for
from tests.live.raw_web import answer, served
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.live

HOSTS: Final = ("a.test", "b.test", "c.test")
HTML: Final = "Content-Type: text/html; charset=utf-8"
FOUND: Final = {("http://b.test/", "台湾"), ("http://c.test/", "台湾"), ("http://c.test/", "Slow Glass")}


def answer_to(host: str, path: str) -> bytes:
    if path == "/robots.txt":
        return answer(b"", "Content-Type: text/plain")
    text = {
        "a.test": "nothing to be told of",
        "b.test": "我在<b>台灣</b>看書",
        "c.test": "臺灣 and slow\nglass &lt;b&gt;",
    }
    return answer(f"<title>{host}</title><body><p>{text[host]}</p>".encode(), HTML)


def told(lab: Up, gateway: str) -> dict[str, Any]:
    with GatewayClient(gateway, tokens_for(lab.folder)) as client:
        return client.watch()


def follow(lab: Up, gateway: str, came: list[dict[str, Any] | None]) -> None:
    """Take events up to the last notice that is expected."""
    with GatewayClient(gateway, tokens_for(lab.folder)) as client:
        for _, notice in client.watch_events():
            came.append(notice)
            if len([each for each in came if each]) == len(FOUND):
                return


def number_at(lab: Up, gateway: str) -> int:
    return int(told(lab, gateway)["number"])


def has_all(lab: Up, gateway: str) -> bool:
    return len(told(lab, gateway)["notices"]) >= len(FOUND)


def names_of(told: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted((each["url"], each["entry"]) for each in told["notices"])


def test_a_watched_word_is_told_once_to_administrators_also_after_kill_9(tmp_path: Path) -> None:
    with served(answer_to) as web:
        options = (*setting("web.resolver", web.write_resolver(tmp_path, HOSTS)), "--peers", "2")
        with up(tmp_path, None, *options, seeds=["http://a.test/"], delay_s=0.1) as lab:
            where = ("--gateway", lab.gateways()[0], "--data", lab.folder)
            done = tianmesh("watch", "add", "台湾", "Slow Glass", *where)
            assert done.returncode == 0, done.stderr
            for gateway in lab.gateways():
                wait_for(partial(number_at, lab, gateway), "the list at every gateway")
            came: list[dict[str, Any] | None] = []
            following = Thread(target=follow, args=(lab, lab.gateways()[1], came), daemon=True)
            following.start()
            wait_for(lambda: came, "the place from which the events go on")
            assert tianmesh("seed", "http://b.test/", "http://c.test/", *where).returncode == 0
            for gateway in lab.gateways():
                wait_for(partial(has_all, lab, gateway), "all notices")
                assert names_of(told(lab, gateway)) == sorted(FOUND)
                assert get(gateway, "/watch")[0] == get(gateway, "/api/watch")[0] == 403
                assert get(gateway, "/api/watch/events")[0] == 403
            following.join(PATIENCE_S)
            assert {(each["url"], each["entry"]) for each in came if each} == FOUND
            kill_all(lab)
        with up(tmp_path, None, *options, delay_s=0.1) as lab:
            gateway = lab.gateways()[0]
            wait_for(lambda: names_of(told(lab, gateway)) == sorted(FOUND), "notices after a restart")
            where = ("--gateway", gateway, "--data", lab.folder)
            shown = tianmesh("watch", "show", *where).stdout
            assert "       2  台湾" in shown
            assert tianmesh("watch", "remove", "台湾", "Slow Glass", *where).returncode == 0
            wait_for(lambda: not told(lab, gateway)["number"], "a mesh that watches for nothing")
