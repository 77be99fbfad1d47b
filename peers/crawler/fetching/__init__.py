"""Fetching: one question to a web server, within limits of time, bytes and addresses. [io]

`fetcher_port` is the port of the actor, `fetcher` does the work: it resolves a name (`resolver`), asks
whether the address may be connected to and when (`addresses`), opens or reuses a `connection`, perhaps
through a `proxy`, and reads the answer (`response_lines`, `content_encoding`, `body_budget`). `contact` says
who asks; `recorder` writes traces. It knows no frontier.
"""
