"""An entity from its registration to its end, by the commands, in a mesh of two real peers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.live.lab_process import Up, get, setting, tianmesh, up, wait_for
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

HTML: Final = "Content-Type: text/html; charset=utf-8"
POLICY: Final = """
[[rules]]
action = "crawl"
within_domain = true

[entities]
days = 30
"""
LONG: Final = "李晓明教授是北京大学计算机系的教师，研究搜索引擎。学生都喜欢李晓明，评价很好，非常精彩。"
TALK: Final = "代表们讨论了很多问题。" * 20
TEXTS: Final = {
    "/": "".join(
        f'<a href="/{name}">{name}</a> ' for name in ("biography", "report", "list", "namesake", "else")
    ),
    "/biography": f"<title>李晓明</title><p>{LONG}</p><p>北京大學教授李曉明講課很棒。</p>",
    "/report": f"<title>会议</title><p>会议在上海举行。{TALK}李晓明说服务太差，令人失望。</p>",
    "/list": f"<title>名单</title><p>出席的有张三、李四、李晓明、王五。{'名单如下，按姓氏排列。' * 40}</p>",
    "/namesake": "<title>足球</title><p>足球运动员李晓明昨天进了两个球。</p>",
    "/else": "<title>天气</title><p>明天有雨，气温下降。</p>",
}


def told(lab: Up, keys: Path, *words: str, gateway: int = 0) -> dict[str, Any]:
    options = ("--keys", str(keys), "--json", "--gateway", lab.gateways()[gateway])
    done = tianmesh("entities", *words, *options)
    assert done.returncode == 0, done.stderr
    answered: dict[str, Any] = json.loads(done.stdout)
    return answered


def is_on(gateway: str) -> bool:
    return get(gateway, "/api/entities")[0] == 200


def name_of(page: dict[str, Any]) -> str:
    return str(page["url"]).removeprefix("http://a.test/")


def test_an_entity_is_registered_followed_and_forgotten(tmp_path: Path) -> None:
    def answer_to(host: str, path: str) -> bytes:
        if path not in TEXTS:
            return answer(b"", "Content-Type: text/plain", status="404 Not Found")
        return answer(f"<html lang=zh><body>{TEXTS[path]}</body></html>".encode(), HTML)

    policy, keys = tmp_path / "policy.toml", tmp_path / "keys.json"
    policy.write_text(POLICY)
    with served(answer_to) as web:
        resolver = web.write_resolver(tmp_path, ("a.test",))
        options = (*setting("web.resolver", resolver), "--peers", "2")
        with up(tmp_path, None, *options, seeds=["http://a.test/"], delay_s=0.1) as lab:
            lab.wait_until_idle()
            first = lab.gateways()[0]
            refused = tianmesh("entities", "add", "李晓明", "--keys", keys, "--gateway", first)
            assert refused.returncode == 1
            assert "[entities]" in refused.stderr
            assert not keys.exists()
            done = tianmesh("policy", "set", policy, "--gateway", first, "--data", tmp_path / "mesh")
            assert done.returncode == 0, done.stderr
            for gateway in lab.gateways():
                wait_for(partial(is_on, gateway), "the policy at both gateways")
            fields = (
                "--employer",
                "北京大学",
                "--post",
                "教授",
                "--feature",
                "搜索引擎",
                "--exclude",
                "足球",
            )
            told(lab, keys, "add", "李晓明", *fields)
            assert keys.stat().st_mode & 0o077 == 0

            found = told(lab, keys, "pages", "李晓明", gateway=1)["pages"]
            assert [name_of(page) for page in found] == ["biography", "list", "report"]
            assert [page["tone"]["sign"] for page in found] == [1, 0, -1]
            scored = told(lab, keys, "score", "李晓明", "http://a.test/biography")
            parts = {part["name"]: part["points"] for part in scored["parts"]}
            assert parts["employed_by"] > 0
            assert parts["post_of"] > 0
            assert scored["score"] == found[0]["score"]
            assert told(lab, keys, "score", "李晓明", "http://a.test/namesake")["score"] is None

            told(lab, keys, "feedback", "李晓明", "http://a.test/report", "high")
            learned = told(lab, keys, "feedback", "李晓明", "http://a.test/list", "low", gateway=1)
            assert (learned["pairs"], learned["in_order_before"]) == (1, 0)
            after = {name_of(page): page["score"] for page in told(lab, keys, "pages", "李晓明")["pages"]}
            before = {name_of(page): page["score"] for page in found}
            assert after["report"] - after["list"] > before["report"] - before["list"]

            address = told(lab, keys, "feed", "李晓明")["feed"]
            path = address.removeprefix(first)
            for gateway in lab.gateways():
                status, text = get(gateway, path)
                assert status == 200
                assert text.count("<entry>") == 3
                assert "http://a.test/biography" in text
            told(lab, keys, "feed", "李晓明", "--end")
            assert get(lab.gateways()[1], path)[0] == 404
            again = told(lab, keys, "feed", "李晓明")["feed"]
            assert again != address
            listed = told(lab, keys, "list", gateway=1)["entities"]
            assert [(each["name"], each["why_not"]) for each in listed] == [("李晓明", "")]
            assert told(lab, keys, "forget", "李晓明", gateway=1) == {"entity": "李晓明", "was_there": True}
            assert get(first, again.removeprefix(first))[0] == 404
            assert json.loads(keys.read_text())["entities"] == {}
            assert told(lab, keys, "list") == {"entities": []}
