"""How a peer finds the others, and how a lab of machines is started.

- `rendezvous`: the bootstrap node, at whose door newcomers knock
- `provision`: keys, certificates and configurations of a new mesh (`toml_text`, `toml_edit`)
- `invitation`: all that another machine needs to join, in one token; `newcomer` is its other side
- `lab`: a mesh on this machine, with the processes of its `nodes`, which it supervises
- `fleet`: the nodes of many machines, started and looked after from one, by ssh
- `demo_web`: the bundled web, served on loopback (`make_demo_web` built it, see DEMO_WEB.md)
- `doctor`: what is wrong with a machine, its nodes and their mesh
- `service`: nodes as services of a machine
- `commands`, `start_command`, `service_commands`, `config_commands`, `owner_commands`, of which `cli` tells
  before they are loaded; `screen` shows how a crawl goes, `standstill` that it does not
"""
