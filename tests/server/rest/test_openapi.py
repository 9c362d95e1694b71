"""The OpenAPI document: what it says is what a node answers, whatever it is asked."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from seatunnel_core.server.rest import page
from seatunnel_core.server.rest.application import USER_ROUTES
from tests.server.nodes import some_nodes
from tests.server.test_rest import ask, config_of, leading

EXAMPLES = 40
"""Requests to each endpoint."""


def test_the_interface_is_described(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    status, document, _ = ask(agent, "GET", "/openapi.json")
    assert (status, document["openapi"]) == (200, "3.1.0")
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    routes = (route for route in USER_ROUTES if route.summary and route.path != "/openapi.json")
    assert described == {(route.method, route.path) for route in routes}
    assert document["paths"]["/finished-jobs/{state}"]["get"]["parameters"][0]["in"] == "path"


def test_every_route_says_what_it_is_for() -> None:
    """The page is for people, and who changes a logger has to name it."""
    silent = [(route.method, route.path) for route in USER_ROUTES if not route.summary and route not in page.ROUTES]
    assert silent == [("POST", "/loggers"), ("DELETE", "/loggers")]


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_a_node_answers_as_the_document_says(tmp_path: Path) -> None:
    """Requests that nobody would think of: no bug, and every answer has the shape that is documented."""
    schemathesis = pytest.importorskip("schemathesis")
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
    with some_nodes(tmp_path) as (node,):
        node.start()
        node.cluster.leader()
        schema = schemathesis.openapi.from_url(f"http://{node.address}/openapi.json")
        asked = 0
        for found in schema.get_all_operations():
            asked += play(found.ok(), checks)
        assert asked > 20 * EXAMPLES / 2
        assert "internal error" not in node.log()
        assert node.leads()


def play(operation: Any, checks: list[Any]) -> int:
    """Send requests to an endpoint, and return how many."""
    sent = [0]

    @settings(max_examples=EXAMPLES, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def requests(case: Any) -> None:
        sent[0] += 1
        case.call_and_validate(checks=checks)

    requests()
    return sent[0]


def test_the_document_is_small(tmp_path: Path) -> None:
    """Each page that is opened may load it."""
    agent = leading(tmp_path, config_of(tmp_path))
    assert len(json.dumps(ask(agent, "GET", "/openapi.json")[1])) < 100_000
