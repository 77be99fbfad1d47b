"""Samples of classes from the stored pages of a mesh: "this page is an example of that class". [io]"""

from __future__ import annotations

from collections.abc import Iterable

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.errors import ConfigError
from mesh.urls import canonical
from peers.classes.samples import LabelledText


def collected(client: GatewayClient, path: tuple[str, ...], texts: Iterable[str]) -> list[LabelledText]:
    """Return title and main text of stored pages as samples of a class.

    Args:
      texts: URLs.

    Raises:
      ConfigError: what is no URL, or a page that the mesh has no copy of, or that has no text.
    """
    samples = []
    for text in texts:
        url = canonical(text)
        if url is None:
            raise ConfigError(f"{text!r} is no URL of a web page; give one with http:// or https://")
        try:
            page = client.page(url)
        except GatewayError as error:
            if error.status != 404:
                raise
            raise ConfigError(
                f"the mesh has no copy of {url}: `tianmesh seed {url}` has it fetched, `tianmesh why {url}` "
                "says how far that is"
            ) from error
        if not page["text"]:
            raise ConfigError(f"{url} has no text, or asks that it be shown to nobody: leave it out")
        samples.append(LabelledText(path, f"{page['title']}\n{page['text']}", url))
    return samples
