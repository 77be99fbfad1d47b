"""What a run says of itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.run_report import quarantined

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest

def test_sound():
    assert sum(range(10**7)) > 0

def test_shaky():
    raise AssertionError("now and then")

@pytest.mark.skip(reason="wants a small disk")
def test_of_disks():
    pass
"""


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    tests = pytester.mkdir("tests")
    (tests / "test_it.py").write_text(TESTS, "utf-8")
    (tests / "quarantine.toml").write_text('"tests/test_it.py::test_shaky" = "waits by the clock"\n', "utf-8")
    return pytester


@pytest.mark.parametrize("workers", ["0", "2"])
def test_skips_are_told_by_name_and_tests_in_quarantine_are_not_run(
    folder: pytest.Pytester, workers: str
) -> None:
    result = folder.runpytest_inprocess("--import-mode=importlib", "-p", "tests.run_report", "-n", workers)
    result.assert_outcomes(passed=1, skipped=1, deselected=0 if workers == "2" else 1)
    told = result.stdout.str()
    assert "tests/test_it.py::test_of_disks: wants a small disk" in told
    assert "1 in quarantine, not run" in told
    assert "tests/test_it.py::test_shaky: waits by the clock" in told
    cpu_s = next(line.split()[0] for line in result.outlines if line.endswith("CPU seconds"))
    assert float(cpu_s.replace(",", "")) > 0.05


def test_tests_in_quarantine_are_run_alone_when_asked_for(folder: pytest.Pytester) -> None:
    result = folder.runpytest_inprocess("--import-mode=importlib", "-p", "tests.run_report", "--quarantined")
    result.assert_outcomes(failed=1, deselected=2)
    assert "1 in quarantine, run" in result.stdout.str()


def test_there_is_every_test_in_quarantine_and_why() -> None:
    for name, reason in quarantined(ROOT).items():
        path, _, test = name.partition("[")[0].rpartition("::")
        tree = ast.parse((ROOT / path.partition("::")[0]).read_text("utf-8"))
        assert test in {
            each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert reason
