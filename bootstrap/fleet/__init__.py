"""`tianmesh lab`: the peers of a mesh on many machines, from one file, by the system's ssh.

`inventory`  the machines as a person has written them down
`remote`     asks a machine something: by ssh, and `agent`, a small program that is sent along each time and
             needs nothing but Python there
`plan`       what is to be done, from what the machines have told; pure
`package`    what is installed on them
`crew`       the machines of an inventory, asked all at once
`deployment` from the inventory to a mesh that answers for all slots, again and again with the same result
`upkeep`     stop, start, restart, upgrade, back up, change settings, remove
`mesh_commands` seeds, policy, pauses, take-downs, expulsions, given where the keys are
`commands`   the commands, and what they show
"""
