"""The commands of `tianmesh` that no room has for itself, one a file. [io]

`peer` runs one, `seed` gives pages to start from, `search` asks, `status` shows the peers, `events` what has
happened to them, `why` says why things are as they are, `audit` proves how long hosts were left alone and
lists the word of a member, `drain` empties a peer, `policy` says what is crawled and shown, `undone_visits`
lists visits that are not believed, `token` opens gateways to others, `mcp` lets assistants search, `topic`
says of which strings pages are counted, and proposes some from `sample_texts`. Those of a room stand in it
(`importing.command`, `exporting.command`, `evaluation.commands`, `index.words_command`,
`webhooks.command`); `peers.application` puts all together.
"""
