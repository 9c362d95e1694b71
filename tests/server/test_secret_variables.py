"""A secret of a cluster's job: it is that of the nodes, and stands in no file, log or answer of the cluster."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live_folder import content_of, files_below
from tests.runtime.command import column
from tests.server.nodes import Node, some_nodes
from tests.servers.http_service import Asked, http_service

OF_NODES, OF_CLIENT, ON_THE_LINE = "token-of-the-nodes-4711", "token-of-the-client-4712", "token-on-the-line-4713"

JOB = """
env {{ job.mode = BATCH }}
source {{ Http {{ plugin_output = rows, url = "{url}/rows", format = json
  headers {{ Authorization = "Bearer ${{TOKEN}}" }}
  schema {{ fields {{ id = bigint }} }} }} }}
sink {{ LocalFile {{ plugin_input = rows, path = "${{folder}}/out", file_format_type = parquet }} }}
"""


def submit(node: Node, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "seatunnel_core.cli", "-m", "cluster", "-c", "job.conf", *arguments]
    environment = {**node.cluster.environment, "TOKEN": OF_CLIENT}
    where = {"cwd": node.cluster.folder, "env": environment}
    return subprocess.run(command, **where, capture_output=True, text=True, timeout=300, check=False)  # type: ignore[call-overload]


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.timeout(600)
def test_a_secret_is_that_of_the_nodes_and_is_kept_nowhere(tmp_path: Path) -> None:
    """The client's own value went along, and stood in clear in the record of the job."""
    asked: list[Asked] = []

    def rows(request: Asked) -> list[dict[str, int]]:
        asked.append(request)
        return [{"id": 1}, {"id": 2}]

    with http_service() as service, some_nodes(tmp_path) as (node,):
        service.at["/rows"] = rows
        (tmp_path / "job.conf").write_text(JOB.format(url=service.url))
        (tmp_path / "config/hazelcast-client.yaml").write_text(
            f"hazelcast-client: {{network: {{cluster-members: ['{node.address}']}}}}"
        )
        node.variables = {"TOKEN": OF_NODES}
        node.start()
        node.wait_ready()
        folder = ("-i", f"folder={tmp_path}")
        refused = submit(node, *folder, "-i", f"TOKEN={ON_THE_LINE}")
        done = submit(node, *folder, "--set-job-id", "7")
        answers = json.dumps([node.ask("GET", path) for path in ("/job-info/7", "/running-jobs", "/finished-jobs")])
        assert refused.returncode == 2, refused.stderr
        assert "${TOKEN} is used in the secret source.Http.headers.Authorization" in refused.stderr
        assert done.returncode == 0, done.stdout + done.stderr
        assert "${TOKEN} is not sent, because source.Http.headers.Authorization is a secret" in done.stdout
    assert {each.headers.get("authorization") for each in asked} == {f"Bearer {OF_NODES}"}
    assert column(tmp_path / "out", "id") == [1, 2]
    shown = [answers, refused.stdout, refused.stderr, done.stdout, done.stderr]
    kept = [content_of(path).decode("utf-8", "replace") for path in files_below(tmp_path)]
    for secret in (OF_NODES, OF_CLIENT, ON_THE_LINE):
        assert not [text for text in (*shown, *kept) if secret in text]
