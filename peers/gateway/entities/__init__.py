"""Entities at a gateway: their feeds by secret addresses (`entity_feed`).

The handlers are in `peers.gateway.entity_routes`, the rows in `peers.entities`.
"""
