"""The findings of `tianmesh doctor` about a machine, its nodes and their mesh, with advice on each.

`finding`   what was found: how grave it is, in which words, and what to do; pure
`machine`   this machine: Python, memory, descriptors, clock
`node`      a node of this machine: configuration, certificate, disk, addresses, ports, doors
`mesh`      all that a gateway tells of the mesh: members, slots, versions, clocks
`command`   asks all of them, and shows what they say
"""
