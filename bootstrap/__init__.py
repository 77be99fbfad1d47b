"""How a peer finds the others, and how a lab of peers is started on one machine.

`rendezvous`      the bootstrap node, at whose door newcomers knock; `yielder` is its word on claims,
                  `leaseless` that on leases
`provision`       keys, certificates and configurations of a new mesh; `toml_text` writes these from the
                  schema that reads them, `toml_edit` sets values in what a person has edited
`invitation`      all that other machines need to join, in one token; `joining` is what they do with it
`lab`             a mesh on this machine as `up` makes it; `start_command` runs what `init` and `join` made;
                  `nodes` are their processes, `node` is one of them, `supervision` says when one that has
                  ended is started again
`demo_web`        the bundled web, served on loopback (`make_demo_web` built it, see DEMO_WEB.md)
`cli`, `screen`   the commands init, bootstrap, start, up and demo, and what they show; `standstill` is when
                  nothing is fetched
`fleet`           the nodes of many machines, started and looked after from one, by ssh
`doctor`          what is wrong with a machine, its nodes and their mesh
`service`         nodes as services of a machine (`service_commands`)
`config_commands` check and change settings of nodes of this machine
`governing`       the commands of who holds the root key: expel, renew, invite; and join
"""
