"""What a page, a query and an idle minute may cost, counted: `tests/budgets.toml` has the limits.

budgets     the file, and how a count is held against its limit
calls       counts calls of Python functions in this process
simulated   pages, queries and an idle minute of simulated meshes
crawled     a page of a real peer, into which `sitecustomize` is put, and of the parser
static      what is installed, imported and configured
sections    which function measures which section of the file
"""
