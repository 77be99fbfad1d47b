"""Real texts from the repository: the pages of the demo web, parsed. [io]"""

from __future__ import annotations

from functools import cache

from bootstrap.demo_web import DemoWeb
from peers.crawler.parsing.parser import parse_page
from peers.engine.pages.document import Document


@cache
def demo_documents() -> tuple[Document, ...]:
    """Return all pages, Chinese and English, in the order of the archive."""
    web = DemoWeb.load()
    documents = []
    for host in web.hosts:
        for path, response in web.responses_of(host).items():
            kind = dict(response.headers).get(b"content-type", b"").decode()
            if response.status == 200 and kind.startswith("text/html"):
                page = parse_page(f"http://{host}{path}", response.body, kind)
                documents.append(
                    Document(f"http://{host}{path}", title=page.title, text=page.text, fetched_at=1.0)
                )
    return tuple(documents)
