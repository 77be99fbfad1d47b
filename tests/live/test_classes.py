"""Classes of a mesh of real peers: set by a command, told alike by every gateway, and after kill -9."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from mesh.client.gateway_client import GatewayClient
from peers.classes.samples import append_samples
from tests.live.lab_process import Up, kill_all, tianmesh, up, wait_for
from tests.peers.classes.texts import SUBJECTS, samples_of, text_of

pytestmark = pytest.mark.live

PAGES = 240


def written_pages(path: Path) -> None:
    random, paths = Random(4), list(SUBJECTS)
    with path.open("w", encoding="utf-8") as lines:
        for n in range(PAGES):
            text = "\n".join(text_of(paths[n % 5], random, 40) for _ in range(3))
            page = {"url": f"http://host{n % 40}.test/{n}", "title": f"Page {n}", "text": text}
            lines.write(json.dumps(page) + "\n")


def counts_told(lab: Up) -> list[dict[str, int]]:
    """The counts of classes by each gateway."""
    told: list[dict[str, int]] = []
    for url in lab.gateways():
        with GatewayClient(url) as client:
            found = client.search("class:*", 1, facets=True)
        told.append({each["value"]: each["count"] for each in found.get("facets", {}).get("classes", ())})
    return told


def settled_counts(lab: Up) -> dict[str, int]:
    """Wait until all gateways tell the same of all pages."""

    def agreed() -> dict[str, int] | None:
        told = counts_told(lab)
        is_all = sum(told[0].get(name, 0) for name in ("food", "science", "sports")) == PAGES
        return told[0] if is_all and all(each == told[0] for each in told) else None

    return wait_for(agreed, "counts that all gateways share")


def found_in(lab: Up, classes: dict[str, int]) -> dict[str, int]:
    """How many pages a search for each class finds."""
    with GatewayClient(lab.gateways()[-1]) as client:
        return {name: client.search(f"class:{name}", 1)["total"] for name in classes}


def test_all_gateways_tell_the_same_classes_also_after_kill_9(tmp_path: Path) -> None:
    pages, samples, model = tmp_path / "pages.jsonl", tmp_path / "samples.tsv", tmp_path / "classes.model"
    written_pages(pages)
    append_samples(samples, samples_of(40))
    assert tianmesh("classes", "fit", samples, "--into", model).returncode == 0
    with up(tmp_path, None, "--peers", "3") as lab:
        where = ("--gateway", lab.gateways()[0], "--data", lab.folder)
        imported = tianmesh("import", pages, *where)
        assert imported.returncode == 0, imported.stderr
        with GatewayClient(lab.gateways()[0]) as client:
            plain = client.search("page class:food", 1, facets=True)
        assert [each["kind"] for each in plain["remarks"]] == ["no_class"]
        done = tianmesh("classes", "set", model, *where)
        assert done.returncode == 0, done.stderr
        before = settled_counts(lab)
        assert found_in(lab, before) == before
        by_subject = Counter(path[0] for path in list(SUBJECTS) * (PAGES // 5))
        assert {name: before[name] for name in by_subject} == dict(by_subject)
        shown = json.loads(tianmesh("classes", "show", "--json", *where).stdout)
        assert len(shown["classes"]) == 7
        kill_all(lab)
    with up(tmp_path, None, "--peers", "3") as lab:
        assert settled_counts(lab) == before == found_in(lab, before)
        where = ("--gateway", lab.gateways()[0], "--data", lab.folder)
        assert tianmesh("classes", "end", *where).returncode == 0
        wait_for(lambda: not any(map(bool, counts_told(lab))), "gateways without classes")
