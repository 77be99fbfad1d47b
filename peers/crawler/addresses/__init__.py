"""Addresses: which may be connected to, and which peer may ask one of them now.

`addresses` tells private from public ones, `address_queues` waits for the turn of one. Many hosts may share
an address, so its delay is kept by a lease: the actor `lessor` leases addresses for our fetcher and lends
those of our slots to all peers (`lent_addresses`).
"""
