"""Pages of files, brought to the peers that own them as if those had crawled them.

Actor: `importer` takes pages from the HTTP port, sends each to its owner, and takes in those of our slots;
its messages are in `messages`, those to other importers in `wire_messages`.

What it takes was read and taken apart outside of the peer, by the `command`: `import_run` [io] is the
pipeline, `batch` [io] what its workers do; `warc_file` and `json_lines` are files record by record,
`tianwang` those of older engines, `folder` [io] is one of any files, `packed_file` [io] what is packed,
`originals` what records of revisits refer to, `page` makes pages of records, `positions` say where something
is, `checkpoint` [io] how far an import has come, and `inventory` [io] which pages were given of a folder.
"""
