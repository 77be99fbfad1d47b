"""Notices of watched words at a gateway: `watch_json` for programs, `watch_page` for administrators.

`notice_stream` [io] has them as they come, `notice_feed` as Atom. Who may see them says `gateway.access`.
"""
