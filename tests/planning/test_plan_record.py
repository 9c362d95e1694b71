"""The plan of a job as its page shows it."""

import json
from pathlib import Path

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.variables import Variables
from seatunnel_core.planning.plan_record import plan_record
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup


def test_each_vertex_has_its_options_with_defaults_and_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "job.conf"
    file.write_text(
        'env { job.mode = BATCH }\nsource { Http { plugin_output = a, url = "http://u:pw1@h/x", method = GET\n'
        '  headers { Authorization = "Bearer hunter2" }, format = json, parallelism = 2\n'
        "  schema { fields { id = bigint } } } }\n"
        "transform { Copy { plugin_input = a, plugin_output = b, fields { x = id } } }\n"
        'sink { Http { plugin_input = b, url = "http://h/y", headers { X-Api-Key = abcdefgh }, retry = 3 } }\n'
    )
    job = plan_job(load_job(file, Variables()), lookup, load_engine(environment={"HOME": str(tmp_path)}))
    found = plan_record(job)
    written = json.dumps(found)
    assert "hunter2" not in written
    assert "pw1" not in written
    (pipeline,) = found["pipelines"]
    assert [(each["type"], each["plugin"], each["inputs"]) for each in pipeline["vertices"]] == [
        ("source", "Http", []),
        ("transform", "Copy", ["a"]),
        ("sink", "Http", ["b"]),
    ]
    options = {each["key"]: each for each in pipeline["vertices"][0]["options"]}
    assert (options["method"]["value"], options["method"]["isSet"]) == ("GET", True)
    assert options["headers"]["value"] == "***"
    assert not options["retry"]["isSet"] if "retry" in options else True
    assert pipeline["guarantee"]
