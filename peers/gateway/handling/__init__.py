"""The parts that all handlers of requests share.

- `requests` are read, and refused with a sentence; `access` says who may order something
- `backend`: the rest of the peer, as handlers see it
- `responses`: pages, JSON and errors as HTTP sends them
"""
