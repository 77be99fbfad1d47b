"""Actors: messages in, sends out, no I/O; and the mechanisms that carry their messages. Pure.

`actor` is the contract, `node` routes between the actors of one peer, a `port` is code that may block.
`ownership` is the view of slots that all of them are given. `delivery` repeats a message until it is
answered, `durable_delivery` from a table, `slot_reports` to the peers that answer for slots. `codec` turns
messages into bytes, in the protocol `versions` that others speak. `conduct` says how much a member may send
(an `allowance`) and what follows from offences; `watchdog` sees what holds the event loop.
"""
