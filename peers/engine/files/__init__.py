"""Files of an index, and their damage. It knows no postings.

`storage` is what an index needs of a place, `directory` a folder that is one, `scratch` the files that merges
write to, `stored_blocks` the texts of documents, `errors` the ways in which files are damaged.
"""
