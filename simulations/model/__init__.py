"""The model: whole crawls as arrays, on the ownership and the politeness of peers, without their messages.

What takes the exact simulation a minute takes this a hundredth of a second, and what that cannot hold at all
(thousands of peers, a billion URLs) some minutes. `tests/simulations/model` holds one against the other.

`hosts`       the hosts of a web in numbers: of a trace, or drawn
`partitions`  ways of mapping hosts to peers
`pauses`      how long a host is left alone, and how late a slow peer is
`fluid_share` how a peer shares its fetches among its hosts; `crawl_time` how long that takes, in a sum
`flow`        pages of each peer over time, all hosts known from the start: for any number of pages
`replay`      the same for a trace, with the discovery of pages by links
`streamed_web` webs that do not fit into memory, some peers at a time
`costs`       the measured costs of a peer
`sessions`    peers that come and go, and the copies of slots
`caches`      the hits of caches, by each rule of replacement; `click_models` which results readers click on
"""
