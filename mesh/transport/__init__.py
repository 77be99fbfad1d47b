"""Transport: messages between peers over ZeroMQ with CURVE, and connections over relays. [io]

`transport` has the sockets (`zmq_socket`, `zap`), with `handshakes` and `inflow` of each `tcp_connection`; a
`tcp_endpoint` is an address. A `door` is open to newcomers. Ports of the membership: `network_port`,
`door_port` (`reachability`: is a stranger reached by others?), `relay_port`. A `relay` listens for peers that
can only dial out, whose side is `relay_client`; a `lease` of its ports has `callers`, `splice` joins two
connections, `relay_frames` are what both sides say. `descriptors` are kept for the disk.
"""
