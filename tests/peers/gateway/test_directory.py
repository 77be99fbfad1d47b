"""The page /directory, without a server in between."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Callable
from urllib.parse import quote

import numpy as np
import pytest
from msgspec.structs import replace

from mesh.actors.actor import Message
from peers.engine.pages.class_model import ClassModel, ClassRow, TermWeights, model_bytes, model_in
from peers.gateway.handling.backend import Answer, Busy
from peers.gateway.model.class_counts import CountedClass, parents_in, tree_of
from peers.gateway.model.messages import Coverage, PagesFound, SearchPages
from peers.gateway.routes import application
from peers.gateway.site.pages import Reader, stored_page_view
from peers.gateway.site.stored_page import DisplayKind, PageSnapshot
from peers.index.wire_messages import FacetCounts
from peers.kernel import Ints
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import RIGHTS, FakeBackend
from tests.peers.gateway.fake_searcher import CHINESE_URL, answer_to

ZH = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}
ROWS = (
    ClassRow("food", -1),
    ClassRow("科学", -1),
    ClassRow("physics", 1, examples=("http://a.test/?a=1&b=<x>", "javascript:alert(1)")),
    ClassRow("<b>", 1),
    ClassRow("quarks", 2),
)
COUNTS = (("科学", 1_234), ("physics", 1_200), ("quarks", 7), ("food", 5))
NONE: Ints = np.zeros(0, np.int64)
NO_WEIGHTS = TermWeights((), NONE, np.zeros(1, np.int64), NONE, NONE)


@pytest.fixture
def backend() -> FakeBackend:
    def answer(order: Message) -> Message:
        answered = answer_to(order)
        if isinstance(order, SearchPages):
            assert isinstance(answered, PagesFound)
            answered = replace(answered, facets=FacetCounts(classes=COUNTS), coverage=Coverage(8, 8, 0))
        return answered

    backend = FakeBackend(answer)
    backend.classes = model_in(model_bytes(ROWS, NO_WEIGHTS))
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
    assert told["facets"]["classes"] == [
        {"value": "科学", "count": 1_234},
        {"value": "physics", "count": 1_200, "below": "科学"},
        {"value": "quarks", "count": 7, "below": "physics"},
        {"value": "food", "count": 5},
    ]
    assert isinstance(backend.classes, ClassModel)
    narrowed = (await ask(application(backend), "/search?q=quark+class%3Aphysics")).text
    assert "Without class:physics" in narrowed


@pytest.mark.parametrize(("headers", "title"), [({}, "Classes"), (ZH, "类别")])
async def test_a_class_stands_once_and_those_below_it_under_it(
    backend: FakeBackend, headers: dict[str, str], title: str
) -> None:
    page = (await ask(application(backend), "/search?q=quark", headers=headers)).text
    column = page.partition(f"<h2>{title}</h2>")[2].partition("</section>")[0]
    depth, depths = 0, {}
    for tag, name in re.findall(r"<(ul|/ul)>|<bdi>(.*?)</bdi>", column):
        depth += {"ul": 1, "/ul": -1, "": 0}[tag]
        if name:
            assert name not in depths
            depths[name] = depth
    assert depths == {"科学": 1, "physics": 2, "quarks": 3, "food": 1}
    assert depth == 0


def test_a_class_is_under_the_nearest_above_it_that_is_counted() -> None:
    classes = model_in(model_bytes(ROWS, NO_WEIGHTS))
    counts = (("科学", 9), ("quarks", 7), ("strange", 7), ("food", 5))
    assert parents_in(counts, classes) == {"科学": "", "quarks": "科学", "strange": "", "food": ""}
    assert parents_in(counts, None) == dict.fromkeys(("科学", "quarks", "strange", "food"), "")
    science, strange = tree_of(counts, classes, shown_max=2)
    assert science == CountedClass("科学", 9, (CountedClass("quarks", 7),))
    assert strange == CountedClass("strange", 7)


async def test_a_stored_copy_tells_those_signed_in_how_it_becomes_a_sample(backend: FakeBackend) -> None:
    gateway, copy = application(backend), f"/page?url={quote(CHINESE_URL, safe='')}"
    for headers, text in (({}, "To make it a sample"), (ZH, "用作类别的样本")):
        page = (await ask(gateway, copy, headers=headers | RIGHTS)).text
        assert text in page
        assert f"<code>tianmesh classes collect CLASS {CHINESE_URL} --into samples.tsv</code>" in page
        assert "classes collect" not in (await ask(gateway, copy, headers=headers)).text
    older = await ask(gateway, f"{copy}&at=20261125120000", headers=RIGHTS)
    assert (older.status, "classes collect" in older.text) == (200, False)
    backend.classes = None
    assert "classes collect" not in (await ask(gateway, copy, headers=RIGHTS)).text


@pytest.mark.parametrize("path", ["a'b", "$(reboot)", "a;b&c=`d`", "-x|y", "<i>"])
def test_a_hostile_url_is_one_word_of_the_command_for_a_sample(path: str) -> None:
    url = f"http://a.test/{path}"
    snapshot = PageSnapshot(DisplayKind.HTML, "text/html", "<p>quarks", is_cut=False)
    page = stored_page_view(Reader("en", is_chosen=False), url, 0.0, 0.0, snapshot, is_sample=True)
    [command] = re.findall("<code>(.*)</code>", page)
    expected = ["tianmesh", "classes", "collect", "CLASS", url, "--into", "samples.tsv"]
    assert shlex.split(html.unescape(command)) == expected
    assert "<i>" not in command
