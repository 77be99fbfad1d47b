"""What servers name as the address of a page."""

from __future__ import annotations

import pytest

from peers.crawler.model.messages import PageParsed
from peers.crawler.parsing.extraction import extract, extract_again
from peers.crawler.parsing.link_header import canonical_in_headers
from peers.storage.messages import ParseRecords
from tests.helpers import fetched, seen

URL = "http://www.a.test/d/paper.pdf"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (['<https://a.test/paper>; rel="canonical"'], "https://a.test/paper"),
        (["<../paper>;REL=Canonical"], "http://www.a.test/paper"),
        (['</a>; rel="next", </b,c>; title="x;y"; rel="self canonical"'], "http://www.a.test/b,c"),
        (["</style.css>; rel=preload; as=style", "</b>; rel=canonical"], "http://www.a.test/b"),
        (["<http://b.test/paper>; rel=canonical"], ""),  # of another domain
        (['</b>; rel="canonical"; anchor="/other"'], ""),
        (["</b>; rel=next; rel=canonical"], ""),  # RFC 8288, 3.3: the first one counts
        (["<mailto:a@a.test>; rel=canonical"], ""),
        (["/b; rel=canonical", "<<<;;", ""], ""),
        (["</b>; rel=canonical, </c>; rel=canonical"], ""),
        (["</b>; rel=canonical", "</b#c>; rel=canonical"], "http://www.a.test/b"),
    ],
)
def test_rfc8288_a_server_names_the_address_of_a_page(values: list[str], named: str) -> None:
    assert canonical_in_headers(URL, values) == named


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"just text", "http://www.a.test/paper"),
        (b"<html><link rel=canonical href=/element><p>text", "http://www.a.test/element"),
    ],
)
def test_a_page_names_its_own_address_before_its_server_does(body: bytes, named: str) -> None:
    headers = (("Link", "</paper>; rel=canonical"),)
    parsed = extract(fetched("http://www.a.test/x", body=body, headers=headers, started_at=5.0), 1)
    assert isinstance(parsed, PageParsed)
    assert parsed.document is not None
    assert parsed.document.canonical == named
    again = extract_again(ParseRecords("http://www.a.test/x", seen(5.0, 1), parsed.records))
    assert again.document == parsed.document
