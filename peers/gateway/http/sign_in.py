"""How a browser, which cannot send the token of an administrator with every page, proves to know it.

Who posts the token once gets a *pass*: a cookie that is good for some hours and lets see, and judge and take
down on `/moderation` if the token lets order. Other orders still want the token itself. Browsers send the
cookie with no request that a page of another site makes (`SameSite`), and such requests are refused besides.
Cookies of a name go to every port of it: the pass has an end, the right and the signer of the token that was
given for it, and a sum that only who has the peer's own token can make, and nothing of any token; and the
gateways of one machine, which have tokens of their own, have cookies of different names. It ends with the
token, and with the rights of who signed that.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from mesh.keys.signed_token import SignedToken, TokenRight
from peers.gateway.http.asgi import Header
from peers.gateway.http.rights import OWN, Rights

PASS_S: Final = 12 * 3600  # a working day
FORM_BYTES_MAX: Final = 4_096
_COOKIES_BYTES_MAX: Final = 8_192
NO_RIGHTS: Final = Rights()  # of a gateway that knows no administrators
_PURPOSE: Final = b"tianmesh pass\x00"
_NAME_PURPOSE: Final = b"tianmesh name of a pass\x00"


def cookie_of(token: str, now_s: float, *, is_encrypted: bool, given: SignedToken = OWN) -> str:
    """Return the cookie that sets the pass (RFC 6265).

    Args:
      token: the peer's own.
      now_s: seconds since the epoch.
      is_encrypted: the browser came by https; then the cookie never goes another way.
      given: the token that was posted.
    """
    seconds = max(0, min(PASS_S, given.not_after - int(now_s)))
    passed = f"{int(now_s) + seconds}-{given.right}-{given.signer.hex()}"
    return _cookie(token, f"{passed}-{_sum(token, passed)}", seconds, is_encrypted)


def no_cookie(token: str, *, is_encrypted: bool) -> str:
    """Return the cookie that takes the pass away."""
    return _cookie(token, "", 0, is_encrypted)


def has_pass(
    headers: Iterable[Header],
    token: str,
    now_s: float,
    rights: Rights = NO_RIGHTS,
    right: TokenRight = TokenRight.READ,
) -> bool:
    """Does a request carry a pass of this token that has not ended, and does its signer still count?

    Args:
      right: that the pass has to have; one to order lets see, too.
    """
    if not token:
        return False
    wanted = _name(token).encode()
    cookies = b"; ".join(value for name, value in headers if name == b"cookie")[:_COOKIES_BYTES_MAX]
    for cookie in cookies.split(b";"):
        name, _, value = cookie.strip().partition(b"=")
        if name == wanted and _is_good(value.decode("latin-1"), token, now_s, rights, right):
            return True
    return False


def _is_good(text: str, token: str, now_s: float, rights: Rights, right: TokenRight) -> bool:
    passed, _, told = text.rpartition("-")
    until, _, given = passed.partition("-")
    given_right, _, signer = given.partition("-")
    if right not in (TokenRight.READ, given_right):
        return False
    if not (until.isascii() and until.isdigit() and len(until) < 13 and text.isascii()):
        return False
    # The end is looked at last: that it is the one we gave is what the sum says.
    is_ours = hmac.compare_digest(told, _sum(token, passed))
    return is_ours and now_s < int(until) and not rights.is_revoked(signer)


def _sum(token: str, passed: str) -> str:
    return hmac.new(token.encode(), _PURPOSE + passed.encode(), sha256).hexdigest()


def _name(token: str) -> str:
    return f"tianmesh-{hmac.new(token.encode(), _NAME_PURPOSE, sha256).hexdigest()[:8]}"


def _cookie(token: str, value: str, max_age_s: int, is_encrypted: bool) -> str:
    secure = "; Secure" if is_encrypted else ""
    return f"{_name(token)}={value}; Max-Age={max_age_s}; Path=/; HttpOnly; SameSite=Strict{secure}"
