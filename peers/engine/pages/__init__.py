"""Documents as the index sees them, and the facts that hold for one page.

`document` is one, of one of the `kinds`; `directory_entries` are the lines of one that is a directory;
`linkers` are texts of links to it, `site_names` the names of an entrance, `near_copies` the sketches of its
text, `filter_entries` the entries by which it is filtered; `class_model` is how a mesh tells the classes of
its pages.
"""
