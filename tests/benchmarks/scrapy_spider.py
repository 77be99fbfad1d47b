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

_getaddrinfo = socket.getaddrinfo


def getaddrinfo(host, port, *rest, **options):
    at = TABLE.get(host)
    if at is None:
        return _getaddrinfo(host, port, *rest, **options)
    return _getaddrinfo(at["ip"], at["http"] if port in (80, "80") else port, *rest, **options)


# Before Scrapy and Twisted take their own references.
socket.getaddrinfo = getaddrinfo
socket.gethostbyname = lambda host: TABLE[host]["ip"] if host in TABLE else host

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
