"""Entities: people and organisations that somebody follows, kept sealed in the mesh for their owners alone.

In the mesh: `entities` is the actor that keeps `sealed_row`s, by `wire_messages`; it cannot read them.
At the owner's: `seal` has the keys, `owner` [io] their file, `profile` the fields of an entity, `feed` what
is published of it. `pages` [io] finds pages by the mesh's index; `score` scores each in six steps, by
`mentions` of the names, `relations` and `tone`; `feedback` fits the weights to grades. `commands` [io] are
`tianmesh entities`.

Source: Li, Yan, Wang 2004, section 12.2, FAME.
"""
