"""Webs: synthetic ones, each a function of its seed, and recorded ones. Pure.

`web` has hosts of all sizes, links, redirects and dead pages; on `changing_web` pages change, `wildcard_web`
has names without an end, `topic_web` has news on a topic, round by round. `trace` plays a recorded web back.
"""
