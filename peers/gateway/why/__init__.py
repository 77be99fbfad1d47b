"""Why things are as they are: of a URL, and of a peer that crawls nothing.

`why_url` and `why_idle` turn what peers tell into sentences, `why_rows` into a table for `why_page`,
`why_json` into JSON.
"""
