"""The command `tianmesh token`: sign a token that opens the gateways to a browser or a script. [io]"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
import typer

from mesh.client.admin_token import key_in, signer_in
from mesh.errors import ConfigError
from mesh.keys.signed_token import HOLDER_CHARS_MAX, TokenRight, sign_token
from peers.options import DATA, DataOption, JsonOption, KeyOption, print_json

EPILOG: Final = (
    "Examples: tianmesh token --for prometheus --days 365   "
    "tianmesh token --for 'night crawl' --rights orders --data mymesh"
)
DAYS_MAX: Final = 366.0
_DAY_S: Final = 86_400.0


def token(
    holder: Annotated[str, typer.Option("--for", help="Who or what will have it, for the logs of gateways.")],
    days: Annotated[
        float,
        typer.Option(min=0.001, max=DAYS_MAX, help="Days from now until it ends; it cannot be taken back."),
    ] = 7.0,
    rights: Annotated[
        TokenRight, typer.Option(help="What it lets do: see all that administrators see, or give orders too.")
    ] = TokenRight.READ,
    key: KeyOption = None,
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Print a token that every gateway of the mesh takes, for browsers and scripts.

    A browser gives it at /sign-in, a script sends it as Authorization: Bearer.

    Commands need none where the admin.key is: they sign one for themselves.

    Expelling the administrator who signed it makes it void.
    """
    signer = signer_in(data, key)
    if signer is None:
        raise ConfigError(
            f"there is no {key_in(data, key)}: give the folder of the mesh, or the key with --key"
        )
    end_s = time.time() + days * _DAY_S
    try:
        signed = sign_token(signer, rights, holder, end_s)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"--for {holder!r}: give up to {HOLDER_CHARS_MAX} of the letters and digits of English, "
            "spaces, and @ . _ + -"
        ) from error
    end = datetime.fromtimestamp(signed.not_after, UTC)
    if as_json:
        print_json({"token": signed.text(), "for": holder, "rights": rights, "until": end.isoformat()})
        return
    may = "may see all and order nothing" if rights is TokenRight.READ else "may see all and give orders"
    print(f"until {end:%Y-%m-%d %H:%M} UTC who has it {may}, at every gateway of the mesh:", file=sys.stderr)
    print(signed.text())
