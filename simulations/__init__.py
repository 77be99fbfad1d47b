"""The peers' own actors in virtual time: as live, on a clock, a network and a web from one seed.

`world`         drives many nodes, delivers messages through the real codec, keeps the digest
`network`       delay, loss and partitions; `chance` makes all generators from the seed
`ports`         the virtual twins of a peer's ports; `revertible_table` for peers that crash
`members`       simulated members with real keys, and their doors
`web`, `trace`  a synthetic web, and a recorded one that is played back
`crawl`         one crawl from seeds to rest; `checks` what must hold after it
`experiments`   a crawl, and the book's first experiment; `balance`, `results`, `report`
`cli`           the commands `tianmesh sim crawl` and `tianmesh sim replay`
"""
