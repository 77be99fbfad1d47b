"""What `tianmesh doctor` finds out about a machine, its nodes and their mesh, and what it says is to be done.

`finding`   what was found: how grave it is, in which words, and what to do; pure
`machine`   this machine: Python, memory, descriptors, clock
`node`      a node of this machine: configuration, certificate, disk, addresses, ports, doors
`mesh`      all that a gateway tells of the mesh: members, slots, versions, clocks
`command`   asks all of them, and shows what they say
"""
