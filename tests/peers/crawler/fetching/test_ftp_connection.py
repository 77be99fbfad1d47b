from __future__ import annotations

import socket

import pytest

from peers.crawler.addresses.addresses import ALLOW_ALL, AddressPolicy
from peers.crawler.fetching.connection import FetchLimits
from peers.crawler.fetching.fetcher import Fetcher
from peers.crawler.fetching.ftp_connection import LISTING_BYTES_MAX, REPLY_BYTES_MAX
from peers.crawler.fetching.resolver import FixedEndpoint, FixedResolver
from peers.crawler.model.web_request import (
    FailureReason,
    FetchFailed,
    FetchPage,
    FetchResult,
    PageFetched,
    header_of,
)
from tests.ftp_server import FtpServer, FtpSite, served_by_ftp
from tests.patience import PATIENCE_S

TREE = {
    b"/": [(b"pub/", 0)],
    b"/pub": [(b"debian.iso", 3_000), ("年鉴.rar".encode("gbk"), 5), (b"old/", 0)],
    b"/pub/old": [(b"a.zip", 7)],
}
AGENT = "tianmesh/0.1 (+crawl@example.org)"


def _fetcher(server: FtpServer, seconds: float = 5.0) -> Fetcher:
    return Fetcher(
        FixedResolver({"ftp.a.test": FixedEndpoint(server.address, ftp=server.port)}),
        limits=FetchLimits(connect_s=seconds, total_s=seconds),
        addresses=ALLOW_ALL,
    )


async def _fetched(fetcher: Fetcher, *paths: str) -> list[FetchResult]:
    try:
        return [await fetcher.fetch(FetchPage(f"ftp://ftp.a.test{path}", user_agent=AGENT)) for path in paths]
    finally:
        fetcher.close()


async def _listing(site: FtpSite, path: str = "/pub/", address: str = "127.0.0.1") -> PageFetched:
    with served_by_ftp(site, address) as server:
        (fetched,) = await _fetched(_fetcher(server), path)
    assert isinstance(fetched, PageFetched)
    return fetched


async def _failure(site: FtpSite, path: str = "/pub/", seconds: float = 5.0) -> FetchFailed:
    with served_by_ftp(site) as server:
        (failed,) = await _fetched(_fetcher(server, seconds), path)
    assert isinstance(failed, FetchFailed)
    return failed


async def test_a_directory_is_listed_by_facts_where_the_server_has_them() -> None:
    fetched = await _listing(FtpSite(TREE))
    assert (fetched.status, fetched.is_whole) == (200, True)
    assert header_of(fetched, "content-type") == "text/ftp-dir; format=mlsd"
    assert b"type=file;size=3000;modify=20240531120000; debian.iso\r\n" in fetched.body
    assert fetched.ip == "127.0.0.1"


@pytest.mark.parametrize("has_epsv", [True, False])
async def test_else_it_is_listed_as_its_server_likes(has_epsv: bool) -> None:
    fetched = await _listing(FtpSite(TREE, has_mlsd=False, has_epsv=has_epsv))
    assert (header_of(fetched, "content-type") or "").startswith("text/ftp-dir; format=list; on=20")
    assert fetched.body.endswith(b"old\r\n")


async def test_all_directories_are_asked_for_in_one_session_as_anonymous() -> None:
    with served_by_ftp(FtpSite(TREE)) as server:
        results = await _fetched(_fetcher(server), "/robots.txt", "/", "/pub/", "/pub/old/", "/none/")
    assert [result.status for result in results if isinstance(result, PageFetched)] == [
        404,
        200,
        200,
        200,
        404,
    ]
    assert [event.what for event in server.commands("USER")] == ["USER anonymous"]
    assert [event.what for event in server.commands("PASS")] == [f"PASS {AGENT}"]
    assert server.sessions_at_once() == 1
    assert {event.session for event in server.log} == {0}


async def test_a_session_that_its_server_has_ended_is_opened_anew_and_none_is_open_beside_it() -> None:
    with served_by_ftp(FtpSite(TREE, is_closed_after_each=True)) as server:
        results = await _fetched(_fetcher(server), "/", "/pub/", "/pub/old/")
    assert [result.status for result in results if isinstance(result, PageFetched)] == [200, 200, 200]
    assert server.sessions_at_once() == 1
    assert len(server.commands("opened")) == 3


async def test_a_robots_txt_is_read_and_no_other_file() -> None:
    with served_by_ftp(FtpSite(TREE, robots=b"User-agent: *\nDisallow: /old/\n")) as server:
        robots, file = await _fetched(_fetcher(server), "/robots.txt", "/pub/debian.iso")
    assert isinstance(robots, PageFetched)
    assert robots.body.endswith(b"Disallow: /old/\n")
    assert isinstance(file, FetchFailed)
    assert file.reason is FailureReason.URL
    assert [event.what for event in server.commands("RETR")] == ["RETR /robots.txt"]


async def test_rfc2577_3_the_address_that_pasv_names_is_never_connected_to() -> None:
    with socket.create_server(("127.0.0.9", 0)) as victim:
        victim.setblocking(False)
        port = victim.getsockname()[1]  # so that only the address makes a difference
        site = FtpSite(TREE, has_epsv=False, passive_host="127,0,0,9", data_port=port)
        # From an address at which nobody else takes ports: it is to have the same one.
        assert (await _listing(site, address="127.0.0.8")).status == 200
        with pytest.raises(BlockingIOError):
            victim.accept()


