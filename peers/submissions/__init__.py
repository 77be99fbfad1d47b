"""Sites that people submit, if the policy of the mesh has `[submissions]`: `docs/submission.md`.

`submissions` is the actor; its store is by slots of the sites, replicated and handed over as others are.
`submission` is one site's row, how two of them join, and its state; `domain_day` the names of a registrable
domain's submissions of one day, at the slot of the domain: the quota that holds for the whole mesh.
`verdict` is an administrator's signed word on a site, `report` a page that readers have reported.
`wire_messages` come from gateways. What is asked of a site, and when, is decided by the crawl alone
(`peers.crawler.site_watch`), in the ordinary turns of its host. `command` [io] has those of `tianmesh`.
"""
