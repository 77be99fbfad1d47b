"""What is said of a mesh by what its gateway tells."""

from __future__ import annotations

from bootstrap.doctor.finding import DoctorFinding, Grade
from bootstrap.doctor.mesh import clock_findings, member_findings, mesh_findings, version_findings
from mesh.client.gateway_client import GatewayClient
from peers.gateway.model.readiness_json import ReadinessJson
from peers.gateway.model.status import MemberRow, PeerStatus, report_of

READY = ReadinessJson("ready")


def _grades(findings: list[DoctorFinding]) -> list[tuple[str, Grade]]:
    return [(finding.subject, finding.grade) for finding in findings]


def test_a_mesh_that_answers_for_all_slots_is_good() -> None:
    found = list(member_findings(report_of([PeerStatus(id="a"), PeerStatus(id="b")]), READY))
    assert _grades(found) == [("members", Grade.GOOD)]
    assert "2 peers" in found[0].said


def test_who_is_down_and_a_full_disk_are_faults_with_what_to_do() -> None:
    members = [MemberRow(id="b", state="down", down_s=90.0, endpoint="tcp://192.0.2.7:7400")]
    report = report_of([PeerStatus(id="a", disk_full=True)], members)
    found = list(member_findings(report, READY))
    assert _grades(found) == [("members", Grade.FAULT), ("members", Grade.FAULT)]
    assert "tianmesh drain b" in found[0].said
    assert "make room" in found[1].said


def test_slots_that_nobody_answers_for_are_a_fault() -> None:
    waiting = ReadinessJson("waiting", slots=50_000, missing=123, waits_for=("a brings 123 slots",))
    found = list(member_findings(report_of([PeerStatus(id="a")]), waiting))
    assert _grades(found) == [("members", Grade.FAULT)]
    assert "123 of 50,000" in found[0].said


def test_a_crawl_at_its_limit_is_a_warning_only() -> None:
    report = report_of([PeerStatus(id="a", pages_max=1_000)])
    assert _grades(list(member_findings(report, READY))) == [
        ("members", Grade.WARNING),
        ("members", Grade.GOOD),
    ]


def test_versions_that_differ_are_told() -> None:
    one, other = PeerStatus(id="a", version="1.0"), PeerStatus(id="b", version="1.1")
    assert _grades(list(version_findings([one, other], "1.1"))) == [("versions", Grade.WARNING)]
    assert _grades(list(version_findings([one], "1.1"))) == [("versions", Grade.WARNING)]
    assert _grades(list(version_findings([one], "1.0"))) == [("versions", Grade.GOOD)]
    assert not list(version_findings([PeerStatus(id="a")], "1.0"))  # they do not say


def test_clocks_that_are_apart_are_told() -> None:
    found = list(clock_findings({"http://192.0.2.7:8017": 90.0, "http://192.0.2.8:8017": 0.3}))
    assert _grades(found) == [("clock", Grade.WARNING)]
    assert "90 s ahead" in found[0].said
    assert _grades(list(clock_findings({"http://192.0.2.8:8017": -0.4}))) == [("clock", Grade.GOOD)]
    assert not list(clock_findings({}))


def test_a_gateway_that_does_not_answer_is_a_warning_with_what_to_do() -> None:
    with GatewayClient("http://127.0.0.1:1") as client:
        (finding,) = mesh_findings(client)
    assert (finding.subject, finding.grade) == ("gateway", Grade.WARNING)
    assert finding.advice
