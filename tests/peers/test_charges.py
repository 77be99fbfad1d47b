"""What messages of other members cost of their quotas."""

from __future__ import annotations

import pytest

from mesh.actors.actor import Message
from mesh.actors.conduct import ConductSettings, Quota
from peers.charges import conduct_of
from peers.crawler.model.wire_messages import DemandTold, ExplainCrawl, ExplainUrl
from peers.submissions.verdict import CODE_BYTES
from peers.submissions.wire_messages import ClaimDomain, ReadSubmissions, SubmitSite


@pytest.mark.parametrize("question", [ExplainUrl(1, "http://a.test/"), ExplainCrawl(1), DemandTold()])
def test_member_has_so_many_questions_a_minute_and_its_others_nothing_of_that(question: Message) -> None:
    settings = ConductSettings(questions_per_minute=3)
    conduct = conduct_of(settings)
    assert [conduct.admits("eve", question, 0.0) for _ in range(4)] == [True, True, True, False]
    assert conduct.admits("bob", question, 0.0)
    assert conduct.admits("eve", question, 60.0)
    assert conduct.observe().over_quota == {Quota.QUESTIONS: 1}


def test_status_pages_of_submissions_leave_the_questions_of_their_gateway_alone() -> None:
    conduct = conduct_of(ConductSettings(questions_per_minute=3, links_per_minute=10_000))
    code = b"c" * CODE_BYTES
    assert sum(conduct.admits("eve", ReadSubmissions(n, code), 0.0) for n in range(1_100)) == 1_000
    lists = [conduct.admits("eve", ReadSubmissions(n), 0.0) for n in range(2)]
    submitted = ClaimDomain(1, b"d" * 16, code), SubmitSite(1, code, "http://a.test/")
    assert [*lists, *(conduct.admits("eve", each, 0.0) for each in submitted)] == [True, True, True, False]
