"""How inner loops are compiled by numba: kernels, the leaves that they call, and the types of what both take.

Kernels are compiled without counting references (see `leaf`): arrays come in records, named tuples, and a
record costs a kernel's caller about 1.5 us, once.

All signatures are explicit, so every kernel compiles once, when its file is first imported (which is said in
the log, because it takes some 80 s of CPU), and comes from numba's disk cache afterwards, in 1.8 s with all
else that a peer imports. A peer imports them before it opens its gateway, so no query ever waits for that.
The cache knows a kernel's own file only: who changes a leaf that kernels of other files call has to change
these or empty the cache.

Kernels release the GIL, trust their input and never reorder floating-point operations: fastmath stays off, so
that scores are bit-identical on every peer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Lengths = NDArray[np.uint32]
Codes = NDArray[np.uint32]
Sums = NDArray[np.uint64]
Words = NDArray[np.uint32]

# In kernels everything is int64; to the type checker, what numpy's type gives is no int.
int64: Any = np.int64

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Array = TypeVar("Array", bound=NDArray[Any])

IN_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
IN_INTS = types.Array(types.int64, 1, "C", readonly=True)
IN_FLOATS = types.Array(types.float64, 1, "C", readonly=True)
IN_LENGTHS = types.Array(types.uint32, 2, "C", readonly=True)
MUTABLE_BYTES = types.uint8[::1]
MUTABLE_INTS = types.int64[::1]
MUTABLE_FLOATS = types.float64[::1]
MUTABLE_SUMS = types.uint64[::1]
MUTABLE_WORDS = types.uint32[::1]
IN_SUMS = types.Array(types.uint64, 1, "C", readonly=True)
IN_WORDS = types.Array(types.uint32, 1, "C", readonly=True)

logger = logging.getLogger(__name__)
_is_said = False


def kernel(*signature: Any, returns: Any = types.int64) -> Callable[[Kernel], Kernel]:
    """Compile a function for one signature, or load it from the cache on disk.

    Divisions by zero give infinities, as numpy's do: there is no check in the inner loops.
    """

    def decorate(function: Kernel) -> Kernel:
        compiled: Any = njit(returns(*signature), cache=True, nogil=True, error_model="numpy")(function)
        if sum(compiled.stats.cache_misses.values()):
            _say_once()
        return cast(Kernel, compiled)

    return decorate


def _say_once() -> None:
    """Say why the first start after an installation takes so long."""
    global _is_said
    if not _is_said:
        _is_said = True
        logger.warning("the index's kernels are being compiled, once after an installation: about a minute")


def record(name: type[tuple[Any, ...]], *fields: Any) -> Any:
    """Return the type, for signatures, of a named tuple with fields of these types."""
    kind: Any = types.NamedTuple
    uniform: Any = types.NamedUniTuple
    return kind(fields, name) if len(set(fields)) > 1 else uniform(fields[0], len(fields), name)


def read_only(array: Array) -> Array:
    """Return a view that is not written to: in a record, kernels take an array as the type that it has."""
    view: Array = array.view()
    view.flags.writeable = False
    return view


def leaf(function: Kernel) -> Kernel:
    """Make a function that kernels call. It makes no arrays, but views of those that it is given.

    Nor does it return any, be it in a record: nobody would count that reference, and the heap is damaged when
    the array goes; what does is an `allocating_leaf`. It is compiled without counting references because in
    inner loops that would cost more than the work, whenever a row is taken of an array or an array of a
    record.
    """
    options: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
    compiled: Kernel = njit(**options)(function)
    return compiled


def inlined(function: Kernel) -> Kernel:
    """Make a leaf that becomes a part of whoever calls it.

    A call hands over every array of a record in seven numbers: some 30 ns for each record.
    """
    options: dict[str, Any] = {"error_model": "numpy", "_nrt": False, "forceinline": True}
    compiled: Kernel = njit(**options)(function)
    return compiled


def allocating_leaf(function: Kernel) -> Kernel:
    """Make a function that kernels call, and that makes arrays."""
    compiled: Kernel = njit(function, error_model="numpy")
    return compiled
