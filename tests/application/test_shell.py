"""What a Python shell and a notebook tell of the package and of a job that is built."""

import inspect
import subprocess
import sys

import pytest

import seatunnel_core as st
from seatunnel_core import errors
from seatunnel_core.application.notebook import Output

ASKED = """
import sys
import seatunnel_core as st
print(*(name for name in dir(st) if not name.startswith("_")))
print(*(name for name in ("attrs", "yaml", "rich", "IPython", "seatunnel_core.application.job") if name in sys.modules))
st.Jobb
"""


def test_the_tab_key_shows_all_names_before_any_is_used() -> None:
    """In a fresh interpreter; a name that is nearly right is found by Python, too."""
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=False)
    names, loaded = done.stdout.split("\n")[:2]
    assert names.split() == sorted(st.__all__)
    assert loaded == ""
    assert done.stderr.endswith("has no attribute 'Jobb'. Did you mean: 'Job'?\n")


def test_every_name_is_there_and_each_home_is_right() -> None:
    for name in st.__all__:
        assert getattr(st, name).__name__ == name
    assert set(st.__all__) == st._HOMES.keys()


def test_run_takes_what_submit_takes() -> None:
    run, submit = (dict(inspect.signature(method).parameters) for method in (st.Job.run, st.Job.submit))
    assert run.pop("progress").default is True
    assert run == submit
    assert not any(each.kind is each.VAR_KEYWORD for each in run.values())


def built() -> tuple[st.Job, st.Rows]:
    job = st.Job("<b>cities</b>")
    rows = job.source("Http", url="https://me:hidden@host/", headers={"Authorization": "hidden"}, name="<i>in</i>")
    job.source("FakeSource", name="other")
    kept = rows.transform("Filter", name="kept", include_fields=["hidden"])
    kept.sink("Jdbc", name="out", password="hidden", url="jdbc:x")
    return job, kept


def test_a_job_shows_its_nodes_and_no_option() -> None:
    job, _ = built()
    assert repr(job) == "<Job '<b>cities</b>': 2 sources, 1 transform, 1 sink>"
    assert repr(st.Job("x")) == "<Job 'x': no nodes yet>"
    page = job._repr_html_()
    for shown in ("&lt;b&gt;cities&lt;/b&gt;", "&lt;i&gt;in&lt;/i&gt;", "Http", "Filter", "kept", "Jdbc", "other"):
        assert shown in page
    assert "hidden" not in page + repr(job)
    assert "<b>" not in page


def test_rows_show_what_leads_to_them() -> None:
    _, rows = built()
    assert repr(rows) == "<Rows 'kept' of job '<b>cities</b>'>"
    page = rows._repr_html_()
    assert "Http" in page
    assert "Filter" in page
    assert "other" not in page
    assert "Jdbc" not in page
    assert "hidden" not in page


def test_a_program_that_is_no_notebook_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    Output(wanted=True).show(st.Job("x"))
    assert "IPython" not in sys.modules
    assert capfd.readouterr() == ("", "")


def test_notebooks_show_an_error_with_the_callers_lines_only() -> None:
    with pytest.raises(st.UsageError) as caught:
        built()[0].source("FakeSource", name="other")
    shown = caught.value._render_traceback_()
    assert shown[-1].startswith("seatunnel_core.errors.UsageError: two nodes of the job")
    assert any("test_shell.py" in line for line in shown)
    assert not any(errors.__file__.removesuffix("errors.py") in line for line in shown)
