"""The peers' own actors in virtual time: as live, on a clock, a network and a web from one seed.

The command `tianmesh sim` is `commands`, of which `cli` tells; `report` makes one page of many runs. The
rooms, each over those before it, and none knows this folder:

- `webs`: synthetic webs, and recorded ones that are played back
- `world`: many nodes on a virtual clock and network; a crawl from seeds to rest and its checks
- `faults`: runs with faults and malicious members, from the seed to the verdict
- `traces`: what is done with recorded crawls; `link_graphs`: with graphs of links, and meshes that rank them
- `web_reports`: what crawls are like
- `model`: whole crawls as arrays
- `outcomes`: what every experiment is made of; `studies`: experiments that people run
"""
