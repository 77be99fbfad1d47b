"""Scrapy on the same sites: links and text of every page, nothing kept. Runs in an environment of its own.

usage: python scrapy_spider.py RESOLVER_JSON SEEDS_FILE     prints {"pages": n, "cpu_seconds": s}
"""

import json
import socket
import sys
import time
from pathlib import Path

TABLE = json.loads(Path(sys.argv[1]).read_text())
SEEDS = Path(sys.argv[2]).read_text().split()

PORTS = {at["ip"]: at["http"] for at in TABLE.values()}

_gethostbyname = socket.gethostbyname
_getaddrinfo = socket.getaddrinfo
_connect_ex = socket.socket.connect_ex


def address_of(host):
    return TABLE[host]["ip"] if host in TABLE else host


def connect_ex(self, address):
    host, port, *rest = address
    return _connect_ex(self, (host, PORTS.get(host, port) if port == 80 else port, *rest))


# Before Scrapy and Twisted take their own references: the table is the only name server, and leads
# port 80 of its hosts to the port that they are served on.
socket.gethostbyname = lambda host: _gethostbyname(address_of(host))
socket.getaddrinfo = lambda host, *rest, **options: _getaddrinfo(address_of(host), *rest, **options)
socket.socket.connect_ex = connect_ex

import scrapy  # noqa: E402
from scrapy.crawler import CrawlerProcess  # noqa: E402
from scrapy.linkextractors import LinkExtractor  # noqa: E402


class Spider(scrapy.Spider):
    name = "sites"
    start_urls = SEEDS
    links = LinkExtractor(allow_domains=list(TABLE))
    page_count = 0

    def parse(self, response):
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        Spider.page_count += 1
        texts = response.xpath("//body//text()[not(parent::script or parent::style)]").getall()
        " ".join(text.strip() for text in texts if text.strip())
        for link in self.links.extract_links(response):
            yield response.follow(link.url.partition("#")[0], self.parse)


process = CrawlerProcess(
    {"ROBOTSTXT_OBEY": True, "LOG_ENABLED": False, "DOWNLOAD_DELAY": 0, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
)
process.crawl(Spider)
process.start()
print(json.dumps({"pages": Spider.page_count, "cpu_seconds": time.process_time()}))