@pytest.mark.parametrize("reply", [b"229 here (|||22|)", b"229 here (|||1023|)"])
async def test_no_data_come_from_a_port_of_another_service(reply: bytes) -> None:
    failed = await _failure(FtpSite(TREE, extended_reply=reply))
    assert failed.reason is FailureReason.PROTOCOL


async def test_an_endless_listing_is_cut_and_its_session_ended() -> None:
    with served_by_ftp(FtpSite(TREE, endless=True)) as server:
        first, second = await _fetched(_fetcher(server, 20.0), "/pub/", "/pub/old/")
    for fetched in (first, second):
        assert isinstance(fetched, PageFetched)
        assert not fetched.is_whole
        assert LISTING_BYTES_MAX - 100 < len(fetched.body) <= LISTING_BYTES_MAX
        assert fetched.body.endswith(b"\r\n"), "and no name is cut"
    assert len(server.commands("opened")) == 2


async def test_a_listing_that_came_whole_is_kept_though_its_server_does_not_say_so() -> None:
    """It was lost with the time of the fetch: some servers send no reply behind the data."""
    with served_by_ftp(FtpSite(TREE, last_reply=b"")) as server:
        fetcher = Fetcher(
            FixedResolver({"ftp.a.test": FixedEndpoint(server.address, ftp=server.port)}),
            limits=FetchLimits(connect_s=0.5, total_s=PATIENCE_S),
            addresses=ALLOW_ALL,
        )
        first, second = await _fetched(fetcher, "/pub/", "/pub/old/")
    for fetched, name in ((first, b"debian.iso"), (second, b"a.zip")):
        assert isinstance(fetched, PageFetched)
        assert fetched.is_whole
        assert name in fetched.body
    assert len(server.commands("opened")) == 2, "a late reply would be taken for one to another command"


@pytest.mark.parametrize("reply", [b"426 broken off", b"451 local error", b""])
async def test_of_a_listing_that_broke_off_nothing_is_kept(reply: bytes) -> None:
    failed = await _failure(FtpSite(TREE, last_reply=reply, is_closed_after_each=True))
    assert failed.reason is FailureReason.RESET


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (b"HTTP/1.1 200 OK", FailureReason.PROTOCOL),
        (b"SSH-2.0-OpenSSH", FailureReason.PROTOCOL),
        (b"\xb2\xb3\xb9 odd digits", FailureReason.PROTOCOL),
        (b"220-" + b"x" * 100_000, FailureReason.HEADER_TOO_LARGE),
        (b"220-a\r\n" * 20_000, FailureReason.HEADER_TOO_LARGE),
        (b"220-no end", FailureReason.TIMEOUT),
        (b"2", FailureReason.PROTOCOL),
        (b"", FailureReason.PROTOCOL),
        (b"120 in a moment", FailureReason.PROTOCOL),
        (b"331 which password?", FailureReason.PROTOCOL),
    ],
)
async def test_what_is_no_ftp_is_a_failure(greeting: bytes, reason: FailureReason) -> None:
    assert (await _failure(FtpSite(TREE, greeting=greeting), seconds=1.0)).reason is reason


@pytest.mark.parametrize("greeting", [b"220-" + b"x" * 100_000, b"220-a\r\n" * 20_000])
async def test_the_limit_of_a_reply_is_told(greeting: bytes) -> None:
    failed = await _failure(FtpSite(TREE, greeting=greeting))
    assert failed.detail == f"a reply of more than {REPLY_BYTES_MAX} bytes"


@pytest.mark.parametrize(
    "reply",
    [b"229 (|||99999|)", b"229 (|||0|)", b"229 nothing", b"500 no\r\n227 stray", b"229 (|1|10.0.0.1|80|)"],
)
async def test_an_odd_answer_to_epsv_opens_nothing_elsewhere(reply: bytes) -> None:
    with served_by_ftp(FtpSite(TREE, extended_reply=reply)) as server:
        (result,) = await _fetched(_fetcher(server), "/pub/")
    assert isinstance(result, FetchFailed) or result.status == 200
    assert server.sessions_at_once() == 1


@pytest.mark.parametrize(
    ("greeting", "status"),
    [(b"421 too many users", 503), (b"530 not you", 401), (b"534 only with TLS", 503), (b"500 broken", 503)],
)
async def test_a_refusal_is_the_status_of_http_that_means_the_same(greeting: bytes, status: int) -> None:
    assert (await _listing(FtpSite(TREE, greeting=greeting))).status == status


async def test_a_private_address_is_refused_as_over_http() -> None:
    with served_by_ftp(FtpSite(TREE)) as server:
        fetcher = Fetcher(
            FixedResolver({"ftp.a.test": FixedEndpoint(server.address, ftp=server.port)}),
            addresses=AddressPolicy(),
        )
        (failed,) = await _fetched(fetcher, "/")
    assert isinstance(failed, FetchFailed)
    assert failed.reason is FailureReason.PRIVATE_ADDRESS
    assert server.log == []
