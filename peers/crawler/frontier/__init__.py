"""The frontier: URLs that wait for their visit, by slot and host, and the state of their hosts.

`frontier` is the way in. It knows no actor and no socket; its rows lie in a table, those of hosts that are
due soon in memory (`held_hosts`, `host_state`; the others are `parked_hosts`). URLs wait in `url_queues` in
the order that the policy wants (`orders`, `relevance`, held by `order_in_force`); `host_turns` says which
host is next. Rows of texts, origins and traps have files of their own, the shape of keys is in `keys`. Peers
that keep the same slots exchange `items`, which `store` reads and merges for the handover.
"""
