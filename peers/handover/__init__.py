"""Hand-over: which slots this peer may crawl, and how all keepers of a slot come to have the same data of it.

The actor is `handover`, over `slot_state`: which slots are held here, filled, complete, and whose they are.

- a new owner: `own_claim` are ours, until all others have yielded; `incoming_claims` answers those of others
- moving data: `transfer_schedule` orders it by the policy of `wants`, `outgoing_offers` and `incoming_offers`
  go the other way
- equal data: `comparison_schedule` says which slots are compared with whom, and when; `equal_slots` are those
  that were equal and need not be, `separated_owners` of which slots the data may not come here

A `store` is a declaration, all that a further one costs; `item_store` is one of values under names. Its actor
delegates to a `keeper`. A policy says whether there is an `optional_store`. Two stores find by `exchange`
what one of them lacks (`slot_digests`) and move it by `incoming_transfers` and `outgoing_transfers` in parts
(`part_checksum`); a `mirror` sends changes at once.
"""
