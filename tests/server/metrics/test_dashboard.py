"""The dashboard for Grafana asks for metrics and labels that there are."""

import json
import re
from pathlib import Path

from seatunnel_core.server.metrics.figures import ALL_FAMILIES

DASHBOARD = Path(__file__).parents[3] / "examples/grafana/seatunnel-cluster.json"

_SUFFIXES = {"counter": ("_total",), "summary": ("_sum", "_count"), "gauge": ("",)}
_METRIC = re.compile(r"\b((?:cluster|node|job|process|jvm|seatunnel)_[a-z_]+|Source\w+|Sink\w+)\b")
_OF_PIPELINES = {"cluster", "job_id", "job_name", "pipeline", "pipeline_name"}


def exposed() -> dict[str, set[str]]:
    """Return the names of samples with the labels that they may have."""
    return {
        family.name + suffix: {*family.labels, *_OF_PIPELINES}
        for family in ALL_FAMILIES
        for suffix in _SUFFIXES[family.kind]
    }


def test_every_metric_and_label_of_the_dashboard_is_exposed() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(targets) > 10
    known = exposed()
    for target in targets:
        expression = re.sub(r"by \([^)]*\)|\{[^}]*\}", "", target["expr"])
        names = _METRIC.findall(expression)
        assert names, target["expr"]
        assert set(names) <= set(known), target["expr"]
        labels = {label for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in group.split(", ")}
        labels |= set(re.findall(r'([a-z_]+)="', target["expr"])) | set(
            re.findall(r"{{(\w+)}}", target["legendFormat"])
        )
        for name in names:
            assert labels <= known[name], target


def test_panels_do_not_cover_each_other() -> None:
    places = [tuple(panel["gridPos"].values()) for panel in json.loads(DASHBOARD.read_text())["panels"]]
    assert len(set(places)) == len(places)
