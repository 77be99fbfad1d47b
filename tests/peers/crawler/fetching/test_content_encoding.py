from __future__ import annotations

import gzip
import time
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.fetching.content_encoding import (
    GZIP_MEMBERS_MAX,
    Decoded,
    TooLarge,
    Undecodable,
    decode,
    decode_beginning,
)
from tests.bombs import CODINGS, bomb_of
from tests.shared_data import shared

LIMIT = 1 << 20


def suite(name: str) -> bytes:
    return shared(f"suites/scrapy-bombs/compressed/{name}").read_bytes()


@pytest.mark.more
@pytest.mark.parametrize(
    ("file", "codings"),
    [
        ("html-gzip.bin", "gzip"),
        ("html-zlibdeflate.bin", "deflate"),
        ("html-rawdeflate.bin", "deflate"),
        ("html-br.bin", "br"),
        ("html-zstd-static-content-size.bin", "zstd"),
        ("html-zstd-static-no-content-size.bin", "zstd"),
        ("html-zstd-streaming-no-content-size.bin", "zstd"),
        ("html-gzip-deflate.bin", "gzip,deflate"),
        ("html-gzip-deflate-gzip.bin", " gzip , Deflate,, identity, gzip"),
    ],
)
def test_scrapy_pages_decode(file: str, codings: str) -> None:
    body, is_whole = decode(suite(file), codings, LIMIT)
    assert is_whole
    assert len(body) in (74_837, 74_840)
    assert body.startswith(b"<!DOCTYPE HTML>")


