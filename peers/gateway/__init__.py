"""Where users meet the mesh: a query goes in at any gateway, and the answer of the whole mesh comes out.

The actor is `searcher`, which does the errands of users; the port is `http_port`, whose application is
`routes`: `page_routes`, `api_routes` (described by `openapi`), `stored_routes`, and `compatible_routes` for
programs of other engines, for which `asked_pages` are looked up, `site_icons` shown, `live_runs` kept,
`reports`, `related_search` and `directory` made. The rooms, each over those before it:

- `model`: messages, settings, how peers and members are
- `errands`: what is asked of one peer, a team or all, and what its answers come to
- `aggregation`, `search`: groups that others ask for a gateway; an errand in stages, exact over all members
- `suggesting`, `live`, `clicks`: how a query may go on; searches that have the crawl look, or go by clicks
- `http`: the server, what a client has left and may do, metrics
- `site`: pages, JSON, feeds and stored copies; `handling`: parts that all handlers of requests share
- `why`, `backlinks`, `grouping`, `hubs`, `notices`, `judging`, `topics`: single pages, each with its JSON
"""
