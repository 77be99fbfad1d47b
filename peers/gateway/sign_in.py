"""How a browser, which cannot send the token of an administrator with every page, proves to know it.

Who posts the token once gets a *pass*: a cookie that is good for some hours and only lets see. Orders still
want the token itself, so a page of another site can order nothing by it. Cookies of a name go to every port
of it: the pass has an end and a sum that only who has the token can make, and nothing of the token; and the
gateways of one machine, which have tokens of their own, have cookies of different names.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qs

from peers.gateway.asgi import Header

PASS_S: Final = 12 * 3600  # a working day
FORM_BYTES_MAX: Final = 4_096
_COOKIES_BYTES_MAX: Final = 8_192
_PURPOSE: Final = b"tianmesh pass\x00"
_NAME_PURPOSE: Final = b"tianmesh name of a pass\x00"


def token_of_form(body: bytes) -> str:
    """Return the token in a posted form; "" when there is none."""
    fields = parse_qs(body.decode("ascii", "replace"), max_num_fields=8)
    return fields.get("token", [""])[0].strip()


def is_token(given: str, token: str) -> bool:
    """Is it the administrator's? Without a token nothing is."""
    return bool(token) and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def cookie_of(token: str, now_s: float, *, is_encrypted: bool) -> str:
    """Return what sets the pass (RFC 6265).

    Args:
      now_s: seconds since the epoch.
      is_encrypted: the browser came by https; then the cookie never goes another way.
    """
    until_s = int(now_s) + PASS_S
    return _cookie(token, f"{until_s}-{_sum(token, until_s)}", PASS_S, is_encrypted)


def no_cookie(token: str, *, is_encrypted: bool) -> str:
    """Return what takes the pass away."""
    return _cookie(token, "", 0, is_encrypted)


def has_pass(headers: Iterable[Header], token: str, now_s: float) -> bool:
    """Does a request carry a pass that this token made, and that has not ended?"""
    if not token:
        return False
    wanted = _name(token).encode()
    cookies = b"; ".join(value for name, value in headers if name == b"cookie")[:_COOKIES_BYTES_MAX]
    for cookie in cookies.split(b";"):
        name, _, value = cookie.strip().partition(b"=")
        if name == wanted and _is_good(value.decode("latin-1"), token, now_s):
            return True
    return False


def _is_good(text: str, token: str, now_s: float) -> bool:
    until, _, told = text.partition("-")
    if not (until.isascii() and until.isdigit() and len(until) < 13 and told.isascii()):
        return False
    # The end is looked at last: that it is the one we gave is what the sum says.
    return hmac.compare_digest(told, _sum(token, int(until))) and now_s < int(until)


def _sum(token: str, until_s: int) -> str:
    return hmac.new(token.encode(), _PURPOSE + str(until_s).encode(), sha256).hexdigest()


def _name(token: str) -> str:
    return f"tianmesh-{hmac.new(token.encode(), _NAME_PURPOSE, sha256).hexdigest()[:8]}"


def _cookie(token: str, value: str, max_age_s: int, is_encrypted: bool) -> str:
    secure = "; Secure" if is_encrypted else ""
    return f"{_name(token)}={value}; Max-Age={max_age_s}; Path=/; HttpOnly; SameSite=Strict{secure}"