@pytest.mark.parametrize("coding", CODINGS)
def test_bombs_never_exceed_the_limit_in_memory(coding: str) -> None:
    bomb = bomb_of(coding)
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            decode(bomb, coding, LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 5 * LIMIT  # limit, its pieces, tables of the decoder
    finally:
        tracemalloc.stop()


def test_nested_bombs_never_exceed_the_limit() -> None:
    nested = gzip.compress(gzip.compress(gzip.compress(bytes(50_000_000))))
    assert len(nested) < 2_000
    with pytest.raises(TooLarge):
        decode(nested, "gzip, gzip, gzip", LIMIT)


def test_exactly_the_limit_is_allowed() -> None:
    for coding, compress in (("gzip", gzip.compress), ("br", brotli.compress), ("zstd", zstandard.compress)):
        assert decode(compress(bytes(1000)), coding, 1000).body == bytes(1000)
        with pytest.raises(TooLarge):
            decode(compress(bytes(1001)), coding, 1000)


@pytest.mark.more
def test_a_truncated_gzip_yields_what_came_before() -> None:
    body, is_whole = decode(suite("unexpected-eof.gz"), "gzip", LIMIT)
    assert not is_whole
    assert body.decode("latin-1").encode() == suite("unexpected-eof-output.txt")


@pytest.mark.more
@pytest.mark.parametrize("file", ["truncated-crc-error.gz", "truncated-crc-error-short.gz"])
def test_a_wrong_checksum_yields_the_data_and_is_told(file: str) -> None:
    body, is_whole = decode(suite(file), "gzip", LIMIT)
    assert not is_whole
    assert b"</body>" in body


def test_a_gzip_with_a_part_of_its_checksum_yields_the_data_and_is_told() -> None:
    text = b"".join(b"%d some text " % number for number in range(1_000))
    body, is_whole = decode(gzip.compress(text)[:-5], "gzip", LIMIT)
    assert not is_whole
    assert body == text


@pytest.mark.parametrize(
    ("flags", "more"),
    [
        (0, b""),
        (4, b"\x03\0abc"),
        (8, b"name\0"),
        (16, b"comment\0"),
        (4 | 8 | 16, b"\x02\0\0\0name\0comment\0"),
        (2, zlib.crc32(b"\x1f\x8b\x08\x02" + bytes(6)).to_bytes(4, "little")[:2]),
    ],
)
def test_a_gzip_with_a_wrong_checksum_yields_all_data_and_is_told(flags: int, more: bytes) -> None:
    text = b"".join(b"%d some text " % number for number in range(1_000))
    packed = gzip.compress(text, mtime=0)
    head = packed[:3] + bytes([flags]) + bytes(6) + more
    assert decode(head + packed[10:], "gzip", LIMIT) == (text, True)
    assert decode(head + packed[10:-8] + bytes(4) + packed[-4:], "gzip", LIMIT) == (text, False)


def test_a_zlib_stream_with_a_wrong_checksum_yields_all_data_and_is_told() -> None:
    text = b"".join(b"%d some text " % number for number in range(1_000))
    packed = zlib.compress(text)
    assert decode(packed[:-4] + bytes(4), "deflate", LIMIT) == (text, False)
    bare = packed[2:-4]
    assert decode(bare, "deflate", LIMIT) == (text, True)


@pytest.mark.parametrize("head", [b"\x1f\x8b\x07\0", b"\x1f\x8b\x08\xff", b"\x1f\x8b\x08\x1c", b"\x1f\x8b"])
def test_what_no_gzip_begins_with_yields_nothing(head: bytes) -> None:
    with pytest.raises(Undecodable):
        decode(head + b"\xff" * 50, "gzip", LIMIT)


def test_half_of_a_gzip_yields_what_it_has_of_the_data() -> None:
    text = b"".join(b"%d some text " % number for number in range(50_000))
    packed = gzip.compress(text)
    body, is_whole = decode(packed[: len(packed) // 2], "gzip", LIMIT)
    assert not is_whole
    assert len(body) > len(text) // 4
    assert text.startswith(body)


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_other_truncated_codings_are_told(coding: str) -> None:
    text = b"".join(b"%d some text " % number for number in range(50_000))
    encoded = brotli.compress(text, quality=1) if coding == "br" else zstandard.compress(text)
    body, is_whole = decode(encoded[: len(encoded) // 2], coding, LIMIT)
    assert not is_whole
    assert body
    assert text.startswith(body)


def test_gzip_members_are_joined_and_what_follows_is_ignored() -> None:
    packed = gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0padding"
    assert decode(packed, "gzip", LIMIT) == Decoded(b"ab", True)


def test_gzip_members_without_end_are_refused_quickly() -> None:
    started = time.process_time()
    with pytest.raises(Undecodable):
        decode(gzip.compress(b"") * 100_000, "gzip", LIMIT)
    assert time.process_time() - started < 10.0
    assert decode(gzip.compress(b"") * GZIP_MEMBERS_MAX, "gzip", LIMIT).is_whole


@pytest.mark.parametrize("codings", ["compress", "sdch", "gzip, what", ", ".join(["gzip"] * 6), "x" * 1000])
def test_unknown_and_too_many_codings_are_refused(codings: str) -> None:
    with pytest.raises(Undecodable):
        decode(b"\1\2", codings, LIMIT)


@pytest.mark.parametrize(
    "label", ["none", "UTF-8", "gzip", "br", "deflate", "zstd", "compress", "gzip, none"]
)
def test_text_under_a_false_label_is_taken_as_it_is(label: str) -> None:
    text = b"User-agent: *\nDisallow: /\n"
    assert decode(text, label, LIMIT) == Decoded(text, True)
    assert decode_beginning(text, label, LIMIT) == Decoded(text, True)


def test_a_false_label_beside_a_true_one_is_taken_for_nothing() -> None:
    assert decode(gzip.compress(b"abc"), "none, gzip", LIMIT) == Decoded(b"abc", True)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_the_beginning_of_a_long_body_is_told_to_be_one(coding: str) -> None:
    text = b"".join(b"line %d\n" % number for number in range(100_000))
    compress = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": brotli.compress,
        "zstd": zstandard.compress,
    }
    packed = compress[coding](text)
    assert decode_beginning(packed, coding, 1_000) == Decoded(text[:1_000], False)
    assert decode_beginning(packed, coding, len(text)) == Decoded(text, True)


def test_an_empty_body_needs_no_decoding() -> None:
    assert decode(b"", "gzip, br", LIMIT) == Decoded(b"", True)


def test_no_coding_leaves_the_body_alone() -> None:
    assert decode(b"abc", "identity", 1) == Decoded(b"abc", True)


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "br", "zstd"]), st.booleans())
def test_any_bytes_decode_or_are_refused(body: bytes, coding: str, has_header: bool) -> None:
    if has_header:
        body = gzip.compress(b"x" * 50)[:12] + body
    try:
        decoded, _ = decode(body, coding, 1000)
    except (TooLarge, Undecodable):
        return
    assert len(decoded) <= 1000


@given(st.binary(max_size=5_000))
def test_what_was_encoded_comes_back(body: bytes) -> None:
    assert decode(gzip.compress(body), "gzip", 5_000) == Decoded(body, True)
    assert decode(zlib.compress(body), "deflate", 5_000) == Decoded(body, True)
    assert decode(brotli.compress(body), "br", 5_000) == Decoded(body, True)
    assert decode(zstandard.compress(body), "zstd", 5_000) == Decoded(body, True)
