"""Whatever a stranger sends to a gateway or searches for, it is answered or refused, and nothing is kept."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import quote_from_bytes

import msgspec
import numpy as np
import pytest
import trio

from mesh.actors.actor import Address, Message
from mesh.keys.decree import Signer
from mesh.keys.signing_key import SigningKey
from mesh.slot_set import encode_slots
from peers.engine.files.directory import DirectoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.queries.query import Mode, Sort
from peers.engine.queries.query_parser import read_query
from peers.entities.feed import secret_of
from peers.entities.seal import RowReader
from peers.entities.sealed_row import KEY_BYTES
from peers.gateway.http_port import Http, listen
from peers.gateway.model.messages import (
    CountTopic,
    FindBacklinks,
    FindRow,
    FindSubmission,
    GatherNotices,
    GatherRanks,
    JudgeSite,
    KeepRow,
    ListSites,
    ReadLog,
    ReportUrl,
    SubmitUrl,
)
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.model.status import PeerStatus
from peers.importing.messages import ImportDeferred
from peers.index.answerer import Answerer
from peers.index.index_reader import IndexReader
from peers.index.messages import AnswerQuestion, QuestionAnswered
from peers.index.wire_messages import (
    AskPast,
    CountTerms,
    ExcerptsRead,
    HitsFound,
    Question,
    ReadExcerpts,
    SearchSlots,
)
from peers.judging.assessor_link import AssessorLink, key_of
from peers.judging.judgement_files import JudgementFiles
from peers.judging.pool import Pool, PooledPage, PooledQuery
from peers.policy.entity_rules import EntityRules
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.log_rules import QueryLogRules, SecondRanking, SecondWeights
from peers.policy.rules import EVERYTHING, Policy, SearchHistoryRules
from peers.policy.submission_rules import SubmissionRules
from peers.submissions.submission import code_text
from peers.submissions.verdict import CODE_BYTES, sign_verdict, verdict_bytes
from tests.fuzzing.harness import Fuzzer, unharmed
from tests.fuzzing.hostile_mesh import HostileMesh
from tests.patience import PATIENCE_S
from tests.peers.gateway.fake_searcher import CHINESE_URL, ENGLISH_URL, FakeSearcher

TOKEN: Final = "t" * 16
SLOTS: Final = 4
REQUEST_BYTES_MAX: Final = 40_000
QUERY_BYTES_MAX: Final = 3_000
UNLIMITED: Final = GatewaySettings(
    admin_token=TOKEN,
    takes_seeds=True,
    client_connections_max=0,
    client_requests_max=0,
    client_queries_per_s=0,
    client_bytes_per_s=0,
    client_seeds_per_hour=0,
)
QUERIES: Final = [
    text.encode()
    for text in (
        "crawler",
        '中文 "分词" -英文 site:example.org',
        "(crawler OR 爬虫) intitle:index lang:en after:2024-05 before:2025 type:html inurl:docs",
        "crawler asof:2026-11-25 between:2026-11..2026-12-05",
        "a b OR c | d NOT (e “f g” 「h」) C++ T恤 1,000 .NET",
        "the of and to in a is for this that " * 14,
    )
]
EVERYTHING_ON: Final = Policy(
    rules=EVERYTHING.rules,
    link_graph=LinkGraphRules(ranks=True),
    search_history=SearchHistoryRules(days=36_500),
    submissions=SubmissionRules(reports_per_client=10_000),
    entities=EntityRules(),
    query_log=QueryLogRules(
        days=9,
        clicks=True,
        click_weight=0.1,
        second=SecondRanking(name="titles", weights=SecondWeights(title=1.0)),
    ),
)
ANSWERED_BY_LIES: Final = (
    FindBacklinks,
    GatherNotices,
    GatherRanks,
    CountTopic,
    ReadLog,
    SubmitUrl,
    JudgeSite,
    ReportUrl,
    FindSubmission,
    ListSites,
    KeepRow,
    FindRow,
)
BODIES: Final = [
    json.dumps({"urls": ["http://a.test/", "https://b.test/?q=1"]}).encode(),
    b"http://a.test/\n# no URL\nhttp://b.test/\n",
    b'{"peer": "ann", "is_draining": true}',
    msgspec.msgpack.encode([]),
]


def request(method: bytes, target: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    length = [b"Content-Length: %d" % len(body)] if body else []
    return b"\r\n".join(
        [method + b" " + target + b" HTTP/1.1", b"Host: localhost", *headers, *length, b"", body]
    )


@asynccontextmanager
async def running(settings: GatewaySettings = UNLIMITED, lies: Random | None = None) -> AsyncIterator[Http]:
    """Run a gateway; with `lies` the policy has all that may be on, and other peers answer by these."""
    searcher = FakeSearcher()
    http = Http("ann", listen("127.0.0.1", 0), dict, lambda: PeerStatus(id="ann"), settings)
    searcher.http = http
    hostile = HostileMesh(http, lies, EVERYTHING_ON) if lies is not None else None

    def deliver(source: Address, actor: str, order: Message) -> None:
        if hostile is not None and isinstance(order, ANSWERED_BY_LIES):
            hostile.deliver(source, order)
        elif actor == "searcher":
            searcher.deliver(source, actor, order)
        else:
            http.receive(Address("ann", actor), ImportDeferred(getattr(order, "ticket", 0), "not now"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(http.run, deliver)
        yield http
        nursery.cancel_scope.cancel()


async def exchange(port: int, data: bytes) -> bytes:
    """Send all that is taken, say that there is no more, and return what comes back."""
    reply = b""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        try:
            with trio.fail_after(PATIENCE_S):
                await stream.send_all(data)
                await stream.send_eof()
                while part := await stream.receive_some():
                    reply += part
        except trio.BrokenResourceError:
            pass  # it has heard enough
    return reply


async def ask_all(
    inputs: Iterator[bytes],
    told: Callable[[bytes], bytes],
    caplog: pytest.LogCaptureFixture,
    settings: GatewaySettings = UNLIMITED,
    lies: Random | None = None,
) -> None:
    """Send what is made of each input; nothing may fail, and an honest request is answered at the end."""
    async with running(settings, lies) as http:
        honest = request(b"GET", b"/search?q=crawler")
        assert b" 200 " in (await exchange(http.port, honest))[:20]
        with unharmed():
            for data in inputs:
                reply = await exchange(http.port, told(data))
                assert b"HTTP/1.1 500" not in reply, reply
                assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
            assert b" 200 " in (await exchange(http.port, honest))[:20]
            while http.statistics()["http"]["connections"]:  # type: ignore[index]
                await trio.sleep(0.01)


@pytest.mark.inputs(1_000)
async def test_no_request_crashes_the_gateway(fuzzer: Fuzzer, caplog: pytest.LogCaptureFixture) -> None:
    token = f"Authorization: Bearer {TOKEN}".encode()
    samples = [
        request(b"GET", b"/search?q=crawler&page=2&facets=1&lang=zh", b"Accept-Language: zh;q=0.3,en"),
        request(b"GET", b"/api/search?q=a&k=5&offset=3&sort=date&explain=1") * 3,
        request(b"HEAD", b"http://localhost/"),
        request(b"GET", b"/page?url=" + quote_from_bytes(ENGLISH_URL.encode(), "").encode()),
        request(b"GET", b"/page?url=" + quote_from_bytes(CHINESE_URL.encode(), "").encode()),
        request(b"GET", b"/api/status", b"X-Forwarded-For: 192.0.2.1, ::1"),
        request(b"POST", b"/api/seeds", b"Expect: 100-continue", body=BODIES[0]),
        request(b"POST", b"/api/seeds", b"Origin: http://localhost", body=BODIES[1]),
        request(b"POST", b"/api/seeds", b"Transfer-Encoding: chunked", b"", b"5\r\nhttp:\r\n0\r\n"),
        request(b"POST", b"/api/drain", token, body=BODIES[2]),
        request(b"POST", b"/api/import", token, body=BODIES[3]),
        request(b"GET", b"/metrics", token),
    ]
    await ask_all(fuzzer.inputs(samples, REQUEST_BYTES_MAX), lambda data: data, caplog)


@pytest.mark.inputs(1_000)
async def test_no_parameter_crashes_the_gateway(fuzzer: Fuzzer, caplog: pytest.LogCaptureFixture) -> None:
    paths = [b"/search", b"/api/search", b"/page", b"/api/status", b"/", b"/api/seeds"]
    names = [
        b"q",
        b"page",
        b"k",
        b"offset",
        b"sort",
        b"cursor",
        b"url",
        b"lang",
        b"facets",
        b"explain",
        b"format",
    ]
    values = [*QUERIES, *BODIES, b"1", b"100", b"date", b"json", b"zh", b"true", ENGLISH_URL.encode()]

    def told(data: bytes) -> bytes:
        random = fuzzer.random
        given = {name: random.choice(values) for name in random.sample(names, 3)}
        given[random.choice(names)] = data[:QUERY_BYTES_MAX]
        query = b"&".join(name + b"=" + quote_from_bytes(value).encode() for name, value in given.items())
        path = random.choice(paths)
        if path == b"/api/seeds":
            return request(b"POST", path, body=data)
        return request(b"GET", path + b"?" + query)

    await ask_all(fuzzer.inputs(values, QUERY_BYTES_MAX), told, caplog)


@pytest.mark.inputs(600)
async def test_no_judgement_crashes_the_gateway(
    fuzzer: Fuzzer, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Forms and links of assessors, pools of administrators; and the file has grades of the pool alone."""
    pool = Pool(9, 1, (PooledQuery("1", "red"),), (PooledPage("1", "http://h/a"), PooledPage("1", "b")))
    files = JudgementFiles(tmp_path)
    files.keep_pool("fruit", pool)
    code = AssessorLink("fruit", "ann", 1 << 40).code(key_of(TOKEN))
    link, token = f"/judge/fruit/ann/{code}".encode(), f"Authorization: Bearer {TOKEN}".encode()
    wish = {"name": "nuts", "assessors": ["ann"], "days": 3, "pool": msgspec.to_builtins(pool)}
    forms = [b"query=1&document=http%3A%2F%2Fh%2Fa&grade=2", b"query=1&document=b&grade=0", b"n=1&lang=zh"]

    def told(data: bytes) -> bytes:
        match fuzzer.random.randrange(5):
            case 0:
                return request(b"GET", link + b"?" + quote_from_bytes(data[:QUERY_BYTES_MAX]).encode())
            case 1:
                return request(b"GET", b"/judge/" + quote_from_bytes(data[:QUERY_BYTES_MAX], "/").encode())
            case 2:
                return request(b"POST", b"/api/judging", token, body=data)
            case 3:
                name = quote_from_bytes(data[:QUERY_BYTES_MAX]).encode()
                return request(b"GET", b"/api/judging?name=" + name + b"&assessor=" + name, token)
        return request(b"POST", link, body=data)

    samples = [*forms, json.dumps(wish).encode(), f"fruit/ann/{code}".encode(), b"fruit"]
    settings = msgspec.structs.replace(UNLIMITED, judging_folder=str(tmp_path))
    await ask_all(fuzzer.inputs(samples, REQUEST_BYTES_MAX), told, caplog, settings)
    assert files.assessors("fruit") in ([], ["ann"])
    given = files.judgements("fruit", "ann")
    assert given.keys() <= {"1"}
    assert given.get("1", {}).keys() <= {"http://h/a", "b"}


