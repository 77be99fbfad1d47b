"""Membership: which peers belong to the mesh, which of them are live, and the consequences for this peer.

`membership` is the actor, which takes news to its parts, and says how the protocol works as a whole:

- strangers come in by the `join_protocol`, at the `admission` of a member; `newcomers` wait to be counted
- `failure_detector` finds the silent; `anti_entropy` heals what gossip missed, `catch_up` a long absence
- `announcer` tells the other actors of this peer who owns which slots

The rooms, each over those before it: `model` (members, messages), `failures` (whose silence it is), `own`
(this peer's record and licence), `doors` (ways in), `news` (rumours and decrees).
"""
