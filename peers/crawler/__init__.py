"""From a URL that is due to a page that was parsed, politely.

Actor: `controller` decides what is fetched when. It has `visits` (whom to ask, and what answers mean; with
`questions`, `host_clocks` and `robots_files`), `pages_in_progress` (from being fetched to being done; where
`redirects` lead) and `links` (to their owners, unless `link_memory` has them, through the `outbox`, past
`deaf_members`, ours by `own_links`; `domain_links` tells those to other domains; what the policy
does not want waits in `left_out_links` for another one), all over the `frontier`: URLs as `url_rows` in
`url_queues`, `held_hosts` (one of them and its registrable domain: `host_state`; those that have no place in
memory: `parked_hosts`), who of them is next by `host_turns`, what their origins say to robots in
`origin_rows`, what links tell in `text_rows` (and `changed_texts` for the index), `filled_slots`; the shape
of its keys is in `frontier_keys`.
Which new page comes first say `orders`, by what is relevant to some words (`relevance`), held by `steering`,
to which those come that searchers want (`searchers_words`); it is the `course` in a row, another order means
`reordering`; URLs can be guessed (`ancestors`). When a page is due again says `revisiting`, by the
`visit_memory` of its row; what we owe hosts is `politeness` (of those that were given up: `recalling`); what
was asked of a domain is in `domain_budgets`, what its pages cost the parser in `parsing_costs`, what URLs
bring copies in `traps`, kept in `trap_rows`; what is sent back once in `cookies`; our part
of the pages that the mesh may visit is `page_limit`; how we crawl is `settings`, which can be replaced at any
time; why things are as they are says `explaining` (of one URL: `url_explaining`) in `explanations`; its
messages are `messages`, and `wire_messages` to other controllers.

The frontier is kept by several peers: as `frontier_items`, which `frontier_store` reads and merges for the
handover, and which `peers.handover.mirror` ships to the team as they change. The cell of the same peer reads
link texts there (`link_texts`).

Actor: `lessor` leases addresses for our fetcher and lends those of our slots to all (`lent_addresses`).

Actor: `aliases` finds out which hosts are other names of one site, by `host_samples` of what they have, as
`alias_judging` wants it.

Ports [io]: `fetcher_port` over `fetcher` (`connection`, `body_budget`, `tls_records`, `resolver`, `proxy`),
`parser_port` (whose page is next: `parser_turns`) over the processes of a workshop: `page_process`, asked
in `page_orders`, which has the `extraction` (`parser` with `main_text`, `charset` by `plausibility`,
`language`, `dates` by `date_texts`; `page_reader` for what is no HTML, too, by `peers.documents`, which
commands have done by a `guarded_reader`; sitemaps and feeds: `link_lists`, `xml_lists`, from `xml_markup`);
`recorder` for traces.

Pure leaves: `web_request` (one question to a web server and what came of it), `addresses` (what may be
connected to), `contact` (or not, for want of one), `address_rules` (as far as that is for the policy to say)
and `address_turns` (when), `decoding` (content codings within limits), `tls_sessions`, `response_lines`
(heads as servers write them), `link_header`, `robots` and `path_rules` (RFC 9309); `gaps` judges afterwards
how long hosts were left alone, also by the `access_lines` of web servers.
"""
