"""Versions of pages: those of a time, lists of them, what has changed, and Memento's ways to them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest

from mesh.actors.actor import Message
from peers.crawler.parsing.parser_port import StoredText
from peers.gateway.model.messages import FindPage, FindVersions, PageFound, VersionsFound
from peers.gateway.routes import application
from peers.gateway.site.difference import LINES_MAX, difference
from peers.gateway.site.memento import chosen, digits_of, moment_in
from peers.storage.archive.warc import response_record
from peers.storage.wire_messages import ToldVersion
from tests.helpers import seen
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.gateway.fake_backend import FakeBackend

URL = "http://a.test/p?x=1&y=2"
FIRST, GONE, LAST = (datetime(2026, 1, day, 12, 30, 5, 400_000, tzinfo=UTC).timestamp() for day in (1, 2, 3))
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
BODIES = {FIRST: b"<title>t</title><p>one<p>two<p>three", LAST: b"<title>t</title><p>one<p>2<p>three"}
VERSIONS = (
    ToldVersion(LAST, 200, 3, True, 30),
    ToldVersion(GONE, 404, 2, False, 20),
    ToldVersion(FIRST, 200, 1, True, 10),
)


def records(body: bytes, head: bytes = HEAD) -> bytes:
    return response_record(URL, head, body, seen(7.0))


class Mesh:
    """Has two versions that show a page."""

    def __init__(self, bodies: dict[float, bytes] = BODIES) -> None:
        self.bodies = bodies
        self.gateway = application(FakeBackend(self.answer))

    def answer(self, order: Message) -> Message:
        match order:
            case FindPage(_, url, at_s):
                shown = [at for at in self.bodies if not at_s or at <= at_s] or [FIRST]
                at = max(shown)
                return PageFound(7, url, at, records(self.bodies[at]) if url == URL else b"")
            case FindVersions(_, url):
                return VersionsFound(7, url, VERSIONS if url == URL else ())
        raise AssertionError(order)

    async def ask(self, target: str, **headers: str) -> Reply:
        return await ask(self.gateway, target, headers={k.replace("_", "-"): v for k, v in headers.items()})


PAGE = f"/page?url={quote(URL, safe='')}"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026", "20260101000000"),
        ("20260203", "20260203000000"),
        ("20260203040506", "20260203040506"),
        ("2026-02-03", "20260203000000"),
        ("2026-02-03T05:05:06+01:00", "20260203040506"),
        ("Tue, 03 Feb 2026 04:05:06 GMT", "20260203040506"),
    ],
)
def test_times_are_read_as_people_and_archives_write_them(text: str, at: str) -> None:
    moment_s = moment_in(text)
    assert moment_s is not None
    assert digits_of(moment_s) == at


@pytest.mark.parametrize("text", ["", "yesterday", "20261399", "99999999999999", "-1", "9" * 400])
def test_what_is_no_time_is_none(text: str) -> None:
    assert moment_in(text) is None


async def test_a_stored_copy_is_that_of_a_time_and_says_which() -> None:
    mesh = Mesh()
    for at, body, date in (
        ("20260101123005", "two", "Thu, 01 Jan 2026 12:30:05 GMT"),
        ("2026-01-02", "two", "Thu, 01 Jan 2026 12:30:05 GMT"),
        ("", "2", "Sat, 03 Jan 2026 12:30:05 GMT"),
    ):
        reply = await mesh.ask(f"{PAGE}&at={at}")
        assert reply.status == 200
        assert f"&lt;p&gt;{body}&lt;p&gt;" in reply.text
        assert reply.headers["memento-datetime"] == date
        assert f'<{URL}>; rel="original"' in reply.headers["link"]
    assert (await mesh.ask(f"{PAGE}&at=yesterday")).status == 400


async def test_no_version_is_shown_of_a_page_that_wants_none_shown_by_now() -> None:
    mesh = Mesh({FIRST: BODIES[FIRST], LAST: b"<meta name=robots content=noarchive>"})
    assert (await mesh.ask(f"{PAGE}&at=20260101123005")).status == 403
    assert (await mesh.ask(f"{PAGE}&from=20260101&to=20260102")).status == 403


async def test_versions_are_listed_for_people_and_programs() -> None:
    mesh = Mesh()
    page = await mesh.ask(f"{PAGE}&versions")
    assert "2026-01-02 12:30:05 UTC" in page.text
    assert "at=20260103123005" in page.text
    assert "at=20260102" not in page.text, "there is nothing to show"
    assert "from=20260101123005&amp;to=20260103123005" in page.text
    told = (await mesh.ask(f"/api/versions?url={quote(URL, safe='')}")).json
    assert [each["status"] for each in told["versions"]] == [200, 404, 200]
    assert told["versions"][0]["href"] == f"{PAGE}&at=20260103123005"
    assert (await mesh.ask("/page?url=http://b.test/&versions")).status == 404


async def test_programs_are_told_what_a_stored_page_is_about() -> None:
    body = b"<title>Glacier ice</title><p>glacier glacier glacier and the melting of it for years"
    told = (await Mesh({LAST: body}).ask(f"/api/keywords?url={quote(URL, safe='')}")).json
    assert told["is_stored"]
    assert told["keywords"][0] == "glacier"
    assert not (await Mesh().ask("/api/keywords?url=http://b.test/")).json["is_stored"]
    assert (await Mesh().ask("/api/keywords?url=b")).status == 400
    barred = Mesh({LAST: b"<meta name=robots content=noarchive><title>Glacier ice</title>"})
    assert (await barred.ask(f"/api/keywords?url={quote(URL, safe='')}")).json["keywords"] == []


async def test_what_has_changed_is_shown_line_by_line() -> None:
    reply = await Mesh().ask(f"{PAGE}&from=20260101123005&to=20260103123005")
    assert reply.status == 200
    for shown in ("<del>two</del>", "<ins>2</ins>", "<p>one</p>"):
        assert shown in reply.text


def test_long_texts_are_compared_at_their_beginning() -> None:
    old = StoredText(text="\n".join(map(str, range(3 * LINES_MAX))))
    new = StoredText(text="\n".join(f"x{number}" for number in range(3 * LINES_MAX)))
    found = difference(old, new)
    assert found.is_cut
    assert len(found.lines) <= 2 * LINES_MAX + 1
    far = difference(
        StoredText(text="a\n" * 10 + "b\n" + "c\n" * 10), StoredText(text="a\n" * 10 + "c\n" * 10)
    )
    assert far.lines[0] == ("…", "")
    assert ("-", "b") in far.lines


async def test_rfc7089_4_1_a_time_gate_leads_to_the_version_of_the_time() -> None:
    mesh = Mesh()
    for wanted, at in (
        ("Thu, 01 Jan 2026 12:30:05 GMT", "20260101123005"),
        ("Fri, 02 Jan 2026 23:00:00 GMT", "20260101123005"),
        ("Thu, 01 Jan 1970 00:00:00 GMT", "20260101123005"),
        ("Sat, 03 Jan 2026 12:30:05 GMT", "20260103123005"),
        ("", "20260103123005"),
    ):
        headers: dict[str, Any] = {"Accept_Datetime": wanted} if wanted else {}
        reply = await mesh.ask(f"/timegate/{URL}", **headers)
        assert reply.status == 302
        assert reply.headers["location"] == f"{PAGE}&at={at}"
        assert reply.headers["vary"] == "accept-datetime"
        assert 'rel="original"' in reply.headers["link"]
    assert (await mesh.ask(f"/timegate/{URL}", Accept_Datetime="now")).status == 400
    assert (await mesh.ask("/timegate/http://b.test/")).status == 404
    assert (await mesh.ask("/timegate/nonsense")).status == 400


async def test_rfc7089_5_a_time_map_lists_all_versions() -> None:
    reply = await Mesh().ask(f"/timemap/link/{URL}")
    assert reply.headers["content-type"].startswith("application/link-format")
    assert f'<{URL}>; rel="original"' in reply.text
    assert 'rel="first memento"; datetime="Thu, 01 Jan 2026 12:30:05 GMT"' in reply.text
    assert 'rel="last memento"; datetime="Sat, 03 Jan 2026 12:30:05 GMT"' in reply.text
    assert reply.text.count("memento") == 2
    assert (await Mesh().ask("/timemap/link/http://b.test/")).status == 404


async def test_a_time_map_in_json_lists_what_the_one_in_link_format_lists() -> None:
    told = (await Mesh().ask(f"/timemap/json/{URL}")).json
    linked = (await Mesh().ask(f"/timemap/link/{URL}")).text
    shown = told["mementos"]["list"]
    assert [each["datetime"] for each in shown] == ["2026-01-01T12:30:05Z", "2026-01-03T12:30:05Z"]
    assert (told["mementos"]["first"], told["mementos"]["last"]) == (shown[0], shown[-1])
    for uri in (*(each["uri"] for each in shown), told["timemap_uri"]["link"], told["timegate_uri"]):
        assert f"<{uri}>" in linked
    assert told["original_uri"] == URL
    assert told["self"] == told["timemap_uri"]["json"]
    assert (await Mesh().ask("/timemap/json/http://b.test/")).status == 404
    assert (await Mesh().ask("/timemap/json/nonsense")).status == 400


async def test_versions_refer_to_those_of_where_a_page_was_before_and_is_now() -> None:
    before, now = "http://a.test/before", "http://b.test/now"
    moved = (ToldVersion(GONE, 301, 2, False, 20, now), *VERSIONS[2:])
    gateway = application(FakeBackend(lambda order: VersionsFound(7, URL, moved, moved_from=(before,))))
    page = (await ask(gateway, f"{PAGE}&versions")).text
    for url in (before, now):
        assert f"/page?url={quote(url, safe='')}&amp;versions=" in page
    told = (await ask(gateway, f"/api/versions?url={quote(URL, safe='')}")).json
    assert told["moved_from"] == [before]
    assert [each["moved_to"] for each in told["versions"]] == [now, None]
    time_map = (await ask(gateway, f"/timemap/link/{URL}")).text
    assert f'/timemap/link/{before}>; rel="timemap"' in time_map


def test_a_page_that_was_never_shown_has_no_version_to_lead_to() -> None:
    assert chosen(VERSIONS[1:2], 1e10) is None
