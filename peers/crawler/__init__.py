"""Crawl: from a URL that is due to a page that was parsed, politely.

The actor is `controller`: `visits` asks hosts and reads their answers, `pages_in_progress` follows a page
until it is stored, `robots_files` and `host_clocks` keep what hosts are owed, `explainer` tells why. When a
host may be asked says `model.politeness`, which one is next `frontier.host_turns`; robots.txt is kept by
`frontier.origin_rows`. The rooms, each over those before it:
- `model`: messages, settings and values that all rooms share
- `addresses`: which addresses may be asked, and which peer holds the lease of one
- `fetching`: one question to a web server
- `parsing`: bytes to a document with its links
- `frontier`: URLs that wait for their visit, and what is known of their hosts
- `auditing`: second looks at pages of other members; `lent_turns` has the turns of our hosts for theirs
- `aliases`: hosts that are names of one site
- `links`: found links, to the peers that own their hosts
"""
