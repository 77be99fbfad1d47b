"""Icons of sites on their way from what is stored to a reader's browser."""

from __future__ import annotations

import pytest

from mesh.actors.actor import Message
from peers.documents.icon_image import ICON_BYTES_MAX
from peers.gateway.model.messages import FindPage, PageFound
from peers.gateway.routes import application
from tests.peers.documents.icons import TYPES, icon
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import FakeBackend
from tests.peers.gateway.fake_searcher import DAY, ENTRANCE, answer_to, stored_icon

HOME = "http://a.test/"
ICON = "http://a.test/icon"
PATH = "/icon?url=http://a.test/some/page"


class Store:
    """A mesh that has an entrance and its icon."""

    def __init__(self, image: bytes, entrance: bytes = ENTRANCE, called: bytes = b"png") -> None:
        self.records = stored_icon(HOME, image, entrance, called)
        self.gone: set[str] = set()
        self.backend = FakeBackend(self._answer)
        self.gateway = application(self.backend)

    def _answer(self, order: Message) -> Message:
        if isinstance(order, FindPage):
            gone_at = DAY + 1.0 if order.url in self.gone else 0.0
            return PageFound(order.ticket, order.url, DAY, self.records.get(order.url, b""), gone_at)
        return answer_to(order)


@pytest.mark.parametrize("kind", TYPES)
async def test_an_icon_is_served_as_what_its_bytes_are(kind: str) -> None:
    body = icon(kind)
    store = Store(body, called=b"svg+xml")
    reply = await ask(store.gateway, PATH)
    assert (reply.status, reply.body) == (200, body)
    assert reply.headers["content-type"] == TYPES[kind]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cross-origin-resource-policy"] == "same-origin"
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")


async def test_an_icon_that_a_browser_has_is_not_sent_again() -> None:
    store = Store(icon())
    first = await ask(store.gateway, PATH)
    again = await ask(store.gateway, PATH, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    store.records = stored_icon(HOME, icon("GIF"))
    changed = await ask(store.gateway, PATH, headers={"If-None-Match": first.headers["etag"]})
    assert (changed.status, changed.body) == (200, icon("GIF"))


@pytest.mark.parametrize(
    "image", [b"", b"<svg onload=alert(1)>", icon("PNG", (4_000, 4_000)), icon() + bytes(ICON_BYTES_MAX)]
)
async def test_what_is_no_small_image_is_not_shown(image: bytes) -> None:
    assert (await ask(Store(image).gateway, PATH)).status == 404


@pytest.mark.parametrize("missing", [HOME, ICON])
async def test_what_is_taken_down_or_gone_shows_no_icon(missing: str) -> None:
    store = Store(icon())
    store.gone.add(missing)
    assert (await ask(store.gateway, PATH)).status == 404
    store.gone.clear()
    assert (await ask(store.gateway, PATH)).status == 200
    del store.records[missing]  # as the searcher answers of what is hidden
    assert (await ask(store.gateway, PATH)).status == 404


async def test_a_site_that_wants_no_copy_shown_has_no_icon() -> None:
    entrance = ENTRANCE.replace(b"<body>", b"<meta name=robots content=noarchive><body>")
    assert (await ask(Store(icon(), entrance).gateway, PATH)).status == 404
    store = Store(icon(), called=b"png\r\nX-Robots-Tag: noarchive")
    assert (await ask(store.gateway, PATH)).status == 404


async def test_damaged_records_show_no_icon() -> None:
    store = Store(icon())
    store.records[ICON] = b"no record"
    assert (await ask(store.gateway, PATH)).status == 404


async def test_an_entrance_is_read_once_for_each_of_its_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    store, read = Store(icon()), []
    before = store.backend.read_stored

    async def noting(url: str, records: bytes, *, wants_text: bool = True) -> object:
        read.append(url)
        return await before(url, records, wants_text=wants_text)

    monkeypatch.setattr(store.backend, "read_stored", noting)
    for _ in range(3):
        await ask(store.gateway, PATH)
    assert read.count(HOME) == 1


async def test_without_a_url_there_is_no_icon() -> None:
    store = Store(icon())
    assert [(await ask(store.gateway, path)).status for path in ("/icon", "/icon?url=x")] == [400, 400]


async def test_a_page_of_results_loads_icons_of_this_gateway_only() -> None:
    reply = await ask(Store(icon()).gateway, "/search?q=crawler")
    assert "img-src 'self' data:;" in reply.headers["content-security-policy"]
    assert '<img src="/icon?url=http%3A%2F%2Fdocs.test%2F" loading="lazy" alt="">' in (reply.text)
    assert 'src="http' not in reply.text
