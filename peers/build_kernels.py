"""Builds the kernels when the package is built; the build system finds it by pyproject.toml. [io]

The compiler is the one that Python's own extensions are built with, its options are Python's and OPTIONS. An
extension in a checkout that was made of the same sources is left as it is.

Kernels keep to Python's stable ABI of 3.11, so that one wheel (cp311-abi3) serves all versions from there on.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sys
import sysconfig
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import packaging.tags
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext

# No operation may be fused with another one, or scores would depend on the processor.
OPTIONS: Final = ("-std=c11", "-O3", "-ffp-contract=off", "-g0", "-Wall", "-Wextra")


class KernelBuildHook(BuildHookInterface[Any]):
    """Builds the extension modules beside their sources, and puts them into the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build for a wheel, also for an editable one."""
        with chdir(self.root):
            built = build_in_place()
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{_platform()}"
        build_data["artifacts"] += [path.as_posix() for path in built]


def sources_digest(root: Path) -> str:
    """Return a digest of the sources of kernels, 16 hex digits."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted([*root.glob("peers/**/*.h"), *root.glob("peers/**/*.c")]):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def build_in_place() -> list[Path]:
    """Build in the checkout that is the working directory; return the paths of the extensions in it."""
    digest = sources_digest(Path())
    extensions = [
        Extension(
            ".".join(source.with_suffix("").parts),
            [source.as_posix()],
            include_dirs=[os.curdir, np.get_include()],
            define_macros=[("KERNEL_SOURCES", f'"{digest}"')],
            extra_compile_args=list(OPTIONS),
            py_limited_api=True,
        )
        for source in sorted(Path().glob("peers/**/_*.c"))
    ]
    packages = [extension.name.rpartition(".")[0] for extension in extensions]
    with TemporaryDirectory() as folder:
        command = build_ext(Distribution({"ext_modules": extensions, "packages": packages}))
        command.inplace = True
        command.build_temp = folder
        command.force = True
        command.ensure_finalized()
        built = [Path(command.get_ext_fullpath(each.name)).relative_to(Path.cwd()) for each in extensions]
        if not all(path.exists() and digest.encode() in path.read_bytes() for path in built):
            _check_compiler()
            command.run()
    for path in built:  # of earlier versions there may be others, which would be loaded instead
        for other in path.parent.glob(f"{path.name.partition('.')[0]}.*{path.suffix}"):
            if other != path:
                other.unlink()
    return built


def _platform() -> str:
    """The tag of this system, as a wheel has it that was built on it."""
    return next(
        tag for tag in packaging.tags.platform_tags() if "manylinux" not in tag and "musllinux" not in tag
    )


def _check_compiler() -> None:
    """End with one sentence where kernels cannot be built, which says more than the end of a traceback."""
    command = os.environ.get("CC") or sysconfig.get_config_var("CC")
    if command and shutil.which(shlex.split(command)[0]) is None:
        sys.exit(
            f"tianmesh needs a C compiler ({command} is not here): apt install gcc libc6-dev, dnf install "
            "gcc or xcode-select --install; or take a wheel that `make wheel` built elsewhere"
        )
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        sys.exit("tianmesh needs the headers of Python: apt install python3-dev or dnf install python3-devel")
