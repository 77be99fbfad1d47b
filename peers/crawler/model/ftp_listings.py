"""How listings of FTP servers are named: by the command that they answer, and when they came. Pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Final

MLSD: Final = b"MLSD"
LIST: Final = b"LIST"
# No registered type: what browsers and proxies have called the output of LIST as long as they showed it.
MEDIA_TYPE: Final = "text/ftp-dir"
_LISTED_ON: Final = re.compile(r"; on=(\d{4}-\d\d-\d\d)", re.ASCII)


def type_of_listing(command: bytes, now: float) -> str:
    """Return the media type of the answer to a command.

    That of LIST says on which day, UTC, it was given: of recent files such a listing has no year.
    """
    if command == MLSD:
        return f"{MEDIA_TYPE}; format=mlsd"
    return f"{MEDIA_TYPE}; format=list; on={datetime.fromtimestamp(now, UTC).date().isoformat()}"


def is_mlsd(media_type: str) -> bool:
    """Tell whether a listing is of facts as RFC 3659, 7.2, has them."""
    return media_type.endswith("; format=mlsd")


def listed_on(media_type: str) -> date | None:
    """Return on which day a listing was given; None when it is not said."""
    found = _LISTED_ON.search(media_type)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None
