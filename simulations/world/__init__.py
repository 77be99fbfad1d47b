"""The world: many nodes in one thread, on a virtual clock, network and web.

`world` drives the nodes and delivers messages through the real codec (`crawl` can do without it, for speed)
over a `network` with delay, loss and partitions; `chance` makes all generators from the seed. `members` have
real keys, `ports` are the virtual twins of a peer's, `revertible_table` is for peers that crash. `crawl` is
one from seeds to rest, `checks` say what must hold after it; `experiments` and `results` are for people. Some
webs need ports: `words` there are to find, `topical_web` with relevant pages, `aliased_web` with aliases;
`asked_web` has several topics, and people that search.
"""
