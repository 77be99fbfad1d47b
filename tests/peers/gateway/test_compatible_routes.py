"""Whether programs that were made for other search engines can ask a gateway."""

from __future__ import annotations

from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from starlette.applications import Starlette

from peers.engine.queries.query import Sort
from peers.gateway.model.messages import SearchPages
from peers.gateway.routes import application
from peers.gateway.site.feeds import OPENSEARCH, YACY
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import FakeBackend
from tests.peers.gateway.fake_searcher import ENGLISH_URL


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
    assert ENGLISH_URL.endswith(f"{first['host']}{first['path']}")


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
    assert (item.findtext(f"{{{YACY}}}host") or "none") in ENGLISH_URL


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
