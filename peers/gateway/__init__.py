"""Where users meet the mesh.

Actor: `searcher` does the errands of users (`errand`): a `search` in rounds of questions (`round`,
`term_statistics`), the stored copy of a page (`page_lookup`), seeds (`seeding`), the status of all peers
(`status_roundup`, `status`). It merges what the peers answer and says what is missing.

Ports [io]: `http` (Starlette on Hypercorn: `routes`, `pages`, `texts`, `stored_page`, `metrics`,
`templates/`, `static/`) and `meter`. Messages between them are in `messages`.
"""
