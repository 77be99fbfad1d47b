"""Records of revisits are read as what they refer to; files of other archives as examples."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from peers.crawler.model.wire_messages import LinkUse
from peers.importing.originals import NAMES_MAX, with_originals
from peers.importing.packed_file import packing_of
from peers.importing.page import PageNotKept, page_of_record
from peers.importing.positions import FileDamage
from peers.importing.warc_file import Record, read_warc
from peers.storage.archive.warc import SAME_PAYLOAD, pack_record, read_record, response_record
from tests.helpers import seen
from tests.shared_data import shared

URL, OTHER = "http://a.test/", "http://a.test/other"
HEAD, BODY = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", b"<p>words"
ORIGINAL = response_record(URL, HEAD, BODY, seen(1_000.0))
AGAIN = "2024-02-01T00:00:00Z"
NAMES = {
    "id": ("WARC-Refers-To",),
    "time": ("WARC-Refers-To-Target-URI", "WARC-Refers-To-Date"),
    "digest": ("WARC-Payload-Digest",),
}


def written(by: str, *, is_packed: bool = True) -> bytes:
    """A response, another one, and a revisit that names the first only by this."""
    told = read_record(ORIGINAL).headers
    names = {
        "WARC-Refers-To": told["warc-record-id"],
        "WARC-Refers-To-Target-URI": URL,
        "WARC-Refers-To-Date": told["warc-date"],
        "WARC-Payload-Digest": told["warc-payload-digest"],
    }
    headers = {
        "WARC-Type": "revisit",
        "WARC-Record-ID": "<urn:uuid:7>",
        "WARC-Date": AGAIN,
        "WARC-Target-URI": URL,
        "WARC-Profile": SAME_PAYLOAD,
        **{name: names[name] for name in NAMES.get(by, ())},
    }
    other = response_record(OTHER, HEAD, b"<p>other", seen(2_000.0))
    data = ORIGINAL + other + pack_record(headers, HEAD)
    return data if is_packed else gzip.decompress(data)


def read(data: bytes, names_max: int = 9) -> Iterator[Record | FileDamage]:
    packing = packing_of(data)
    return with_originals(read_warc(packing), packing, names_max)


def last_of(data: bytes, names_max: int = 9) -> Record:
    *_, last = read(data, names_max)
    assert isinstance(last, Record)
    return last


@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("by", NAMES)
def test_a_revisit_is_a_response_of_its_own_time_with_what_it_refers_to(by: str, *, is_packed: bool) -> None:
    found = last_of(written(by, is_packed=is_packed))
    assert (found.headers["warc-type"], found.headers["warc-date"]) == ("response", AGAIN)
    assert (found.headers["warc-target-uri"], found.block) == (URL, HEAD + BODY)
    page = page_of_record(found, LinkUse.TEXT)
    assert page.document is not None
    assert page.document.text == "words"


def test_what_refers_to_nothing_in_the_file_stays_what_it_is() -> None:
    for data, names_max in ((written("id"), 3), (written("nothing"), 9), (written("id")[len(ORIGINAL) :], 9)):
        found = last_of(data, names_max)
        assert found.headers["warc-type"] == "revisit"
        with pytest.raises(PageNotKept, match="is not in this file"):
            page_of_record(found, LinkUse.TEXT)


@pytest.mark.more
@pytest.mark.parametrize(
    ("name", "n_found", "n_left"),
    [
        ("pywb/warcs/example-extra.warc", 2, 0),
        ("pywb/warcs/iana.warc.gz", 123, 0),
        ("iipc-spec/20141124-heritrix-server-not-modified.warc.gz", 0, 1),
    ],
)
def test_revisits_of_other_archives_are_read(name: str, n_found: int, n_left: int) -> None:
    data = shared(f"suites/warc/{name}").read_bytes()
    kinds = [
        (each.headers["warc-type"], "warc-profile" in each.headers)
        for each in read(data, NAMES_MAX)
        if isinstance(each, Record)
    ]
    assert (kinds.count(("response", True)), kinds.count(("revisit", True))) == (n_found, n_left)
