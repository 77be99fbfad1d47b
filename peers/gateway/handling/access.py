"""Rights and quotas of the client behind a request: to see, to order, to give seeds.

Orders that change the mesh, pages of files, seeds (where they are not taken from anybody), metrics and all
of the status are for administrators, who send a token that one of them has signed, or that of this peer
(`rights`): also on this machine, for what a proxy there passes on looks the same. In a browser they sign in
with it, to see (`sign_in`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import Final

from starlette.requests import Request

from mesh.keys.signed_token import Judgement, TokenRight
from mesh.urls import host_of
from peers.gateway.handling.backend import Backend
from peers.gateway.handling.requests import Refusal, is_foreign, now_s
from peers.gateway.http.rights import borne_by, client_behind
from peers.gateway.http.sign_in import has_pass

_ADMIN_HINT: Final = (
    "this is for the administrators of the mesh: commands sign a token by the admin.key of --data FOLDER or "
    "--key FILE, or send the admin.token that is in the folder of this peer; programs send what "
    "`tianmesh token` prints (Authorization: Bearer ...)"
)


class ClientAccess:
    """Judges clients by their tokens, passes and quotas, and refuses the rest."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def check_admin(self, request: Request, right: TokenRight = TokenRight.ORDERS) -> None:
        """Refuse a request that is for administrators from a client without a token for it."""
        judged = self._judged(request)
        if judged.token is None:
            raise Refusal(403, f"{judged.why}; {_ADMIN_HINT}" if judged.why else _ADMIN_HINT)
        if right not in (TokenRight.READ, judged.token.right):
            raise Refusal(403, f"the token of {judged.token.holder} lets read, and order nothing")
        if is_foreign(request, self._backend.settings.names):
            raise Refusal(403, "orders are not taken from pages of other sites")

    def check_live(self, request: Request) -> None:
        """Refuse a live search of a program that could not give seeds either."""
        if is_foreign(request, self._backend.settings.names):
            raise Refusal(403, "live searches are only taken from pages of this gateway and from programs")
        if not self._backend.settings.takes_seeds:
            self.check_admin(request)

    def may_search_live(self, request: Request) -> bool:
        """May the reader of a page have the crawl look for more? Those signed in may, within a quota."""
        return self._backend.settings.takes_seeds or self.may_see(request)

    def check_is_ours(self, request: Request) -> None:
        """Refuse a request that a page of another site posts."""
        if is_foreign(request, self._backend.settings.names):
            raise Refusal(403, "this is only taken from pages of this gateway")

    def count_seeds(self, request: Request, count: int) -> None:
        """Let others than administrators give so many and no more."""
        settings = self._backend.settings
        if self._is_admin(request):
            return
        wait_s = self._backend.take_seeds(self.client_of(request), count)
        if wait_s:
            hint = f"seeds of a client in an hour here: {settings.client_seeds_per_hour:,} at most"
            raise Refusal(429, hint, {"Retry-After": str(ceil(wait_s))})

    def count_changes(self, request: Request, urls: Sequence[str]) -> None:
        """Let others than administrators say of one host that so many pages have changed, and no more."""
        if self._is_admin(request):
            return
        wait_s = self._backend.take_changes(Counter(map(host_of, urls)))
        if wait_s:
            limit = self._backend.settings.host_changes_per_hour
            hint = f"pages of one host that can have changed in an hour here: {limit:,}"
            raise Refusal(429, hint, {"Retry-After": str(ceil(wait_s))})

    def may_submit(self, request: Request, day_max: int) -> bool:
        """May the client submit one more site today? Administrators may any number."""
        if self._is_admin(request):
            return True
        return self._backend.take_submission(self.client_of(request), day_max) == 0.0

    def may_report(self, request: Request, day_max: int) -> bool:
        """May the client report one more page today? Administrators may any number."""
        if self._is_admin(request):
            return True
        return self._backend.take_submission(f"report {self.client_of(request)}", day_max) == 0.0

    def may_change_entity(self, request: Request, day_max: int) -> bool:
        """May the client change one more entity today? Administrators may any number."""
        if self._is_admin(request):
            return True
        # Counted apart from the sites that the same client submits.
        return self._backend.take_submission(f"{self.client_of(request)} entities", day_max) == 0.0

    def client_of(self, request: Request) -> str:
        address = request.client.host if request.client else ""
        return client_behind(address, request.headers.raw, self._backend.settings.proxies)

    def may_see(self, request: Request) -> bool:
        """May the client see pages for administrators, by a token of any right or a pass from signing in?"""
        if self._judged(request).token is not None:
            return True
        own = self._backend.settings.admin_token
        return has_pass(request.headers.raw, own, now_s(), self._backend.rights)

    def may_judge(self, request: Request) -> bool:
        """May the reader of a page judge submissions, by a token to order or a pass given for one?"""
        own = self._backend.settings.admin_token
        passed = has_pass(request.headers.raw, own, now_s(), self._backend.rights, TokenRight.ORDERS)
        return passed or self._is_admin(request)

    def _is_admin(self, request: Request) -> bool:
        """May the client give orders?"""
        token = self._judged(request).token
        return token is not None and token.right is TokenRight.ORDERS

    def _judged(self, request: Request) -> Judgement:
        given, own = borne_by(request.headers.raw), self._backend.settings.admin_token
        return self._backend.rights.of(given, own, now_s())
