"""What the gateway answers, without a server in between."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from math import inf
from pathlib import Path
from urllib.parse import quote, quote_plus
from xml.etree import ElementTree

import brotli
import msgspec
import pytest
import yaml
from msgspec.structs import replace
from protego import Protego
from starlette.applications import Starlette

from mesh.actors.actor import Message
from mesh.keys.decree import POLICY, Decree, Signer
from mesh.keys.signing_key import SigningKey
from mesh.membership.model.members import State
from mesh.membership.model.messages import AskDecrees, DecreePublished, DecreesHeld, PublishDecree
from mesh.membership.model.wire_messages import MemberRecord, Rumour
from mesh.urls import NO_URL, WITH_LOGIN
from peers.engine.queries.query import Sort
from peers.engine.queries.query_language import REMARK_CHARS_MAX
from peers.engine.queries.query_parser import QUERY_CHARS_MAX
from peers.gateway.api_routes import SEEDS_MAX
from peers.gateway.handling.backend import Answer, Busy, Refused
from peers.gateway.handling.requests import BODY_BYTES_MAX
from peers.gateway.model.messages import (
    AddSeeds,
    CheckLinks,
    CheckReadiness,
    Coverage,
    DrainOrder,
    GatherHistory,
    GatherStatus,
    Lacking,
    PageFound,
    ReadinessTold,
    SearchPages,
    SeedsAdded,
    StatusGathered,
    SuggestTexts,
)
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.routes import application
from peers.gateway.search.page_words import TELLING_MAX
from peers.gateway.site.pages import SCRIPT, STYLE_URL
from peers.policy.rules import EVERYTHING, policy_bytes
from peers.storage.archive.warc import response_record
from tests.helpers import seen
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.gateway.fake_backend import RIGHTS, TOKEN, FakeBackend
from tests.peers.gateway.fake_searcher import (
    CHINESE_URL,
    ENGLISH_URL,
    GONE_URL,
    HOSTILE_URL,
    LINKS_URL,
    PDF,
    PDF_URL,
    STATUSES,
    answer_to,
)

ZH = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}


class BusyBackend(FakeBackend):
    async def ask(
        self, order: Callable[[int], Message], answer: type[Answer], actor: str = "searcher"
    ) -> Answer:
        raise Busy("too many requests at once")


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def gateway(backend: FakeBackend) -> Starlette:
    backend.settings = GatewaySettings(names=("search.example",), admin_token=TOKEN)
    return application(backend)


async def post(gateway: Starlette, body: bytes, **headers: str) -> Reply:
    named = RIGHTS | {name.replace("_", "-"): value for name, value in headers.items()}
    return await ask(gateway, "/api/seeds", "POST", named, body)


# --- /api/search ---------------------------------------------------------------------------------


async def test_search_answers_with_exactly_these_fields(gateway: Starlette) -> None:
    reply = await ask(gateway, "/api/search?q=crawler")
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert list(reply.json) == [
        *("query", "terms", "total", "took_ms", "coverage", "hits"),
        *("is_exact", "sort", "remarks", "relaxed", "next", "is_cached", "corrected", "suggestion"),
        *("also_called", "query_class"),
    ]
    assert reply.json["query_class"] == "informational"
    assert reply.json["coverage"] == {"slots": 50_000, "answered": 50_000, "missing": 0}
    assert list(reply.json["hits"][0]) == [
        "url",
        "title",
        "snippet",
        "score",
        "host",
        "fetched_at",
        "peer",
        "date",
        "type",
        "language",
        "copies",
        "has_more_of_site",
        "near_copies",
        "is_confirmed",
        "also_at",
        "published",
        "section",
        "section_url",
        "synopsis",
        "entries",
        "definition",
    ]
    assert reply.json["hits"][0]["url"] == ENGLISH_URL
    assert reply.json["query"] == "crawler"


async def test_search_passes_its_parameters_on(gateway: Starlette, backend: FakeBackend) -> None:
    await ask(gateway, f"/api/search?q={quote(' 网络 爬虫 ')}&k=100&offset=900")
    assert backend.orders == [SearchPages(7, "网络 爬虫", 100, 900)]


@pytest.mark.parametrize(
    "parameters",
    [
        *("", "q=", "q=%20"),
        *("q=a&k=0", "q=a&k=101", "q=a&k=x", "q=a&k=-1", "q=a&k=%D9%A3", "q=a&k=" + "9" * 5_000),
        *("q=a&offset=1000", "q=a&offset=1e3"),
    ],
)
async def test_bad_parameters_are_told_what_to_do(gateway: Starlette, parameters: str) -> None:
    reply = await ask(gateway, f"/api/search?{parameters}")
    assert reply.status == 400
    assert list(reply.json) == ["error"]
    assert len(reply.json["error"]) > 20


async def test_query_of_any_length_is_handed_on_for_its_reader_to_cut(
    gateway: Starlette, backend: FakeBackend
) -> None:
    text = "a " * 2_000 + "b"
    assert (await ask(gateway, f"/api/search?q={quote(text)}")).status == 200
    assert backend.orders == [SearchPages(7, text)]


async def test_query_that_is_no_utf8_is_searched_as_it_can_be_read(gateway: Starlette) -> None:
    reply = await ask(gateway, "/api/search?q=%ff%fe")
    assert reply.status == 200
    assert reply.json["query"] == "\ufffd\ufffd"


@pytest.mark.parametrize("q", ["%C8%ED%BC%FE+a", "%E8%BD%AF%E4%BB%B6+a"])
async def test_query_in_gb18030_is_read_as_one_in_utf8(
    gateway: Starlette, backend: FakeBackend, q: str
) -> None:
    for path in ("/search", "/api/search"):
        await ask(gateway, f"{path}?sort=score&q={q}")
    assert [order.text for order in backend.orders if isinstance(order, SearchPages)] == ["软件 a"] * 2


async def test_the_sign_for_unreadable_characters_may_be_searched_for(
    gateway: Starlette, backend: FakeBackend
) -> None:
    await ask(gateway, "/api/search?q=%EF%BF%BD%E4%B8%AD")
    assert [order.text for order in backend.orders if isinstance(order, SearchPages)] == ["\ufffd中"]


async def test_when_too_many_ask_they_are_told_when_to_come_back() -> None:
    gateway = application(BusyBackend())
    for target in ("/api/search?q=a", "/search?q=a", "/page?url=http://a/", "/api/status", "/status"):
        reply = await ask(gateway, target)
        assert reply.status == 503
        assert reply.headers["retry-after"] == "1"


async def test_what_goes_wrong_inside_is_not_told() -> None:
    def fail(order: Message) -> Message:
        raise RuntimeError("secret")

    replies = []
    for target in ("/api/search?q=a", "/search?q=a"):
        with pytest.raises(RuntimeError):  # for the server to log
            replies.append(await ask(application(FakeBackend(fail)), target))
    assert all("secret" not in reply.text for reply in replies)


# --- /search -------------------------------------------------------------------------------------


async def test_results_have_title_address_snippet_and_stored_copy(gateway: Starlette) -> None:
    reply = await ask(gateway, f"/search?q={quote('爬虫')}", headers=ZH)
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert '<html lang="zh-Hans">' in reply.text
    assert "网络<mark>爬虫</mark>简介：从种子到全网" in reply.text
    assert "…网络<mark>爬虫</mark>从一组种子网址出发" in reply.text
    assert "zh.docs.test/爬虫/简介.html" in reply.text
    copy = f"/page?url={quote(CHINESE_URL, safe='')}&amp;q={quote('爬虫')}"
    assert f'href="{copy}"' in reply.text
    assert "tianmesh-0" in (await ask(gateway, copy.replace("&amp;", "&"), headers=ZH)).text
    assert "全网均已应答" in reply.text


async def test_language_follows_the_browser_unless_chosen(gateway: Starlette) -> None:
    assert '<html lang="en">' in (await ask(gateway, "/")).text
    assert '<html lang="zh-Hans">' in (await ask(gateway, "/", headers=ZH)).text
    chosen = await ask(gateway, "/search?q=many&lang=en", headers=ZH)
    assert '<html lang="en">' in chosen.text
    assert "/search?q=many&amp;page=2&amp;lang=en" in chosen.text
    assert chosen.headers["vary"] == "Accept-Language, Accept-Encoding"
    missing = await ask(gateway, "/nothing", headers={"Accept": "text/html"})
    assert missing.headers["vary"] == "Accept-Language, Accept"


async def test_page_of_results_is_asked_by_its_offset(gateway: Starlette, backend: FakeBackend) -> None:
    reply = await ask(gateway, "/search?q=many&page=5")
    assert backend.orders == [SearchPages(7, "many", 10, 40, wants_facets=True)]
    assert '<span class="number" aria-current="page">5</span>' in reply.text
    assert 'rel="prev" href="/search?q=many&amp;page=4"' in reply.text
    assert 'rel="next" href="/search?q=many&amp;page=6"' in reply.text


@pytest.mark.parametrize(("page", "offset"), [("0", 0), ("-1", 0), ("x", 0), ("", 0), ("100", 990)])
async def test_page_number_that_makes_no_sense_is_the_first(
    gateway: Starlette, backend: FakeBackend, page: str, offset: int
) -> None:
    await ask(gateway, f"/search?q=many&page={page}")
    assert backend.orders[0] == SearchPages(7, "many", 10, offset, wants_facets=True)


async def test_page_number_is_bounded(gateway: Starlette, backend: FakeBackend) -> None:
    reply = await ask(gateway, "/search?q=many&page=99999999")
    assert backend.orders == [SearchPages(7, "many", 10, 990, wants_facets=True)]
    assert 'rel="next"' not in reply.text


async def test_remarks_say_what_is_missing(gateway: Starlette) -> None:
    assert "66.6 % of the mesh answered in time" in (await ask(gateway, "/search?q=partly")).text
    assert "some of the words are enough" in (await ask(gateway, "/search?q=any+words")).text
    nothing = (await ask(gateway, "/search?q=zilch")).text
    assert "No page matches “zilch”." in nothing
    assert "larger:" not in nothing
    assert "tell no sizes or dates" in (await ask(gateway, "/search?q=zilch+larger:1G")).text
    assert "no more results" in (await ask(gateway, "/search?q=crawler&page=9")).text


async def test_of_a_long_query_its_beginning_is_shown(gateway: Starlette) -> None:
    typed = "zilch" + "搜" * 1_000
    text = (await ask(gateway, f"/search?q={quote(typed + ' site:a.test')}")).text
    shown = typed[: REMARK_CHARS_MAX - 1] + "…"
    assert f"No page matches “{shown}”." in text
    assert f"<title>{shown} · " in text
    assert f"<bdi>Search all pages for “{shown}”</bdi>" in text
    assert text.count(typed) == 1  # the field


async def test_a_page_without_results_leads_to_searches_that_may_have_some(gateway: Starlette) -> None:
    typed = 'zilch "site:no.test" Site:a.test lang:en'
    text = (await ask(gateway, f"/search?q={quote(typed)}")).text
    links = re.findall(r'<li><a href="([^"]+)"><bdi>([^<]+)</bdi>', text)
    assert links[-2:] == [
        ("/search?q=zilch+%22site%3Ano.test%22", "Search all pages for “zilch &#34;site:no.test&#34;”"),
        ("/search?q=Site%3Aa.test", "See the pages of a.test"),
    ]
    assert "Search all pages" not in (await ask(gateway, "/search?q=zilch")).text
    assert "Search all pages" not in (await ask(gateway, "/search?q=site:a.test")).text


@pytest.mark.parametrize(
    "typed", [ENGLISH_URL, f"cache:{ENGLISH_URL}", "a cache:docs.test/guide/crawling.html"]
)
async def test_a_query_for_a_stored_page_leads_to_its_copy(
    gateway: Starlette, backend: FakeBackend, typed: str
) -> None:
    for language, told in (
        ("en", "The mesh has a copy of %s:"),
        ("zh", "网格中有 %s 的快照："),
    ):
        reply = await ask(gateway, f"/search?q={quote(typed)}&lang={language}")
        href = f"/page?url={quote(ENGLISH_URL, safe='')}&amp;lang={language}"
        assert f'{told % ENGLISH_URL} <a href="{href}">' in reply.text
        assert (await ask(gateway, href.replace("&amp;", "&"))).status == 200
    assert [order.text for order in backend.orders if isinstance(order, SearchPages)] == [typed] * 2
    [remark] = (await ask(gateway, f"/api/search?q={quote(typed)}")).json["remarks"]
    assert (remark["kind"], remark["about"]) == ("stored_copy", ENGLISH_URL)


@pytest.mark.parametrize("typed", ["http://no.test/", "cache:no.test", 'x cache:"no.test"'])
async def test_a_query_for_a_page_that_is_not_stored_says_so(gateway: Starlette, typed: str) -> None:
    reply = await ask(gateway, f"/api/search?q={quote(typed)}")
    assert [remark["kind"] for remark in reply.json["remarks"]] == ["no_copy"]


async def test_related_pages_are_those_with_the_words_of_the_stored_one(
    gateway: Starlette, backend: FakeBackend
) -> None:
    typed = f"tutorial related:{CHINESE_URL.removeprefix('http://')}"
    page = await ask(gateway, f"/search?q={quote(typed)}")
    answer = await ask(gateway, f"/api/search?q={quote(typed)}")
    keywords = (await ask(gateway, f"/api/keywords?url={quote(CHINESE_URL)}")).json["keywords"]
    orders = [order for order in backend.orders if isinstance(order, SearchPages)]
    words = [word for word, _ in orders[0].page_words]
    assert words[: len(keywords)] == keywords
    assert len(words) > TELLING_MAX
    assert [weight for _, weight in orders[0].page_words] == sorted(dict(orders[0].page_words).values())[::-1]
    wanted = f"tutorial ({' OR '.join(words[:TELLING_MAX])})"
    assert [(order.text, order.page_words) for order in orders] == [(wanted, orders[0].page_words)] * 2
    assert f"Shown are pages with the words of {CHINESE_URL} that tell most." in page.text
    assert [remark["kind"] for remark in answer.json["remarks"]] == ["words_of_page"]
    assert answer.json["query"] == typed


@pytest.mark.parametrize("url", ["no.test/", HOSTILE_URL])
async def test_pages_like_one_that_cannot_be_read_are_left_to_the_reader_of_the_query(
    gateway: Starlette, backend: FakeBackend, url: str
) -> None:
    await ask(gateway, f"/api/search?q={quote('related:' + url)}")
    assert [o.text for o in backend.orders if isinstance(o, SearchPages)] == [f"related:{url}"]


async def test_no_page_is_looked_up_for_other_queries(gateway: Starlette, backend: FakeBackend) -> None:
    for typed in (
        "crawler",
        "a: b",
        "site:a.test x",
        "std::vector",
        '"cache:a.test b"',
        "cache:",
        "related:",
    ):
        await ask(gateway, f"/api/search?q={quote(typed)}")
    assert all(isinstance(order, SearchPages) for order in backend.orders)


async def test_search_for_nothing_is_the_start_page(gateway: Starlette, backend: FakeBackend) -> None:
    assert "A search engine made of ordinary machines" in (await ask(gateway, "/search")).text
    assert backend.orders == []


async def test_query_that_is_too_long_is_answered_all_the_same(gateway: Starlette) -> None:
    reply = await ask(gateway, "/search?q=" + "a" * (QUERY_CHARS_MAX + 1))
    assert reply.status == 200


async def test_how_results_are_wanted_is_passed_on_and_kept_in_links(
    gateway: Starlette, backend: FakeBackend
) -> None:
    reply = await ask(gateway, "/search?q=everything&sort=date&explain=1&page=7&cursor=abc")
    everything = SearchPages(7, "everything", 10, 0, Sort.DATE, "abc", True, True)
    assert backend.orders == [everything]
    kept = "sort=date&amp;explain=1"
    assert f'rel="next" href="/search?q=everything&amp;page=8&amp;{kept}&amp;cursor=the-next"' in reply.text
    assert f'href="/search?q=everything+site%3Ah1.test&amp;{kept}"' in reply.text
    assert f'href="/search?q=everything+lang%3Azh&amp;{kept}"' in reply.text
    assert f'href="/search?q=everything+after%3A2024+before%3A2025&amp;{kept}"' in reply.text
    assert '<input type="hidden" name="sort" value="date">' in reply.text
    backend.orders.clear()
    await ask(gateway, "/api/search?q=everything&k=10&sort=date&facets=1&explain=1&cursor=abc")
    assert backend.orders == [everything]


async def test_a_posted_search_is_the_same_as_one_by_parameters(
    gateway: Starlette, backend: FakeBackend
) -> None:
    posted = await ask(
        gateway, "/api/search", "POST", body=b'{"q": " \xe7\xbd\x91 ", "k": 3, "facets": true}'
    )
    assert posted.status == 200
    asked = await ask(gateway, f"/api/search?q={quote('网')}&k=3&facets=1")
    assert backend.orders[0] == backend.orders[1]
    assert posted.json == asked.json


@pytest.mark.parametrize(
    "body", [b"", b"q=a", b"[]", b'{"k": 1}', b'{"q": "a", "k": 0}', b'{"q": "a", "x": 1}', b"[" * 50_000]
)
async def test_a_posted_search_that_is_not_understood_is_told_how_to_ask(
    gateway: Starlette, body: bytes
) -> None:
    reply = await ask(gateway, "/api/search", "POST", body=body)
    assert (reply.status, 'post {"q": "the words"}' in reply.json["error"]) == (400, True)


async def test_a_posted_search_has_a_largest_size(gateway: Starlette) -> None:
    assert (await ask(gateway, "/api/search", "POST", body=b" " * 100_000)).status == 413


ORIGIN = "https://in.test"
ASKS_FIRST = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}


async def test_no_other_site_may_read_unless_the_settings_name_it(
    gateway: Starlette, backend: FakeBackend
) -> None:
    assert (
        "access-control-allow-origin"
        not in (await ask(gateway, "/api/search?q=a", headers={"Origin": ORIGIN})).headers
    )
    backend.settings = GatewaySettings(origins=("https://other.test",))
    reply = await ask(gateway, "/api/search?q=a", headers={"Origin": ORIGIN})
    assert "access-control-allow-origin" not in reply.headers
    assert "Origin" in reply.headers["vary"]
    assert (await ask(gateway, "/api/search", "OPTIONS", ASKS_FIRST)).status == 400


@pytest.mark.parametrize("origins", [(ORIGIN,), ("*",)])
async def test_a_site_of_the_settings_may_read_answers_and_refusals(
    gateway: Starlette, backend: FakeBackend, origins: tuple[str, ...]
) -> None:
    backend.settings = GatewaySettings(origins=origins)
    for target in (
        "/api/search?q=a",
        "/api/search",
        "/api/page?url=x",
        "/api/graph/hubs",
        "/api/graph/ranks",
    ):
        reply = await ask(gateway, target, headers={"Origin": ORIGIN})
        assert reply.headers["access-control-allow-origin"] == ORIGIN
        assert "access-control-allow-credentials" not in reply.headers
    first = await ask(gateway, "/api/search", "OPTIONS", ASKS_FIRST)
    assert first.status == 200
    assert first.headers["access-control-allow-origin"] == ORIGIN
    allowed = first.headers["access-control-allow-headers"].lower()
    assert "content-type" in allowed
    assert "authorization" not in allowed


async def test_no_order_and_no_status_is_shared_with_other_sites(
    gateway: Starlette, backend: FakeBackend
) -> None:
    backend.settings = GatewaySettings(origins=("*",), admin_token=TOKEN)
    for target in ("/api/seeds", "/api/why", "/api/status", "/metrics", "/page?url=http://a/"):
        for headers in ({"Origin": ORIGIN}, ASKS_FIRST):
            method = "OPTIONS" if headers is ASKS_FIRST else "GET"
            reply = await ask(gateway, target, method, headers)
            assert "access-control-allow-origin" not in reply.headers


async def test_all_that_is_told_of_results_is_on_the_page(gateway: Starlette) -> None:
    text = (await ask(gateway, "/search?q=everything")).text
    assert "at least 1,234 pages" in text
    assert "some of the words are enough, all are on 3" in text
    assert "On no page: xyzzy. The search went on without." in text
    assert "“after:never” is no date" in text
    assert "<span>1 May 2024</span><span>PDF</span><span>中文</span>" in text
    assert ">fetched 15 Jun 2025</span>" in text
    assert '<article lang="zh">' in text
    assert "2.500000 score = bm25f &lt;b&gt;" in text


async def test_json_tells_what_the_page_does(gateway: Starlette) -> None:
    answer = (await ask(gateway, "/search?q=everything&format=json&facets=1")).json
    assert answer == (await ask(gateway, "/api/search?q=everything&facets=1")).json
    assert not answer["is_exact"]
    assert answer["next"] == "the-next"
    assert answer["relaxed"] == {"nowhere": ["xyzzy"], "is_any": True, "with_all": 3}
    assert answer["remarks"] == [
        {
            "kind": "no_date",
            "about": "after:never",
            "text": "“after:never” is no date (like 2024, 2024-05 or 2024-05-01) and was searched as text.",
        }
    ]
    assert answer["facets"]["hosts"] == [{"value": "h1.test", "count": 9}, {"value": "h2.test", "count": 1}]
    assert answer["facets"]["years"] == [{"value": "2024", "count": 4}, {"value": "2023", "count": 1}]
    [hit] = answer["hits"]
    assert (hit["date"], hit["type"], hit["language"]) == (1_714_521_600.0, "application/pdf", "zh")
    assert hit["explanation"]["parts"][0]["name"] == "stem run"


async def test_order_that_there_is_not_is_the_usual_one_for_people_and_refused_for_programs(
    gateway: Starlette, backend: FakeBackend
) -> None:
    assert (await ask(gateway, "/search?q=a&sort=colour")).status == 200
    assert backend.orders[0] == SearchPages(7, "a", 10, 0, wants_facets=True)
    reply = await ask(gateway, "/api/search?q=a&sort=colour")
    assert reply.status == 400
    assert "score, date" in reply.json["error"]


async def test_pages_have_one_script_that_their_policy_names_and_load_nothing_from_elsewhere(
    gateway: Starlette,
) -> None:
    for target in ("/", "/search?q=many", "/search?q=zilch"):
        reply = await ask(gateway, target)
        [script] = re.findall("<script>(.*?)</script>", reply.text, re.DOTALL)
        digest = b64encode(sha256(script.encode()).digest()).decode()
        policy = reply.headers["content-security-policy"]
        assert f"default-src 'none'; style-src 'self'; script-src 'sha256-{digest}';" in policy
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["x-content-type-options"] == "nosniff"


async def test_browser_can_take_the_gateway_as_its_search_engine(gateway: Starlette) -> None:
    assert 'rel="search"' in (await ask(gateway, "/")).text
    reply = await ask(gateway, "/opensearch.xml", headers={"Host": "127.0.0.1:8017"})
    assert reply.headers["content-type"].startswith("application/opensearchdescription+xml")
    templates = {
        each.get("type"): each.get("template", "")
        for each in ElementTree.fromstring(reply.text).iter()
        if each.get("template")
    }
    assert templates["text/html"] == "http://127.0.0.1:8017/search?q={searchTerms}"
    assert set(templates) == {
        "text/html",
        "application/rss+xml",
        "application/atom+xml",
        "application/json",
        "application/x-suggestions+json",
    }
    for media_type, template in templates.items():  # optional parameters may be left empty (OpenSearch 1.1)
        target = re.sub(r"\{\w+\?\}", "", template.replace("{searchTerms}", "everything"))
        found = await ask(gateway, target.removeprefix("http://127.0.0.1:8017"))
        assert (found.status, found.headers["content-type"].partition(";")[0]) == (200, media_type)
    assert (await ask(gateway, "/favicon.ico")).headers["content-type"].startswith("image/svg+xml")


async def test_related_searches_are_links_below_the_first_results(
    gateway: Starlette, backend: FakeBackend
) -> None:
    page = (await ask(gateway, "/search?q=crawler&lang=zh")).text
    assert SuggestTexts(7, "crawler", is_whole=True) in backend.orders
    assert (
        '<a href="/search?q=crawler+%3Cb%3Etraps&amp;lang=zh"><bdi>crawler &lt;b&gt;traps</bdi></a>' in page
    )
    assert "相关搜索" in page
    backend.orders.clear()
    for without in ("/search?q=crawler&page=2", "/search?q=crawler&format=rss", "/api/search?q=crawler"):
        assert "traps" not in (await ask(gateway, without)).text
    assert not any(isinstance(order, SuggestTexts) for order in backend.orders)
    found = await ask(gateway, "/api/search?q=crawler&related=1")
    assert found.json["related"] == ["crawler <b>traps", "crawler & robots"]


async def test_results_are_shown_where_related_searches_are_refused() -> None:
    def refuse(order: Message) -> Message:
        if isinstance(order, SuggestTexts):
            raise Busy("too many")
        return answer_to(order)

    gateway = application(FakeBackend(refuse))
    assert "crawling.html" in (await ask(gateway, "/search?q=crawler")).text
    assert (await ask(gateway, "/api/search?q=crawler&related=1")).json["related"] == []


async def test_suggestions_have_the_form_that_browsers_know(gateway: Starlette, backend: FakeBackend) -> None:
    reply = await ask(gateway, "/api/suggest?q=crawl")
    assert reply.json == ["crawl", ["crawling", "爬虫"]]
    assert reply.headers["content-type"] == "application/x-suggestions+json"
    assert (await ask(gateway, "/api/suggest?q=pg+")).json == ["pg ", ["pg ing", "爬虫"]]
    assert backend.orders == [SuggestTexts(7, "crawl"), SuggestTexts(7, "pg ")]
    for nothing in ("", "?q=", "?q=" + "x" * 65):
        assert (await ask(gateway, "/api/suggest" + nothing)).json[1] == []
    assert len(backend.orders) == 2


async def test_search_can_be_followed_as_a_feed_of_its_newest_pages(
    gateway: Starlette, backend: FakeBackend
) -> None:
    reply = await ask(gateway, "/search?q=everything&format=rss&lang=en", headers={"Host": "localhost:8017"})
    assert backend.orders == [SearchPages(7, "everything", 10, 0, Sort.DATE)]
    assert reply.headers["content-type"].startswith("application/rss+xml")
    channel = ElementTree.fromstring(reply.text)[0]
    assert channel.findtext("link", "").startswith("http://localhost:8017/search?q=everything&sort=date")
    assert channel.findtext("item/link") == ENGLISH_URL
    assert channel.findtext("item/pubDate") == "Wed, 01 May 2024 00:00:00 GMT"
    hostile = ElementTree.fromstring((await ask(gateway, "/search?q=hostile&format=rss")).text)[0]
    assert hostile.findtext("item/title") == "</a><script>alert('title')</script>"
    assert hostile.findtext("item/pubDate") is None


ATOM = "{http://www.w3.org/2005/Atom}"


async def test_rfc4287_4_1_a_feed_of_atom_has_all_that_there_has_to_be(
    gateway: Starlette, backend: FakeBackend
) -> None:
    reply = await ask(gateway, "/search?q=everything&format=atom&lang=en", headers={"Host": "localhost:8017"})
    assert backend.orders == [SearchPages(7, "everything", 10, 0, Sort.DATE)]
    assert reply.headers["content-type"].startswith("application/atom+xml")
    feed = ElementTree.fromstring(reply.text)
    assert feed.findtext(f"{ATOM}id", "").startswith("http://localhost:8017/search?q=everything")
    assert feed.findtext(f"{ATOM}author/{ATOM}name")
    entries = feed.findall(f"{ATOM}entry")
    by_id = {entry.findtext(f"{ATOM}id"): entry for entry in entries}
    assert by_id[ENGLISH_URL].findtext(f"{ATOM}updated") == "2024-05-01T00:00:00Z"
    assert feed.findtext(f"{ATOM}updated") == max(entry.findtext(f"{ATOM}updated", "") for entry in entries)
    link = by_id[ENGLISH_URL].find(f"{ATOM}link")
    assert link is not None
    assert link.get("href") == ENGLISH_URL
    hostile = ElementTree.fromstring((await ask(gateway, "/search?q=hostile&format=atom")).text)
    assert hostile.findtext(f"{ATOM}entry/{ATOM}title") == "</a><script>alert('title')</script>"


async def test_the_lines_for_searxng_find_our_hits_where_they_say(
    gateway: Starlette, backend: FakeBackend
) -> None:
    """As its json_engine reads them: {pageno} is (page - 1) * page_size + first_page_num."""
    docs = (Path(__file__).parents[3] / "docs" / "api.md").read_text(encoding="utf-8")
    [engine] = yaml.safe_load(docs.partition("```yaml\n")[2].partition("```")[0])
    assert engine["engine"] == "json_engine"
    assert engine["enable_http"], "SearXNG asks no http:// without"
    place = engine["first_page_num"] + 2 * engine["page_size"]
    target = engine["search_url"].format(query="everything", pageno=place)
    found = (await ask(gateway, target.removeprefix("http://127.0.0.1:8017"))).json
    assert backend.orders == [SearchPages(7, "everything", engine["page_size"], 20)]
    hit = found[engine["results_query"]][0]
    assert hit[engine["url_query"]] == ENGLISH_URL
    assert hit[engine["title_query"]]
    assert hit[engine["content_query"]]


async def test_help_has_examples_that_are_searches(gateway: Starlette) -> None:
    for headers, example in (({}, "host -proxy"), (ZH, "主机 -代理")):
        text = (await ask(gateway, "/help", headers=headers)).text
        assert f'<a href="/search?q={quote_plus(example)}">{example}</a>' in text


async def test_search_that_found_no_room_can_be_tried_again(backend: FakeBackend) -> None:
    async def busy(*_: object) -> Answer:
        raise Busy("too many")

    backend.ask = busy  # type: ignore[method-assign, assignment]  # as a backend that is full
    reply = await ask(application(backend), "/search?q=a+b&sort=date&page=3")
    assert reply.status == 503
    assert 'href="/search?q=a+b&amp;page=3&amp;sort=date"' in reply.text


async def test_style_is_kept_under_an_address_of_its_own(gateway: Starlette) -> None:
    reply = await ask(gateway, STYLE_URL)
    assert reply.headers["content-type"].startswith("text/css")
    assert "immutable" in reply.headers["cache-control"]


# --- Hostile text --------------------------------------------------------------------------------

ICON = '<img src="/icon?url='
ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus=alert(1) x='",
    "</title><script>alert(1)</script>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}",
    "\u202egnp.exe",
]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("path", ["/search?q=", "/search?lang=", "/search?q=many&lang=", "/page?url="])
async def test_nothing_of_a_request_becomes_markup(gateway: Starlette, path: str, attack: str) -> None:
    reply = await ask(gateway, path + quote(attack, safe=""))
    assert "<script" not in _without_keys(reply.text)
    assert "<img" not in reply.text.replace(ICON, "")
    assert ' onfocus=alert(1) x="' not in reply.text
    assert "' autofocus" not in reply.text
    assert ">49<" not in reply.text
    assert 'href="javascript' not in reply.text


async def test_nothing_of_a_page_becomes_markup(gateway: Starlette) -> None:
    text = _without_keys((await ask(gateway, "/search?q=hostile")).text)
    assert "<script" not in text
    assert "<img" not in text.replace(ICON, "")
    assert "<mark>&lt;img</mark> src=x onerror" in text
    assert "&lt;/a&gt;&lt;script&gt;" in text


async def test_error_pages_do_not_repeat_the_address(gateway: Starlette) -> None:
    reply = await ask(gateway, "/%3Cscript%3E", headers={"Accept": "text/html"})
    assert reply.status == 404
    assert "<script" not in _without_keys(reply.text)
    assert "%3Cscript" not in reply.text


def _without_keys(text: str) -> str:
    """The page without the one script that is ours."""
    return text.replace(f"<script>{SCRIPT.text}</script>", "", 1)


# --- /page ---------------------------------------------------------------------------------------


async def test_stored_copy_is_shown_in_a_frame_without_powers(gateway: Starlette) -> None:
    reply = await ask(gateway, f"/page?url={quote(CHINESE_URL, safe='')}", headers=ZH)
    assert reply.status == 200
    assert "网络爬虫从一组种子网址出发" in reply.text  # decoded from GBK
    assert "<script" not in reply.text  # all of it is inside an attribute
    assert 'sandbox="allow-popups allow-popups-to-escape-sandbox"' in reply.text
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("sandbox ")
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy


async def test_stored_copy_leads_to_pages_with_its_keywords(gateway: Starlette) -> None:
    reply = await ask(gateway, f"/page?url={quote(CHINESE_URL, safe='')}&lang=en")
    [link] = re.findall('href="(/search[^"]*)" title="[^"]*爬虫', reply.text)
    assert (await ask(gateway, link.replace("&amp;", "&"))).status == 200


async def test_links_of_a_stored_copy_to_stored_pages_are_marked_when_that_is_asked_for() -> None:
    backend = FakeBackend()
    gateway = application(backend)
    reply = await ask(gateway, f"/page?url={quote(LINKS_URL, safe='')}&lang=en&q=fetch")
    assert "<style" not in html.unescape(reply.text).partition("srcdoc")[2]
    [link] = re.findall('href="([^"]*)">Mark links to stored pages', reply.text)
    assert not [order for order in backend.orders if isinstance(order, CheckLinks)]
    reply = await ask(gateway, html.unescape(link))
    framed = html.unescape(reply.text.partition("srcdoc")[2])
    style = r'<style>a[href="crawling\2e html\23 fetch"],a[href="\2f gone\2e html"]{outline:'
    assert style in framed
    assert "(2)" in reply.text
    assert "Mark links" not in reply.text
    assert (
        CheckLinks(7, LINKS_URL, (ENGLISH_URL, "http://docs.test/guide/unknown", GONE_URL)) in backend.orders
    )
    # Of other kinds there are no links to be marked.
    assert "Mark links" not in (await ask(gateway, f"/page?url={quote(PDF_URL, safe='')}&links=")).text


async def test_stored_copy_of_a_page_that_is_gone_says_so(gateway: Starlette) -> None:
    reply = await ask(gateway, f"/page?url={quote(GONE_URL, safe='')}")
    assert "On 3 Jan 1970 the page was not there any more" in reply.text
    assert "what was there" in reply.text
    reply = await ask(gateway, f"/page?url={quote(CHINESE_URL, safe='')}")
    assert "not there any more" not in reply.text


async def test_stored_copy_that_is_no_text_is_not_shown(gateway: Starlette) -> None:
    reply = await ask(gateway, f"/page?url={quote(ENGLISH_URL, safe='')}")
    assert "not text (image/png)" in reply.text
    assert "<iframe" not in reply.text


async def test_stored_document_is_shown_as_text_with_a_link_to_the_file(gateway: Starlette) -> None:
    reply = await ask(gateway, f"/page?url={quote(PDF_URL, safe='')}&lang=en")
    assert "its &amp;lt;b&amp;gt;text" in reply.text  # inside of an attribute
    assert "what its layout and pictures say is in the file (PDF)" in reply.text
    [link] = re.findall('href="(/page[^"]*format=file[^"]*)"', reply.text)
    reply = await ask(gateway, link.replace("&amp;", "&"))
    assert reply.body == PDF
    assert reply.headers["content-type"] == "application/pdf"
    assert reply.headers["content-disposition"] == (
        "attachment; filename=\"_ _.pdf\"; filename*=UTF-8''%E5%A4%A9%20%22.pdf"
    )
    assert reply.headers["content-security-policy"].startswith("sandbox;")
    assert reply.headers["x-content-type-options"] == "nosniff"


async def test_no_stored_file_is_shown_by_a_browser_but_plain_text(gateway: Starlette) -> None:
    for url in (CHINESE_URL, ENGLISH_URL):
        reply = await ask(gateway, f"/page?url={quote(url, safe='')}&format=file")
        assert reply.headers["content-type"] == "application/octet-stream"
        assert reply.headers["content-disposition"].startswith("attachment;")


async def test_stored_copy_that_is_damaged_is_said_to_be(gateway: Starlette) -> None:
    reply = await ask(gateway, f"/page?url={quote(HOSTILE_URL, safe='')}")
    assert reply.status == 502
    assert "damaged" in reply.text


async def test_stored_copy_that_its_site_wants_nobody_to_see_is_not_shown() -> None:
    head = b"HTTP/1.1 200 OK\r\nX-Robots-Tag: noarchive\r\n\r\n"
    records = response_record(ENGLISH_URL, head, b"<p>secret", seen(7.0))
    gateway = application(FakeBackend(lambda order: PageFound(7, ENGLISH_URL, 7.0, records)))
    reply = await ask(gateway, f"/page?url={quote(ENGLISH_URL, safe='')}")
    assert reply.status == 403
    assert "asks that no copy" in reply.text
    assert "secret" not in reply.text


async def test_page_that_is_not_stored_is_not_found(gateway: Starlette) -> None:
    assert (await ask(gateway, "/page?url=http://unknown.test/")).status == 404


@pytest.mark.parametrize("url", ["", "javascript:alert(1)", "file:///etc/passwd", "http://" + "a" * 9_000])
async def test_stored_copy_of_what_is_no_url_is_refused(gateway: Starlette, url: str) -> None:
    assert (await ask(gateway, f"/page?url={quote(url, safe='')}")).status == 400


# --- /api/seeds ----------------------------------------------------------------------------------


async def test_seeds_are_brought_into_their_canonical_form(gateway: Starlette, backend: FakeBackend) -> None:
    body = json.dumps(
        {"urls": ["HTTP://Docs.Test:80/a/../b#c", "http://docs.test/b", "ftp://x/", "nonsense"]}
    )
    reply = await post(gateway, body.encode(), content_type="application/json")
    assert backend.orders == [AddSeeds(7, ("http://docs.test/b",))]
    assert reply.json == {
        "accepted": 1,
        "invalid": [{"url": each, "reason": NO_URL} for each in ("ftp://x/", "nonsense")],
    }


async def test_a_seed_with_a_login_is_refused_and_its_password_not_repeated(
    gateway: Starlette, backend: FakeBackend
) -> None:
    """It was taken without the login, and nobody told that what needs it would never be found."""
    urls = ["ftp://me:secret@a.test/pub/", "http://docs.test/b", "https://me@a.test/"]
    reply = await post(gateway, json.dumps({"urls": urls}).encode(), content_type="application/json")
    assert backend.orders == [AddSeeds(7, ("http://docs.test/b",))]
    told = [{"url": url, "reason": WITH_LOGIN} for url in ("ftp://a.test/pub/", "https://a.test/")]
    assert reply.json == {"accepted": 1, "invalid": told}
    alone = await post(gateway, json.dumps({"urls": urls[:1]}).encode(), content_type="application/json")
    assert alone.status == 400
    assert "no login" in alone.json["error"]


def policy_that_allows(*private: str) -> DecreesHeld:
    body = policy_bytes(replace(EVERYTHING, allow_private=private))
    return DecreesHeld(7, POLICY, "", (Decree(POLICY, "", 1, 0.0, inf, body, b"", b""),), (), 2)


@pytest.mark.parametrize("held", [DecreesHeld(7, POLICY, "", (), (), 1), policy_that_allows("10.0.0.0/8")])
async def test_seeds_at_private_addresses_are_refused_at_once_unless_the_policy_allows_them(
    held: DecreesHeld,
) -> None:
    backend = FakeBackend(lambda order: held if isinstance(order, AskDecrees) else answer_to(order))
    backend.private = {"intra.test": "intra.test leads to 10.1.1.1, which is not public: do this"}
    reply = await post(application(backend), b"http://intra.test/\nhttp://a.test/\n")
    seeded = [order.urls for order in backend.orders if isinstance(order, AddSeeds)]
    if held.decrees:
        assert backend.looked_at[-1][1] == ("10.0.0.0/8",)
        assert (seeded, reply.json) == (
            [("http://intra.test/", "http://a.test/")],
            {"accepted": 2, "invalid": []},
        )
    else:
        assert seeded == [("http://a.test/",)]
        assert reply.json == {"accepted": 1, "invalid": [], "private": list(backend.private.values())}
    alone = await post(application(backend), b"http://intra.test/\n")
    assert alone.json["accepted"] == len(held.decrees)


async def test_seeds_may_be_lines(gateway: Starlette, backend: FakeBackend) -> None:
    reply = await post(gateway, "# 种子\n\nhttp://a.test/\r\nhttp://中文.test/\n".encode())
    assert reply.json == {"accepted": 2, "invalid": []}
    assert backend.orders == [AddSeeds(7, ("http://a.test/", "http://xn--fiq228c.test/"))]


@pytest.mark.parametrize(
    "body",
    [b"", b"\n\n", b"{", b'{"urls": 1}', b'{"urls": []}', b"\xff", b"nonsense", b"x\n" * (SEEDS_MAX + 1)],
)
async def test_seeds_that_are_none_are_told_what_to_do(gateway: Starlette, body: bytes) -> None:
    reply = await post(gateway, body)
    assert reply.status == 400
    assert reply.json["error"]


async def test_deeply_nested_json_is_refused(gateway: Starlette) -> None:
    assert (await post(gateway, b'{"urls": ' + b"[" * 100_000)).status == 400


async def test_body_of_seeds_is_bounded(gateway: Starlette, backend: FakeBackend) -> None:
    assert (await post(gateway, b"x" * (BODY_BYTES_MAX + 1))).status == 413
    assert (await post(gateway, b"", content_length=str(BODY_BYTES_MAX + 1))).status == 413
    assert (await post(gateway, b"", content_length="9" * 5_000)).status == 413
    assert backend.orders == []


async def test_pages_that_have_changed_are_brought_like_seeds(
    gateway: Starlette, backend: FakeBackend
) -> None:
    body = json.dumps({"urls": ["http://A.test/1", "http://b.test/"]}).encode()
    reply = await ask(gateway, "/api/changed", "POST", RIGHTS, body)
    assert reply.json == {"accepted": 2, "invalid": []}
    assert backend.orders == [AddSeeds(7, ("http://a.test/1", "http://b.test/"), are_changed=True)]
    assert (await ask(gateway, "/api/changed", "POST", {}, body)).status == 403


async def test_of_one_host_so_many_pages_can_have_changed() -> None:
    backend = FakeBackend(settings=GatewaySettings(takes_seeds=True))
    body = b"http://a.test/1\nhttp://a.test:81/2\nhttp://b.test/\n"
    assert (await ask(application(backend), "/api/changed", "POST", {}, body)).status == 200
    assert backend.changes_taken == [{"a.test": 2, "b.test": 1}]
    assert [count for _, count in backend.seeds_taken] == [3]
    backend.changes_wait_s = 12.3
    reply = await ask(application(backend), "/api/changed", "POST", {}, body)
    assert (reply.status, reply.headers["retry-after"]) == (429, "13")
    assert "of one host" in reply.json["error"]
    assert len(backend.orders) == 1


async def test_seeds_that_were_not_taken_in_time_are_not_claimed() -> None:
    gateway = application(FakeBackend(lambda order: SeedsAdded(7, 1)))
    reply = await post(gateway, b"http://a.test/\nhttp://b.test/")
    assert reply.status == 503
    assert reply.json["accepted"] == 1
    assert "post the same again" in reply.json["error"]


@pytest.mark.parametrize(
    ("headers", "is_taken"),
    [
        ({}, True),
        ({"Host": "127.0.0.1:8080", "Origin": "http://127.0.0.1:8080"}, True),
        ({"Host": "[::1]:8080", "Origin": "http://[::1]:8080"}, True),
        ({"Host": "localhost:8080", "Origin": "http://localhost:8080"}, True),
        ({"Host": "search.example", "Origin": "https://search.example"}, True),
        ({"Host": "127.0.0.1:8080", "Origin": "http://evil.test"}, False),
        ({"Host": "127.0.0.1:8080", "Origin": "http://127.0.0.1:9090"}, False),
        ({"Host": "127.0.0.1:8080", "Origin": "null"}, False),
        ({"Host": "127.0.0.1", "Origin": "file://127.0.0.1"}, False),
        ({"Host": "127.0.0.1", "Sec-Fetch-Site": "cross-site"}, False),
        ({"Host": "127.0.0.1", "Sec-Fetch-Site": "same-site"}, False),
    ],
)
async def test_only_programs_and_its_own_pages_may_post(
    gateway: Starlette, backend: FakeBackend, headers: dict[str, str], is_taken: bool
) -> None:
    reply = await ask(gateway, "/api/seeds", "POST", RIGHTS | headers, b"http://a.test/")
    assert reply.status == (200 if is_taken else 403)
    assert bool(backend.orders) == is_taken


async def test_seeds_cannot_be_added_by_a_link(gateway: Starlette) -> None:
    reply = await ask(gateway, "/api/seeds?urls=http://a.test/")
    assert reply.status == 405
    assert reply.headers["allow"] == "POST"


# --- /api/drain ----------------------------------------------------------------------------------


async def drain(gateway: Starlette, body: bytes = b'{"peer": "bobb"}', **headers: str) -> Reply:
    named = RIGHTS | {name.replace("_", "-"): value for name, value in headers.items()}
    return await ask(gateway, "/api/drain", "POST", named, body)


async def test_who_bears_the_token_may_drain(gateway: Starlette, backend: FakeBackend) -> None:
    reply = await drain(gateway)
    assert backend.orders == [DrainOrder(7, "bobb", True)]
    assert reply.json == {
        "peer": "bobb-whole",
        "is_draining": True,
        "is_written_off": False,
        "to_decree": None,
    }
    await drain(gateway, b'{"peer": "bobb", "is_draining": false}')
    assert backend.orders[-1] == DrainOrder(7, "bobb", False)


ADMINISTRATION = [("/api/drain", "POST"), ("/api/import", "POST"), ("/api/decrees", "POST")]
ADMINISTRATION += [("/api/decrees", "GET"), ("/metrics", "GET"), ("/api/seeds", "POST")]
ADMINISTRATION += [("/api/why?url=http://a.test/", "GET"), ("/api/why/idle", "GET")]


@pytest.mark.parametrize("client", ["127.0.0.1", "::1", "192.0.2.7", "2001:db8::1", "unix", ""])
@pytest.mark.parametrize(("target", "method"), ADMINISTRATION)
async def test_administration_takes_the_token_from_everywhere(
    gateway: Starlette, backend: FakeBackend, client: str, target: str, method: str
) -> None:
    """Also on this machine: what a proxy that adds no header passes on comes from loopback."""
    reply = await ask(gateway, target, method, {}, b"http://a.test/" * (method == "POST"), client=client)
    assert reply.status == 403
    assert "admin.token" in reply.json["error"]
    assert backend.orders == []


async def test_without_a_token_in_its_settings_a_gateway_takes_orders_from_nobody() -> None:
    backend = FakeBackend(settings=GatewaySettings())
    for given in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer"}):
        assert (await ask(application(backend), "/api/drain", "POST", given, b'{"peer": "b"}')).status == 403


async def test_seeds_are_taken_from_anybody_where_submission_is_open() -> None:
    backend = FakeBackend(settings=GatewaySettings(takes_seeds=True))
    reply = await ask(application(backend), "/api/seeds", "POST", {}, b"http://a.test/", client="192.0.2.7")
    assert reply.status == 200
    assert backend.seeds_taken == [("192.0.2.7", 1)]


async def test_who_has_given_enough_seeds_is_told_when_to_come_back() -> None:
    backend = FakeBackend(settings=GatewaySettings(takes_seeds=True))
    backend.seeds_wait_s = 12.3
    reply = await ask(application(backend), "/api/seeds", "POST", {}, b"http://a.test/")
    assert (reply.status, reply.headers["retry-after"]) == (429, "13")
    assert backend.orders == []


@pytest.mark.parametrize(
    "target", ["/", "/search?q=a", "/api/search?q=a", "/api/status", "/status", "/readyz"]
)
@pytest.mark.parametrize(
    "host", ["evil.test:8080", "127.0.0.1.evil.test", "localhost.evil.test", "[::1].x", ""]
)
async def test_requests_for_names_of_others_are_not_answered(
    gateway: Starlette, backend: FakeBackend, target: str, host: str
) -> None:
    """A page may let its own name point to this machine (DNS rebinding), and read what is answered."""
    reply = await ask(gateway, target, headers=RIGHTS | {"Host": host})
    assert reply.status == 421
    assert "gateway.names" in reply.json["error"]
    assert backend.orders == []


async def test_crawlers_are_asked_to_leave_what_is_made_for_each_who_asks(gateway: Starlette) -> None:
    rules = Protego.parse((await ask(gateway, "/robots.txt")).text)
    assert rules.can_fetch("http://localhost/", "anybody")
    for path in ("search?q=a", "page?url=http://a/", "status", "api/search?q=a", "metrics"):
        assert not rules.can_fetch(f"http://localhost/{path}", "anybody")


async def test_anybody_sees_how_the_mesh_is_but_no_addresses_and_no_hosts(gateway: Starlette) -> None:
    seen = (await ask(gateway, "/api/status")).json
    full = (await ask(gateway, "/api/status", headers=RIGHTS)).json
    assert [peer["id"] for peer in seen["peers"]] == ["ann", "bob"]
    assert seen["total"]["pages_fetched"] == full["total"]["pages_fetched"]
    assert full["total"]["hot_hosts"]
    assert not seen["total"]["hot_hosts"]
    for peer in seen["peers"]:
        assert (peer["pid"], peer["endpoint"], peer["gateway"], peer["hot_hosts"]) == (0, "", "", [])
    assert "bob.hot.test" not in (await ask(gateway, "/status")).text


@pytest.mark.parametrize("client", ["127.0.0.1", "192.0.2.7"])
async def test_with_a_token_whoever_knows_it_may_drain(backend: FakeBackend, client: str) -> None:
    gateway = application(backend)
    backend.settings = GatewaySettings(admin_token=TOKEN)  # replaced while it runs
    body = b'{"peer": "bobb"}'
    for given in (
        {},
        {"Authorization": "Bearer no"},
        {"Authorization": TOKEN},
        {"Authorization": "Bearer é"},
    ):
        assert (await ask(gateway, "/api/drain", "POST", given, body, client=client)).status == 403
    assert backend.orders == []
    given = {"Authorization": f"Bearer {TOKEN}"}
    assert (await ask(gateway, "/api/drain", "POST", given, body, client=client)).status == 200


async def test_pages_of_other_sites_may_not_drain(gateway: Starlette, backend: FakeBackend) -> None:
    assert (await drain(gateway, Host="127.0.0.1", Origin="http://evil.test")).status == 403
    assert backend.orders == []


@pytest.mark.parametrize("body", [b"", b"{}", b'{"peer": 1}', b'{"peer": "a", "all": true}'])
async def test_drain_order_that_is_none_is_told_what_to_post(gateway: Starlette, body: bytes) -> None:
    reply = await drain(gateway, body)
    assert reply.status == 400
    assert 'post {"peer"' in reply.json["error"]


@pytest.mark.parametrize("peer", ["", "a", "bob", "a b c", "a.*b", "x" * 17])
async def test_a_peer_is_named_by_four_letters_at_least(
    gateway: Starlette, backend: FakeBackend, peer: str
) -> None:
    reply = await drain(gateway, json.dumps({"peer": peer}).encode())
    assert reply.status == 400
    assert "give its id, or its first 4 letters or more" in reply.json["error"]
    assert backend.orders == []


async def test_a_decree_goes_to_the_membership_and_its_refusal_comes_back() -> None:
    decree = Signer(SigningKey.of_secret(b"a" * 32), b"mesh").decree(POLICY, "", 3, b"rules")
    refusals = iter(["", "it is forged"])
    backend = FakeBackend(lambda order: DecreePublished(7, decree.name, next(refusals)))
    body = msgspec.msgpack.encode(decree)
    done = await ask(application(backend), "/api/decrees", "POST", RIGHTS, body)
    assert done.json == {"kind": POLICY, "subject": "", "number": 3}
    assert backend.orders == [PublishDecree(7, decree)]
    refused = await ask(application(backend), "/api/decrees", "POST", RIGHTS, body)
    assert refused.status == 409
    assert "it is forged" in refused.json["error"]


async def test_what_is_decreed_is_told_to_administrators() -> None:
    decree = Signer(SigningKey.of_secret(b"a" * 32), b"mesh").decree(POLICY, "", 3, b"rules")
    backend = FakeBackend(lambda order: DecreesHeld(7, POLICY, "", (decree,), (), 4))
    reply = await ask(application(backend), "/api/decrees?kind=policy", headers=RIGHTS)
    assert backend.orders == [AskDecrees(7, POLICY, "")]
    assert reply.json["next_number"] == 4
    assert bytes.fromhex(reply.json["decrees"][0]["body"]) == b"rules"
    assert reply.json["decrees"][0]["valid_until"] is None
    assert (await ask(application(backend), "/api/decrees", client="192.0.2.7")).status == 403


async def test_what_is_no_decree_is_refused(gateway: Starlette, backend: FakeBackend) -> None:
    assert (await ask(gateway, "/api/decrees", "POST", RIGHTS, b"rules")).status == 400
    assert backend.orders == []


@pytest.mark.parametrize(("is_known", "status"), [(True, 409), (False, 404)])
async def test_drain_that_the_mesh_cannot_do_is_said_why(is_known: bool, status: int) -> None:
    class Refusing(FakeBackend):
        async def ask(
            self, order: Callable[[int], Message], answer: type[Answer], actor: str = "searcher"
        ) -> Answer:
            raise Refused("no peer's id begins with 'x'; there are ann, bob", is_known=is_known)

    reply = await drain(application(Refusing()))
    assert reply.status == status
    assert reply.json == {"error": "no peer's id begins with 'x'; there are ann, bob"}


# --- The rest ------------------------------------------------------------------------------------


async def test_status_reports_every_peer_and_their_sum(gateway: Starlette) -> None:
    report = (await ask(gateway, "/api/status", headers=RIGHTS)).json
    assert [peer["id"] for peer in report["peers"]] == ["ann", "bob"]
    assert report["total"]["pages_fetched"] == 3
    assert report["total"]["pages_per_second"] == 3 / 20
    assert report["total"]["fetch_status"] == {"200": 3}


async def test_status_for_people_is_in_their_language(gateway: Starlette) -> None:
    english = (await ask(gateway, "/status", headers=RIGHTS)).text
    chinese = (await ask(gateway, "/status", headers=RIGHTS | ZH)).text
    assert "draining: gives its slots away" in english
    assert "正在腾空" in chinese
    for text in (english, chinese):
        assert "999 / 1,000" in text
        assert "1,998 / 2,000" in text
        assert "bob.hot.test" in text
        assert 'href="http://127.0.0.1:8017"' in text


def with_dead(order: Message) -> Message:
    """What the searcher says when bob is down, and cat a bootstrap node."""
    if isinstance(order, CheckReadiness):
        return ReadinessTold(order.ticket, Coverage(10, 7, 3), (Lacking("bob", 3, False),))
    assert isinstance(order, GatherStatus)
    members = tuple(
        Rumour(MemberRecord(peer, endpoint, "", "", "", b"", b"", b"", 1, weight), state)
        for peer, endpoint, weight, state in (
            ("ann", "tcp://10.0.0.1:7410", 100, State.ALIVE),
            ("bob", "tcp://10.0.0.2:7410", 100, State.DEAD),
            ("cat", "tcp://10.0.0.3:7400", 0, State.ALIVE),
        )
    )
    return StatusGathered(order.ticket, STATUSES[:1], members, (("bob", 300.0),))


async def test_the_page_of_the_status_shows_who_is_down_since_when_and_what_to_do() -> None:
    gateway = application(FakeBackend(with_dead))
    english = (await ask(gateway, "/status", headers=RIGHTS)).text
    chinese = (await ask(gateway, "/status", headers=RIGHTS | ZH)).text
    public = (await ask(gateway, "/status")).text
    for text in (
        "not answered: 3 of 10 slots: bob with 3 slots has not answered",
        "bob, 10.0.0.2, is down 5 min: start that peer again",
        "`tianmesh drain bob` writes it off",
        "down 5 min</td>",
        "bootstrap node</td>",
    ):
        assert text in english
    assert "停机 5 分钟" in chinese
    assert "bob is down 5 min: start that peer again" in public
    assert "10.0.0.2" not in public


def with_no_word_of_readiness(order: Message) -> Message:
    if isinstance(order, CheckReadiness):
        raise Busy("the peer still joins")
    return with_dead(order)


async def test_the_page_of_the_status_is_shown_while_nobody_says_whether_all_slots_are_answered() -> None:
    answer = await ask(application(FakeBackend(with_no_word_of_readiness)), "/status", headers=RIGHTS)
    assert answer.status == 200
    assert "<li>the peer still joins</li>" in answer.text
    assert "down 5 min</td>" in answer.text


async def test_nothing_of_a_status_becomes_markup(gateway: Starlette) -> None:
    text = (await ask(gateway, "/status", headers=RIGHTS)).text
    assert "javascript:" not in text
    assert "<b>" not in text


async def test_health_and_metrics(gateway: Starlette) -> None:
    assert (await ask(gateway, "/healthz")).json == {"status": "ok"}
    reply = await ask(gateway, "/metrics", headers=RIGHTS)
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "tianmesh_searches_total 3\n" in reply.text


async def test_addresses_that_do_not_exist_are_not_found(gateway: Starlette) -> None:
    assert (await ask(gateway, "/api/nothing")).json == {"error": "not found"}
    assert (await ask(gateway, "/static/../routes.py")).status == 404
    page = await ask(gateway, "/nothing", headers={"Accept": "text/html"} | ZH)
    assert page.status == 404
    assert "这个地址没有内容" in page.text


async def test_head_is_answered_like_get(gateway: Starlette) -> None:
    assert (await ask(gateway, "/", "HEAD")).status == 200


async def test_readyz_is_503_until_all_slots_are_answered(backend: FakeBackend) -> None:
    ready = await ask(application(backend), "/readyz")
    slots = {"slots": 50_000, "answered": 50_000, "missing": 0}
    assert (ready.status, ready.json) == (200, {"status": "ready", **slots, "waits_for": []})

    def lacking(order: Message) -> Message:
        assert isinstance(order, CheckReadiness)
        coverage = Coverage(50_000, 49_000, 1_000)
        return ReadinessTold(order.ticket, coverage, (Lacking("bob", 1_000, True),))

    waiting = await ask(application(FakeBackend(lacking)), "/readyz")
    assert waiting.status == 503
    assert waiting.headers["retry-after"] == "1"
    assert waiting.json == {
        "status": "waiting",
        "slots": 50_000,
        "answered": 49_000,
        "missing": 1_000,
        "waits_for": ["bob brings or compares what belongs to 1,000 slots"],
    }
    starting = await ask(application(BusyBackend()), "/readyz")
    assert (starting.status, starting.json["waits_for"]) == (503, ["too many requests at once"])
    assert (await ask(application(BusyBackend()), "/healthz")).status == 200


# --- The history ---


async def test_history_is_told_to_programs_for_every_peer_and_all(gateway: Starlette) -> None:
    view = (await ask(gateway, "/api/history?span=hour")).json
    assert view["peers"].keys() == {"ann", "bob"}
    assert view["peers"]["ann"]["pages_per_s"][-1] == 1.0
    assert view["total"]["pages_per_s"][-12:] == [None, None, *[2.0] * 10]
    assert view["slots"] == {"ann": 25_000, "bob": 25_000}
    assert view["silent"] == ["cyd"]
    assert (await ask(gateway, "/api/history?span=year")).status == 400


async def test_history_for_people_is_in_their_language_and_needs_no_script(gateway: Starlette) -> None:
    english, chinese = await ask(gateway, "/history"), await ask(gateway, "/history?span=day", headers=ZH)
    assert "Pages per second" in english.text
    assert "style-src 'self'" in english.headers["content-security-policy"]
    assert " style=" not in english.text
    assert english.text.count("<svg viewBox") == 9
    assert "&lt;b&gt;dan is down (told by 2 peers)" in english.text
    assert "最近一天" in chinese.text
    assert "停机" in chinese.text
    assert "<b>dan" not in english.text + chinese.text
    for text in (english.text, chinese.text):
        assert 'href="/status' in text
    assert 'href="/history' in (await ask(gateway, "/status")).text


async def test_a_span_that_is_none_is_an_hour_to_people(gateway: Starlette) -> None:
    assert (await ask(gateway, "/history?span=%3Cb%3E")).text == (await ask(gateway, "/history")).text


async def test_who_is_in_quarantine_is_told_to_administrators_only(gateway: Starlette) -> None:
    assert "quarantine" in (await ask(gateway, "/history", headers=RIGHTS)).text
    assert "quarantine" not in (await ask(gateway, "/history")).text
    kinds = [each["kind"] for each in (await ask(gateway, "/api/history")).json["events"]]
    assert kinds == ["down"]


async def test_peers_are_asked_for_their_history_once_in_a_moment() -> None:
    backend = FakeBackend()
    gateway = application(backend)
    for _ in range(3):
        for target in ("/history", "/api/history", "/history?span=day"):
            await ask(gateway, target)
    assert backend.orders == [GatherHistory(7, 3_600.0), GatherHistory(7, 86_400.0)]


async def test_history_of_a_busy_gateway_is_not_there() -> None:
    for target in ("/history", "/api/history"):
        assert (await ask(application(BusyBackend()), target)).status == 503


@pytest.mark.parametrize(("headers", "is_packed"), [({}, True), ({"Cookie": "a=b"}, False)])
async def test_pages_are_packed_for_browsers_that_show_no_cookie(
    gateway: Starlette, headers: dict[str, str], is_packed: bool
) -> None:
    for path in (
        "/",
        "/search?q=everything",
        "/static/style.css",
        f"/page?url={quote(CHINESE_URL, safe='')}",
    ):
        reply = await ask(gateway, path, headers={"Accept-Encoding": "gzip, br", **headers})
        assert (reply.headers.get("content-encoding") == "br") == is_packed, path
        assert "Accept-Encoding" in reply.headers["vary"]
        text = brotli.decompress(reply.body) if is_packed else reply.body
        assert len(text) > 1_000
