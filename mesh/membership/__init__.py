"""Membership: which peers belong to the mesh, which of them are live, and the consequences for this peer.

membership   the actor: takes news to those below; how the protocol works as a whole
messages     what it says to the other actors of its peer; wire_messages: and to other members
swim_settings: the pace of it all

What this peer is
    lifecycle            stranger, member, gone; own_record: what it says of itself; memory: what outlives a
                         process
    queues               how long the members' queues are, and the own weight that follows by the rule of
                         `balance`
    licence_holder       until when it may crawl, by the rule of `licence`, and what it may have lost
    refutation           what others say of it, and what it takes back

What it believes of others
    members              the list, and the order of rumours by which all come to believe the same; others:
                         without us
    rumour_intake        which rumours are believed, and what follows at once; connections: for the transport
    hearsay              what is made of bad news that a single member tells of another
    announcer            what follows for the slots: the ownership that the other actors are told
    serving_weights      who of them answers, while members get ready one after the other

How it finds out, and tells
    gossip               news, by itself or riding on pings, from the queue in `rumours`
    newcomers            since when a newcomer is counted: whether most others know of it
    failure_detector     who is silent, by `prober` and `suspicions`; round_trips, local_health: whose fault
                         that is
    anti_entropy         exchanging all, trying the dead: how those who lost sight of each other meet again
    turn_outbox          what is said in one turn

What the owner of the mesh says
    decrees              which of them are in force, kept on disk
    decree_dissemination how they reach everybody, and who is told here
    catch_up             who was away answers nobody before it has heard what was decreed meanwhile

How strangers come in
    join_protocol        knocking from door to door, in the order of `knock_schedule`; doors: those that are
                         known
    admission            who is let in at the door of this peer
    own_relay            over whom this peer is reached, when others do not reach it by itself
"""
