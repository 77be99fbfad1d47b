"""The peers' own actors in virtual time: as live, on a clock, a network and a web from one seed.

`world`         drives many nodes, delivers messages through the real codec, keeps the digest
`wireless`      the same without the codec, for speed
`network`       delay, loss and partitions; `chance` makes all generators from the seed
`ports`         the virtual twins of a peer's ports; `revertible_table` for peers that crash
`members`       simulated members with real keys, and their doors
`web`, `trace`  a synthetic web, and a recorded one that is played back; `changing_web` for visits again,
                `wildcard_web` with names without an end, `topical_web` with pages that are relevant,
                `aliased_web` with sites under several names
`traces`        what is done with recorded crawls: a package with a map of its own
`model`         whole crawls as arrays: a package with a map of its own
`studies`       experiments that people run: a package with a map of its own
`crawl`         one crawl from seeds to rest; `checks` what must hold after it
`experiments`   a crawl, and the book's first experiment; `balance`, `results`, `report`
`freshness`     a model of pages that change, for policies of visiting them again
`cli`           the commands `tianmesh sim crawl`, `sim replay`, `sim faults` and `sim soak`

Runs with faults:

`faults`        what goes wrong and when, drawn from a seed; `nemesis` makes it happen
`fault_run`     one run from the seed to the verdict; `fault_runs` many, on all cores; `soak` a thousand
`machine`       what a peer runs on: `disks`, `clock`, ports; `skew` for one of another version
`liar`          a malicious member; `false_answers` what it tells gateways of pages,
                `false_names` what it tells others of copies, `false_leases` of addresses
`pinner`        an owner who has policies say who crawls what
`users`         who give seeds and search meanwhile; `words` what there is to find
`settling`      how long after healing all is where it belongs
`watch`         judges every request and commit when it is made; `final_checks` what is left at rest
`doubts`        what only the malicious member has read; `conduct_watch` judges whether it is found out
`herald`, `overheard`: stand beside actors, to speak for the membership and to hear the controller
`planted`       bugs on purpose, which the runs have to find
"""