@pytest.mark.inputs(1_000)
async def test_no_lie_of_a_member_and_no_form_crashes_the_gateway(
    fuzzer: Fuzzer, caplog: pytest.LogCaptureFixture
) -> None:
    """Back-links, the watch, submissions, entities, the log and comparisons, as members tell of them."""
    token = f"Authorization: Bearer {TOKEN}".encode()
    code = code_text(bytes(CODE_BYTES)).encode()
    entity = b"/api/entities/" + b"0a" * KEY_BYTES
    entities = (entity, b"/feed/" + secret_of(RowReader(bytes(KEY_BYTES), bytes(KEY_BYTES))).encode())
    pages = (b"/backlinks", b"/api/backlinks", b"/watch", b"/api/watch", b"/api/log", b"/api/submissions")
    topics = (b"/topics", b"/api/topics", b"/topic/page", b"/api/topic/page", b"/topic/none")
    paths = (*pages, b"/submit", b"/submit/" + code, b"/api/submit/" + code, b"/compare", b"/go")
    opened = (*paths, *topics, *entities, b"/api/graph/ranks", b"/report", b"/moderation", b"/judging")
    names = (
        b"url",
        b"start",
        b"after",
        b"peer",
        b"format",
        b"lang",
        b"q",
        b"rank",
        b"day",
        b"mac",
        b"credit",
    )
    values = (
        ENGLISH_URL.encode(),
        b"docs.test",
        b"ann.7,bob.9",
        b"atom",
        b"1",
        b"100",
        b"zh",
        b"",
        b"00" * 9,
    )
    forms = (b"url=http%3A%2F%2Fdocs.test%2F", b"agree=yes", b'{"url": "http://a.test/"}')
    posted = (
        b"/submit",
        b"/api/submit",
        b"/compare",
        b"/api/submissions",
        b"/report",
        b"/moderation",
        entity,
    )

    def told(data: bytes) -> bytes:
        random = fuzzer.random
        if random.random() < 0.3:
            body = data if random.random() < 0.6 else random.choice(forms)
            return request(b"POST", random.choice(posted), token, body=body)
        given = {name: random.choice(values) for name in random.sample(names, random.randrange(5))}
        if random.random() < 0.5:
            given[random.choice(names)] = data[:QUERY_BYTES_MAX]
        if random.random() < 0.7:
            given[b"url"] = ENGLISH_URL.encode()
        query = b"&".join(name + b"=" + quote_from_bytes(value).encode() for name, value in given.items())
        return request(b"GET", random.choice(opened) + b"?" + query, token)

    row = {"number": 1, "until_day": 9, "sealed": "AAAA", "signature": "A" * 86 + "=="}
    signer = Signer(SigningKey.of_secret(b"r" * 32), b"mesh")
    verdict = verdict_bytes(sign_verdict(signer, bytes(CODE_BYTES), 1_000, is_accepted=True))
    samples = [*values, *forms, *(json.dumps(each).encode() for each in (row, {"verdict": verdict.hex()}))]
    await ask_all(fuzzer.inputs(samples, REQUEST_BYTES_MAX), told, caplog, lies=fuzzer.random)


