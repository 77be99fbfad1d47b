"""The rules on which all peers agree, and how peers talk to each other. Imports nothing of ours.

What all agree on stands here: `config` (the constitution of a mesh), `urls` and `domains`, the two-level
mapping of hosts to `slots` to owners (`slot_ranking`, `slot_limits`, `slot_set`), `stamp` (which version of
a page is newer), `wire_fields`; `reach` and `port_leases` for peers behind a relay; `trace` files; `errors`,
sorted by whose fault they are; `counts` in words. The rooms, each over those before it:

- `tables`: ordered rows on disk and in memory
- `keys`: identities, certificates, decrees and tokens
- `actors`: the contract of an actor, and how its messages arrive
- `membership`: the actor that says which peers there are
- `transport`: ZeroMQ with CURVE, doors and relays
- `process`: all that as one running process
- `client`: commands speak to a gateway by it
"""
