"""HTTP: the server under the gateway's application, and the rights and quotas of its clients. [io]

`server` accepts connections within a `memory_budget`, `connection` speaks HTTP/1.1 on one of them to an
application (`asgi`). `rights` say who a request is from (a browser after `sign_in`), `quotas` what that
client has left, `fair_limiter` whose request is next; `compression` packs answers. `metrics` are those of a
peer and of its process.
"""