@pytest.fixture
def answerer(tmp_path: Path) -> Iterator[Answerer]:
    index = Index.open(DirectoryStorage(tmp_path))
    texts = [query.decode() for query in QUERIES]
    pages = [
        Document(
            f"http://s{n}.test/docs/index.html", title=text, text=f"{text} and more. " * 9, fetched_at=1.0
        )
        for n, text in enumerate(texts)
    ]
    index.add([(n % SLOTS, page) for n, page in enumerate(pages)])
    index.commit()
    yield Answerer(IndexReader(index), SLOTS)
    index.close()


@pytest.mark.inputs(800)
def test_no_query_crashes_a_search(fuzzer: Fuzzer, answerer: Answerer) -> None:
    """From the text to the excerpts, and each of its questions is one that other peers take."""
    slots = encode_slots(np.ones(SLOTS, np.bool_))
    is_past = False

    def ask(question: CountTerms | SearchSlots | ReadExcerpts) -> object:
        asked: Question | AskPast = question
        if is_past:
            asked = AskPast(0.0, 9.0, question)
        said = answerer.answer(AnswerQuestion(Address("ann", "searcher"), asked, slots, 0, b"")).message
        assert isinstance(said, QuestionAnswered)
        assert said.answer is not None, "a question of ours was refused"
        return said.answer

    def search(data: bytes) -> None:
        nonlocal is_past
        is_past = fuzzer.random.random() < 0.3
        text = data.decode("utf-8", "replace")
        order = fuzzer.random.choice(list(Sort))
        query = read_query(text, order).query
        if fuzzer.random.random() < 0.5:
            query = query.with_mode(Mode.OR)
        if query.is_empty:
            return
        encoded = msgspec.msgpack.encode(query)
        n_terms = len(query.terms)
        asked = SearchSlots(
            1, encoded, 5, (9, 9, 9, 9, 9), query.terms, (1,) * n_terms, 31, wants_facets=True
        )
        found = ask(asked)
        assert isinstance(found, HitsFound)
        urls = tuple(hit.url for hit in found.hits)
        read = ask(ReadExcerpts(1, encoded, urls, query.terms, (1,) * n_terms, 5, (9, 9, 9, 9, 9)))
        assert isinstance(read, ExcerptsRead)
        for excerpt in read.excerpts:
            assert all(0 <= a < b <= len(excerpt.snippet) for a, b in excerpt.highlights)

    search(QUERIES[1])
    with unharmed():
        fuzzer.check(search, QUERIES, bytes_max=QUERY_BYTES_MAX)
