"""Where users meet the mesh.

Actor: `searcher` does the errands of users (`errand`): a `search` in rounds of questions (`round`,
`term_statistics`), by less if that finds too little (`relaxation`), put into one order (`hit_list`) that can
be gone on with (`cursor`), or shown again while nothing has changed (`result_cache`); the stored copy of a
page (`page_lookup`), seeds (`seeding`), the status of all peers (`status_roundup`, `status`); whether the
whole mesh answers (`readiness`). It merges what the peers answer and says what is missing.

Ports [io]: `http` and `meter`. Under `http` are a server (`http_server`, `http_connection`, `memory_budget`)
and an application (`asgi`; Starlette with `routes`, `pages`, `found_json`, `readiness_json`, `texts`,
`stored_page`, `metrics`, `templates/`, `static/`). Messages between ports and actor are in `messages`.
"""
