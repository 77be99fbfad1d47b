"""Pages of files, brought to the peers that own them as if those had crawled them.

Actor: `importer` takes pages from the HTTP port, sends each to its owner, and takes in those of our slots;
its messages are in `messages`, those to other importers in `wire_messages`. What it takes was read and taken
apart by the command, outside of the peer.
"""
