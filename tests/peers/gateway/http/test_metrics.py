"""What Prometheus reads, by its own parser, and the dashboard and alerts that lean on it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from mesh.actors.actor import Statistics
from peers.gateway.http.metrics import MEDIA_TYPE, exposition, media_type_for
from peers.gateway.http.peer_metrics import families_of, histogram_family
from peers.gateway.http.process_metrics import process_families
from peers.gateway.model.histogram import Histogram
from peers.gateway.model.status import PeerState, PeerStatus, SlotCounts

MONITORING = Path(__file__).parents[4] / "docs" / "monitoring"
STATUS = PeerStatus(
    id="ann",
    pages_fetched=7,
    cpu_seconds=1.5,
    fetch_status={"200": 5, 'odd"\n\\': 2},
    slots=SlotCounts(owned=3),
    state=PeerState.MOVING,
    is_out_of_space=True,
    machine="desk",
    version="1.2",
    members_quarantined=1,
)


class Sample(Statistics, frozen=True):
    pages: int = 3
    share: float = 0.5
    is_idle: bool = True
    name: str = "left out"
    by_reason: Mapping[str, int] = MappingProxyType({"dns": 1, 'odd"\n\\': 2})


def read(text: str) -> dict[tuple[str, ...], float]:
    """The samples that Prometheus would store, by name and what their labels say."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_numbers_inside_become_samples() -> None:
    assert exposition((), {"cell": Sample(), "my-port": {"a.b": 1}}).splitlines() == [
        "# HELP tianmesh_cell_pages Inside cell; may have another name in another version.",
        "# TYPE tianmesh_cell_pages gauge",
        "tianmesh_cell_pages 3",
        "# HELP tianmesh_cell_share Inside cell; may have another name in another version.",
        "# TYPE tianmesh_cell_share gauge",
        "tianmesh_cell_share 0.5",
        "# HELP tianmesh_cell_is_idle Inside cell; may have another name in another version.",
        "# TYPE tianmesh_cell_is_idle gauge",
        "tianmesh_cell_is_idle 1",
        "# HELP tianmesh_cell_by_reason Inside cell; may have another name in another version.",
        "# TYPE tianmesh_cell_by_reason gauge",
        'tianmesh_cell_by_reason{key="dns"} 1',
        r'tianmesh_cell_by_reason{key="odd\"\n\\"} 2',
        "# HELP tianmesh_my_port_a_b Inside my-port; may have another name in another version.",
        "# TYPE tianmesh_my_port_a_b gauge",
        "tianmesh_my_port_a_b 1",
    ]


def test_peer_without_counters_has_no_samples() -> None:
    assert exposition((), {}) == "\n"


def test_openmetrics_is_told_to_who_asks_for_it() -> None:
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
    media_type = media_type_for(accept)
    assert media_type.startswith("application/openmetrics-text; version=1.0.0")
    assert media_type_for("*/*") == media_type_for("") == MEDIA_TYPE
    histogram = histogram_family("t_seconds", "Of tests.", Histogram((0.1, 1.0)))
    families = (*families_of(STATUS), histogram, *process_families())
    told = exposition(families, {"cell": Sample(), "port": {"seen_total": 4}}, media_type)
    read_back = {family.name: family for family in openmetrics.text_string_to_metric_families(told)}  # type: ignore[no-untyped-call]
    assert len(read_back) == len(families) + 5
    assert {family.type for family in read_back.values()} == {"counter", "gauge", "histogram"}
    assert all(family.documentation for family in read_back.values())
    assert read_back["tianmesh_pages_fetched"].samples[0].name == "tianmesh_pages_fetched_total"
    assert read_back["tianmesh_port_seen"].type == "gauge"


def test_the_process_is_told_by_the_names_of_every_client_library() -> None:
    samples = {name: value for (name, *_), value in read(exposition(process_families(), {})).items()}
    assert samples["process_open_fds"] >= 3
    assert samples["process_max_fds"] >= samples["process_open_fds"]
    assert 1e6 < samples["process_resident_memory_bytes"] < samples["process_virtual_memory_bytes"]
    assert samples["process_cpu_seconds_total"] > 0
    assert time.time() - 86_400 < samples["process_start_time_seconds"] <= time.time()


