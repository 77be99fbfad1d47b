"""The history of a peer, its states and the events it saw: the last month, bounded, in its table.

    `sample`        what was counted in a span of time, and how samples are put together
    `series`        samples of the last hour, day and month, each finer than the next
    `event`         what is worth telling: a standing now beside the one before makes events
    `historian`     the actor: is told how the peer is every other second, answers gateways that ask
    `messages`      what it is told, and what it has logged; `wire_messages`: what gateways ask it

Actor: `historian`. It decides nothing and nobody waits for it: a peer without a history crawls and answers as
well. In a simulation nobody tells it anything, and it says nothing.
"""
