"""The yardstick of processor time is as long as it says, and tells what is dear."""

from __future__ import annotations

import pytest

from tests.processor import YARDSTICK_S, processor_seconds, yardstick


@pytest.mark.parametrize("times", [1, 3])
def test_work_is_told_in_yardsticks(times: int) -> None:
    def work() -> None:
        for _ in range(times):
            yardstick()

    assert processor_seconds(work, tries=5) == pytest.approx(times * YARDSTICK_S, rel=0.5)
