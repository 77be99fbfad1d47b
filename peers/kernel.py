"""The inner loops of the index: kernels, written in C and built with the package.

Beside a Python file with kernels is a C file of the same name with their bodies; here they have their types
and say what they do, there is how. `_kernels.c` of a room makes an extension module of its kernels, all in
three seconds of one core (`build_kernels`). Every argument is checked at every call, by type, dimensions and
layout (`kernel_module.h`); what is in the arrays is trusted. Kernels release the interpreter's lock, and no
compiler may reorder or fuse their floating-point operations, so that scores are bit-identical on every peer.

Measured before that was chosen, one core of two that were busy, gcc 12 without instructions of newer
processors; searches over 5,000 pages, p50, of tantivy's in the same run:

                                    numba 0.68, when      its code built        C
                                    first started         with the package
    build, CPU seconds              80                    80 to 90              3
    installed, MB                   208                   2.4                   0.1
    idle peer, private MB           204                   -                     114
    import of a peer, CPU seconds   1.3                   -                     0.85
    OR                              2.78                  the same              2.00, 2.34
    AND                             2.97                  the same              2.13, 1.87
    phrase                          3.53                  the same              3.39, 3.61

Cython was not tried: records of arrays, which nearly all kernels take, are pointers in structs there too, so
that it would read as C in the dress of Python, without running as Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Lengths = NDArray[np.uint32]
Codes = NDArray[np.uint32]
Sums = NDArray[np.uint64]
Words = NDArray[np.uint32]
# A tuple or list that is copied for a kernel: a few strings or numbers that need not become an array.
Strings: TypeAlias = Sequence[str] | Sequence[bytes]
Numbers: TypeAlias = Sequence[int]
FewFloats: TypeAlias = Sequence[float]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernels_of(extension: str) -> Callable[[Kernel], Kernel]:
    """Return a decorator: it puts the kernel of an extension module in the place of its Python signature."""
    try:
        kernels = import_module(extension)
    except ImportError as error:
        raise ImportError(
            f"{extension} is not built: install the package (pip install .), in a checkout with "
            "`make kernels`; both need a C compiler"
        ) from error

    def decorate(function: Kernel) -> Kernel:
        return cast(Kernel, getattr(kernels, function.__name__.removeprefix("_")))

    return decorate
