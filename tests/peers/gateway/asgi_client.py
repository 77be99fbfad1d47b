"""Asks an ASGI application one thing, without a server in between."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    application: Any,
    target: str,
    method: str = "GET",
    headers: Mapping[str, str] = NO_HEADERS,
    body: bytes = b"",
    client: str = "127.0.0.1",
) -> Reply:
    """Send one request; `target` is a path with its query, escaped, `client` an address or "" for none."""
    address = urlsplit(target)
    sent: list[Any] = []
    parts = [body[start : start + 65_536] for start in range(0, len(body), 65_536)] or [b""]
    messages = [
        {"type": "http.request", "body": part, "more_body": number < len(parts) - 1}
        for number, part in enumerate(parts)
    ]

    async def receive() -> Any:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": address.path,
        "raw_path": address.path.encode(),
        "query_string": address.query.encode(),
        "root_path": "",
        "headers": [
            (name.encode(), value.encode())
            for name, value in ({"host": "localhost"} | {n.lower(): v for n, v in headers.items()}).items()
        ],
        "client": (client, 1) if client else None,
        "server": ("127.0.0.1", 2),
    }
    await application(scope, receive, send)
    start = sent[0]
    return Reply(
        start["status"],
        {name.decode().lower(): value.decode() for name, value in start["headers"]},
        b"".join(message.get("body", b"") for message in sent[1:]),
    )
