"""Where users meet the mesh.

Actor: `searcher` does the errands of users (`errand`). A `search` goes through stages (`search_task`,
`stage`, `counting`, `searching`, `reading`), each some questions to many peers (`round`), by less if that
finds too little (`relaxation`), a long query by what the best pages say besides (`feedback`); what they
answer is counted together (`term_statistics`) and put into one order (`merging`, `hit_list`) in which copies
are one (`folding`), that can be gone on with (`cursor`), or shown again while nothing has changed
(`result_cache`). `plan` and `punctuality` say who is asked for whom, `witnesses` which hits are confirmed,
`doubts` who is wrong where members differ (by `comparing` and `asking_again`). What all searches share is a
`view`; what several searched for in vain is counted by `searched_words`. Other
errands: the stored copy of a page, and which links have one (`page_lookup`), its versions
(`versions_lookup`, a `team_errand`),
seeds (`seeding`), how all peers are and were (a `roundup` each: `status_roundup` of `status`,
`history_roundup`), why things are as they are (`inquiry`), draining (`draining`), and whether the whole mesh
answers (`readiness`).

Ports [io]: `http` and `meter`. `http` asks who a request is from (`rights`), what that client has left
(`quotas`) and whose turn it is (`turns`). Under it are a server (`http_server`, `http_connection`,
`memory_budget`) and an application (`asgi`; Starlette with `routes`, `pages`, `bot_page`, `feeds`,
`time_words`, `texts`, `stored_page` by a `stored_reader` as a `marked_copy`, `versions_page` with the
`difference`,
`versions_json`, `memento`, `member_lines`, `history_page` with its `charts` and `history_words`,
`why_page` for administrators, who `sign_in`; JSON in `found_json`, `readiness_json`, `order_json`,
`history_view` and `why_json` with the sentences of `why_url` and `why_idle` and the `why_rows`, all
described by `openapi`; `metrics` with the names that stay in `peer_metrics` and `process_metrics`, and a
`histogram`; `templates/`, `static/`). What a person may set is `settings`. Messages between ports and actor
are in `messages`, those between gateways in `wire_messages`; what is asked of others stands with who answers
it.
"""
