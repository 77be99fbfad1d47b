from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.fetching.response_lines import CHUNK_LINE_BYTES_MAX, ChunkLines, head_end, readable_head

OK = b"HTTP/1.1 200 OK\r\n"


def test_a_version_in_small_letters_is_read() -> None:
    assert readable_head(b"http/1.1 200 ok\r\nA: b\r\n\r\n").startswith(b"HTTP/1.1 200 ok\r\n")


def headers_of(head: bytes) -> list[tuple[bytes, bytes]]:
    """As h11 reads them."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
    connection.receive_data(readable_head(head))
    response = connection.next_event()
    assert isinstance(response, h11.Response)
    return list(response.headers)


@pytest.mark.parametrize(
    ("lines", "headers"),
    [
        (b"Content-Type : text/plain\r\n", [(b"content-type", b"text/plain")]),
        (b"no colon\r\nA: b\r\n", [(b"a", b"b")]),
        (b"Two Words: x\r\n: y\r\n", []),
        (b"Transfer-Encoding: Identity\r\n", []),
        (b"Transfer-Encoding: identity, chunked\r\n", [(b"transfer-encoding", b"chunked")]),
        (b"Transfer-Encoding: identity,identity\r\n", []),
        (
            b"Transfer-Encoding: GZIP , chunked\r\nContent-Encoding: br\r\n",
            [
                (b"transfer-encoding", b"chunked"),
                (b"content-encoding", b"br"),
                (b"content-encoding", b"gzip"),
            ],
        ),
        (b"Transfer-Encoding : chunked\r\n", [(b"transfer-encoding", b"chunked")]),
        (b" continued\r\nA: b\r\n\tc\r\n", [(b"a", b"b c")]),
        (b"no colon\r\n Transfer-Encoding: chunked\r\n", []),
        (b"A: b\0c\x0bd\r\n", [(b"a", b"b c d")]),
        (b"A: b\nC: d\n", [(b"a", b"b"), (b"c", b"d")]),
    ],
)
def test_what_servers_write_is_read_as_browsers_do(lines: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    assert headers_of(OK + lines + b"\r\n") == headers


@pytest.mark.parametrize(
    "line",
    [
        b"Content-Length: 1\0",
        b"Content-Length: 1, 2",
        b"Transfer-Encoding: gzip, identity",
        b"Transfer-Encoding: chunked, gzip",
        b"Transfer-Encoding: chunked, chunked",
        b"Transfer-Encoding: unheard, chunked",
        b"Content-Length: x",
    ],
)
def test_what_says_where_the_message_ends_is_not_mended(line: bytes) -> None:
    with pytest.raises(h11.RemoteProtocolError):
        headers_of(OK + line + b"\r\n\r\n")


names = st.from_regex(r"[A-Za-z-]{1,10}", fullmatch=True).filter(
    lambda name: not name.lower().endswith(("length", "coding"))
)


@given(st.lists(st.tuples(names, st.from_regex(r"[!-~]([ -~]*[!-~])?", fullmatch=True)), max_size=5))
def test_a_sound_head_stays_as_it_is(headers: list[tuple[str, str]]) -> None:
    head = OK + "".join(f"{name}: {value}\r\n" for name, value in headers).encode() + b"\r\n"
    assert readable_head(head) == head


@given(st.binary(max_size=200))
def test_any_lines_are_read(lines: bytes) -> None:
    headers_of(OK + lines.replace(b"\n\n", b"").replace(b"\n\r\n", b"") + b"\r\n\r\n")


def test_the_end_is_found_across_pieces() -> None:
    head = bytearray(OK + b"A: b\r\n\r\nbody")
    assert head_end(head, 0) == head_end(head, len(head) - 6) == len(head) - 4
    assert head_end(head[:-5], 0) == 0


def mended(body: bytes, cuts: list[int]) -> bytes:
    """Give a body in pieces."""
    lines = ChunkLines()
    ends = sorted(min(cut, len(body)) for cut in cuts)
    pieces = [body[a:b] for a, b in zip([0, *ends], [*ends, len(body)], strict=True)]
    return b"".join(map(lines.mended, pieces))


@given(
    st.lists(st.binary(min_size=1, max_size=20), max_size=4),
    st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=11, max_size=11),
    st.lists(st.integers(0, 120), max_size=5),
    st.binary(max_size=10),
)
def test_lines_of_chunks_may_end_with_lf_alone(
    chunks: list[bytes], ends: list[bytes], cuts: list[int], next_answer: bytes
) -> None:
    parts = [part for chunk in chunks for part in (b"%X;x=y" % len(chunk), chunk)]
    lines = [*parts, b"0", b"A: b", b""]
    as_sent = b"".join(line + end for line, end in zip(lines, ends, strict=False))
    strict = b"".join(line + b"\r\n" for line in lines)
    assert mended(as_sent + next_answer, cuts) == strict + next_answer
    assert mended(strict + next_answer, cuts) == strict + next_answer


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=3))
def test_what_is_no_chunk_is_handed_on(rest: bytes, cuts: list[int]) -> None:
    assert mended(b"no size\r\n" + rest, cuts) == b"no size\r\n" + rest
    assert mended(b"1\r\nab\r\n" + rest, cuts) == b"1\r\nab\r\n" + rest


def test_a_line_without_end_is_not_held_back_for_ever() -> None:
    endless = b"0" * (CHUNK_LINE_BYTES_MAX + 1)
    assert mended(endless, [1, 2]) == endless
