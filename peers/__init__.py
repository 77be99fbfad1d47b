"""One peer: it crawls its share of the web, keeps the pages, indexes them and answers queries.

- pages come in by `crawler/` (the actor `controller`), `rendering/`, `documents/`, `importing/`
- and are kept by `storage/` (`cell`), `copies/`, `handover/`, `history/`, `backup/`, `exporting/`
- found by `text/` (terms), `engine/` (over kernels in C: `kernel`, `build_kernels`), `index/` (`indexer`)
- asked for at `gateway/` (`searcher`), as its owner wants (`policy/`), judged by `evaluation/`, `judging/`
- `classes/` makes the models by which pages are put into classes, of samples; no peer loads it
- if told to, `link_graph/` keeps which pages link to which, `query_log/`, `submissions/` what people ask for
- `actors` makes all of them, and tells the ways of pages, queries and slots between them; `peer` composes
- `wire_tags` numbers the messages between peers, `charges` says what they cost of their senders' quotas
- `config` is the configuration, `vitals` and `meter` the state, `program_version` that of it all
- `cli` begins the command line, `application` and `commands/` are it, with `options`, `mesh_readiness`,
  `user_state`, `workers`; `webhooks/` is a command that watches searches
- `watch/` tells administrators of words in new pages, `topics/` counts pages with strings (`topic`)
- `memory_keeper` [io] gives memory back that was freed, `damaged_data` [io] begins anew
"""
