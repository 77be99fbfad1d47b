"""A topic on real pages: counted by two peers in the slice of their visit, told when that is over."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from mesh.client.admin_token import tokens_for
from mesh.client.gateway_client import GatewayClient
from tests.live.lab_process import Up, setting, tianmesh, up, wait_for
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

HOSTS: Final = ("a.test", "b.test", "c.test", "d.test")
TEXTS: Final = {
    "a.test": "我在<b>台灣</b>看書",
    "b.test": "An island: 台湾",
    "c.test": "An island: 台湾",
    "d.test": "about an island only",
}


def answer_to(host: str, path: str) -> bytes:
    if path == "/robots.txt":
        return answer(b"", "Content-Type: text/plain")
    body = f"<title>News</title><body><p>{TEXTS[host]}</p>".encode()
    return answer(body, "Content-Type: text/html; charset=utf-8")


def ask(lab: Up, gateway: str) -> GatewayClient:
    return GatewayClient(gateway, tokens_for(lab.folder))


def topics_at(lab: Up, gateway: str) -> int:
    with ask(lab, gateway) as client:
        return len(client.topics()["topics"])


def counted_at(lab: Up, gateway: str) -> dict[str, Any]:
    """The strength of the topic, once all pages were visited in slices that are over."""
    with ask(lab, gateway) as client:
        told = client.topic("taiwan")
    return told if sum(each["pages"] for each in told["slices"]) >= len(HOSTS) else {}


def test_a_topic_is_counted_over_the_mesh_when_its_slice_is_over(tmp_path: Path) -> None:
    near = tmp_path / "near.txt"
    near.write_text("island\n", encoding="utf-8")
    with served(answer_to) as web:
        options = (*setting("web.resolver", web.write_resolver(tmp_path, HOSTS)), "--peers", "2")
        with up(tmp_path, None, *options, seeds=["http://none.test/"], delay_s=0.1) as lab:
            where = ("--gateway", lab.gateways()[0], "--data", lab.folder)
            asked = ("taiwan", "台湾", "--related", near, "--slice", "60s", *where)
            done = tianmesh("topic", "set", *asked)
            assert done.returncode == 0, done.stderr
            for gateway in lab.gateways():
                wait_for(partial(topics_at, lab, gateway), "the topic at every gateway")
            assert tianmesh("seed", *(f"http://{host}/" for host in HOSTS), *where).returncode == 0
            gateways = lab.gateways()
            told = [wait_for(partial(counted_at, lab, each), "a slice that is over") for each in gateways]
            assert told[0]["slices"] == told[1]["slices"]
            totals = {name: told[0][name]["absolute"]["total"] for name in ("pages", "contents")}
            assert totals == {"pages": 3, "contents": 2}, "of two pages with the same text one counts"
            assert told[0]["related_pages"]["absolute"]["total"] == 4
            exported = tianmesh("topic", "export", "taiwan", *where)
            assert exported.stdout.count("\n") == 1 + len(told[0]["slices"])
