"""Sentences that are put together of facts: each there is in both languages, and none is half in another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import chain
from pathlib import Path
from string import Formatter

import peers.gateway
from mesh.actors.conduct import Offence
from peers.crawler.explanations import DelayBy, DueBy, Hold, IndexState, UrlState
from peers.crawler.model.web_request import FailureReason
from peers.gateway.model.chinese import CHINESE
from peers.gateway.model.messages import Coverage, Lacking, ReadinessTold
from peers.gateway.model.readiness_json import readiness_json
from peers.gateway.model.sentences import in_chinese, in_english
from peers.gateway.model.time_words import _SPANS
from peers.gateway.why import why_idle, why_rows, why_url
from tests.peers.commands.test_why import CRAWL, FACTS
from tests.peers.gateway.why.test_why import ABOUT_CRAWLS, ABOUT_URLS, told_of_crawl, told_of_url

ENUMERATED: tuple[type[StrEnum], ...] = (UrlState, DueBy, Hold, DelayBy, IndexState, Offence, FailureReason)
# Words of programs, which are the same in all languages, names, and what pages and files say.
NO_PROSE = re.compile(
    r"`[^`]*`|https?://\S+|--\w+|'[^']*'|\b[\w.]+\.test\b|\b(?:ann|bob|p\w*\d)\b|robots\.txt|Crawl-delay"
    r"|(?:Dis)?[Aa]llow: \S+|delay_\w+|adaptive|domains|\b(?:crawl|skip)\b|\[storage\]|UTC"
)


def put_ones(source: Path) -> Iterator[str]:
    """Yield the sentences of a module: texts that values are put into, on either side of a condition."""
    for call in ast.walk(ast.parse(source.read_text())):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "put":
            for each in ast.walk(call.args[0]):
                if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value:
                    yield each.value


def fields(sentence: str) -> set[str | None]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def test_every_sentence_is_there_in_chinese_with_the_same_values() -> None:
    modules = [each for each in Path(peers.gateway.__path__[0]).rglob("*.py") if each.stem != "sentences"]
    said = set(chain.from_iterable(map(put_ones, modules)))
    said |= {str(each) for kind in ENUMERATED for each in kind}
    said |= {
        *why_url._REASONS.values(),
        *why_idle._ADVICE.values(),
        why_url._LED_ON,
        why_url._NO_PAGE,
        *_SPANS.values(),
    }
    assert len(said) > 150
    assert said - CHINESE.keys() == set()
    assert {each for each in said if fields(each) != fields(CHINESE[each])} == set()


def reasons() -> Iterator[str]:
    for facts, _ in ABOUT_URLS:
        yield why_url.sentence_of(told_of_url(facts), in_chinese)
    for crawls, _ in ABOUT_CRAWLS:
        yield why_idle.sentence_of(told_of_crawl(*crawls), in_chinese)
    for name, text in chain(why_rows._state_rows(FACTS, in_chinese), why_rows.peer_rows(CRAWL, in_chinese)):
        yield f"{in_chinese(name)}: {text}"
    assert FACTS.host is not None
    for _, text in why_rows._host_rows(FACTS.host, FACTS.at_s, in_chinese):
        yield text
    for _, text in why_rows._robots_rows(FACTS.robots, FACTS.at_s, in_chinese):
        yield text


def test_no_reason_is_half_in_english() -> None:
    said = list(reasons())
    assert len(said) > 50
    assert [each for each in said if re.search(r"[A-Za-z]{2,}", NO_PROSE.sub("", each))] == []


def test_numbers_stand_apart_from_chinese_characters() -> None:
    """As in all texts of the pages; spans and times have a number in front."""
    assert [each for each in reasons() if re.search(r"[一-鿿][0-9]|[0-9][一-鿿]", each)] == []


def test_what_searches_wait_for_is_told_in_both_languages() -> None:
    told = ReadinessTold(
        7, Coverage(50_000, 48_796, 1_204), (Lacking("ann", 1, True), Lacking("bob", 3, False)), 1_200
    )
    assert readiness_json(told, in_english).waits_for == (
        "nobody answers for 1,200 slots yet",
        "bob with 3 slots has not answered",
        "ann brings or compares what belongs to 1 slot",
    )
    assert readiness_json(told, in_chinese).waits_for[0] == "1,200 个槽尚无节点应答"


def test_what_is_no_sentence_of_ours_stays_as_it_is() -> None:
    assert in_chinese("200") == "200"
    assert in_chinese("{of} another version") == "{of} another version"
