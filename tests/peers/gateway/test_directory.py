"""The page /directory, without a server in between."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

from mesh.actors.actor import Message
from peers.engine.pages.class_model import ClassModel, ClassRow, TermWeights, model_bytes, model_in
from peers.gateway.backend import Answer, Busy
from peers.gateway.model.messages import Coverage, PagesFound, SearchPages
from peers.gateway.routes import application
from peers.index.wire_messages import FacetCounts
from peers.kernel import Ints
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import FakeBackend
from tests.peers.gateway.fake_searcher import answer_to

ZH = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}
ROWS = (
    ClassRow("food", -1),
    ClassRow("科学", -1),
    ClassRow("physics", 1, examples=("http://a.test/?a=1&b=<x>", "javascript:alert(1)")),
    ClassRow("<b>", 1),
    ClassRow("quarks", 2),
)
COUNTS = (("科学", 1_234), ("physics", 1_200), ("quarks", 7), ("food", 5))


@pytest.fixture
def backend() -> FakeBackend:
    def answer(order: Message) -> Message:
        answered = answer_to(order)
        if isinstance(order, SearchPages):
            assert isinstance(answered, PagesFound)
            answered = replace(answered, facets=FacetCounts(classes=COUNTS), coverage=Coverage(8, 8, 0))
        return answered

    backend = FakeBackend(answer)
    none: Ints = np.zeros(0, np.int64)
    weights = TermWeights((), none, np.zeros(1, np.int64), none, none)
    backend.classes = model_in(model_bytes(ROWS, weights))
    return backend


async def test_the_top_has_two_levels_with_their_counts(backend: FakeBackend) -> None:
    reply = await ask(application(backend), "/directory")
    assert reply.status == 200
    [order] = backend.orders
    assert isinstance(order, SearchPages)
    assert (order.text, order.wants_facets) == ("class:*", True)
    assert (
        '<a href="/directory?class=%E7%A7%91%E5%AD%A6"><bdi>科学</bdi></a> <span>1,234</span>' in reply.text
    )
    assert "<bdi>physics</bdi></a> <span>1,200</span>" in reply.text
    assert "&lt;b&gt;</bdi></a> <span>0</span>" in reply.text
    assert "quarks" not in reply.text
    assert "1,239 pages" in reply.text


async def test_a_class_has_its_path_its_examples_and_those_below_it(backend: FakeBackend) -> None:
    reply = await ask(application(backend), "/directory?class=PHYSICS", headers=ZH)
    assert backend.orders[0].text == "class:physics"  # type: ignore[attr-defined]
    assert "目录导航" in reply.text
    assert '<b aria-current="page"><bdi>physics</bdi></b>' in reply.text
    assert "<bdi>quarks</bdi></a> <span>7</span>" in reply.text
    assert 'href="http://a.test/?a=1&amp;b=&lt;x&gt;"' in reply.text
    assert "javascript:" not in reply.text
    assert 'href="/search?q=class%3Aphysics"' in reply.text


async def test_a_query_within_leads_to_a_search(backend: FakeBackend) -> None:
    reply = await ask(application(backend), "/directory?class=physics&q=red+quark")
    assert (reply.status, reply.headers["location"]) == (302, "/search?q=red+quark+class%3Aphysics")
    reply = await ask(application(backend), "/directory?q=quark&lang=zh")
    assert reply.headers["location"] == "/search?q=quark+class%3A%2A&lang=zh"
    assert not backend.orders


async def test_what_is_not_there_is_said(backend: FakeBackend) -> None:
    assert "no such class" in (await ask(application(backend), "/directory?class=none")).text
    with_link = (await ask(application(backend), "/")).text
    backend.classes = None
    without = await ask(application(backend), "/directory")
    assert (without.status, "no directory" in without.text) == (404, True)
    plain = (await ask(application(backend), "/")).text
    link = '<p><a href="/directory">Directory</a></p>'
    assert link in with_link
    assert with_link.replace(f"  {link}\n", "") == plain


async def test_part_of_a_mesh_is_said_to_be_that(backend: FakeBackend) -> None:
    async def partly(order: Callable[[int], Message], *_: object) -> PagesFound:
        answered = answer_to(order(7))
        assert isinstance(answered, PagesFound)
        return replace(answered, facets=None, coverage=Coverage(8, 6, 2))

    backend.ask = partly  # type: ignore[method-assign, assignment]
    assert "Not the whole mesh answered" in (await ask(application(backend), "/directory")).text

    async def busy(*_: object) -> Answer:
        raise Busy("too many")

    backend.ask = busy  # type: ignore[method-assign, assignment]
    assert (await ask(application(backend), "/directory")).status == 503


async def test_counts_of_classes_are_a_facet_of_results(backend: FakeBackend) -> None:
    page = (await ask(application(backend), "/search?q=quark")).text
    assert "<h2>Classes</h2>" in page
    assert 'href="/search?q=quark+class%3Aphysics"' in page
    told = (await ask(application(backend), "/api/search?q=quark&facets=1")).json
    assert told["facets"]["classes"][0] == {"value": "科学", "count": 1_234}
    assert isinstance(backend.classes, ClassModel)
    narrowed = (await ask(application(backend), "/search?q=quark+class%3Aphysics")).text
    assert "Without class:physics" in narrowed
