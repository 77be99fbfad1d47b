"""Hubs and authorities around the first results of a search, where the mesh keeps its link graph.

`neighbour_roundup` asks the owners of pages for what is around them, `neighbourhood` puts it together, `hits`
is the arithmetic; `hubs_page` shows the lists to people, `hubs_json` to programs.
"""
