"""Experiments: each a small file of parameters, a run from a seed, rows and a figure.

Each is a `Study` (`outcomes`), `catalogue` has all of them; `sweep` repeats one over values of its
parameters, on all cores or a cluster; `report` shows what came of it (`commands`).

- machines: `plan` (how many somebody needs), `speedup` and `balance` (the book's figures 6-5 to 6-7),
  `machines` (which part of them binds), `politeness` (where more stop helping), `weights` (the thesis's rule
  for queues), `partition` (of hosts), `churn` (peers that come and go by sessions)
- crawls: `orders` (what is found first), `demand` (what people search for), `freshness` (visits again)
- links: `pagerank` (the ranks of a mesh beside the exact ones)
- searches: `search` (latency), `multicast` (at the gateway), `postings` (bytes that queries read), `cache`
  and `querylog` (the book's chapter 9)
- faults: `recovery` (what they cost)
"""
