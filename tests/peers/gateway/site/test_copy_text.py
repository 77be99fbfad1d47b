"""The text of stored pages for programs: its forms, its rights, and its harmlessness as markdown."""

from __future__ import annotations

from time import perf_counter
from urllib.parse import quote

import pytest

from mesh.actors.actor import Message
from peers.gateway.model.messages import FindPage, PageFound
from peers.gateway.routes import application
from peers.gateway.site.copy_text import CopyJson, markdown_of
from peers.storage.archive.warc import response_record
from tests.helpers import seen
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.gateway.fake_backend import FakeBackend

URL = "http://a.test/d/p?x=1"
HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
BODY = """<html lang=zh><title>分词 *a*</title><meta property="article:published_time" content="2026-01-02">
<p>中文 one [x](y)<p># two<a href="/e">e</a><a href="/e#f">again</a>""".encode()


async def copy_of(
    body: bytes = BODY, head: bytes = HTML, more: str = "", times: dict[float, bytes] | None = None
) -> Reply:
    def answer(order: Message) -> Message:
        assert isinstance(order, FindPage)
        if order.url != URL:
            return PageFound(7, order.url, 0.0, b"")
        now = body if times is None or not order.at_s else times[min(times)]
        return PageFound(7, URL, 86_400.0, response_record(URL, head, now, seen(1.8e9)))

    return await ask(application(FakeBackend(answer)), f"/api/page?url={quote(URL, safe='')}{more}")


async def test_a_copy_is_told_with_title_dates_and_links() -> None:
    told = (await copy_of()).json
    assert (told["url"], told["title"], told["language"]) == (URL, "分词 *a*", "zh")
    assert told["published"].startswith("2026-01-02")
    assert (told["fetched_at"], told["datetime"]) == (86_400.0, "Fri, 02 Jan 1970 00:00:00 GMT")
    assert "中文 one [x](y)" in told["text"]
    assert told["links"] == ["http://a.test/e"]
    assert not told["is_cut"]


async def test_the_text_can_be_had_alone() -> None:
    reply = await copy_of(more="&format=text")
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.text == (await copy_of()).json["text"]


async def test_no_sign_of_a_page_is_markup_in_its_markdown() -> None:
    reply = await copy_of(more="&format=markdown")
    assert reply.headers["content-type"] == "text/markdown; charset=utf-8"
    lines = reply.text.splitlines()
    assert lines[0] == r"# 分词 \*a\*"
    assert lines[2] == f"<{URL}>"
    assert any(r"one \[x\](y)" in line for line in lines)
    assert not any(line.startswith("# two") for line in lines)
    assert lines[-1] == "- <http://a.test/e>"


async def test_plain_text_is_told_as_it_is() -> None:
    told = (await copy_of(b"a\n<b>", b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")).json
    assert (told["text"], told["links"]) == ("a\n<b>", [])


@pytest.mark.parametrize("wish", ["noarchive", "nosnippet", "none, noarchive"])
@pytest.mark.parametrize("form", ["json", "markdown", "text"])
async def test_what_wants_no_copy_shown_is_not_told(wish: str, form: str) -> None:
    meta = f"<title>secret</title><meta name=robots content='{wish}'><p>secret".encode()
    head = HTML.replace(b"\r\n\r\n", f"\r\nX-Robots-Tag: {wish}\r\n\r\n".encode())
    for reply in (
        await copy_of(meta, more=f"&format={form}"),
        await copy_of(head=head, more=f"&format={form}"),
    ):
        assert reply.status == 403
        assert "secret" not in reply.text
        assert "open its URL" in reply.json["error"]


async def test_an_early_version_is_not_told_once_its_site_wants_that_no_more() -> None:
    barred = b"<meta name=robots content=noarchive><p>now"
    assert (await copy_of(barred, more="&at=2026", times={1.0: BODY})).status == 403


@pytest.mark.parametrize(
    ("more", "status", "hint"),
    [("&format=pdf", 400, "json, markdown, text"), ("&at=never", 400, "2026-11-25")],
)
async def test_a_refusal_says_how_to_ask(more: str, status: int, hint: str) -> None:
    reply = await copy_of(more=more)
    assert (reply.status, hint in reply.json["error"]) == (status, True)


async def test_an_unknown_page_and_a_damaged_one_are_told_apart() -> None:
    unknown = application(FakeBackend(lambda order: PageFound(7, "http://b.test/", 0.0, b"")))
    assert (await ask(unknown, "/api/page?url=http://b.test/")).status == 404
    assert (await ask(unknown, "/api/page?url=b")).status == 400
    damaged = application(FakeBackend(lambda order: PageFound(7, URL, 1.0, b"no record")))
    assert (await ask(damaged, f"/api/page?url={quote(URL, safe='')}")).status == 502


@pytest.mark.parametrize("text", ["\n" * 400_000, " " * 400_000, "9" * 400_000, "\t\n" * 200_000])
def test_markdown_of_hostile_text_takes_linear_time(text: str) -> None:
    copy = CopyJson(URL, "", text, "", "", 0.0, "", "", [], False)
    began = perf_counter()
    markdown_of(copy)
    assert perf_counter() - began < 5.0  # quadratic would be minutes
