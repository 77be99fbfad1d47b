"""What messages of other members cost of their quotas."""

from __future__ import annotations

import pytest

from mesh.actors.actor import Message
from mesh.actors.conduct import ConductSettings, Quota
from peers.charges import conduct_of
from peers.crawler.model.wire_messages import DemandTold, ExplainCrawl, ExplainUrl


@pytest.mark.parametrize("question", [ExplainUrl(1, "http://a.test/"), ExplainCrawl(1), DemandTold()])
def test_member_has_so_many_questions_a_minute_and_its_others_nothing_of_that(question: Message) -> None:
    settings = ConductSettings(questions_per_minute=3)
    conduct = conduct_of(settings)
    assert [conduct.admits("eve", question, 0.0) for _ in range(4)] == [True, True, True, False]
    assert conduct.admits("bob", question, 0.0)
    assert conduct.admits("eve", question, 60.0)
    assert conduct.observe().over_quota == {Quota.QUESTIONS: 1}
