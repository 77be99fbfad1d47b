"""The classes of a running mesh, read from a gateway, and replaced by an administrator. [io]"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.errors import ConfigError, unreadable
from mesh.keys.decree import CLASSES, DECREE_BYTES_MAX
from peers.engine.pages.class_model import ClassModel, model_in
from peers.policy.decree_issuer import DecreeIssuer, ruling_of

CALLED: Final = "model of the classes"


def read_model(file: Path) -> bytes:
    """Read a model that `tianmesh classes fit` wrote, and check it.

    Raises:
      ConfigError: it cannot be read, or is none.
    """
    try:
        body = file.read_bytes()
        model_in(body)
    except OSError as error:
        raise unreadable(file, error) from error
    except ValueError as error:
        raise ConfigError(f"{file} is no model that `tianmesh classes fit` wrote: {error}") from error
    if len(body) > DECREE_BYTES_MAX:
        raise ConfigError(f"{file} has {len(body):,} bytes, a decree {DECREE_BYTES_MAX:,}: fit it again")
    return body


def classes_in_force(client: GatewayClient) -> tuple[Mapping[str, Any], ClassModel] | None:
    """Return the decree that is in force and its model, None where pages are in no classes.

    Raises:
      GatewayError: another version wrote it.
    """
    return _with_model(ruling_of(client.decrees(CLASSES, "")["decrees"], time.time()))


def issue_classes(client: GatewayClient, key: Path, body: bytes) -> int:
    """Sign a model and have the mesh obey it; return its number.

    Raises:
      ConfigError, GatewayError: as `DecreeIssuer.issue` does.
    """
    return DecreeIssuer(client, key, CLASSES, CALLED).issue(body)


def end_classes(client: GatewayClient, key: Path) -> int:
    """Have the pages of the mesh in no classes; return the number of the decree that is over at once.

    Raises as `issue_classes` does, and GatewayError where there are none.
    """
    issuer = DecreeIssuer(client, key, CLASSES, CALLED)
    in_force = _with_model(ruling_of(issuer.read(), time.time()))
    if in_force is None:
        raise GatewayError("the pages of this mesh are in no classes")
    return issuer.issue(bytes.fromhex(in_force[0]["body"]), valid_until=time.time())


def _with_model(ruling: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], ClassModel] | None:
    if ruling is None:
        return None
    try:
        return ruling, model_in(bytes.fromhex(ruling["body"]))
    except ValueError as error:
        raise GatewayError(
            f"classes {ruling['number']} are of another version of tianmesh: {error}"
        ) from error
