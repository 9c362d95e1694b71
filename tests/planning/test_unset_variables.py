"""Variables without a value are reported before any service is requested."""

from pathlib import Path

import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import ConfigError
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from tests.servers.http_service import http_service


@pytest.mark.parametrize("place", ["source", "sink"])
def test_no_service_is_requested_with_a_variable_that_is_not_set(place: str) -> None:
    """``--check`` requested the first page with ``${TOKEN}`` in place of a token, and reported the answer."""
    header, path = ("${TOKEN}", "out") if place == "source" else ("x", "${TOKEN}")
    with http_service() as service:
        service.at["/a"] = lambda _: [{"id": 1}]
        text = f"""
            source {{ Http {{
              url = "{service.url}/a", headers {{ Authorization = "Bearer {header}" }}
              schema {{ fields {{ id = int }} }}
            }} }}
            sink {{ LocalFile {{ path = "{path}", file_format_type = json }} }}"""
        problems = Problems()
        raw = read_job(parse(text, "job.conf", Variables({}, {}), problems), "job.conf", problems)
        engine = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))
        with pytest.raises(ConfigError, match=r"the variable \$\{TOKEN\} is not set"):
            plan_job(raw, lookup, engine, look=True)
        assert not service.asked
