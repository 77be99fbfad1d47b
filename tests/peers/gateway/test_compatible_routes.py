"""Whether programs that were made for other search engines can ask a gateway."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import pytest
import trio
from elasticsearch import BadRequestError, Elasticsearch
from starlette.applications import Starlette

from peers.engine.queries.query import Sort
from peers.engine.queries.query_language import Oddity, Remarks, read
from peers.gateway.model.messages import SearchPages
from peers.gateway.routes import application
from peers.gateway.site.elastic_query import query_of
from peers.gateway.site.feeds import OPENSEARCH, YACY
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import FakeBackend
from tests.peers.gateway.fake_searcher import ENGLISH_URL, FakeSearcher
from tests.peers.gateway.test_http_port import running


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def gateway(backend: FakeBackend) -> Starlette:
    return application(backend)


# --- YaCy ----------------------------------------------------------------------------------------


async def test_yacy_json_has_the_fields_that_yacy_and_its_clients_read(gateway: Starlette) -> None:
    # The request of SearXNG's engine for YaCy, which reads link, title, description and pubDate.
    asked = "query=crawler&startRecord=0&maximumRecords=10&contentdom=text&resource=global"
    reply = await ask(gateway, f"/yacysearch.json?{asked}")
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    (channel,) = reply.json["channels"]
    ours = (await ask(gateway, "/api/search?q=crawler")).json
    told = [channel[name] for name in ("totalResults", "startIndex", "itemsPerPage", "searchTerms")]
    assert told == [str(ours["total"]), "0", "10", "crawler"]
    assert [item["link"] for item in channel["items"]] == [hit["url"] for hit in ours["hits"]]
    first = channel["items"][0]
    assert first["link"] == first["guid"] == ENGLISH_URL
    assert first["title"] == ours["hits"][0]["title"]
    assert f"http://{first['host']}{first['path']}" == ENGLISH_URL


async def test_yacy_rss_pages_as_opensearch_does(gateway: Starlette) -> None:
    reply = await ask(gateway, "/yacysearch.rss?query=crawler&maximumRecords=1&startRecord=20")
    assert reply.headers["content-type"] == "application/rss+xml; charset=utf-8"
    channel = ElementTree.fromstring(reply.body)[0]
    assert channel.findtext(f"{{{OPENSEARCH}}}startIndex") == "20"
    assert channel.findtext(f"{{{OPENSEARCH}}}itemsPerPage") == "1"
    assert int(channel.findtext(f"{{{OPENSEARCH}}}totalResults") or "") > 0
    reply = await ask(gateway, "/yacysearch.rss?query=crawler&maximumRecords=1")
    (item,) = ElementTree.fromstring(reply.body).iter("item")
    assert item.findtext("link") == ENGLISH_URL
    assert item.findtext(f"{{{YACY}}}host") == urlsplit(ENGLISH_URL).hostname


@pytest.mark.parametrize(
    ("parameters", "order"),
    [
        (f"query={quote(' 网络 爬虫 ')}&lr=lang_zh", SearchPages(7, "网络 爬虫 lang:zh", 10, 0)),
        ("query=linux+/date", SearchPages(7, "linux", 10, 0, Sort.DATE)),
        ("query=/language/de+linux&count=5&offset=10", SearchPages(7, "linux lang:de", 5, 10)),
        ("search=a/date&maximumRecords=5000", SearchPages(7, "a/date", 100, 0)),
        ("query=linux&maximumRecords=0", SearchPages(7, "linux", 1, 0)),
    ],
)
async def test_parameters_of_yacy_are_a_search_of_ours(
    gateway: Starlette, backend: FakeBackend, parameters: str, order: SearchPages
) -> None:
    reply = await ask(gateway, f"/yacysearch.json?{parameters}")
    assert reply.status == 200
    assert backend.orders == [order]
    if "maximumRecords=0" in parameters:
        assert reply.json["channels"][0]["items"] == []


@pytest.mark.parametrize(
    "parameters",
    ["", "query=+", "query=a&startRecord=-1", "query=a&maximumRecords=x", "query=a&contentdom=image"],
)
async def test_what_yacy_would_answer_and_a_mesh_cannot_is_refused(
    gateway: Starlette, backend: FakeBackend, parameters: str
) -> None:
    reply = await ask(gateway, f"/yacysearch.json?{parameters}")
    assert reply.status == 400
    assert reply.json["error"]
    assert not backend.orders


async def test_a_yacy_description_is_html_in_which_a_page_adds_no_markup(gateway: Starlette) -> None:
    reply = await ask(gateway, "/yacysearch.json?query=hostile")
    items = reply.json["channels"][0]["items"]
    snippets = [hit["snippet"] for hit in (await ask(gateway, "/api/search?q=hostile")).json["hits"]]
    assert any("<" in snippet for snippet in snippets)
    assert not any("<" in item["description"] for item in items)


# --- Elasticsearch -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "ours"),
    [
        ({"match": {"text": "网络 爬虫"}}, "网络 爬虫"),
        ({"match": {"text": {"query": 'say "hi" site:a.test -x OR NOT'}}}, "say hi site a.test x or not"),
        ({"match": {"title": "web crawler"}}, "intitle:web intitle:crawler"),
        ({"match_phrase": {"text": "virtual host"}}, '"virtual host"'),
        ({"multi_match": {"query": "linux", "fields": ["title^2", "text"]}}, "linux"),
        ({"query_string": {"query": "linux -bsd site:example.org"}}, "linux -bsd site:example.org"),
        (
            {
                "bool": {
                    "must": {"match": {"text": "linux"}},
                    "filter": [{"term": {"site.keyword": "a.test"}}, {"terms": {"lang": ["zh", "en"]}}],
                    "must_not": [{"term": {"type": "pdf"}}],
                }
            },
            "(site:a.test) ((lang:zh) OR (lang:en)) (linux) -(type:pdf)",
        ),
        (
            {
                "bool": {
                    "must": {"query_string": {"query": "linux NOT"}},
                    "must_not": {"term": {"lang": "de"}},
                }
            },
            "(linux NOT) -(lang:de)",
        ),
        (
            {"bool": {"should": [{"match": {"text": "linux"}}, {"match": {"text": "free bsd"}}]}},
            "(linux) OR (free bsd)",
        ),
        (
            {
                "bool": {
                    "must": [{"match": {"text": "linux"}}],
                    "filter": {"range": {"date": {"gte": "2025", "lte": "2026-01-31"}}},
                }
            },
            "(after:2025 before:2026-02-01) (linux)",
        ),
    ],
)
def test_queries_of_elasticsearch_are_queries_of_ours(query: dict[str, Any], ours: str) -> None:
    assert query_of(query) == ours
    # Our reader understands all of it.
    unwanted = {Oddity.PARENTHESIS_OPEN, Oddity.PARENTHESIS_EXTRA, Oddity.OR_ALONE, Oddity.TOO_DEEP}
    remarks = Remarks()
    read(ours, remarks)
    assert not {each.oddity for each in remarks.all()} & unwanted


def nested(depth: int) -> bytes:
    return b'{"query":' + b'{"bool":{"must":' * depth + b'{"match_all":{}}' + b"}}" * depth + b"}"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"query": {"match_all": {}}}',
        b'{"knn": {}}',
        b'{"query": {"fuzzy": {"text": "a"}}}',
        b'{"query": {"term": {"colour": "red"}}}',
        b'{"query": {"term": {"site": "a.test OR b"}}}',
        b'{"query": {"match": {"text": 7}}}',
        b'{"query": {"query_string": {"query": "a) OR (b"}}}',  # which would leave a filter beside it
        b'{"query": {"bool": {"must": {"match": {"text": "a"}}, "should": {"match": {"text": "b"}}}}}',
        b'{"query": {"range": {"date": {"gte": "now-1d"}}}}',
        b'{"query": {"match": {"text": "a"}}, "size": 5000}',
        b'{"query": {"match": {"text": "a"}}, "sort": [{"title": "asc"}]}',
        b'{"query": {"query_string": {"query": "' + b"(" * 60_000 + b'"}}}',
        nested(9),
        nested(3_000),
    ],
)
async def test_what_is_no_search_here_is_an_error_of_elasticsearch(
    gateway: Starlette, backend: FakeBackend, body: bytes
) -> None:
    reply = await ask(gateway, "/pages/_search", "POST", body=body)
    assert reply.status == reply.json["status"] == 400
    assert reply.headers["x-elastic-product"] == "Elasticsearch"
    assert reply.json["error"]["root_cause"][0]["type"] == reply.json["error"]["type"] == "parsing_exception"
    assert reply.json["error"]["reason"]
    assert not backend.orders


async def test_the_site_that_a_hit_tells_can_be_filtered_by(gateway: Starlette) -> None:
    body = b'{"query": {"match": {"text": "crawler"}}, "_source": "site"}'
    hits = (await ask(gateway, "/pages/_search", "POST", body=body)).json["hits"]["hits"]
    site = urlsplit(ENGLISH_URL).hostname
    assert hits[0]["_source"] == {"site": site}
    assert query_of({"term": hits[0]["_source"]}) == f"site:{site}"


async def test_there_is_one_index(gateway: Starlette) -> None:
    reply = await ask(gateway, "/logs/_search", "POST", body=b"{}")
    assert (reply.status, reply.json["error"]["type"]) == (404, "index_not_found_exception")


async def test_a_browser_is_shown_the_start_page_where_clients_are_told_the_product(
    gateway: Starlette,
) -> None:
    assert "<html" in (await ask(gateway, "/", headers={"Accept": "text/html"})).text


@pytest.mark.live
async def test_the_client_of_elasticsearch_searches_a_gateway() -> None:
    def search(port: int) -> tuple[Any, ...]:
        with Elasticsearch(f"http://127.0.0.1:{port}") as client:
            query = {"match": {"text": "crawler"}}
            marks = {"fields": {"snippet": {}}, "pre_tags": ["<b>"], "post_tags": ["</b>"]}
            found = client.search(
                index="pages",
                query=query,
                size=1,
                from_=0,
                source={"includes": ["url", "ti*"]},
                highlight=marks,
            )
            with pytest.raises(BadRequestError, match="unknown query"):
                client.search(index="pages", query={"fuzzy": {"text": "a"}})
            return client.ping(), client.info().body, found.body

    searcher = FakeSearcher()
    async with running(searcher) as http:
        is_there, info, found = await trio.to_thread.run_sync(search, http.port)
    assert is_there
    assert info["version"]["number"]
    assert searcher.orders == [SearchPages(1, "crawler", 1, 0)]
    (hit,) = found["hits"]["hits"]
    assert hit["_id"] == hit["_source"]["url"] == ENGLISH_URL
    assert set(hit["_source"]) == {"url", "title"}
    assert "<b>" in hit["highlight"]["snippet"][0]
    assert found["hits"]["total"]["value"] == 2
