"""The messages between the rooms of the crawler, and the values that they share. Pure.

`messages` stay within a peer, `wire_messages` go to others; `web_request` is one question to a web server and
its answer, `page_tasks` the work that is given to parsing processes, `settings` how we crawl.
Values: what is owed to hosts (`politeness`, `robots` with `path_rules`, `address_rules`), when a page is due
again (`revisit_policies`, `visit_memory`), a URL's row (`url_rows`), its place in the order of the crawl
(`course`), and what speaks for an alias (`alias_evidence`).
"""
