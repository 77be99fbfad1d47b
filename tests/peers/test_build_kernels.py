"""Kernels are built once for all versions of Python; where that cannot be, one sentence says what lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from peers import build_kernels
from peers.crawler.parsing import _markup
from peers.engine import _kernels as of_engine
from peers.text import _kernels as of_text

SOURCE = """
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_small", .m_size = -1};
PyMODINIT_FUNC PyInit__small(void)
{
    PyObject *module = PyModule_Create(&definition);
    PyModule_AddStringConstant(module, "SOURCES", KERNEL_SOURCES);
    return module;
}
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with a small extension, of which an earlier version has left another build."""
    monkeypatch.chdir(tmp_path)
    room = tmp_path / "peers" / "small"
    room.mkdir(parents=True)
    (room / "_small.c").write_text(SOURCE)
    (room / "_small.cpython-311-x86_64-linux-gnu.so").write_bytes(b"earlier")
    return tmp_path


def test_the_kernels_that_run_are_of_the_stable_abi() -> None:
    for module in (_markup, of_engine, of_text):
        assert str(module.__file__).endswith(".abi3.so"), "run `make kernels`"


def test_no_earlier_build_stays_which_would_be_loaded_instead(checkout: Path) -> None:
    assert build_kernels.build_in_place() == [Path("peers/small/_small.abi3.so")]
    assert sorted(path.name for path in checkout.glob("peers/small/*.so")) == ["_small.abi3.so"]


def test_without_a_compiler_one_sentence_says_what_to_install(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -pthread")
    with pytest.raises(
        SystemExit, match=r"needs a C compiler \(no-such-compiler .*: apt install gcc libc6-dev"
    ):
        build_kernels.build_in_place()
