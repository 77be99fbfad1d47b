"""The classes of a running mesh, read from a gateway, and replaced by an administrator. [io]"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.errors import ConfigError
from mesh.keys.decree import CLASSES, DECREE_BYTES_MAX, NUMBER_MAX
from mesh.keys.key_file import load_administrator
from peers.engine.pages.class_model import ClassModel, model_in
from peers.policy.policy_issuer import ruling_of


def read_model(file: Path) -> bytes:
    """Read a model that `tianmesh classes fit` wrote, and check it.

    Raises:
      ConfigError: it cannot be read, or is none.
    """
    try:
        body = file.read_bytes()
        model_in(body)
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error}") from error
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
    ruling = ruling_of(client.decrees(CLASSES, "")["decrees"], time.time())
    if ruling is None:
        return None
    try:
        return ruling, model_in(bytes.fromhex(ruling["body"]))
    except ValueError as error:
        raise GatewayError(
            f"classes {ruling['number']} are of another version of tianmesh: {error}"
        ) from error


def issue_classes(client: GatewayClient, key: Path, body: bytes) -> int:
    """Sign a model and have the mesh obey it; return its number.

    Raises:
      ConfigError: there is no usable key.
      GatewayError: the mesh does not take it.
    """
    return _issue(client, key, body, valid_until=float("inf"))


def end_classes(client: GatewayClient, key: Path) -> int:
    """Have the pages of the mesh in no classes; return the number of the decree that is over at once.

    Raises as `issue_classes` does, and GatewayError where there are none.
    """
    in_force = classes_in_force(client)
    if in_force is None:
        raise GatewayError("the pages of this mesh are in no classes")
    return _issue(client, key, bytes.fromhex(in_force[0]["body"]), valid_until=time.time())


def _issue(client: GatewayClient, key: Path, body: bytes, valid_until: float) -> int:
    administrator = load_administrator(key)
    number = min(client.next_number(CLASSES, ""), NUMBER_MAX)
    client.publish(administrator.decree(CLASSES, "", number, body, valid_until=valid_until))
    return number
