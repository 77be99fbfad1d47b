"""`tianmesh entities`, against a gateway that answers from memory: nothing leaves this machine unsealed."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from mesh.client.gateway_client import GatewayError
from mesh.errors import ConfigError
from peers.entities.commands import FIELDS_BYTES_MAX
from peers.entities.feed import feed_in, reader_of, secret_of
from peers.entities.pages import query_of
from peers.entities.seal import RowKey
from peers.entities.sealed_row import KEY_BYTES, SealedRow, is_row
from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import FakeGateway
from tests.peers.webhooks.test_webhook import SECRET, receiving

TEXTS = {
    "http://a.test/1": "北京大学教授李晓明讲课，学生都喜欢李晓明，很精彩。",
    "http://a.test/2": "出席的有张三、李四、李晓明。" + "名单很长。" * 50,
    "http://a.test/3": "李晓明令人失望，服务非常差。" + "会议在上海举行。" * 20,
}


@pytest.fixture
def gateway(gateway: FakeGateway) -> FakeGateway:
    gateway.hits = [
        {"url": url, "title": f"title {url[-1]}", "snippet": "", "fetched_at": 1_000.0 + number}
        for number, url in enumerate([*TEXTS, "http://a.test/gone"])
    ]
    gateway.pages = {
        url: {"url": url, "title": "标题", "text": text, "fetched_at": 5.0} for url, text in TEXTS.items()
    }
    return gateway


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "state" / "keys.json"


def told(gateway: FakeGateway, keys: Path, *words: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(gateway, "entities", *words, "--keys", keys, "--json"))
    return answer


def add(gateway: FakeGateway, keys: Path) -> dict[str, Any]:
    return told(gateway, keys, "add", "李晓明", "--employer", "北京大学", "--post", "教授", "--work", "天网")


def row_of(gateway: FakeGateway, name: str) -> SealedRow:
    row = gateway.entities[name]
    return SealedRow(row["number"], row["until_day"], b64decode(row["sealed"]), b64decode(row["signature"]))


def test_what_is_registered_leaves_the_machine_sealed_and_signed(gateway: FakeGateway, keys: Path) -> None:
    add(gateway, keys)
    [(name, row)] = gateway.entities.items()
    sent = json.dumps(row, ensure_ascii=False)
    assert not any(word in sent for word in ("李晓明", "北京大学", "教授", "天网"))
    assert is_row(bytes.fromhex(name), row_of(gateway, name))
    assert keys.stat().st_mode & 0o777 == 0o600
    secret = json.loads(keys.read_text())["entities"]["李晓明"]
    assert "北京大学" in RowKey(bytes.fromhex(secret)).open(row_of(gateway, name)).decode(errors="replace")


def test_fields_are_shown_and_replaced_one_by_one(gateway: FakeGateway, keys: Path) -> None:
    add(gateway, keys)
    told(gateway, keys, "add", "李晓明", "--alias", "Li Xiaoming", "--post", "院长", "--exclude", "足球")
    shown = told(gateway, keys, "show", "李晓明")
    assert shown["fields"]["names"] == ["李晓明", "Li Xiaoming"]
    assert shown["fields"]["posts"] == ["院长"]
    assert shown["fields"]["employers"] == ["北京大学"]
    assert shown["fields"]["excluded"] == ["足球"]
    assert [row["number"] for row in gateway.entities.values()] == [2]
    said = run(gateway, "entities", "show", "李晓明", "--keys", keys)
    assert "院长" in said
    assert "employed_by" in said
    assert "李晓明  kept until" in run(gateway, "entities", "list", "--keys", keys)


def test_fields_come_from_a_file_or_standard_input_and_not_by_the_history_of_a_shell(
    gateway: FakeGateway, keys: Path, tmp_path: Path
) -> None:
    file = tmp_path / "fields.toml"
    file.write_text(
        'name = "李晓明"\nalias = ["Li Xiaoming"]\nemployer = ["北京大学", "北大"]\npost = "教授"\n'
    )
    told(gateway, keys, "add", "case-7", "--from", str(file), "--exclude", "足球")
    fields = told(gateway, keys, "show", "case-7")["fields"]
    assert fields["names"] == ["李晓明", "Li Xiaoming"], "what it is called is searched for nowhere"
    assert (fields["employers"], fields["posts"]) == (["北京大学", "北大"], ["教授"])
    assert fields["excluded"] == ["足球"]
    told(gateway, keys, "pages", "case-7")
    assert "case-7" not in gateway.searches[-1]["q"]
    added = "entities", "add", "case-7", "--from", "-", "--keys", keys
    done = result_of(gateway, *added, typed='work = ["天网"]')
    assert done.exit_code == 0, done.output
    told(gateway, keys, "add", "case-7", "--alias", "李老师")
    fields = told(gateway, keys, "show", "case-7")["fields"]
    assert (fields["works"], fields["names"]) == (["天网"], ["李老师"])
    for text, why in (
        ("work = 3", "no list of texts"),
        ("colour = 'red'", "colour"),
        ("alias = 'x'", "no name"),
        ("work", "cannot be read"),
        ("# " + "x" * FIELDS_BYTES_MAX, "longer than 131,072 bytes"),
    ):
        file.write_text(text)
        done = result_of(gateway, "entities", "add", "x", "--from", file, "--keys", keys)
        assert why in str(done.exception), text


def test_pages_are_found_by_phrases_of_the_names_and_ranked_with_their_tone(
    gateway: FakeGateway, keys: Path
) -> None:
    add(gateway, keys)
    found = told(gateway, keys, "pages", "李晓明")["pages"]
    assert gateway.searches[-1]["q"] == query_of(("李晓明",)) == '"李晓明"'
    assert found[0]["url"] == "http://a.test/1"
    assert {page["url"]: page["tone"]["sign"] for page in found} == {
        "http://a.test/1": 1,
        "http://a.test/2": 0,
        "http://a.test/3": -1,
    }
    assert sum(part["points"] for part in found[0]["parts"]) == pytest.approx(found[0]["score"], abs=8)
    said = run(gateway, "entities", "pages", "李晓明", "--explain", "-k", "1", "--keys", keys)
    assert "http://a.test/1" in said
    assert "employed_by (1.00 x 1)" in said
    assert "http://a.test/2" not in said


def test_other_words_that_a_gateway_answers_for_are_no_pages(gateway: FakeGateway, keys: Path) -> None:
    add(gateway, keys)
    gateway.hits = None  # the answer is for other words
    assert told(gateway, keys, "pages", "李晓明")["pages"] == []


def test_a_lexicon_of_ones_own_decides_the_tone(gateway: FakeGateway, keys: Path, tmp_path: Path) -> None:
    add(gateway, keys)
    words = tmp_path / "words.txt"
    words.write_text("-\n出席\n", encoding="utf-8")
    found = told(gateway, keys, "pages", "李晓明", "--lexicon", str(words))["pages"]
    signs = {page["url"][-1]: page["tone"]["sign"] for page in found}
    assert signs == {"1": 0, "2": -1, "3": 0}


def test_a_page_is_scored_at_once_and_one_that_is_not_there_is_said_so(
    gateway: FakeGateway, keys: Path
) -> None:
    add(gateway, keys)
    scored = told(gateway, keys, "score", "李晓明", "http://a.test/1")
    assert scored["score"] == told(gateway, keys, "pages", "李晓明")["pages"][0]["score"]
    gateway.pages["http://a.test/4"] = {
        "url": "http://a.test/4",
        "title": "",
        "text": "天气",
        "fetched_at": 5.0,
    }
    assert told(gateway, keys, "score", "李晓明", "http://a.test/4") == {
        "url": "http://a.test/4",
        "score": None,
    }
    with pytest.raises(ConfigError, match=r"tianmesh why http://a\.test/gone"):
        run(gateway, "entities", "score", "李晓明", "http://a.test/gone", "--keys", keys)


def test_feedback_is_kept_with_the_entity_and_changes_its_scores(gateway: FakeGateway, keys: Path) -> None:
    add(gateway, keys)
    before = {page["url"][-1]: page["score"] for page in told(gateway, keys, "pages", "李晓明")["pages"]}
    assert told(gateway, keys, "feedback", "李晓明", "http://a.test/3", "high")["pairs"] == 0
    assert told(gateway, keys, "feedback", "李晓明", "http://a.test/2", "low")["pairs"] == 1
    after = {page["url"][-1]: page["score"] for page in told(gateway, keys, "pages", "李晓明")["pages"]}
    assert after["3"] - after["2"] > before["3"] - before["2"]
    shown = told(gateway, keys, "show", "李晓明")
    assert shown["graded"] == {"low": 1, "middle": 0, "high": 1}
    assert shown["pairs"] == 1
    assert result_of(gateway, "entities", "feedback", "李晓明", "http://a.test/2", "good").exit_code == 2
    assert "http://a.test/2" not in json.dumps(gateway.entities)


def test_a_feed_has_a_secret_address_and_ends(gateway: FakeGateway, keys: Path) -> None:
    add(gateway, keys)
    address = told(gateway, keys, "feed", "李晓明")["feed"]
    key = reader_of(address.rpartition("/")[2])
    assert key is not None
    assert not hasattr(key, "seal"), "its readers do not change it"
    feed = feed_in(key.open(row_of(gateway, key.public.hex())))
    assert [entry.url[-1] for entry in feed.entries] == ["3", "2", "1"], "the newest first"
    assert told(gateway, keys, "feed", "李晓明")["feed"] == address
    assert told(gateway, keys, "feed", "李晓明", "--end")["feed"] == ""
    assert row_of(gateway, key.public.hex()).is_forgotten
    assert not told(gateway, keys, "show", "李晓明")["has_feed"]
    assert told(gateway, keys, "feed", "李晓明")["feed"] != address


def test_forgetting_deletes_entity_feed_and_key(gateway: FakeGateway, keys: Path) -> None:
    add(gateway, keys)
    told(gateway, keys, "feed", "李晓明")
    assert len(gateway.entities) == 2
    assert told(gateway, keys, "forget", "李晓明") == {"entity": "李晓明", "was_there": True}
    assert all(row["sealed"] == "" for row in gateway.entities.values())
    assert all(is_row(bytes.fromhex(name), row_of(gateway, name)) for name in gateway.entities)
    assert json.loads(keys.read_text())["entities"] == {}
    with pytest.raises(ConfigError, match="entities list"):
        run(gateway, "entities", "forget", "李晓明", "--keys", keys)


def test_an_entity_that_the_mesh_has_no_more_is_said_so_and_taken_out(
    gateway: FakeGateway, keys: Path
) -> None:
    add(gateway, keys)
    gateway.entities.clear()
    with pytest.raises(ConfigError, match="its time is over"):
        run(gateway, "entities", "pages", "李晓明", "--keys", keys)
    assert "its time is over" in told(gateway, keys, "list")["entities"][0]["why_not"]
    assert told(gateway, keys, "forget", "李晓明")["was_there"] is False
    assert told(gateway, keys, "list")["entities"] == []


def test_a_key_stays_while_peers_that_may_have_its_entity_do_not_answer(
    gateway: FakeGateway, keys: Path
) -> None:
    add(gateway, keys)
    before, gateway.are_entities_silent = keys.read_text(), True
    with pytest.raises(GatewayError, match="try again"):
        run(gateway, "entities", "forget", "李晓明", "--keys", keys)
    assert keys.read_text() == before
    assert "try again" in told(gateway, keys, "list")["entities"][0]["why_not"]


def test_without_entities_in_the_policy_no_key_is_made(gateway: FakeGateway, keys: Path) -> None:
    gateway.entity_days = 0
    with pytest.raises(GatewayError, match=r"\[entities\]"):
        run(gateway, "entities", "add", "李晓明", "--keys", keys)
    assert not keys.exists()


def test_a_refused_entity_leaves_no_key(gateway: FakeGateway, keys: Path) -> None:
    gateway.refusal = (503, "no room")
    with pytest.raises(GatewayError, match="no room"):
        run(gateway, "entities", "add", "李晓明", "--keys", keys)
    assert json.loads(keys.read_text())["entities"] == {}


@pytest.mark.parametrize(
    "content",
    ["", "x", "{}", '{"format": "other", "entities": {}}', '{"entities": {"a": "xyz"}}', "[" * 9_999],
)
def test_a_file_that_has_no_keys_is_told_apart(gateway: FakeGateway, keys: Path, content: str) -> None:
    keys.parent.mkdir()
    keys.write_text(content)
    keys.chmod(0o600)
    if content == "{}":
        assert told(gateway, keys, "list") == {"entities": []}
        return
    with pytest.raises(ConfigError, match=r"keys\.json"):
        run(gateway, "entities", "list", "--keys", keys)


def test_a_file_of_keys_that_others_can_read_is_refused(gateway: FakeGateway, keys: Path) -> None:
    add(gateway, keys)
    keys.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        run(gateway, "entities", "list", "--keys", keys)


def test_a_gateway_that_tells_no_row_and_one_that_tells_another_are_noticed(
    gateway: FakeGateway, keys: Path
) -> None:
    add(gateway, keys)
    [name] = gateway.entities
    good = gateway.entities[name]
    for lie in ({}, {**good, "sealed": "A"}, {**good, "number": 0}, {**good, "signature": 7}):
        gateway.entities[name] = lie
        with pytest.raises(GatewayError, match="no sealed row"):
            run(gateway, "entities", "show", "李晓明", "--keys", keys)
    gateway.entities[name] = {**good, "number": good["number"] + 1}
    with pytest.raises(ConfigError, match="does not open"):
        run(gateway, "entities", "show", "李晓明", "--keys", keys)


def test_too_many_or_too_long_words_are_refused_before_anything_is_sent(
    gateway: FakeGateway, keys: Path
) -> None:
    with pytest.raises(ConfigError, match=r"^works: give 32 texts at most"):
        run(gateway, "entities", "add", "a", "--work", "w" * 65, "--keys", keys)
    many = [word for number in range(33) for word in ("--work", f"w{number}")]
    with pytest.raises(ConfigError, match="32 texts at most"):
        run(gateway, "entities", "add", "a", *many, "--keys", keys)
    with pytest.raises(ConfigError, match=r"^names: give 32 texts at most"):
        run(gateway, "entities", "add", " ", "--keys", keys)
    assert gateway.entities == {}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a\udcff"], "UTF-8"),
        (["a", "--work", "\udcff"], "UTF-8"),
        (
            [
                "a",
                *(
                    f
                    for field in ("work", "image")
                    for n in range(32)
                    for f in (f"--{field}", f"{n:02}" + "词" * 62)
                ),
            ]
            + [f for n in range(32) for f in ("--domain", f"{n:02}" + "\U0001f600" * 62)]
            + [f for n in range(32) for f in ("--feature", f"{n:02}" + "\U0001f600" * 62)],
            "bytes at most",
        ),
    ],
)
def test_what_cannot_be_kept_leaves_no_key(
    gateway: FakeGateway, keys: Path, words: list[str], told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        run(gateway, "entities", "add", *words, "--keys", keys)
    assert not keys.exists()


def test_secrets_in_addresses_are_read_back_and_others_are_none() -> None:
    key = RowKey(bytes(range(KEY_BYTES)))
    text = secret_of(key)
    found = reader_of(text)
    assert found is not None
    assert (found.public, found.opening) == (key.public, key.opening)
    for wrong in ("", "x" * 103, "1" * 103, text[:-1], text + "a", "ä" * 103):
        other = reader_of(wrong)
        assert other is None or other.public != key.public


def test_new_pages_are_posted_with_score_and_tone_and_a_namesake_s_is_not(
    gateway: FakeGateway, keys: Path, tmp_path: Path
) -> None:
    told(gateway, keys, "add", "李晓明", "--exclude", "足球")
    secret, state = tmp_path / "secret", tmp_path / "hook.json"
    secret.write_text(SECRET)
    whole = {"host": "a.test", "language": "zh", "type": "text/html", "date": 0.0, "published": ""}
    gateway.hits = [{**hit, **whole} for hit in gateway.hits or ()]
    posted, gateway.hits = gateway.hits[:1], gateway.hits[1:2]
    options = ("--once", "--private", "--secret", f"@{secret}", "--state", state, "--keys", keys)
    with receiving() as receiver:
        command = ("entities", "follow", "李晓明", receiver.url, *options)
        assert result_of(gateway, *command).exit_code == 0
        assert receiver.posts == [], "the first answer is where it begins"
        namesake = {**posted[0], "url": "http://a.test/n"}
        gateway.pages[namesake["url"]] = {
            **gateway.pages["http://a.test/1"],
            "text": "足球运动员李晓明进球。",
        }
        gateway.hits = [*gateway.hits, *posted, namesake]
        for _ in range(2):
            assert result_of(gateway, *command).exit_code == 0
        [(_, body)] = receiver.posts
    [hit] = body["data"]["hits"]
    assert hit["url"] == "http://a.test/1"
    scored = told(gateway, keys, "score", "李晓明", "http://a.test/1")
    assert hit["entity"]["score"] == scored["score"]
    assert (hit["entity"]["name"], hit["entity"]["tone"]) == ("李晓明", 1)
