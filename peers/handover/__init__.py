"""Hand-over: which slots this peer may crawl, and how all keepers of a slot come to have the same data of it.

The actor is `handover`, over `standing`: which slots are held here, filled, complete, and whose they are.

- a new owner: `claims` are ours, until all others have yielded; `yielding` answers those of others
- moving data: `bringing` orders it by the policy of `wants`, `offering` and `taking` go the other way
- equal data: `comparing` says which slots are compared with whom, and when

A `store` is a declaration, all that a further one costs; `item_store` is one of values under names. Its actor
delegates to a `keeper`. Two stores of a kind find by `exchange` what one of them lacks (`slot_digests`,
`item_ids`) and move it by `pulling` and `giving` in parts (`part_checksum`); a `mirror` sends changes at
once.
"""