def test_prometheus_reads_what_a_peer_tells() -> None:
    samples = read(exposition(families_of(STATUS), {"cell": Sample()}))
    assert samples["tianmesh_pages_fetched_total",] == 7
    assert samples["tianmesh_cpu_seconds_total",] == 1.5
    assert samples["tianmesh_fetches_total", "200"] == 5
    assert samples["tianmesh_fetches_total", 'odd"\n\\'] == 2
    assert samples["tianmesh_slots", "owned"] == 3
    assert samples["tianmesh_disk_full",] == 1
    assert samples["tianmesh_members_quarantined",] == 1
    assert samples["tianmesh_peer_info", "ann", "desk", "1.2"] == 1
    states = {labels[0]: value for (name, *labels), value in samples.items() if name == "tianmesh_state"}
    assert states == {state.value: float(state is PeerState.MOVING) for state in PeerState}
    assert samples["tianmesh_cell_pages",] == 3


def test_every_family_has_a_name_of_its_own_and_says_what_it_is() -> None:
    families = list(text_string_to_metric_families(exposition(families_of(STATUS), {})))
    assert len({family.name for family in families}) == len(families) == len(list(families_of(STATUS)))
    assert all(family.documentation.endswith(".") for family in families)
    assert {family.type for family in families} == {"counter", "gauge"}
    for family in families_of(STATUS):
        assert family.name.endswith("_total") == (family.kind == "counter"), family.name


def test_histogram_counts_every_class_up_to_its_end() -> None:
    histogram = Histogram((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 3.0):
        histogram.note(seconds)
    samples = read(exposition([histogram_family("t_seconds", "Of tests.", histogram)], {}))
    assert samples == {
        ("t_seconds_bucket", "0.1"): 2,
        ("t_seconds_bucket", "1.0"): 3,
        ("t_seconds_bucket", "+Inf"): 4,
        ("t_seconds_sum",): pytest.approx(3.65),
        ("t_seconds_count",): 4,
    }


# Of the gateway itself; `test_http` sees that they are there.
OF_GATEWAY = {"tianmesh_http_requests_total", "tianmesh_search_duration_seconds_bucket"}


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"tianmesh_\w+", expression))


def assert_known(expression: str) -> None:
    """Every metric in it is one that keeps its name, and so are the values of its labels."""
    samples = read(exposition(families_of(STATUS), {}))
    assert names_in(expression) or "up{" in expression
    assert names_in(expression) <= {name for name, *_ in samples} | OF_GATEWAY, expression
    for name, value in re.findall(r'(tianmesh_\w+)\{\w+="([^"]*)"\}', expression):
        assert (name, value) in samples, expression


def test_alerts_speak_of_metrics_that_there_are_and_say_what_to_do() -> None:
    settings = yaml.safe_load((MONITORING / "prometheus.yml").read_text())
    (job,) = settings["scrape_configs"]
    assert settings["rule_files"] == ["alerts.yml"]
    (group,) = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    assert len(group["rules"]) == len({rule["alert"] for rule in group["rules"]}) > 5
    for rule in group["rules"]:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert_known(rule["expr"])
        assert all(job["job_name"] == name for name in re.findall(r'job="(\w+)"', rule["expr"]))


def test_dashboard_shows_metrics_that_there_are() -> None:
    dashboard = json.loads((MONITORING / "grafana.json").read_text())
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= set(dashboard)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"]) > 10
    for panel in dashboard["panels"]:
        assert {"type", "title", "gridPos", "targets", "datasource"} <= set(panel)
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        for target in panel["targets"]:
            assert_known(target["expr"])
            assert target["legendFormat"]
    assert not list(overlaps(dashboard["panels"]))


def overlaps(panels: list[dict[str, dict[str, int]]]) -> Iterator[tuple[int, int]]:
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    yield from (cell for cell in set(taken) if taken.count(cell) > 1)
