"""Searches that have the crawl look for more while the searcher waits, as WebCrawler's and the fish search.

`live_search` decides the steps of one, and is pure; `live_json` is what a program gets, `live_page` what a
person sees.
"""
