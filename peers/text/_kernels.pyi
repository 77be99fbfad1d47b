"""What _kernels.c makes: kernels and constants, by their names; `peers.kernel` gives kernels types."""

from typing import Any

SOURCES: str

def __getattr__(name: str) -> Any: ...
