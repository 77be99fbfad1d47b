"""The commands of `tianmesh` that are clients of a gateway, one file for what belongs together. [io]

`search` asks, `status` shows the peers. Those of a room stand in it (`importing.command`,
`exporting.command`, `evaluation.cli`, `index.words_command`); `peers.cli` puts all together.
"""
