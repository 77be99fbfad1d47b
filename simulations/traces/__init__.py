"""Tools for recorded crawls before they are played: to look at, cut and grow them, or make them of files.

`columns`     the pages and links of a trace as arrays
`statistics`  what there is in a trace, and the distributions that fit it; `link_structure`: its bow-tie
`trace_part`  a part of a trace
`synthesis`   a larger web that is alike
`warc_pages`  pages of WARC archives; `log_pages` of the logs of web servers; `web_graph` of public graphs
`queries`     query logs as numbers, and made-up ones; `query_statistics`: the figures of the book's chapter 9
`own_log`     that of this mesh [io]
`commands`    `tianmesh trace`; `log_commands`: `tianmesh log`
"""
