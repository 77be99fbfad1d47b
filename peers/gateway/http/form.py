"""The fields of a posted form."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs

FIELDS_MAX: Final = 8  # no form here has more than two


def fields_in(body: bytes) -> dict[str, str]:
    """Return the first value of each field by name; none where the body is no form of ours."""
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=FIELDS_MAX)
    except ValueError:  # there are more
        return {}
    return {name: values[0] for name, values in fields.items()}
