"""The rules on which all peers agree, and how peers talk to each other. Imports nothing of ours.

Agreement
    `config`       the constitution of a mesh, and how one member is reached; `reach` whether over a relay
    `urls`         the canonical form of URLs, hosts, fingerprints; `domains` who registered a host
    `slots`        host -> slot -> owner and standbys: the two-level mapping; `slot_ranking` who wins a slot,
                   `slot_limits` how many there can be
    `ownership`    one peer's view of that at one epoch; `slot_set` slots in messages
    `stamp`        what orders the versions of a page

Actors
    `actor`        the contract: messages in, sends out, no I/O
    `node`         the actors of one peer and the routing between them
    `conduct`      what each member may send, and what follows from what it does wrong
    `codec`        messages to bytes and back: of whatever types it is given; `versions` of the protocol that
                   others speak
    `wire_fields`  limits of what stands in their fields
    `table`        the ordered key-value view that actors keep state in
                   (`memory_table`, `lmdb_table` with `lmdb_reader` beside it, `sorted_map`;
                   `sealed_rows` checksums of rows, `table_check` and `table_compaction` before a peer
                   starts)
    `delivery`     what must arrive: repeated, paced, bounded, given up; `durable_delivery` from a table
    `lives`        numbers that no other life of a peer has; `layout` of its table, so that none is misread
    `port`         the code that may block, addressed like an actor

Membership
    `membership`   a package with a map of its own: the actor `membership`, joining, failure
                   detection, gossip, licences, weights by queue length, leaving
    `credentials`, `identity`, `certificate`, `key_file`: keys and who may be a member; `voucher` for an
                   invitation
    `decree`       what the owner of the mesh has the last word on, signed with a `signing_key`;
                   likewise a `signed_token`, which opens the gateways of a mesh

Live [io]
    `runtime`      a node under trio: time, messages, commits; `watchdog` sees what holds its loop
    `transport`    ZeroMQ with CURVE (`zmq_socket`, `zap`, `handshakes` and `inflow` of a `tcp_connection`,
                   `door`, `tcp_endpoint`)
    `network_port`, `door_port`: what the membership orders of the transport; `reaching` tries whether others
                   reach a stranger
    `relay`        listens for peers that can only dial out, whose side is `borrowing`, by order of the
                   `relay_port`; `lending` which ports are whose, `lease` a peer that has some, `callers` who
                   is connected to them, `splice` two connections made one, `relay_frames` what both say
    `member`       all that as one running member; `process` as a process of its own, with a `log_handler`, a
                   `log_limit` and a `collector` of garbage that runs seldom, which tells the
                   `service_manager`
    `workshop`     processes in which hostile content is worked on (`workshop_process`), which have given up
                   all else (`confinement`); `memory` how much this process has, `cores` how many, `allocator`
                   how it gives memory back, `descriptors` some of which are kept for the disk;
                   `private_files` only their user can read, `places` on the disk that is meant,
                   `disk_space` left on it
    `gateway_client` with the `admin_token`, `trace` and its `trace_blocks`: what users' commands and
                   labs share

Errors are in `errors`, sorted by whose fault they are.
"""
